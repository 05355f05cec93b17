"""Which paths a scan records although they are ignored or large: what the repository tracks, what an earlier snapshot holds."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from opencode_tui.engine.snapshot.entry import Entry, parents
from opencode_tui.engine.snapshot.git_index import Tracked, find_git_dir, read_tracked
from opencode_tui.engine.snapshot.graft import find
from opencode_tui.engine.snapshot.tree import FOLDER
from opencode_tui.engine.snapshot.view import View

_Mark = tuple[int, int, int]


class TrackedPaths:
    """The indexes of a worktree's repositories, each read when it is first needed and kept while its file stays the same."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, tuple[_Mark, Tracked]] = {}

    def of(self, base: str) -> Tracked:
        """Return what the repository at `base` ("" for the worktree) tracks; nothing when there is none."""
        git_dir = find_git_dir(f"{self._root}/{base}" if base else self._root)
        if git_dir is None:
            return Tracked()
        mark = _mark(git_dir / "index")
        known = self._known.get(base)
        if known is None or known[0] != mark:
            known = self._known[base] = (mark, read_tracked(git_dir, base))
        return known[1]


def _mark(index: Path) -> _Mark:
    try:
        status = index.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


class Wanted:
    """What one scan wants in any case: paths given by name, files of earlier snapshots, files of repositories."""

    def __init__(self, tracked: TrackedPaths, *, views: Sequence[View] = (), paths: Iterable[str] = ()) -> None:
        self._tracked = tracked
        self._views = views
        self._paths = frozenset(paths)
        self._folders = frozenset(folder for path in self._paths for folder in parents(path))

    def is_given(self, path: str) -> bool:
        """Tell whether a path was given by name or is a file of an earlier snapshot; repositories are not asked."""
        return path in self._paths or any(_is_file(view, path) for view in self._views)

    def wants(self, path: str, repository: str) -> bool:
        """Tell whether a file is wanted; `repository` is the base of the one that it lies in."""
        return self.is_given(path) or path in self._tracked.of(repository).paths

    def wants_below(self, folder: str, repository: str) -> bool:
        """Tell whether anything below a folder is wanted."""
        if folder in self._folders or folder in self._tracked.of(repository).folders:
            return True
        return any(
            item is not None and item[0] == FOLDER for item in (find(v.store, v.files, folder) for v in self._views)
        )


def _is_file(view: View, path: str) -> bool:
    state = view.state(path)
    return isinstance(state, Entry) and state.kind != "folder"
