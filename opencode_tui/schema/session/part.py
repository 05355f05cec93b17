"""The twelve kinds of parts that messages are made of. Source: docs/internals/session.md#parts."""

from contextlib import suppress
from typing import Annotated, Any, Literal

import msgspec

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Amount, Reader, Record, absent
from opencode_tui.schema.session.message import Tokens
from opencode_tui.schema.session.stored_error import StoredApiError
from opencode_tui.schema.session.tool_state import ToolStatePending, ToolStateRunning, ToolStateUnion


class PartTime(Record):
    """Milliseconds since 1970; `end` is absent while the part grows."""

    start: int
    end: int | None = absent()


class BasePart(Record):
    """Fields of all parts."""

    id: str
    session_id: str
    message_id: str


class TextPart(BasePart):
    """Text. `synthetic` was written by the program for the model, `ignored` is only for the user."""

    type: Literal["text"] = "text"
    text: str
    synthetic: bool | None = absent()
    ignored: bool | None = absent()
    time: PartTime | None = absent()
    metadata: dict[str, Any] | None = absent()


class ReasoningPart(BasePart):
    """The model's reasoning; `metadata` has the signatures that the provider needs to accept it again."""

    type: Literal["reasoning"] = "reasoning"
    text: str
    metadata: dict[str, Any] | None = absent()
    time: PartTime


class SourceText(Record):
    """The part of the prompt that refers to the source; offsets in characters."""

    value: str
    start: int
    end: int


class FilePartSource(Record):
    """Where an attachment came from: a file, a symbol in one, or a server's resource."""

    type: Literal["file", "symbol", "resource"]
    path: str | None = absent()
    text: SourceText
    range: dict[str, Any] | None = absent()
    name: str | None = absent()
    kind: int | None = absent()
    client_name: str | None = absent()
    uri: str | None = absent()


class FilePart(BasePart):
    """An attachment; `url` is `file:`, `data:` or `http:`."""

    type: Literal["file"] = "file"
    mime: str
    filename: str | None = absent()
    url: str
    source: FilePartSource | None = absent()


class ToolPart(BasePart):
    """A tool call and its state; `metadata` is what the provider sent with the call."""

    type: Literal["tool"] = "tool"
    call_id: str
    tool: str
    state: Annotated[ToolStateUnion, Field(discriminator="status")]
    metadata: dict[str, Any] | None = absent()

    @property
    def is_open(self) -> bool:
        """Whether the model still writes the call, or it runs."""
        return isinstance(self.state, ToolStatePending | ToolStateRunning)


class StepStartPart(BasePart):
    """The start of a step; `snapshot` is the state of the files before its changes, absent when none was recorded.

    `reminder` (ours) is a text of the program that the step's request ended with.
    """

    type: Literal["step-start"] = "step-start"
    snapshot: str | None = absent()
    reminder: str | None = absent()


class StepFinishPart(BasePart):
    """The end of a step, with its usage; `cost` is USD, `snapshot` the state of the files after its changes."""

    type: Literal["step-finish"] = "step-finish"
    reason: str
    snapshot: str | None = absent()
    cost: Amount = 0
    tokens: Tokens


class SnapshotPart(BasePart):
    """A state of the files; only older programs wrote it."""

    type: Literal["snapshot"] = "snapshot"
    snapshot: str


class PatchPart(BasePart):
    """Files (absolute paths) that a step changed, from the state `hash` to the state `after` (ours)."""

    type: Literal["patch"] = "patch"
    hash: str
    files: list[FilePath]
    after: str | None = absent()


class AgentSource(Record):
    """The part of the prompt that refers to the agent; offsets in characters."""

    value: str
    start: int
    end: int


class AgentPart(BasePart):
    """A reference of the user to an agent."""

    type: Literal["agent"] = "agent"
    name: str
    source: AgentSource | None = absent()


class SubtaskPart(BasePart):
    """A task that the loop runs in a subagent session before it calls the model."""

    type: Literal["subtask"] = "subtask"
    prompt: str
    description: str
    agent: str
    model: ModelRef | None = absent()
    command: str | None = absent()


class RetryTime(Record):
    """Milliseconds since 1970."""

    created: int


class RetryPart(BasePart):
    """A failed attempt that was tried again."""

    type: Literal["retry"] = "retry"
    attempt: int
    error: StoredApiError
    time: RetryTime


class CompactionPart(BasePart):
    """Marks where the history was summarized; `tail_id` (ours) is the first message that is still sent in full."""

    type: Literal["compaction"] = "compaction"
    auto: bool = False
    tail_id: str | None = absent()


AnyPart = (
    TextPart
    | ReasoningPart
    | FilePart
    | ToolPart
    | StepStartPart
    | StepFinishPart
    | SnapshotPart
    | PatchPart
    | AgentPart
    | SubtaskPart
    | RetryPart
    | CompactionPart
)
"""A part of any kind, for signatures."""

Part = Annotated[AnyPart, Field(discriminator="type")]
"""A part of any kind, for fields: validated by its `type`."""

PART: Reader[AnyPart] = Reader(Part)
"""Validates a part of any kind."""

LARGE_RECORD = 1_000_000
"""Bytes of JSON above which a part is decoded before it is validated: of 20 MB, pydantic's decoder keeps other threads from running
for 20 ms, this one for 8."""


def parse_part(data: bytes) -> AnyPart:
    """Return a part of any kind from its JSON. Raises ValidationError."""
    if len(data) > LARGE_RECORD:
        with suppress(msgspec.DecodeError, RecursionError):  # reported below
            return PART.validate_python(msgspec.json.decode(data))
    return PART.validate_json(data)
