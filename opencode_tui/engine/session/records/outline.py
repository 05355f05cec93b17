"""Read messages in outline, in a fraction of the time that whole ones take. All functions block.

The types here are those of the most frequent records, in the form that msgspec decodes: what they accept is a record that its class
in `schema` accepts, too, with the same values. Anything else is left to who reads the message whole: a damaged record, a field of
another program, a message that is being written, one that changed files.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from opencode_tui.schema.accept import LARGEST_INT, LEAST_INT
from opencode_tui.schema.ids import spans_wrap
from opencode_tui.schema.json_text import MAX_DEPTH, is_deep
from opencode_tui.schema.record import MOST
from opencode_tui.schema.session.outline import OutlinedMessage
from opencode_tui.schema.tools import row_of
from opencode_tui.storage.keys import SUFFIX, folder_path, is_segment, segment_of
from opencode_tui.storage.storage import Storage

_Int = Annotated[int, Meta(ge=LEAST_INT, le=LARGEST_INT)]
_Count = Annotated[int, Meta(ge=-MOST, le=MOST)]
_Path = Annotated[str, Meta(pattern=r"^[^\x00]*$")]
_Object = dict[str, Any]


class _Exact(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A record with no other fields than these."""


class _Time(_Exact, frozen=True):
    created: _Int
    completed: _Int | None = None


class _Cache(_Exact, frozen=True):
    read: _Count = 0
    write: _Count = 0


class _Tokens(_Exact, frozen=True):
    total: _Count | None = None
    input: _Count = 0
    output: _Count = 0
    reasoning: _Count = 0
    cache: _Cache = _Cache()


class _Model(_Exact, frozen=True):
    provider_id: str = msgspec.field(name="providerID")
    model_id: str = msgspec.field(name="modelID")


class _Diff(_Exact, frozen=True):
    file: _Path
    before: str = ""
    after: str = ""
    additions: _Count = 0
    deletions: _Count = 0
    status: Literal["added", "deleted", "modified"] | None = None
    note: str | None = None


class _Summary(_Exact, frozen=True):
    title: str | None = None
    body: str | None = None
    diffs: list[_Diff] = []


class _Request(_Exact, tag_field="role", tag="user", frozen=True):
    id: str
    session_id: str = msgspec.field(name="sessionID")
    time: _Time
    agent: str
    model: _Model
    summary: _Summary | None = None
    system: str | None = None
    tools: dict[str, bool] | None = None
    variant: str | None = None


class _Folders(_Exact, frozen=True):
    cwd: str
    root: str


class _Answer(_Exact, tag_field="role", tag="assistant", frozen=True):
    id: str
    session_id: str = msgspec.field(name="sessionID")
    parent_id: str = msgspec.field(name="parentID")
    model_id: str = msgspec.field(name="modelID")
    provider_id: str = msgspec.field(name="providerID")
    mode: str
    path: _Folders
    time: _Time
    agent: str | None = None
    cost: float = 0
    tokens: _Tokens = _Tokens()
    finish: str | None = None
    variant: str | None = None


class _Span(_Exact, frozen=True):
    start: _Int
    end: _Int | None = None


class _Part(_Exact, frozen=True):
    id: str
    session_id: str = msgspec.field(name="sessionID")
    message_id: str = msgspec.field(name="messageID")


class _Text(_Part, tag_field="type", tag="text", frozen=True):
    text: str
    synthetic: bool | None = None
    ignored: bool | None = None
    time: _Span | None = None
    metadata: _Object | None = None


class _Reasoning(_Part, tag_field="type", tag="reasoning", frozen=True):
    text: str
    time: _Span
    metadata: _Object | None = None


class _StepStart(_Part, tag_field="type", tag="step-start", frozen=True):
    snapshot: str | None = None
    reminder: str | None = None


class _StepFinish(_Part, tag_field="type", tag="step-finish", frozen=True):
    reason: str
    tokens: _Tokens
    snapshot: str | None = None
    cost: float = 0


class _CallTime(_Exact, frozen=True):
    start: _Int
    end: _Int
    compacted: _Int | None = None
    waited: _Int | None = None
    recorded: _Int | None = None


class _Completed(_Exact, tag_field="status", tag="completed", frozen=True):
    input: _Object
    output: str
    time: _CallTime
    title: str = ""
    metadata: _Object = {}


class _Failed(_Exact, tag_field="status", tag="error", frozen=True):
    error: str
    time: _CallTime
    input: _Object = {}
    metadata: _Object | None = None


