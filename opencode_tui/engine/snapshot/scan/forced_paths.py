"""The paths that a scan records although they are ignored or large: tracked files and files of an earlier snapshot."""

from collections.abc import Mapping, Sequence

from opencode_tui.engine.snapshot.entry import Entry, Unknown, above, is_folder
from opencode_tui.engine.snapshot.objects.tree import FOLDER
from opencode_tui.engine.snapshot.objects.view import View
from opencode_tui.engine.snapshot.scan.git_index import Mark, Tracked, exclude_text, index_mark, read_tracked
from opencode_tui.engine.snapshot.scan.ignore import Rules, text_of_rules
from opencode_tui.engine.snapshot.scan.stat_cache import KnownFile
from opencode_tui.storage.safe_folder import OpenFolders


class TrackedPaths:
    """The indexes of a worktree's repositories, each read on first use and cached while its file stays the same."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Mark, Tracked]] = {}

    def of(self, base: str, folders: OpenFolders) -> Tracked:
        """Return what the repository at `base` ("" for the worktree) tracks; nothing when there is none."""
        try:
            folder = folders.open(base, unlock=False)
        except OSError:
            return Tracked()
        mark = index_mark(folder)
        known = self._known.get(base)
        if known is None or known[0] != mark:
            known = self._known[base] = (mark, read_tracked(folder, base))
        return known[1]


class ForcedPaths:
    """The paths that one scan records in any case: files of earlier snapshots, files of repositories.

    `whole` are files of any size that are kept already, by path: they are recorded while their stamps are the same.
    """

    def __init__(
        self,
        tracked: TrackedPaths,
        folders: OpenFolders,
        *,
        views: Sequence[View] = (),
        whole: Mapping[str, KnownFile] | None = None,
    ) -> None:
        self.whole = whole or {}
        self._indexes = tracked
        self._folders = folders
        self._views = views
        self._tracked: dict[str, Tracked] = {}
        self._rules: dict[tuple[str, str], Rules] = {}

    def knows(self, path: str) -> bool:
        """Return whether an earlier snapshot knows for certain what was at a path, or that nothing was."""
        return any(not isinstance(view.state(path), Unknown) for view in self._views)

    def wants(self, path: str, repository: str) -> bool:
        """Return whether a file is recorded in any case; `repository` is the base of the repository that contains it."""
        return any(_is_file(view, path) for view in self._views) or path in self._tracked_in(repository).paths

    def shows(self, path: str, repository: str) -> bool:
        """Return whether an ignored file is no private one: it is tracked, or an earlier snapshot has it as a plain file."""
        if path in self._tracked_in(repository).paths:
            return True
        return any(_is_file(view, path) and not view.is_private(path) for view in self._views)

    def shows_below(self, folder: str, repository: str) -> bool:
        """Return whether any path below an ignored folder may be no private one."""
        if folder in self._tracked_in(repository).folders:
            return True
        return any(not view.is_private(folder) and view.index.find(folder) is not None for view in self._views)

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

    def _tracked_in(self, repository: str) -> Tracked:
        if repository not in self._tracked:
            self._tracked[repository] = self._indexes.of(repository, self._folders)
        return self._tracked[repository]

    def _rules_in(self, view: View, folder: str, repository: str) -> Rules:
        """Return the ignore rules of a folder in a snapshot."""
        missing: list[str] = []
        while (view.id, folder) not in self._rules:
            missing.append(folder)
            if folder == repository:
                break
            folder = above(folder)
        for inner in reversed(missing):
            if inner == repository:
                rules = Rules().with_text(self._exclude_text(inner), inner)
            else:
                rules = self._rules[view.id, above(inner)]
            state = view.state(f"{inner}/.gitignore" if inner else ".gitignore")
            text = ""
            if isinstance(state, Entry) and state.kind == "file":
                text = text_of_rules(view.store.read(state.id, "blob"))
            self._rules[view.id, inner] = rules.with_text(text, inner)
        return self._rules[view.id, missing[0] if missing else folder]

    def _exclude_text(self, repository: str) -> str:
        try:
            return exclude_text(self._folders.open(repository, unlock=False))
        except OSError:
            return ""

    def wants_below(self, folder: str, repository: str) -> bool:
        """Return whether any path below a folder is recorded in any case."""
        if folder in self._tracked_in(repository).folders:
            return True
        return any(item is not None and item[0] == FOLDER for item in (view.index.find(folder) for view in self._views))


def _is_file(view: View, path: str) -> bool:
    state = view.state(path)
    return isinstance(state, Entry) and not is_folder(state)
