"""Assembles tool calls from their streamed pieces.

Pieces are grouped by ID first, by position second. A new ID or name at a known position starts a new call, because several servers
give every call position 0. Names may arrive in pieces, repeated on every piece, or doubled; IDs may be missing, empty, "null", or
the same for several calls.
"""

import json
import math
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from opencode_tui.engine.provider.decode.delta import ProtocolError, WireCall
from opencode_tui.engine.provider.llm import ToolCall
from opencode_tui.schema.json_text import TooDeepError, shallow
from opencode_tui.schema.record import JsonObject

ARGUMENT_LIMIT = 16 * 1024 * 1024
"""Most characters of the arguments of one call, and half of the most of all calls of a response."""
CALL_LIMIT = 128
"""Most calls of a response that run; those after them get an error result."""
RECORDED_CALL_LIMIT = 1_024
"""Most calls of a response at all."""
_JOINED_PIECES = 4_096

_NO_IDS = frozenset({"", "null", "None"})
"""IDs that are none: Mistral's API sends the text "null" with each piece after the first."""

UNNAMED = "invalid"
"""The tool name of a call without a name; a stored call must have one."""


@dataclass(slots=True)
class OpenCall:
    """A partial call. `unsent` are the arguments that have not been emitted yet; `refusal` is why no more are collected."""

    id: str
    name: str
    sent_id: str | None
    position: int | None
    pieces: list[str] = field(default_factory=list[str])
    unsent: list[str] = field(default_factory=list[str])
    metadata: JsonObject | None = None
    is_announced: bool = False
    refusal: str | None = None
    _size: int = 0
    _joined: int = 0

    def append(self, text: str) -> None:
        """Add a piece of the arguments; many small ones are joined, because each takes more memory than its text."""
        self.pieces.append(text)
        self.unsent.append(text)
        self._size += len(text)
        if len(self.pieces) - self._joined >= _JOINED_PIECES:
            self.pieces[self._joined :] = ["".join(self.pieces[self._joined :])]
            self._joined += 1

    def refuse(self, reason: str) -> None:
        """Drop the arguments: the call must not run."""
        self.refusal = reason
        self.pieces.clear()
        self.unsent.clear()
        self._size = self._joined = 0

    @property
    def size(self) -> int:
        """The number of characters of the arguments so far."""
        return self._size

    @property
    def raw(self) -> str:
        """The arguments so far."""
        return "".join(self.pieces)


