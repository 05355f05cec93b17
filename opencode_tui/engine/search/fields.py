"""What of a part is indexed: texts, reasoning, input, title and the beginning of the output of a tool call, names of files.

Growing texts and running calls are not indexed, neither are texts that the program wrote for the model.
"""

import json
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from opencode_tui.schema.api.search import SearchKind
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject

OUTPUT = 4_096
"""Characters of a tool's output that are indexed; of an error all."""

LONGEST = 2_000_000
"""Characters of any text that are indexed."""

_SHOWN = 4_000
"""Characters of a session's title and folder that are kept."""

_PATH_KEYS = frozenset({"filepath", "path", "file", "filename", "file_path", "notebook_path", "directory", "workdir"})
"""Keys of a tool's input, in lower case, whose values are paths."""


class Fields(msgspec.Struct, frozen=True):
    """The indexed content of a part; `paths` has one path on each line."""

    kind: SearchKind
    body: str
    paths: str = ""
    tool: str = ""
    time: int = 0
    """When the part began, in ms since 1970; 0 when it does not say so."""


class SessionFields(msgspec.Struct, frozen=True, gc=False):
    """What lists of hits show of a session; times in ms since 1970."""

    directory: str = ""
    title: str = ""
    parent: str | None = None
    updated: int = 0
    archived: int | None = None


class MessageFields(msgspec.Struct, frozen=True, gc=False):
    """What of a message's record says how its parts are indexed; `is_open` while it is being written."""

    created: int
    is_user: bool
    is_open: bool


class _SessionTimes(msgspec.Struct, frozen=True, gc=False):
    created: int | float = 0
    updated: int | float = 0
    archived: int | float = 0


class _Session(msgspec.Struct, frozen=True, gc=False):
    directory: str = ""
    title: str = ""
    parent: str = msgspec.field(default="", name="parentID")
    time: _SessionTimes = _SessionTimes()


class _MessageTimes(msgspec.Struct, frozen=True):
    created: int | float = 0
    completed: object = None


class _Message(msgspec.Struct, frozen=True):
    role: str = ""
    time: _MessageTimes = _MessageTimes()


_SESSION = msgspec.json.Decoder(_Session)
_MESSAGE = msgspec.json.Decoder(_Message)


def session_fields(data: bytes) -> SessionFields | None:
    """Return what is shown of a session's record, None for a damaged one."""
    try:
        found = _SESSION.decode(data)  # a third of the time of a whole record
    except (msgspec.MsgspecError, ValueError, RecursionError):
        record = parse(data)
        if record is None:
            return None
        times = as_object(record.get("time"))
        found = _Session(
            _plain(record.get("directory")),
            _plain(record.get("title")),
            _plain(record.get("parentID")),
            _SessionTimes(as_ms(times.get("created")), as_ms(times.get("updated")), as_ms(times.get("archived"))),
        )
    return SessionFields(
        found.directory[:_SHOWN],
        " ".join(found.title[:_SHOWN].split()),
        found.parent[:_SHOWN] or None,
        as_ms(found.time.updated) or as_ms(found.time.created),
        as_ms(found.time.archived) or None,
    )


def message_fields(data: bytes) -> MessageFields | None:
    """Return what is needed of a message's record, None for a damaged one."""
    try:
        found = _MESSAGE.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        record = parse(data)
        if record is None:
            return None
        times = as_object(record.get("time"))
        role = record.get("role")
        found = _Message(
            role if isinstance(role, str) else "", _MessageTimes(as_ms(times.get("created")), times.get("completed"))
        )
    is_open = found.role == "assistant" and found.time.completed is None
    return MessageFields(as_ms(found.time.created), found.role == "user", is_open)


def parse(data: bytes) -> JsonObject | None:
    """Return a record as a JSON object, None for a damaged one."""
    try:
        found: object = msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        try:
            found = json.loads(data.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return cast("JsonObject", found) if isinstance(found, dict) else None


def fields_of(part: JsonObject, *, is_user: bool, is_open: bool = False) -> Fields | None:
    """Return what is indexed of a part, None if there is none; of a message that is `is_open` only what has ended."""
    match part.get("type"):
        case "text":
            return _text(part, is_user=is_user, is_open=is_open)
        case "reasoning":
            body = _string(part.get("text"))
            return (
                Fields("reasoning", body, time=_start(part)) if body and not (is_open and _is_growing(part)) else None
            )
        case "tool":
            return _tool(part)
        case "patch":
            files = part.get("files")
            paths = "\n".join(map(_string, cast("list[Any]", files))) if isinstance(files, list) else ""
            return Fields("files", "", paths[:LONGEST]) if paths else None
        case "file":
            return _file(part, is_user=is_user)
        case "subtask":
            body = f"{_string(part.get('description'))}\n{_string(part.get('prompt'))}".strip()
            return Fields("prompt", body) if body else None
        case _:
            return None


def _text(part: JsonObject, *, is_user: bool, is_open: bool) -> Fields | None:
    body = _string(part.get("text"))
    if not body.strip() or part.get("synthetic") or (is_open and not is_user and _is_growing(part)):
        return None
    return Fields("prompt" if is_user else "answer", body, time=_start(part))


def _tool(part: JsonObject) -> Fields | None:
    state = as_object(part.get("state"))
    status = state.get("status")
    if status not in ("completed", "error"):
        return None
    given, paths = _texts(as_object(state.get("input")))
    if status == "error":
        end = _string(state.get("error"))
    else:
        end = f"{_string(state.get('title'))}\n{_string(state.get('output'))[:OUTPUT]}"
    body = "\n".join([*given, end])[:LONGEST]
    return Fields("tool", body, "\n".join(paths)[:LONGEST], _string(part.get("tool")), _start(state))


def _file(part: JsonObject, *, is_user: bool) -> Fields | None:
    source = as_object(part.get("source"))
    url = _string(part.get("url"))
    names = [_string(part.get("filename")), _string(source.get("path")), url[7:] if url.startswith("file://") else ""]
    paths = "\n".join(name for name in dict.fromkeys(names) if name)
    return Fields("prompt" if is_user else "answer", "", paths) if paths else None


def _texts(given: JsonObject) -> tuple[list[str], list[str]]:
    """Return the texts of a tool's input, and those of them that are paths."""
    texts: list[str] = []
    paths: list[str] = []
    for key, text in _walk(given, "", 0):
        (paths if key.lower() in _PATH_KEYS else texts).append(text)
    return texts, paths


def _walk(value: object, key: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the key and the text of each string in JSON data."""
    if isinstance(value, str):
        yield key, value
    elif depth < 8 and isinstance(value, dict):
        for name, inner in cast("JsonObject", value).items():
            yield from _walk(inner, name, depth + 1)
    elif depth < 8 and isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _walk(inner, key, depth + 1)


def _is_growing(part: JsonObject) -> bool:
    time = as_object(part.get("time"))
    return "start" in time and time.get("end") is None


def _start(holder: JsonObject) -> int:
    return as_ms(as_object(holder.get("time")).get("start"))


def as_ms(value: object) -> int:
    """Return a time of a record in ms since 1970, 0 for none."""
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 1 << 45 else 0


def _string(value: object) -> str:
    return value[:LONGEST] if isinstance(value, str) else ""


def _plain(value: object) -> str:
    """Return a text as Unicode without surrogates, which SQLite refuses; empty for anything else."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
