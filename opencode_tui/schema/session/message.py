"""Messages without their parts. Source: docs/internals/session.md#messages.

One user message starts a turn; each step of the answer (one model call with its tools) is an assistant message whose `parent_id` is
that user message.
"""

from typing import Annotated, Any, Literal

from opencode_tui.schema.field import Field
from opencode_tui.schema.file_path import FilePath
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.record import Amount, Count, Reader, Record, absent
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.stored_error import StoredApiError, StoredError, StoredOutputLengthError

FINISH_CONTINUES = frozenset({"tool-calls", "unknown"})
"""Finish reasons after which the model is asked again."""


Delivery = Literal["steer", "queue"]
"""When a request that arrives during a turn is read: at the next step of that turn, or after its end."""


class MessageTime(Record):
    """Milliseconds since 1970; `completed` is set when the message has ended, also with an error."""

    created: int
    completed: int | None = absent()


class CacheTokens(Record):
    """Tokens read from and written to the provider's prompt cache."""

    read: Count = 0
    write: Count = 0


class Tokens(Record):
    """Usage of one step in tokens; `input` excludes cached tokens, `output` includes the reasoning."""

    total: Count | None = absent()
    input: Count = 0
    output: Count = 0
    reasoning: Count = 0
    cache: CacheTokens = Field(default_factory=CacheTokens.trusted)

    @property
    def prompt(self) -> int:
        """Return the tokens that were sent, cached or not."""
        return self.input + self.cache.read + self.cache.write

    @property
    def written(self) -> int:
        """Return the tokens that the model wrote, its reasoning included."""
        return self.output

    @property
    def context(self) -> int:
        """Return the tokens that the step occupies in the context: the reported total, else input, cached input and output."""
        return self.total or self.input + self.cache.read + self.output


class UserSummary(Record):
    """The title of a turn and its file changes."""

    title: str | None = absent()
    body: str | None = absent()
    diffs: list[FileDiff] = Field(default_factory=list[FileDiff])


class OutputFormat(Record):
    """The requested format of the response."""

    type: Literal["text", "json_schema"] = "text"
    schema_: dict[str, Any] | None = Field(default=None, alias="schema", absent=True)
    retry_count: int | None = absent()


class UserMessage(Record):
    """A request of the user, with the agent, model and tools for the response."""

    id: str
    session_id: str
    role: Literal["user"] = "user"
    time: MessageTime
    agent: str
    model: ModelRef
    summary: UserSummary | None = absent()
    system: str | None = absent()
    tools: dict[str, bool] | None = absent()
    variant: str | None = absent()
    format: OutputFormat | None = absent()
    delivery: Delivery | None = absent()
    """`queue` while the request waits for the end of the turn before it: it is not part of the conversation yet."""


class MessagePath(Record):
    """Where the step ran: the session's folder and its worktree."""

    cwd: FilePath
    root: FilePath


class AssistantMessage(Record):
    """One step of a response. `cost` is USD; `summary` marks the message that a compaction wrote.

    `ending` is what is said of an answer that is whole, and stays in the conversation: the model refused to go on, or said nothing.
    """

    id: str
    session_id: str
    role: Literal["assistant"] = "assistant"
    parent_id: str
    model_id: str
    provider_id: str
    mode: str
    agent: str | None = absent()
    path: MessagePath
    time: MessageTime
    cost: Amount = 0
    tokens: Tokens = Field(default_factory=Tokens.trusted)
    finish: str | None = absent()
    summary: bool | None = absent()
    error: StoredError | None = absent()
    ending: StoredApiError | None = absent()
    structured: Any = absent()
    variant: str | None = absent()

    @property
    def failure(self) -> StoredError | None:
        """Its error, or what is said of an answer that is no answer."""
        return self.error or self.ending

    @property
    def shown_error(self) -> StoredError | None:
        """Its failure, for an answer that was cut by the output limit and is stored without one that of the limit."""
        return self.failure or (StoredOutputLengthError() if self.finish == "length" else None)


AnyMessage = UserMessage | AssistantMessage
"""A message of either role, for signatures."""

Message = Annotated[AnyMessage, Field(discriminator="role")]
"""A message of either role, for fields: validated by its `role`."""

MESSAGE: Reader[AnyMessage] = Reader(Message)
"""Validates a message of either role from JSON."""


def is_waiting(info: AnyMessage) -> bool:
    """Return whether a message is a request that waits for the end of the turn before it: no step reads it."""
    return isinstance(info, UserMessage) and info.delivery == "queue"