class CallAssembler:
    """Assembles the calls of one response, in the order in which they start."""

    def __init__(self, *, tools: Collection[str], used_ids: Collection[str]) -> None:
        self.calls: list[OpenCall] = []
        self._tools = frozenset(tools)
        self._used = set(used_ids)
        self._own: set[str] = set()
        self._by_position: dict[int, OpenCall] = {}
        self._size = 0

    def add(self, piece: WireCall) -> OpenCall:
        """Add a piece to its call and return the call. Raises ProtocolError for too many calls."""
        if piece.id in _NO_IDS:
            piece = piece._replace(id=None)
        call = self._find(piece)
        if call is None:
            call = self._start(piece)
        elif piece.name and call.name != piece.name:
            call.name = self._joined_name(call.name, piece.name)
        if piece.id and call.sent_id is None:
            call.sent_id = piece.id
        if piece.metadata:
            call.metadata = {**(call.metadata or {}), **piece.metadata}
        if (text := render_arguments(piece.arguments)) and call.refusal is None:
            self._collect(call, text)
        return call

    def _collect(self, call: OpenCall, text: str) -> None:
        if call.size + len(text) > ARGUMENT_LIMIT or self._size + len(text) > 2 * ARGUMENT_LIMIT:
            self._size -= call.size
            call.refuse(
                f"Not run: the arguments are larger than {ARGUMENT_LIMIT >> 20} MB, or those of all calls of the answer than "
                f"{ARGUMENT_LIMIT >> 19} MB. Write less at a time."
            )
            return
        self._size += len(text)
        call.append(text)

    def close(self, position: int) -> None:
        """Mark the block with this number as complete: the same number again is another call."""
        self._by_position.pop(position, None)

    def is_named(self, call: OpenCall) -> bool:
        """Return whether a call's name is final: it is a known tool, or arguments have started."""
        return bool(call.name) and (call.name in self._tools or bool(call.pieces) or call.refusal is not None)

    def finished(self, call: OpenCall, *, flaw: str | None) -> ToolCall:
        """Return the call to run, with an error if it must not run; `flaw` is the defect of the whole response."""
        arguments, error = parse_arguments(call.raw)
        if not call.name:
            error = "The call has no tool name. Name one of the tools, and write its arguments as one JSON object."
        error = call.refusal or error or flaw
        name = call.name or UNNAMED
        if error is None:
            return ToolCall(id=call.id, tool=name, input=arguments, metadata=call.metadata)
        return ToolCall(id=call.id, tool=name, input={}, raw=call.raw, error=error, metadata=call.metadata)

    def _find(self, piece: WireCall) -> OpenCall | None:
        if piece.id:
            same_id = [
                call for call in reversed(self.calls) if call.sent_id == piece.id and not self._is_other(call, piece)
            ]
            if same_id:
                return next((call for call in same_id if call.position == piece.position), same_id[0])
        call = self._at(piece.position)
        if call is None:
            return None
        if piece.id and call.sent_id not in (None, piece.id):
            # a piece without a name continues with a call that lacks arguments, whatever its ID is
            return None if piece.name or _is_whole(call) else call
        return None if self._is_other(call, piece) else call

    def _at(self, position: int | None) -> OpenCall | None:
        """Return the latest call at a position; without a position, the latest of all."""
        if position is not None:
            return self._by_position.get(position)
        return self.calls[-1] if self.calls else None

    def _is_other(self, call: OpenCall, piece: WireCall) -> bool:
        """Return whether a piece for the position of `call` starts another call."""
        if not piece.name:
            return False
        if None not in (call.position, piece.position) and call.position != piece.position:
            return True
        if piece.name == call.name:
            return _begins_object(piece.arguments) and _is_whole(call)
        if not call.name:
            return False
        return bool(call.pieces) or (piece.name in self._tools and call.name + piece.name not in self._tools)

    def _start(self, piece: WireCall) -> OpenCall:
        if len(self.calls) == RECORDED_CALL_LIMIT:
            raise ProtocolError(f"it makes more than {RECORDED_CALL_LIMIT} tool calls")
        call = OpenCall(id=self._unique_id(piece.id), name="", sent_id=piece.id, position=piece.position)
        call.name = self._joined_name("", piece.name or "")
        if len(self.calls) >= CALL_LIMIT:
            call.refuse(f"Not run: an answer may make at most {CALL_LIMIT} calls. Make the others in the next one.")
        self.calls.append(call)
        if piece.position is not None:
            self._by_position[piece.position] = call
        return call

    def _unique_id(self, wanted: str | None) -> str:
        """Return the provider's ID, or a generated one when it is missing or already used in this response.

        IDs of earlier turns are not compared: the request builder makes IDs unique across turns.
        """
        identifier = wanted
        while not identifier or identifier in self._own or (identifier != wanted and identifier in self._used):
            identifier = f"call_{secrets.token_hex(12)}"
        self._own.add(identifier)
        return identifier

    def _joined_name(self, known: str, piece: str) -> str:
        name = known + piece
        half = name[: len(name) // 2]
        if name not in self._tools and half in self._tools and name == half * 2:
            return half
        if name not in self._tools and name.startswith("_") and name[1:] in self._tools:
            return name[1:]  # Gemini's encoder puts it before a name that starts with a digit
        return name


def _begins_object(arguments: object) -> bool:
    return isinstance(arguments, dict) or (isinstance(arguments, str) and arguments.lstrip().startswith("{"))


def _is_whole(call: OpenCall) -> bool:
    """Return whether a call has all its arguments; checks the last piece first, because the whole may be large."""
    return bool(call.pieces) and call.pieces[-1].rstrip().endswith("}") and parse_arguments(call.raw)[1] is None


def parse_arguments(raw: str) -> tuple[JsonObject, str | None]:
    """Return (object, None), or ({}, an error line for the model). An empty text and null mean no arguments.

    Does not repair JSON, because a repaired truncated text could write half a file. Decodes twice only a complete object that was
    encoded twice.
    """
    text = raw.strip()
    if not text or text == "null":
        return {}, None
    try:
        value: Any = shallow(json.loads(text, parse_constant=_refuse_constant, parse_float=_finite))
    except (RecursionError, TooDeepError):
        return {}, "The arguments are nested too deeply."
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and text[error.pos :].startswith(("{", "[", ",")):
            return {}, "The arguments are more than one JSON object. Make one call for each: one tool, one JSON object."
        return {}, f"The arguments are not valid JSON ({error}). Write one complete JSON object."
    except ValueError as error:
        return {}, f"The arguments are not valid JSON ({error}). Write one complete JSON object."
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return parse_arguments(value)
    if not isinstance(value, dict):
        return {}, f"The arguments are {_kind(value)}, not an object. Write one JSON object."
    arguments = cast(JsonObject, value)
    if not _is_encodable(text, arguments):
        return {}, "The arguments contain an unpaired surrogate, which is not valid text."
    return arguments, None


def render_arguments(value: object) -> str:
    """Return arguments that arrived as a value instead of a text as JSON text; empty for null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    """Return the number that a text is. Raises ValueError for one that no request could repeat (`1e999`)."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text:.40} is too large a number")
    return value


def _kind(value: object) -> str:
    return "a JSON array" if isinstance(value, list) else f"a plain JSON value ({value!r:.40})"


def _is_encodable(text: str, value: object) -> bool:
    """Return whether the value is valid Unicode; only an escape can create an unpaired surrogate, so most texts need no check."""
    try:
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
        else:
            text.encode()
    except UnicodeEncodeError:
        return False
    return True
