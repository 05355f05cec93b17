"""What the store has at this moment: the state of each session's files, and the indexed content of its messages. Blocks.

Nothing here writes. A session's state is a text that changes when its record, or a message of it, is written by any process.
"""

import os
import time
import zlib
from collections.abc import Iterator, Mapping

import msgspec

from opencode_tui.engine.search.fields import Fields, as_ms, as_object, fields_of, parse
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.keys import is_segment, segment_of

YOUNG_NS = 100_000_000
"""A file modified this recently may change again with the same time: file systems count in ticks of up to 10 ms."""

DRAFT_PARTS = 2_000
"""Parts that one draft has at most, about: larger sessions are read in several."""


class Found(msgspec.Struct, frozen=True):
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

    `version` is that of the index row which it was compared with, None without one. `open_message` is the message that is still
    being written, empty without one.
    """

    name: str
    found: Found
    record: JsonObject
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
                written = messages.get(session, 0)
                state = f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {written}"
                changed = max(status.st_mtime_ns, written)
                found[session] = Found(project, state, changed, changed > horizon)
        return found

    def record(self, name: str, found: Found) -> JsonObject | None:
        """Return the record of a session, None when it is gone or damaged."""
        return self._read(f"{self.root}/session/{found.project}/{name}.json")

    def folder_state(self, message: str) -> int:
        """Return the time of a message's folder of parts in ns, 0 when it has none. Raises OSError."""
        try:
            return self.files.lstat(f"{self.root}/part/{message}").st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            return 0

    def draft(
        self, name: str, found: Found, known: Mapping[str, int], version: int | None, *, room: int = DRAFT_PARTS
    ) -> SessionDraft:
        """Return what changed in a session, its newest messages first; nothing of one with a damaged record.

        `known` are the states of its indexed messages. Raises OSError when the store cannot be read.
        """
        record = self.record(name, found)
        if record is None:
            return SessionDraft(name, found, {}, version, [], [*known], is_stable=not found.is_young)
        listed = self._names(f"{self.root}/message/{name}")
        names = sorted((one for one in map(segment_of, listed) if one), reverse=True)
        horizon = time.time_ns() - YOUNG_NS
        messages: list[MessageDraft] = []
        open_message, open_state = "", 0
        is_whole, is_stable = True, not found.is_young
        count = 0
        for at, message in enumerate(names):
            state = self.folder_state(message)
            is_last = at < 2  # an answer and the request that waits behind it
            if not is_last and known.get(message) == state:
                continue
            if count >= room:
                is_whole = False
                break
            info = self._read(f"{self.root}/message/{name}/{message}.json")
            if info is None:
                continue
            is_open = is_last and _is_open(info)
            if is_open:
                open_message, open_state = message, -1 if state > horizon else state
            if known.get(message) == state:
                continue
            is_user = info.get("role") == "user"
            there = self._parts(message, found.project, is_user=is_user, is_open=is_open) if state else ()
            parts = {check: fields for check, (_, fields) in there}
            count += len(parts) + 1
            created = as_ms(as_object(info.get("time")).get("created"))
            is_stable = is_stable and state <= horizon
            messages.append(MessageDraft(message, created, is_user, -1 if is_open or state > horizon else state, parts))
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
            record = self._read(f"{folder}/{file}") if part else None
            if part and record is not None:
                fields = fields_of(record, is_user=is_user, is_open=is_open)
                if fields is not None:
                    yield checksum(part, project, fields), (part, fields)

    def _read(self, path: str) -> JsonObject | None:
        try:
            return parse(self.files.read_whole(path))
        except (FileNotFoundError, IsADirectoryError, PermissionError):
            return None

    def _names(self, folder: str) -> list[str]:
        try:
            return self.files.names(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _states(self, folder: str) -> list[tuple[str, os.stat_result]]:
        try:
            return [*self.files.list_states(folder)]
        except (FileNotFoundError, NotADirectoryError):
            return []


def checksum(part: str, project: str, fields: Fields) -> int:
    """Return a number that changes with the indexed content of a part."""
    text = f"{part}\0{project}\0{fields.kind}\0{fields.tool}\0{fields.paths}\0{fields.body}"
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _is_open(info: JsonObject) -> bool:
    return info.get("role") == "assistant" and as_object(info.get("time")).get("completed") is None
