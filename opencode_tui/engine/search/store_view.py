"""What the store has at this moment: the state of each session's files, and the indexed content of its messages. Blocks.

Nothing here writes. A session's state is a text that changes when its record, or a message of it, is written by any process.
"""

import os
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import msgspec

from opencode_tui.engine.search.fields import Fields, SessionFields, fields_of, message_fields, parse, session_fields
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import SUFFIX, is_segment, segment_of

YOUNG_NS = 100_000_000
"""A file modified this recently may change again with the same time: file systems count in ticks of up to 10 ms."""

DRAFT_PARTS = 2_000
"""Parts that one draft has at most, about: larger sessions are read in several."""


class Found(msgspec.Struct, frozen=True, gc=False):
    """A session on the disk; `is_young` when it may change again without another state."""

    project: str
    state: str
    changed: int = 0
    """When its record or a message was written last, in ns."""
    is_young: bool = False


class MessageDraft(msgspec.Struct, frozen=True):
    """A message to index: its parts by their checksums; `state` is the time of its folder of parts in ns."""

    name: str
    time: int
    is_user: bool
    state: int
    parts: dict[int, Fields]


class SessionDraft(msgspec.Struct, frozen=True):
    """What changed in a session since it was indexed.

    `version` is that of the index row which it was compared with, None without one; `record` is None when the row has it already.
    `open_message` is the message that is still being written, empty without one.
    """

    name: str
    found: Found
    record: SessionFields | None
    version: int | None
    messages: list[MessageDraft]
    gone: list[str]
    open_message: str = ""
    open_state: int = 0
    is_whole: bool = True
    is_stable: bool = True
    """Whether nothing was written so recently that it may change again with the same time."""


