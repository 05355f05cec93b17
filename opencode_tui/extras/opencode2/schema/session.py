"""Sessions, and what is asked of them."""

from typing import Annotated, Literal

from opencode_tui.extras.opencode2.schema.location import LocationRef, ModelName
from opencode_tui.extras.opencode2.schema.value import Value
from opencode_tui.schema.field import Field
from opencode_tui.schema.record import JsonObject, NoNul, absent

Delivery = Literal["steer", "queue"]

Offset = Annotated[float, Field(ge=-(2**53), le=2**53)]
"""An offset in characters, from -2**53 to 2**53: JavaScript represents these whole numbers exactly."""


class CacheCount(Value):
    """Tokens read from and written to the provider's cache."""

    read: int = 0
    write: int = 0


class TokenCount(Value):
    """Usage in tokens."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: CacheCount = Field(default_factory=CacheCount)


class SessionTimes(Value):
    """Milliseconds since 1970."""

    created: int
    updated: int
    archived: int | None = absent()


class FileChange(Value):
    """What an undo changes in a file; `path` is relative to the worktree."""

    path: str
    status: Literal["added", "modified", "deleted"]
    additions: int
    deletions: int
    patch: str


class StagedRevert(Value):
    """An undo that can still be cleared: from this message on; `files` has what it did to files."""

    message_id: str
    part_id: str | None = absent()
    snapshot: str | None = absent()
    diff: str | None = absent()
    files: list[FileChange] | None = absent()


class SessionValue(Value):
    """A session. `agent` and `model` are what was chosen for it by this API; `cost` is USD."""

    id: str
    parent_id: str | None = absent()
    project_id: str
    agent: str | None = absent()
    model: ModelName | None = absent()
    cost: float
    tokens: TokenCount
    time: SessionTimes
    title: str
    location: LocationRef
    revert: StagedRevert | None = absent()


class NewSession(Value):
    """A session to create; an id that is in use already returns that session."""

    id: Annotated[NoNul, Field(pattern=r"^ses")] | None = absent()
    agent: NoNul | None = absent()
    model: ModelName | None = absent()
    location: LocationRef | None = absent()


class AgentChoice(Value):
    """The agent for the requests from now on."""

    agent: NoNul


class ModelChoice(Value):
    """The model for the requests from now on."""

    model: ModelName


class PromptSource(Value):
    """The text of a prompt that names an attachment; offsets in characters."""

    start: Offset
    end: Offset
    text: str


class GivenFile(Value):
    """A file of a prompt: a `file:` or `data:` address."""

    uri: NoNul
    name: NoNul | None = absent()
    description: str | None = absent()
    source: PromptSource | None = absent()


class GivenAgent(Value):
    """An agent that a prompt names."""

    name: NoNul
    source: PromptSource | None = absent()


class GivenPrompt(Value):
    """A prompt as a client sends it."""

    text: str
    files: list[GivenFile] | None = absent()
    agents: list[GivenAgent] | None = absent()


class PromptRequest(Value):
    """A prompt for a session; with `resume` false it waits for the next one. The same id and text again change nothing."""

    id: Annotated[NoNul, Field(pattern=r"^msg_")] | None = absent()
    prompt: GivenPrompt
    delivery: Delivery | None = absent()
    resume: bool | None = absent()


class PromptFile(Value):
    """A file of a stored prompt."""

    uri: str
    mime: str
    name: str | None = absent()
    source: PromptSource | None = absent()


class PromptValue(Value):
    """A stored prompt."""

    text: str
    files: list[PromptFile] | None = absent()
    agents: list[GivenAgent] | None = absent()


class Admitted(Value):
    """A prompt that is stored: `admitted_seq` is the number of the event that says so."""

    admitted_seq: int
    id: str
    session_id: str
    prompt: PromptValue
    delivery: Delivery
    time_created: int


class StageRequest(Value):
    """The message from which on is undone; with `files` false, the conversation only."""

    message_id: Annotated[NoNul, Field(pattern=r"^msg_")]
    files: bool | None = absent()


class CallSource(Value):
    """The tool call that a permission is for."""

    type: Literal["tool"] = "tool"
    message_id: str
    call_id: str


class AskedPermission(Value):
    """A permission that waits for the user; `save` is what an `always` grants."""

    id: str
    session_id: str
    action: str
    resources: list[str]
    save: list[str] | None = absent()
    metadata: JsonObject | None = absent()
    source: CallSource | None = absent()


class NewPermission(Value):
    """A permission to ask the user for, on behalf of a client."""

    id: Annotated[NoNul, Field(pattern=r"^per")] | None = absent()
    action: Annotated[NoNul, Field(min_length=1)]
    resources: list[NoNul]
    save: list[NoNul] | None = absent()
    metadata: JsonObject | None = absent()
    source: CallSource | None = absent()
    agent: NoNul | None = absent()


class PermissionAnswer(Value):
    """The user's reply; `message` goes to the model with a rejection."""

    reply: Literal["once", "always", "reject"]
    message: str | None = absent()


class SavedPermission(Value):
    """A permission that an earlier `always` granted."""

    id: str
    project_id: str
    action: str
    resource: str


class QuestionAnswer(Value):
    """For each question the chosen labels, or own text."""

    answers: list[list[str]]


class ChoiceOfQuestion(Value):
    """A suggested answer."""

    label: str
    description: str


class AskedQuestion(Value):
    """One question."""

    question: str
    header: str
    options: list[ChoiceOfQuestion]
    multiple: bool | None = absent()


class QuestionSource(Value):
    """The tool call that asks."""

    message_id: str
    call_id: str


class AskedQuestions(Value):
    """Questions that are asked together."""

    id: str
    session_id: str
    questions: list[AskedQuestion]
    tool: QuestionSource | None = absent()
