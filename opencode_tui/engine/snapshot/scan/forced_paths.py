"""The paths that a scan records although they are ignored or large: tracked files and files of an earlier snapshot."""

from collections.abc import Sequence
from pathlib import Path

from opencode_tui.engine.snapshot.entry import Entry, is_leaf
from opencode_tui.engine.snapshot.objects.tree import FOLDER
from opencode_tui.engine.snapshot.objects.tree_edit import find
from opencode_tui.engine.snapshot.objects.view import View
from opencode_tui.engine.snapshot.scan.git_index import Tracked, find_git_dir, read_tracked, shared_dir
from opencode_tui.engine.snapshot.scan.ignore import Rules, text_of_rules

_Mark = tuple[int, int, int]


class TrackedPaths:
    """The indexes of a worktree's repositories, each read on first use and cached while its file stays the same."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._known: dict[str, tuple[_Mark, Tracked]] = {}

    def of(self, base: str) -> Tracked:
        """Return what the repository at `base` ("" for the worktree) tracks; nothing when there is none."""
        git_dir = find_git_dir(f"{self.root}/{base}" if base else self.root)
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


class ForcedPaths:
    """The paths that one scan records in any case: files of earlier snapshots, files of repositories."""

    def __init__(self, tracked: TrackedPaths, *, views: Sequence[View] = ()) -> None:
        self._tracked = tracked
        self._views = views
        self._rules: dict[tuple[str, str], Rules] = {}

    def wants(self, path: str, repository: str) -> bool:
        """Return whether a file is recorded in any case; `repository` is the base of the repository that contains it."""
        return any(_is_file(view, path) for view in self._views) or path in self._tracked.of(repository).paths

    def was_visible(self, path: str, repository: str) -> bool:
        """Return whether a file that is ignored now is newer than an earlier snapshot whose rules would not have ignored it.

        So a step that makes a file, and a rule that ignores it, is undone with both.
        """
        folder = path.rpartition("/")[0]
        return any(
            view.state(path) is None
            and (not folder or isinstance(view.state(folder), Entry))
            and not self._rules_in(view, folder, repository).ignores(path, is_folder=False)
            for view in self._views
        )

    def _rules_in(self, view: View, folder: str, repository: str) -> Rules:
        """Return the ignore rules of a folder in a snapshot."""
        key = (view.id, folder)
        if key not in self._rules:
            if folder == repository:
                git_dir = find_git_dir(f"{self._tracked.root}/{repository}" if repository else self._tracked.root)
                above = Rules().with_file(str(shared_dir(git_dir) / "info" / "exclude"), folder) if git_dir else Rules()
            else:
                above = self._rules_in(view, folder.rpartition("/")[0], repository)
            state = view.state(f"{folder}/.gitignore" if folder else ".gitignore")
            text = ""
            if isinstance(state, Entry) and state.kind == "file":
                text = text_of_rules(view.store.read(state.id, "blob"))
            self._rules[key] = above.with_text(text, folder)
        return self._rules[key]

    def wants_below(self, folder: str, repository: str) -> bool:
        """Return whether any path below a folder is recorded in any case."""
        if folder in self._tracked.of(repository).folders:
            return True
        return any(
            item is not None and item[0] == FOLDER for item in (find(v.store, v.files, folder) for v in self._views)
        )


def _is_file(view: View, path: str) -> bool:
    return is_leaf(view.state(path))
