"""The present state of one path of the worktree, read and hashed."""

import stat
from dataclasses import dataclass

from opencode_tui.engine.snapshot.entry import (
    HUGE,
    LINK_MODE,
    SPECIAL,
    UNREADABLE,
    Entry,
    State,
    Unknown,
    permission_bits,
)
from opencode_tui.engine.snapshot.objects.pack import object_id
from opencode_tui.storage.safe_folder import Disk, OpenFolder, split

HUGE_BYTES = 64 * 1024 * 1024
"""The largest file whose content is stored."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A path's state with the bytes of the file or of the link's target."""

    state: State
    data: bytes = b""


def observe(disk: Disk, path: str) -> Observation:
    """Return the state of a path; below a link or a file it is absent. Blocks; raises OSError when the disk fails."""
    folder, name = split(path)
    try:
        with disk.open(folder) as parent:
            return observe_in(parent, name)
    except (FileNotFoundError, NotADirectoryError):
        return Observation(None)
    except PermissionError:
        return Observation(Unknown(UNREADABLE))


def observe_in(parent: OpenFolder, name: str) -> Observation:
    """Return the state of a name in an open folder, as `observe` does."""
    try:
        status = parent.status(name)
        if stat.S_ISDIR(status.st_mode):
            return Observation(Entry("folder", permission_bits(status.st_mode)))
        if stat.S_ISLNK(status.st_mode):
            target = parent.read_link(name)
            return Observation(Entry("link", LINK_MODE, object_id("blob", target).hex()), target)
        if not stat.S_ISREG(status.st_mode):
            return Observation(Unknown(SPECIAL))
        if status.st_size > HUGE_BYTES:
            return Observation(Unknown(HUGE))
        data, status = parent.read(name, HUGE_BYTES + 1)
    except FileNotFoundError:
        return Observation(None)
    except PermissionError:
        return Observation(Unknown(UNREADABLE))
    if len(data) > HUGE_BYTES:
        return Observation(Unknown(HUGE))
    return Observation(Entry("file", permission_bits(status.st_mode), object_id("blob", data).hex()), data)
