"""Execution of a plan: each file is replaced by one rename, directly after its present state was checked.

Order: removal of files and links, removal of folders (deepest first), creation of folders and files, modes of folders. At most one
temporary file exists at any time. A failed path is reported, and the others continue. Afterwards every path is read again.
"""

import contextlib
import errno
import stat
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from opencode_tui.engine.snapshot.entry import (
    FOLDER_MODE,
    HUGE,
    UNREADABLE,
    Entry,
    State,
    Unknown,
    above,
    is_folder,
    unrestorable,
)
from opencode_tui.engine.snapshot.objects.store import ObjectStore
from opencode_tui.engine.snapshot.revert.plan import CHANGED_SINCE, IN_THE_WAY, NOT_EMPTY, Plan, Step
from opencode_tui.engine.snapshot.scan.stat_file import Observer, observe_in
from opencode_tui.storage.safe_folder import OpenFolder, OpenFolders, split

_OWNER = 0o700
NOT_KEPT = "it changed again while it was restored"


@dataclass(slots=True)
class Outcome:
    """The result of the steps: the verified ones, and the paths of the others, with the reasons."""

    done: list[Step] = field(default_factory=list[Step])
    conflicts: dict[str, str] = field(default_factory=dict[str, str])
    failed: dict[str, str] = field(default_factory=dict[str, str])


OpenWorktree = Callable[[], AbstractContextManager[OpenFolders]]
"""Opens the folders of the worktree for a context."""


