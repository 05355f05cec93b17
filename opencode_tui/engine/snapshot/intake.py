"""What a scan takes of a single file or link: nothing, and why; what it knew already; or its content. Blocks."""

import os
import stat

from opencode_tui.engine.snapshot.disk import read_regular
from opencode_tui.engine.snapshot.entry import HUGE, IGNORED, LARGE, SPECIAL
from opencode_tui.engine.snapshot.frame import Frame, full_stamp, leads_outside
from opencode_tui.engine.snapshot.object_writer import ObjectWriter
from opencode_tui.engine.snapshot.observe import HUGE_BYTES
from opencode_tui.engine.snapshot.stat_cache import YOUNG, KnownFile, young_since
from opencode_tui.engine.snapshot.tree import EXECUTABLE, LINK, PLAIN
from opencode_tui.engine.snapshot.wanted import Wanted

LARGE_BYTES = 2 * 1024 * 1024
"""The largest file that is recorded without being asked for. Source: SPEC, section 5; performance, section 4."""


class Intake:
    """Reads what is new or changed for one scan; `started_ns` is when that began."""

    def __init__(self, root: str, *, writer: ObjectWriter, wanted: Wanted) -> None:
        self.started_ns = 0
        self._root = root
        self._writer = writer
        self._wanted = wanted

    def reason_against(self, frame: Frame, path: str, name: str, status: os.stat_result) -> str | None:
        """Return why a file or link is not recorded, None when it is."""
        is_link = stat.S_ISLNK(status.st_mode)
        if not is_link and not stat.S_ISREG(status.st_mode):
            return SPECIAL
        if frame.only_wanted or frame.rules.ignores(path, is_folder=False):
            frame.seen.ignored |= {name}
            if not self._wanted.wants(path, frame.repository) and (
                frame.only_wanted or not self._wanted.was_visible(path, frame.repository)
            ):
                return IGNORED
        if is_link or status.st_size <= LARGE_BYTES:
            return None
        if status.st_size > HUGE_BYTES:
            return HUGE
        return None if self._wanted.wants(path, frame.repository) else LARGE

    def take(self, frame: Frame, descriptor: int, path: str, status: os.stat_result) -> None:
        """Record a file or link of the folder that is open as `descriptor`. Raises OSError, StoreFullError."""
        name = path.rpartition("/")[2]
        old = frame.known.files.get(name)
        if old is not None and old[0] == full_stamp(status):
            # Only the rules have changed.
            frame.seen.files[name] = old
            if old[1] != LINK:
                frame.modes[stat.S_IMODE(status.st_mode)] += 1
            return
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(
                name if os.readlink in os.supports_dir_fd else f"{self._root}/{path}", dir_fd=descriptor
            )
            if leads_outside(self._root, frame.path, target):
                frame.seen.outside |= {name}
            git_mode, data = LINK, os.fsencode(target)
        else:
            data, status = read_regular(name, descriptor, status)
            git_mode = EXECUTABLE if status.st_mode & 0o100 else PLAIN
            frame.modes[stat.S_IMODE(status.st_mode)] += 1
        file_id = self._writer.add("blob", data)
        stamp = (status.st_mode, *YOUNG) if young_since(status, self.started_ns) else full_stamp(status)
        known: KnownFile = (stamp, git_mode, file_id)
        frame.seen.files[name] = known
        frame.is_changed |= old is None or old[1:] != known[1:]
