"""Reads one exported session: a file of `export`, `{info, messages: [{info, parts}]}`, or a shared session at its address.

The data of a share is a list of `{type, data}` with the session, its messages and parts in any order, from
`GET BASE/api/share/ID/data`. Sharing secrets are not among it.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui import network
from opencode_tui.extras.importing.allowed import without_states
from opencode_tui.extras.importing.opencode import found_session, read_items
from opencode_tui.extras.importing.source import FoundSession, ImportedSession, Problems, check_message
from opencode_tui.schema.error import ConfigError, StorageError
from opencode_tui.schema.ids import moment, spans_wrap
from opencode_tui.schema.json_text import JsonError, decode_foreign
from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts, with_parts
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.session_record import describe_mismatch

MAX_BYTES = 512 * 1024 * 1024
"""Larger files and answers are refused."""

LIMIT_S = 600.0
"""Seconds for a whole download; the server may be silent for `SILENCE_S` of them."""

SILENCE_S = 30.0

_SHARE = re.compile(r"(?P<base>https?://[^/?#]+(?:/[^?#]*)?)/(?:share|s)/(?P<id>[^/?#]+)/?(?:[?#].*)?")


def is_address(text: str) -> bool:
    """Return whether a source is an address, not a file."""
    return text.startswith(("http://", "https://"))


class _Exported(Struct, frozen=True):
    """The records of one session; a message comes with its parts."""

    info: JsonObject
    messages: Sequence[tuple[JsonObject, Sequence[JsonObject]]]
    diffs: object = None


class ExportFile:
    """A session in a file or at an address. It gets the folder `here`, or its own one if that is below.

    Anybody can have written it, and a session may change all in its folder: its own one could be the home.
    """

    tool: Literal["opencode"] = "opencode"
    label = "OpenCode export"

    def __init__(self, source: str, *, here: str) -> None:
        self.problems: Problems = []
        self._source = source
        self._here = here
        self._read: _Exported | None = None

    @property
    def path(self) -> Path:
        """The file, or the address as a path."""
        return Path(self._source)

    def list(self) -> Iterator[FoundSession]:
        """Yield the session; raises ConfigError for what is not an export, StorageError when an address does not answer."""
        yield replace(found_session(self._info(), self._source), is_alone=True)

    def read(self, found: FoundSession) -> ImportedSession:
        """Return the session."""
        problems: Problems = []
        exported = self._load()
        info = self._info()
        if not _is_folder_below(info.directory, self._here):
            info = info.changed(directory=self._here)
        diffs = read_items(exported.diffs, FileDiff, path=self._source, line=found.id, problems=problems)
        return ImportedSession(
            info=info.changed(project_id=""),
            messages=self._messages(exported, info.id, problems),
            diffs=diffs,
            problems=problems,
        )

    def close(self) -> None:
        """Release the content."""
        self._read = None

    def _info(self) -> SessionInfo:
        try:
            return SessionInfo.model_validate(self._load().info)
        except ValidationError as error:
            raise ConfigError(f"{self._source} is not an exported session: {describe_mismatch(error)}") from error

    def _messages(self, exported: _Exported, session_id: str, problems: Problems) -> Iterator[MessageWithParts]:
        for number, (info, parts) in enumerate(exported.messages):
            given = {**info, "sessionID": session_id}
            owned = [{**part, "sessionID": session_id, "messageID": info.get("id")} for part in parts]
            named = [(f"messages.{number}.parts.{at}", part) for at, part in enumerate(owned)]
            message = check_message(given, named, path=self._source, line=f"messages.{number}", problems=problems)
            if message is not None:
                kept = [without_states(part) for part in message.parts]
                yield with_parts(message.info, [part for part in kept if part is not None])

    def _load(self) -> _Exported:
        if self._read is None:
            data = _fetch(self._source) if is_address(self._source) else _read_file(self._source)
            try:
                content = decode_foreign(data)
            except JsonError as error:
                raise ConfigError(f"{self._source} is not an exported session: {error}") from error
            self._read = _exported(content, self._source)
        return self._read


def _is_folder_below(directory: str, here: str) -> bool:
    """Return whether a folder exists, and is this one or below it."""
    if not (os.path.isabs(directory) and os.path.isdir(directory)):
        return False
    return Path(os.path.realpath(directory)).is_relative_to(os.path.realpath(here))


def _read_file(name: str) -> bytes:
    path = Path(name).expanduser()
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{name} is larger than {MAX_BYTES >> 20} MiB and is not read")
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {name}: {error.strerror or error}") from error


def _fetch(address: str) -> bytes:
    """Return the data at an address: of a share that of its API, else what is there."""
    import httpx  # only for addresses

    shared = _SHARE.fullmatch(address)
    url = f"{shared['base']}/api/share/{shared['id']}/data" if shared else address
    try:
        found = network.fetch(
            "GET", url, limit_s=LIMIT_S, silence_s=SILENCE_S, most_bytes=MAX_BYTES, is_redirected=True
        )
    except (httpx.HTTPError, httpx.InvalidURL, ConfigError) as error:
        reason = network.explain(str(error) or type(error).__name__, url)
        raise StorageError(f"cannot read {url}: {reason}") from error
    if not 200 <= found.status < 300:
        raise StorageError(f"{url} answered {found.status}; check the address, or whether it is still shared")
    if not found.is_whole:
        raise StorageError(f"{url} sends more than {MAX_BYTES >> 20} MiB and is not read")
    return found.content


def _exported(content: object, source: str) -> _Exported:
    if isinstance(content, dict):
        whole = cast(JsonObject, content)
        messages: object = whole.get("messages")
        if isinstance(whole.get("info"), dict) and isinstance(messages, list):
            pairs = [_pair(one) for one in cast("list[object]", messages)]
            return _Exported(cast(JsonObject, whole["info"]), [pair for pair in pairs if pair is not None])
    if isinstance(content, list):
        return _shared(
            [cast(JsonObject, one) for one in cast("list[object]", content) if isinstance(one, dict)], source
        )
    raise ConfigError(
        f"{source} is not an exported session: it has no info and messages; make one with `opencode-tui export`"
    )


def _pair(message: object) -> tuple[JsonObject, Sequence[JsonObject]] | None:
    if not isinstance(message, dict):
        return None
    fields = cast(JsonObject, message)
    info, parts = fields.get("info"), fields.get("parts")
    if not isinstance(info, dict):
        return None
    listed = cast("list[object]", parts) if isinstance(parts, list) else []
    return cast(JsonObject, info), [cast(JsonObject, part) for part in listed if isinstance(part, dict)]


def _shared(items: Sequence[JsonObject], source: str) -> _Exported:
    """Return the session in the data of a share; the last of several states of a record counts."""
    info: JsonObject | None = None
    messages: dict[str, JsonObject] = {}
    parts: dict[str, dict[str, JsonObject]] = {}
    diffs: object = None
    for item in items:
        data = item.get("data")
        if item.get("type") == "session_diff":
            diffs = data
        if not isinstance(data, dict):
            continue
        record = cast(JsonObject, data)
        name = str(record.get("id"))
        match item.get("type"):
            case "session":
                info = record
            case "message":
                messages[name] = record
            case "part":
                parts.setdefault(str(record.get("messageID")), {})[name] = record
            case _:
                continue
    if info is None:
        raise ConfigError(f"{source} shares no session")
    names = sorted(messages)
    if spans_wrap(names):
        names.sort(key=lambda name: moment(name, _created(messages[name])))
    return _Exported(
        info, [(messages[name], [part for _, part in sorted(parts.get(name, {}).items())]) for name in names], diffs
    )


def _created(message: JsonObject) -> int:
    time: object = message.get("time")
    created = cast(JsonObject, time).get("created") if isinstance(time, dict) else None
    return created if isinstance(created, int) else 0