class Restore:
    """One application of a plan; used once, under the worktree's lock. `temporary` names the temporary file."""

    def __init__(self, plan: Plan, *, folders: OpenWorktree, store: ObjectStore, temporary: str) -> None:
        self._plan = plan
        self._open_worktree = folders
        self._store = store
        self._temporary = temporary
        self._outcome = Outcome()
        self._made: set[str] = set()
        self._ready: set[str] = set()

    def apply(self) -> Outcome:
        """Execute all steps that are possible; raises SnapshotError when a stored object is damaged."""
        with self._open_worktree() as folders:
            self._change(folders)
        # Read again: what was open may have been moved since.
        with self._open_worktree() as folders:
            self._verify(Observer(folders, {*self._plan.paths, *(step.path for step in self._plan.steps)}))
        for path in self._plan.implied:
            self._outcome.conflicts.pop(path, None)
        return self._outcome

    def _change(self, folders: OpenFolders) -> None:
        self._folders = folders
        deepest_first = sorted(self._plan.steps, key=lambda step: -step.path.count("/"))
        for step in deepest_first:
            if step.now is not None and not is_folder(step.now) and (step.target is None or is_folder(step.target)):
                self._try(step.path, self._remove, step)
        self._remove_folders()
        for step in reversed(deepest_first):
            if step.target is not None and self._is_open(step.path):
                self._try(step.path, self._create, step)
        self._set_folder_modes()

    def _is_open(self, path: str) -> bool:
        return path not in self._outcome.conflicts and path not in self._outcome.failed

    def _try(self, path: str, act: Callable[[Step], None], step: Step) -> None:
        try:
            act(step)
        except NotADirectoryError:
            self._outcome.conflicts[path] = IN_THE_WAY
        except OSError as error:
            self._outcome.failed[path] = f"{error.strerror or error}"

    def _is_as_expected(self, parent: OpenFolder, step: Step) -> bool:
        now = observe_in(self._folders, parent, step.path).state
        if now == step.now:
            return True
        self._leave(step.path, now)
        return False

    def _leave(self, path: str, now: State) -> None:
        """Record that a path has an unexpected state, or cannot be read."""
        if now == Unknown(UNREADABLE):
            self._outcome.failed[path] = UNREADABLE
        else:
            self._outcome.conflicts[path] = CHANGED_SINCE

    def _remove(self, step: Step) -> None:
        """Remove a file or link; a missing one counts as removed."""
        folder, name = split(step.path)
        with contextlib.suppress(FileNotFoundError):
            parent = self._folders.open(folder)
            parent.status(name)
            if self._is_as_expected(parent, step):
                parent.remove(name)

    def _remove_folders(self) -> None:
        steps = {step.path: step for step in self._plan.steps if is_folder(step.now) and not is_folder(step.target)}
        for path in sorted({*steps, *self._plan.removable}, key=lambda path: -path.count("/")):
            step = steps.get(path)
            if step is not None:
                self._try(path, self._remove_folder, step)
            else:
                # It is removed only if it is empty.
                with contextlib.suppress(OSError):
                    self._drop_folder(path)

    def _remove_folder(self, step: Step) -> None:
        folder, name = split(step.path)
        with contextlib.suppress(FileNotFoundError):
            parent = self._folders.open(folder)
            if not stat.S_ISDIR(parent.status(name).st_mode):
                self._outcome.conflicts[step.path] = CHANGED_SINCE
                return
            try:
                self._drop_folder(step.path)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                if step.path not in self._plan.implied:
                    self._outcome.conflicts[step.path] = NOT_EMPTY

    def _drop_folder(self, path: str) -> None:
        folder, name = split(path)
        self._folders.open(folder).remove_folder(name)
        self._folders.close(path)
        self._folders.unlocked.pop(path, None)

    def _create(self, step: Step) -> None:
        folder, name = split(step.path)
        self._make_parents(step.path)
        parent = self._folders.open(folder)
        target, now = step.target, step.now
        assert target is not None
        if is_folder(target):
            self._create_folder(parent, name, step)
        elif now is not None and now.kind == target.kind != "link" and now.id == target.id:
            if self._is_as_expected(parent, step):
                parent.set_mode(name, target.mode)
                if step.time is not None:
                    parent.set_time(name, step.time)
        elif unrestorable(target) == HUGE:
            self._outcome.conflicts[step.path] = HUGE
        else:
            is_edit = target.kind == "file" and now is not None and now.kind in ("file", "huge")
            self._write(parent, target, step.time, like=name if is_edit else None)
            self._put(parent, name, step)

    def _create_folder(self, parent: OpenFolder, name: str, step: Step) -> None:
        if is_folder(step.now):
            if self._is_as_expected(parent, step):
                self._made.add(step.path)
            return
        assert step.target is not None
        if not self._make_folder(parent, name, step.target.mode):
            self._outcome.conflicts[step.path] = CHANGED_SINCE
        elif step.target.mode & _OWNER != _OWNER:
            self._made.add(step.path)

    def _make_folder(self, parent: OpenFolder, name: str, mode: int) -> bool:
        """Make a folder with its mode, plus the owner's rights until it is filled, and return whether it exists now."""
        try:
            return stat.S_ISDIR(parent.status(name).st_mode)
        except FileNotFoundError:
            parent.make_folder(self._temporary)
        try:
            parent.set_mode(self._temporary, mode | _OWNER)
            parent.rename(self._temporary, name)
        except BaseException:
            with contextlib.suppress(OSError):  # the first error is the one to report
                parent.remove_folder(self._temporary)
            raise
        return True

    def _write(self, parent: OpenFolder, target: Entry, time: int | None, *, like: str | None) -> None:
        """Make the temporary entry, a file durably and with its time, if that is known; remove it on a failure.

        A file gets the owner and the attributes of the file `like`, which it is to replace.
        """
        if target.kind == "link":
            parent.make_link(self._store.read(target.id, "blob"), self._temporary)
        elif target.kind == "file":
            descriptor = parent.create(self._temporary)
            with self._removed_on_failure(parent):
                try:
                    for chunk in self._store.chunks(target.id):
                        data = memoryview(chunk)
                        while data:
                            data = data[parent.write(descriptor, data) :]
                    if like is not None:
                        parent.copy_attributes(like, descriptor)
                    parent.set_file_mode(descriptor, target.mode)
                    if time is not None:
                        parent.set_file_time(descriptor, time)
                    parent.sync(descriptor)
                finally:
                    parent.close(descriptor)
        else:
            self._make_special(parent, target)
            with self._removed_on_failure(parent):
                parent.set_mode(self._temporary, target.mode)

    def _make_special(self, parent: OpenFolder, target: Entry) -> None:
        if target.kind == "fifo":
            parent.make_pipe(self._temporary)
        elif target.kind == "socket":
            parent.make_node(self._temporary, stat.S_IFSOCK, 0)
        else:
            kind, device = map(int, target.id.split())
            parent.make_node(self._temporary, kind, device)

    @contextlib.contextmanager
    def _removed_on_failure(self, parent: OpenFolder) -> Generator[None]:
        try:
            yield
        except BaseException:
            with contextlib.suppress(OSError):  # the first error is the one to report
                parent.remove(self._temporary)
            raise

    def _put(self, parent: OpenFolder, name: str, step: Step) -> None:
        """Rename the temporary entry to its name, if the present state is still the expected one."""
        is_put = False
        try:
            # Where another step made or removed a folder above, the path itself is absent.
            now = observe_in(self._folders, parent, step.path).state
            if now == step.now or (now is None and is_folder(step.now)):
                parent.rename(self._temporary, name)
                is_put = True
            else:
                self._leave(step.path, now)
        finally:
            if not is_put:
                with contextlib.suppress(OSError):  # the first error is the one to report
                    parent.remove(self._temporary)

    def _make_parents(self, path: str) -> None:
        missing: list[str] = []
        folder = above(path)
        while folder and folder not in self._ready:
            missing.append(folder)
            folder = above(folder)
        for inner in reversed(missing):
            mode = self._plan.folder_modes.get(inner, FOLDER_MODE)
            folder, name = split(inner)
            if not self._make_folder(self._folders.open(folder), name, mode):
                return  # opening it shows that it is no folder
            self._ready.add(inner)

    def _set_folder_modes(self) -> None:
        """Give all folders their modes, the deepest first, because a folder may be closed to its owner again."""
        targets = {step.path: step for step in self._plan.steps if is_folder(step.target)}
        for path in sorted({*self._made, *self._folders.unlocked}, key=lambda path: -path.count("/")):
            mode = self._folders.unlocked.get(path, self._plan.folder_modes.get(path, FOLDER_MODE))
            if path in self._made:
                step = targets.get(path)
                mode = step.target.mode if step and step.target else self._plan.folder_modes.get(path, mode)
            self._try(path, self._set_mode_of, Step(path, None, Entry("folder", mode)))
            self._folders.unlocked.pop(path, None)

    def _set_mode_of(self, step: Step) -> None:
        folder, name = split(step.path)
        parent = self._folders.open(folder)
        status = parent.find(name)
        if step.target is not None and status is not None and stat.S_ISDIR(status.st_mode):
            parent.set_mode(name, step.target.mode)

    def _verify(self, observer: Observer) -> None:
        """Read every path again: only steps whose target is found count as done."""
        for step in self._plan.steps:
            try:
                is_done = observer.observe(step.path, step.target).state == step.target
            except OSError as error:
                self._outcome.failed[step.path] = f"{error.strerror or error}"
                continue
            if is_done:
                self._outcome.done.append(step)
                self._outcome.failed.pop(step.path, None)
                self._outcome.conflicts.pop(step.path, None)
            elif self._is_open(step.path) and step.path not in self._plan.implied:
                self._outcome.failed[step.path] = NOT_KEPT
