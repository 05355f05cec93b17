"""Messages of a session, with what they contain."""

from typing import Any, Literal

from opencode_tui.extras.opencode2.schema.location import ModelName
from opencode_tui.extras.opencode2.schema.session import GivenAgent, PromptFile, TokenCount
from opencode_tui.extras.opencode2.schema.value import Value
from opencode_tui.schema.field import Field
from opencode_tui.schema.record import JsonObject, absent


class MessageTimes(Value):
    """Milliseconds since 1970."""

    created: int
    completed: int | None = absent()


class BaseMessage(Value):
    """Fields of all messages."""

    id: str
    time: MessageTimes


class UserValue(BaseMessage):
    """A prompt."""

    type: Literal["user"] = "user"
    text: str
    files: list[PromptFile] | None = absent()
    agents: list[GivenAgent] | None = absent()


class SyntheticValue(BaseMessage):
    """A text that the program wrote for the model."""

    type: Literal["synthetic"] = "synthetic"
    session_id: str
    text: str


class AgentSwitchedValue(BaseMessage):
    """Another agent was chosen."""

    type: Literal["agent-switched"] = "agent-switched"
    agent: str


class ModelSwitchedValue(BaseMessage):
    """Another model was chosen."""

    type: Literal["model-switched"] = "model-switched"
    model: ModelName


class CompactionValue(BaseMessage):
    """A summary that replaced the messages before it."""

    type: Literal["compaction"] = "compaction"
    reason: Literal["auto", "manual"]
    summary: str
    recent: str = ""


class TextValue(Value):
    """Text of an answer."""

    type: Literal["text"] = "text"
    id: str
    text: str


class ReasoningValue(Value):
    """Reasoning of an answer."""

    type: Literal["reasoning"] = "reasoning"
    id: str
    text: str
    provider_metadata: dict[str, JsonObject] | None = absent()
    time: MessageTimes | None = absent()


class TextContent(Value):
    """A text that a tool returned."""

    type: Literal["text"] = "text"
    text: str


class FileContentValue(Value):
    """A file that a tool returned."""

    type: Literal["file"] = "file"
    uri: str
    mime: str
    name: str | None = absent()


Content = TextContent | FileContentValue


class ErrorValue(Value):
    """What went wrong."""

    type: Literal["unknown"] = "unknown"
    message: str


class PendingCall(Value):
    """The model writes the call."""

    status: Literal["pending"] = "pending"
    input: str


class RunningCall(Value):
    """The call runs."""

    status: Literal["running"] = "running"
    input: JsonObject
    structured: JsonObject
    content: list[Content]


class CompletedCall(Value):
    """The call is done."""

    status: Literal["completed"] = "completed"
    input: JsonObject
    content: list[Content]
    structured: JsonObject


class FailedCall(Value):
    """The call failed, or was not executed."""

    status: Literal["error"] = "error"
    input: JsonObject
    content: list[Content] = Field(default_factory=list[Any])
    structured: JsonObject = Field(default_factory=dict[str, Any])
    error: ErrorValue


class CallTimes(Value):
    """Milliseconds since 1970; `pruned` is when the output was left out of requests."""

    created: int
    ran: int | None = absent()
    completed: int | None = absent()
    pruned: int | None = absent()


class CallProvider(Value):
    """Whether the provider executed the call itself."""

    executed: bool = False


class CallValue(Value):
    """A tool call."""

    type: Literal["tool"] = "tool"
    id: str
    name: str
    provider: CallProvider = Field(default_factory=CallProvider)
    state: PendingCall | RunningCall | CompletedCall | FailedCall
    time: CallTimes


class StepSnapshot(Value):
    """The states of the files before and after a step, and the files that it changed."""

    start: str | None = absent()
    end: str | None = absent()
    files: list[str] | None = absent()


class AssistantValue(BaseMessage):
    """One step of an answer."""

    type: Literal["assistant"] = "assistant"
    agent: str
    model: ModelName
    content: list[TextValue | ReasoningValue | CallValue]
    snapshot: StepSnapshot | None = absent()
    finish: str | None = absent()
    cost: float | None = absent()
    tokens: TokenCount | None = absent()
    error: ErrorValue | None = absent()


MessageValue = UserValue | SyntheticValue | AgentSwitchedValue | ModelSwitchedValue | CompactionValue | AssistantValue
"""A message of any kind."""