class _Call(_Part, tag_field="type", tag="tool", frozen=True):
    call_id: str = msgspec.field(name="callID")
    tool: str
    state: _Completed | _Failed
    metadata: _Object | None = None


_MESSAGE = msgspec.json.Decoder(_Request | _Answer)
_REQUEST_PART = msgspec.json.Decoder(_Text | _StepStart)  # alone, a struct may lack its tag
_ANSWER_PART = msgspec.json.Decoder(_Text | _Reasoning | _StepStart | _StepFinish | _Call)


_PLAIN = re.compile(r"prt_[A-Za-z0-9]{1,100}\.json").fullmatch
"""The name of nearly every part's file, for which this is cheaper than `segment_of`."""


class _WholeError(Exception):
    """A message is more than an outline has."""


def read_outlines(storage: Storage, session_id: str, names: Sequence[str]) -> list[OutlinedMessage]:
    """Return these messages in outline, in this order; those that are not there are to be read whole, too."""
    reader = _Reader(storage, session_id)
    return [reader.outline(name) for name in names]


class _Reader:
    def __init__(self, storage: Storage, session_id: str) -> None:
        root = str(storage.paths.storage)
        self._messages = folder_path(root, ("message", session_id))
        self._parts = folder_path(root, ("part",))
        self._read = storage.files.read_whole
        self._names = storage.files.names

    def outline(self, name: str) -> OutlinedMessage:
        """Return a message in outline."""
        try:
            if is_segment(name):
                info = _MESSAGE.decode(self._read(f"{self._messages}/{name}{SUFFIX}"))
                if info.id == name:
                    return self._request(info) if isinstance(info, _Request) else self._answer(info)
        except (OSError, UnicodeError, msgspec.MsgspecError, RecursionError, _WholeError):
            pass
        return OutlinedMessage(name, is_partial=True)

    def _paths(self, message: str) -> list[str]:
        """Return the files of a message's parts, in order."""
        folder = f"{self._parts}/{message}"
        try:
            names = self._names(folder)
        except FileNotFoundError:
            return []
        if len(names) > 1:
            names.sort()
        return [f"{folder}/{name}" for name in names if _PLAIN(name) or segment_of(name) is not None]

    def _request(self, info: _Request) -> OutlinedMessage:
        words: list[str] = []
        names: list[str] = []
        for path in self._paths(info.id):
            data = self._read(path)
            part = _REQUEST_PART.decode(data)
            if not isinstance(part, _Text):
                raise _WholeError
            names.append(part.id)
            if part.metadata:
                _check_depth(part.metadata, data)
            if not part.synthetic:
                words.append(part.text)
        text = " ".join(words)
        if not text.strip() or (len(names) > 1 and spans_wrap(names)):
            raise _WholeError
        diffs = info.summary.diffs if info.summary is not None else ()
        return OutlinedMessage(
            info.id,
            created=info.time.created,
            text=text,
            diffs=[(one.file, one.additions, one.deletions) for one in diffs],
        )

    def _answer(self, info: _Answer) -> OutlinedMessage:
        calls: list[tuple[int, int, int]] = []
        has_step = False
        for path in self._paths(info.id):
            data = self._read(path)
            part = _ANSWER_PART.decode(data)
            if isinstance(part, _Call):
                calls.append(_times(part, data))
            elif isinstance(part, _StepStart):
                has_step = True
            elif not isinstance(part, _StepFinish) and part.metadata:
                _check_depth(part.metadata, data)
        tokens, time = info.tokens, info.time
        context = tokens.total or tokens.input + tokens.cache.read + tokens.output
        if time.completed is None or (calls and not context and not has_step):
            raise _WholeError  # it is being written, or is a command that the user ran
        return OutlinedMessage(
            info.id,
            created=time.created,
            completed=time.completed,
            tokens=tokens.input + tokens.output + tokens.reasoning + tokens.cache.write,
            context=context,
            calls=calls,
        )


def _times(call: _Call, data: bytes) -> tuple[int, int, int]:
    """Return when a call began, had waited and ended. Raises _WholeError for one that may have changed files."""
    if row_of(call.tool).edits:
        raise _WholeError
    state = call.state
    _check_depth([state.input, state.metadata, call.metadata], data)
    time = state.time
    waits = time.start + max(0, (time.waited or 0) - (time.recorded or 0))
    return time.start, min(waits, time.end), time.end


def _check_depth(value: object, data: bytes) -> None:
    """Raise _WholeError for objects of a part that may be nested too deeply for a record."""
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and is_deep([[[value]]]):
        raise _WholeError