class StoreView:
    """Reads the store in the folder `root`."""

    def __init__(self, files: FileSystem, root: str) -> None:
        self.files = files
        self.root = root

    def scan(self) -> dict[str, Found]:
        """Return all sessions by id. Lists one folder for each project and one for all messages; reads no record.

        Raises OSError when a folder cannot be read.
        """
        horizon = time.time_ns() - YOUNG_NS
        messages = {name: status.st_mtime_ns for name, status in self._states(f"{self.root}/message")}
        found: dict[str, Found] = {}
        for project in self._names(f"{self.root}/session"):
            if not is_segment(project):
                continue
            for name, status in self._states(f"{self.root}/session/{project}"):
                session = segment_of(name)
                if session is None:
                    continue
                found[session] = _found(project, status, messages.get(session, 0), horizon)
        return found

    def look(self, names: Iterable[str]) -> dict[str, Found]:
        """Return those of some sessions that exist, by id, with a look at their files only. Raises OSError as `scan` does."""
        horizon = time.time_ns() - YOUNG_NS
        projects = [project for project in self._names(f"{self.root}/session") if is_segment(project)]
        found: dict[str, Found] = {}
        for name in filter(is_segment, names):
            written = self._time(f"{self.root}/message/{name}")
            for project in projects:
                with suppress(FileNotFoundError, NotADirectoryError):
                    status = self.files.lstat(f"{self.root}/session/{project}/{name}{SUFFIX}")
                    found[name] = _found(project, status, written, horizon)
        return found

    def folders(self) -> dict[str, int]:
        """Return the times in ns of the folders of sessions, which a new session and a changed record of one have changed.

        Raises OSError.
        """
        top = f"{self.root}/session"
        paths = [f"{self.root}/message", top, *(f"{top}/{name}" for name in self._names(top) if is_segment(name))]
        return {path: self._time(path) for path in paths}

    def record(self, name: str, found: Found) -> SessionFields | None:
        """Return what is shown of a session, None when its record is gone or damaged."""
        data = self._read(f"{self.root}/session/{found.project}/{name}.json")
        return None if data is None else session_fields(data)

    def folder_state(self, message: str) -> int:
        """Return the time of a message's folder of parts in ns, 0 when it has none. Raises OSError."""
        return self._time(f"{self.root}/part/{message}")

    def draft(
        self,
        name: str,
        found: Found,
        known: Mapping[str, int],
        version: int | None,
        *,
        has_record: bool = False,
        room: int = DRAFT_PARTS,
    ) -> SessionDraft:
        """Return what changed in a session, its newest messages first; nothing of one with a damaged record.

        `known` are the states of its indexed messages; with `has_record` the index has its record as it was found. Raises OSError
        when the store cannot be read.
        """
        record = None
        if not has_record:
            record = self.record(name, found)
            if record is None:
                return SessionDraft(name, found, SessionFields(), version, [], [*known], is_stable=not found.is_young)
        folder = f"{self.root}/message/{name}"
        listed = self._names(folder)
        names = sorted((one for one in map(segment_of, listed) if one), reverse=True)
        horizon = time.time_ns() - YOUNG_NS
        messages: list[MessageDraft] = []
        open_message, open_state = "", 0
        is_whole, is_stable = True, not found.is_young
        count = 0
        for at, message in enumerate(names):
            state = self._time(f"{self.root}/part/{message}")
            is_last = at < 2  # an answer and the request that waits behind it
            if not is_last and known.get(message) == state:
                continue
            if count >= room:
                is_whole = False
                break
            data = self._read(f"{folder}/{message}.json")
            info = None if data is None else message_fields(data)
            if info is None:
                continue
            is_open = is_last and info.is_open
            if is_open:
                open_message, open_state = message, -1 if state > horizon else state
            if known.get(message) == state:
                continue
            parts: dict[int, Fields] = {}
            if state:
                there = self._parts(message, found.project, is_user=info.is_user, is_open=is_open)
                parts = {check: fields for check, (_, fields) in there}
            count += len(parts) + 1
            is_stable = is_stable and state <= horizon
            kept = -1 if is_open or state > horizon else state
            messages.append(MessageDraft(message, info.created, info.is_user, kept, parts))
        present = set(names)
        gone = [one for one in known if one not in present] if is_whole else []
        return SessionDraft(name, found, record, version, messages, gone, open_message, open_state, is_whole, is_stable)

    def parts(self, message: str, project: str, *, is_user: bool) -> dict[int, tuple[str, Fields]]:
        """Return the indexed parts of a message as they are now, by their checksums."""
        return dict(self._parts(message, project, is_user=is_user, is_open=False))

    def _parts(
        self, message: str, project: str, *, is_user: bool, is_open: bool
    ) -> Iterator[tuple[int, tuple[str, Fields]]]:
        folder = f"{self.root}/part/{message}"
        for file in sorted(self._names(folder)):
            part = segment_of(file)
            data = self._read(f"{folder}/{file}") if part else None
            record = None if data is None else parse(data)
            if part and record is not None:
                fields = fields_of(record, is_user=is_user, is_open=is_open)
                if fields is not None:
                    yield checksum(part, project, fields), (part, fields)

    def _read(self, path: str) -> bytes | None:
        try:
            return self.files.read_whole(path)
        except (FileNotFoundError, IsADirectoryError, PermissionError):
            return None

    def _time(self, folder: str) -> int:
        try:
            return self.files.lstat(folder).st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            return 0

    def _names(self, folder: str) -> list[str]:
        try:
            return self.files.names(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _states(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        try:
            yield from self.files.list_states(folder)
        except (FileNotFoundError, NotADirectoryError):
            return


def _found(project: str, status: os.stat_result, written: int, horizon: int) -> Found:
    """Return what a look finds; `written` is the time of the folder of messages in ns, 0 without one."""
    state = f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {written}"
    changed = max(status.st_mtime_ns, written)
    return Found(project, state, changed, changed > horizon)


def checksum(part: str, project: str, fields: Fields) -> int:
    """Return a number that changes with the indexed content of a part."""
    text = f"{part}\0{project}\0{fields.kind}\0{fields.tool}\0{fields.paths}\0{fields.body}"
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
