"""Requests to the engine. Source: docs/internals/http.md#prompts."""

from typing import Annotated, Any, Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.session.message import Delivery, OutputFormat
from opencode_tui.schema.session.part import AgentSource, FilePartSource, PartTime


class TextInput(Record):
    """Text of a prompt."""

    type: Literal["text"] = "text"
    id: str | None = absent()
    text: str
    synthetic: bool | None = absent()
    ignored: bool | None = absent()
    time: PartTime | None = absent()
    metadata: dict[str, Any] | None = absent()


class FileInput(Record):
    """An attachment of a prompt; `url` is `file:`, `data:` or `http:`."""

    type: Literal["file"] = "file"
    id: str | None = absent()
    mime: str
    filename: str | None = absent()
    url: str
    source: FilePartSource | None = absent()


class AgentInput(Record):
    """A reference to an agent in a prompt."""

    type: Literal["agent"] = "agent"
    id: str | None = absent()
    name: str
    source: AgentSource | None = absent()


class SubtaskInput(Record):
    """A task for a subagent session."""

    type: Literal["subtask"] = "subtask"
    id: str | None = absent()
    prompt: str
    description: str
    agent: str
    model: ModelRef | None = absent()
    command: str | None = absent()


PromptPart = Annotated[TextInput | FileInput | AgentInput | SubtaskInput, Field(discriminator="type")]


class PromptText(Record):
    """A prompt as it was typed."""

    text: str


class MessageNames(Record):
    """The IDs of messages of one session."""

    ids: list[str]


class CostsRequest(Record):
    """The IDs of sessions; with `is_archived` they are archived, themselves or with their callers."""

    session_ids: list[str]
    is_archived: bool = False


class PromptInput(Record):
    """A prompt. Without `model` and `agent` the session's last ones apply; `no_reply` only stores it."""

    message_id: str | None = absent()
    model: ModelRef | None = absent()
    agent: str | None = absent()
    no_reply: bool | None = absent()
    tools: dict[str, bool] | None = absent()
    format: OutputFormat | None = absent()
    system: str | None = absent()
    variant: str | None = absent()
    delivery: Delivery | None = absent()
    """When it is read if a turn runs: `steer`, the default, at the next step; `queue` after the turn, under a new ID."""
    parts: list[PromptPart]


class CommandInput(Record):
    """A slash command with its arguments; `model` is `provider/model`, `delivery` that of a prompt, `parts` are attachments."""

    command: str
    arguments: str = ""
    message_id: str | None = absent()
    model: str | None = absent()
    agent: str | None = absent()
    variant: str | None = absent()
    delivery: Delivery | None = absent()
    parts: list[FileInput] | None = absent()


class ShellInput(Record):
    """A shell command of the user in the session; the model sees it with the next request."""

    command: str
    message_id: str | None = absent()
    model: ModelRef | None = absent()
    agent: str | None = absent()
    variant: str | None = absent()


class CreateSession(Record):
    """Fields of a new session; an `id` that the client chose must not be in use."""

    id: Annotated[str | None, Field(pattern=r"^ses_[0-9A-Za-z]{1,60}$")] = absent()
    parent_id: str | None = absent()
    title: str | None = absent()
    permission: list[Rule] | None = absent()


class UpdateSession(Record):
    """Fields of a session that a client may change; `archived` is in ms since 1970, 0 for a session in use again."""

    title: str | None = absent()
    archived: int | None = absent()
    pinned: bool | None = absent()


class ForkSession(Record):
    """The end of a fork: before the message `message_id`, by default after the last; `worktree` creates a work tree for it."""

    message_id: str | None = absent()
    worktree: bool | None = absent()
