"""The items of a conversation on the screen, in order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from opencode_tui.schema.session.message import AnyMessage, AssistantMessage
from opencode_tui.schema.session.part import RetryPart, ToolPart
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, StoredAbortedError, StoredError
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.text.tool import is_interrupted
from opencode_tui.text.undo import UndoneFile
from opencode_tui.tui.pictures.source import PictureSource, sources_of

Wait = Literal["", "asks", "waits"]
"""A call that needs approval (`asks`), or that is queued after such a call (`waits`)."""


@dataclass(slots=True, eq=False)
class Turn:
    """A request and its answers; times in milliseconds since 1970, cost in USD."""

    started: int = 0
    begun: int = 0
    """When its first response started: a queued request waits for the previous turn."""
    step_ended: int | None = None
    """When its latest step ended; None while that step runs, and after a failure."""
    is_open: bool = False
    """Whether another step follows, for this request or for one that was queued."""
    is_passed: bool = False
    """Whether a step of a later request followed."""
    previous: "Turn | None" = None
    costs: dict[str, float] = field(default_factory=dict[str, float])
    last_tool: "ToolItem | None" = None
    user: "UserItem | None" = None
    """The row that shows these figures."""

    @property
    def ended(self) -> int | None:
        """When its last response ended; None before that, and after a failure."""
        return None if self.is_open and not self.is_passed else self.step_ended

    @property
    def cost(self) -> float:
        """The cost of all steps of the response."""
        return sum(self.costs.values())


@dataclass(slots=True, eq=False)
class Item:
    """One visible item. `at` is its index among all, `revision` grows with each change of its content."""

    kind: ClassVar[str] = ""
    id: str
    message_id: str
    revision: int = 0
    at: int = 0

    @property
    def is_hidden(self) -> bool:
        """Return whether it has no visible content yet."""
        return False


@dataclass(slots=True, eq=False)
class UserItem(Item):
    """A request of the user. `attachments` are file names; `is_queued` means that it waits for the previous turn.

    `is_typed` is False for one that the program sent, as a failed check.
    """

    kind: ClassVar[str] = "user"
    text: str = ""
    attachments: tuple[str, ...] = ()
    pictures: tuple[PictureSource, ...] = ()
    """The attachments that are pictures."""
    turn: Turn = field(default_factory=Turn)
    is_queued: bool = False
    is_typed: bool = True

    @property
    def is_hidden(self) -> bool:
        """Return whether the program sent the message: it has no text of the user."""
        return not self.text and not self.attachments


@dataclass(slots=True, eq=False)
class GrowingItem(Item):
    """A streamed text, stored as pieces: nothing is joined per token."""

    pieces: list[str] = field(default_factory=list[str])
    is_closed: bool = True
    has_words: bool = False
    generation: int = 0
    """Grows when the text is replaced, not when it is appended to."""

    @property
    def text(self) -> str:
        """The full text."""
        if len(self.pieces) > 1:
            return "".join(self.pieces)
        return self.pieces[0] if self.pieces else ""

    @property
    def is_hidden(self) -> bool:
        """Return whether the text is empty."""
        return not self.has_words

    def grow(self, delta: str) -> None:
        """Append text, in time that does not depend on the length so far."""
        self.pieces.append(delta)
        self.has_words = self.has_words or not delta.isspace()

    def apply_stored_text(self, text: str, *, is_closed: bool) -> None:
        """Set the stored text; if only trailing white space was removed, drawn lines stay valid."""
        if self.text.rstrip() != text.rstrip():
            self.pieces = [text]
            self.generation += 1
            self.has_words = bool(text.strip())
        self.is_closed = is_closed


@dataclass(slots=True, eq=False)
class TextItem(GrowingItem):
    """A piece of the response."""

    kind: ClassVar[str] = "text"


@dataclass(slots=True, eq=False)
class ThoughtItem(GrowingItem):
    """Reasoning of the model; `started` and `ended` in milliseconds since 1970."""

    kind: ClassVar[str] = "thought"
    started: int = 0
    ended: int | None = None


@dataclass(slots=True, eq=False)
class ToolItem(Item):
    """A tool call."""

    kind: ClassVar[str] = "tool"
    part: ToolPart = None  # pyright: ignore[reportAssignmentType] - always given; a default must follow the base's
    wait: Wait = ""
    is_last: bool = False
    """Whether it is the last call of its turn so far."""
    is_own: bool = False
    """Whether the user typed the command; no model asked for it."""
    made: tuple[PictureSource, ...] = ()
    """The pictures that the command wrote, as far as its step recorded them."""

    @property
    def pictures(self) -> tuple[PictureSource, ...]:
        """The pictures that the model read, or that the command wrote."""
        state = self.part.state
        read = sources_of(state.attachments) if isinstance(state, ToolStateCompleted) and state.attachments else ()
        return read or self.made


@dataclass(slots=True, eq=False)
class RetryItem(Item):
    """Failed attempts of one model call; `began` is the time of the first attempt."""

    kind: ClassVar[str] = "retry"
    provider: str = ""
    began: int = 0
    attempts: list[RetryPart] = field(default_factory=list[RetryPart])
    is_waiting: bool = False
    """Whether the attempt after the last one has not begun."""

    @property
    def retries(self) -> int:
        """Return how often the call was tried again."""
        return len(self.attempts) - self.is_waiting

    @property
    def is_hidden(self) -> bool:
        """Return whether it was not tried again yet: the activity line shows the wait."""
        return self.retries <= 0


@dataclass(slots=True, eq=False)
class CompactionItem(Item):
    """A compaction: a summary replaces the messages above; token counts are 0 while unknown.

    `after` is the summary's own size until the next step was sent (`is_measured`).
    """

    kind: ClassVar[str] = "compaction"
    time: int = 0
    before: int = 0
    after: int = 0
    is_auto: bool = False
    is_running: bool = False
    is_measured: bool = False
    failure: str = ""
    summary: str = ""


@dataclass(slots=True, eq=False)
class ErrorItem(Item):
    """A turn that failed."""

    kind: ClassVar[str] = "error"
    error: StoredError = None  # pyright: ignore[reportAssignmentType] - always given; a default must follow the base's
    provider: str = ""
    model: str = ""
    time: int = 0


@dataclass(slots=True, eq=False)
class StopItem(Item):
    """A turn that the user interrupted while no tool ran, or that ended with its process."""

    kind: ClassVar[str] = "stop"
    time: int = 0
    is_in_call: bool = False
    """A call that was interrupted with the turn, and already shows it."""
    is_killed: bool = False
    """Whether the program ended instead of the user stopping it."""

    @property
    def is_hidden(self) -> bool:
        """Whether a tool call shows the interruption already."""
        return self.is_in_call


@dataclass(slots=True, eq=False)
class UndoItem(Item):
    """The start of the undone part: a rule in a preview (`is_preview`), else a placeholder for the undone messages.

    An undo of files only has no `messages`.
    """

    kind: ClassVar[str] = "undo"
    is_preview: bool = False
    messages: int = 0
    files: Sequence[UndoneFile] = ()
    undo_off: str = ""
    """Why no file was restored: `undo is off here: …`; empty where undo is on."""


AnyItem = UserItem | TextItem | ThoughtItem | ToolItem | RetryItem | CompactionItem | ErrorItem | StopItem | UndoItem


def has_failed(info: AnyMessage) -> bool:
    """Return whether the answer failed; an interrupted one did not."""
    error = info.error if isinstance(info, AssistantMessage) else None
    return error is not None and not isinstance(error, StoredAbortedError)


def end_of(info: AssistantMessage, items: Sequence[AnyItem]) -> ErrorItem | StopItem | None:
    """Return the item that follows a failed, cut or interrupted response, None for any other response."""
    error = info.shown_error
    if error is None:
        return None
    item_id, ended = f"{info.id}:end", info.time.completed or info.time.created
    if isinstance(error, StoredAbortedError):
        is_in_call = any(isinstance(item, ToolItem) and is_interrupted(item.part.state) for item in items)
        is_killed = error.data.message == PROGRAM_ENDED
        return StopItem(item_id, info.id, time=ended, is_in_call=is_in_call, is_killed=is_killed)
    return ErrorItem(item_id, info.id, error=error, provider=info.provider_id, model=info.model_id, time=ended)
