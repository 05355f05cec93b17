"""The present states of paths of the worktree, read and hashed."""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha1

from opencode_tui.engine.snapshot.entry import (
    HUGE,
    LINK_MODE,
    UNREADABLE,
    Entry,
    State,
    Unknown,
    is_folder,
    permission_bits,
    special_entry,
)
from opencode_tui.engine.snapshot.objects.pack import id_head, object_id
from opencode_tui.storage.safe_folder import OpenFolder, OpenFolders, split

HUGE_BYTES = 64 * 1024 * 1024
"""The largest file whose content is stored."""

_CHUNK = 1 << 20

_TRIES = 8
"""How often a path is read that is exchanged meanwhile."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A path's state with the bytes of the file or of the link's target; `time` is when a file was changed last, in ns."""

    state: State
    data: bytes = b""
    time: int | None = None


class Observer:
    """Reads the states of paths; those above a path are read before it, if at all, so that nothing is looked for below no folder.

    Files and folders that their owner cannot read are opened as `folders` allows it.

    Of `paths`, all that will be asked for, those that differ only in case are there only if their folder lists exactly that name: a
    file system that ignores case has one file for both.
    """

    def __init__(self, folders: OpenFolders, paths: Iterable[str] = ()) -> None:
        self._folders = folders
        self._others: set[str] = set()
        self._twins = _differing_in_case(paths)
        self._names: dict[str, set[str]] = {}

    def observe(self, path: str, expected: State = None) -> Observation:
        """Return the state of a path; below a link or a file it is absent. Blocks; raises OSError when the disk fails.

        Where a file is expected a larger one than the largest that is stored is read, too, without its bytes in the result.
        """
        folder = split(path)[0]
        found = Observation(None)
        if folder not in self._others:
            try:
                parent = self._folders.open(folder)
                if path not in self._twins or self._is_listed(parent, path):
                    found = observe_in(self._folders, parent, path)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except PermissionError:
                found = Observation(Unknown(UNREADABLE))
        if not is_folder(found.state) and not isinstance(found.state, Unknown):
            self._others.add(path)
        if isinstance(expected, Entry) and expected.kind == "file" and _is_huge(found.state):
            return Observation(_hashed(self._folders.open(folder), split(path)[1]))
        return found

    def _is_listed(self, parent: OpenFolder, path: str) -> bool:
        folder, name = split(path)
        if folder not in self._names:
            self._names[folder] = {name for name, _ in parent.scan()}
        return name in self._names[folder]


def _differing_in_case(paths: Iterable[str]) -> set[str]:
    """Return those of the paths that are the same as another one where case is ignored."""
    alike: dict[str, list[str]] = {}
    for path in paths:
        alike.setdefault(path.casefold(), []).append(path)
    return {path for group in alike.values() if len(group) > 1 for path in group}


def _is_huge(state: State) -> bool:
    return isinstance(state, Entry) and state.kind == "huge"


def _hashed(parent: OpenFolder, name: str) -> Entry:
    """Return the state of a file of any size."""
    descriptor = parent.open_to_read(name)
    try:
        status = os.fstat(descriptor)
        hashed = sha1(id_head("blob", status.st_size), usedforsecurity=False)
        while data := os.read(descriptor, _CHUNK):
            hashed.update(data)
    finally:
        parent.close(descriptor)
    return Entry("file", permission_bits(status.st_mode), hashed.hexdigest())


def observe_in(folders: OpenFolders, parent: OpenFolder, path: str) -> Observation:
    """Return the state of a path in its open folder, as `Observer.observe` does."""
    for _ in range(_TRIES):
        try:
            return _observe(folders, parent, path)
        except FileNotFoundError:
            return Observation(None)
        except PermissionError:
            break
        except OSError as error:
            # It became a link, or no link, or something else between two calls.
            if error.errno not in (errno.EINVAL, errno.ELOOP, errno.EMLINK, errno.ENXIO):
                raise
    return Observation(Unknown(UNREADABLE))


def _observe(folders: OpenFolders, parent: OpenFolder, path: str) -> Observation:
    name = split(path)[1]
    status = parent.status(name)
    if stat.S_ISDIR(status.st_mode):
        return Observation(Entry("folder", folders.unlocked.get(path, permission_bits(status.st_mode))))
    if stat.S_ISLNK(status.st_mode):
        target = parent.read_link(name)
        return Observation(Entry("link", LINK_MODE, object_id("blob", target).hex()), target)
    special = special_entry(status, HUGE_BYTES)
    if special is not None:
        return Observation(special)
    data, status = _read(folders, parent, path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), name)
    special = special_entry(status, HUGE_BYTES)
    if special is not None or len(data) > HUGE_BYTES:
        return Observation(special or Unknown(HUGE))
    return Observation(
        Entry("file", permission_bits(status.st_mode), object_id("blob", data).hex()), data, status.st_mtime_ns
    )


def _read(folders: OpenFolders, parent: OpenFolder, path: str) -> tuple[bytes, os.stat_result]:
    name = split(path)[1]
    try:
        return parent.read(name, HUGE_BYTES + 1)
    except PermissionError:
        allow = folders.allow
        if allow is None:
            raise
        return parent.read_locked(name, HUGE_BYTES + 1, lambda mode, given: allow(path, mode, given))
