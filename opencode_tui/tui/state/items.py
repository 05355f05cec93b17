"""What a conversation consists of on the screen: one item for each thing that is seen, from the first message to the last."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from opencode_tui.schema.error import PROGRAM_ENDED, StoredAbortedError, StoredError
from opencode_tui.schema.session.message import AnyMessage, AssistantMessage
from opencode_tui.schema.session.part import RetryPart, ToolPart
from opencode_tui.text.tool import is_interrupted
from opencode_tui.text.undo import UndoneFile

Wait = Literal["", "asks", "waits"]
"""A call that the user must allow first (`asks`), or that is behind such a one (`waits`)."""


@dataclass(slots=True, eq=False)
class Turn:
    """A request and its answers; times in milliseconds since 1970, cost in USD."""

    started: int = 0
    begun: int = 0
    """When its first answer started: a queued request waits for the turn before."""
    ended: int | None = None
    costs: dict[str, float] = field(default_factory=dict[str, float])
    last_tool: "ToolItem | None" = None
    user: "UserItem | None" = None
    """The row that shows these figures."""

    @property
    def cost(self) -> float:
        """What the answer's steps cost together."""
        return sum(self.costs.values())


@dataclass(slots=True, eq=False)
class Item:
    """One thing that is seen. `at` is its place among all, `revision` grows with each change of what it says."""

    kind: ClassVar[str] = ""
    id: str
    message_id: str
    revision: int = 0
    at: int = 0

    @property
    def is_hidden(self) -> bool:
        """Return whether there is nothing to see of it yet."""
        return False


@dataclass(slots=True, eq=False)
class UserItem(Item):
    """What the user asked. `attachments` are names of files; `is_queued` tells that it waits for the turn before."""

    kind: ClassVar[str] = "user"
    text: str = ""
    attachments: tuple[str, ...] = ()
    turn: Turn = field(default_factory=Turn)
    is_queued: bool = False

    @property
    def is_hidden(self) -> bool:
        """A message without a word of the user: one that the program sent."""
        return not self.text and not self.attachments


@dataclass(slots=True, eq=False)
class GrowingItem(Item):
    """A text that is written while it is seen, kept as pieces: nothing is joined per token."""

    pieces: list[str] = field(default_factory=list[str])
    is_closed: bool = True
    has_words: bool = False
    generation: int = 0
    """Grows when the text is another one, not a longer one."""

    @property
    def text(self) -> str:
        """The whole text."""
        if len(self.pieces) > 1:
            return "".join(self.pieces)
        return self.pieces[0] if self.pieces else ""

    @property
    def is_hidden(self) -> bool:
        """A text without a character."""
        return not self.has_words

    def grow(self, delta: str) -> None:
        """Append; costs nothing that depends on what is there already."""
        self.pieces.append(delta)
        self.has_words = self.has_words or not delta.isspace()

    def apply_stored_text(self, text: str, *, is_closed: bool) -> None:
        """Take the stored text; a mere end (its trailing white space gone) leaves what is drawn as it is."""
        if self.text.rstrip() != text.rstrip():
            self.pieces = [text]
            self.generation += 1
            self.has_words = bool(text.strip())
        self.is_closed = is_closed


@dataclass(slots=True, eq=False)
class TextItem(GrowingItem):
    """A piece of the answer."""

    kind: ClassVar[str] = "text"


@dataclass(slots=True, eq=False)
class ThoughtItem(GrowingItem):
    """What the model thought; `started` and `ended` in milliseconds since 1970."""

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


@dataclass(slots=True, eq=False)
class RetryItem(Item):
    """Attempts of one model call that failed and were tried again; `began` is when the call was first made."""

    kind: ClassVar[str] = "retry"
    provider: str = ""
    began: int = 0
    attempts: list[RetryPart] = field(default_factory=list[RetryPart])


@dataclass(slots=True, eq=False)
class CompactionItem(Item):
    """Where a summary took the place of what is above; token counts are 0 while they are unknown.

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
    is_told: bool = False
    """A call that was interrupted with it says so already."""
    is_killed: bool = False
    """Whether the program ended instead of the user stopping it."""

    @property
    def is_hidden(self) -> bool:
        """Whether a tool call shows the interruption already."""
        return self.is_told


@dataclass(slots=True, eq=False)
class UndoItem(Item):
    """Where the undone part starts: a rule while it is only shown (`is_preview`), else all that is left of the stretch."""

    kind: ClassVar[str] = "undo"
    is_preview: bool = False
    messages: int = 0
    files: Sequence[UndoneFile] = ()


AnyItem = UserItem | TextItem | ThoughtItem | ToolItem | RetryItem | CompactionItem | ErrorItem | StopItem | UndoItem


# The items of a conversation in the order of the screen, and their changes since the last `pop_changes`; pure.


@dataclass(slots=True)
class Changes:
    """What is new since the last time: `moved_from` is the first place whose item may be another one, None when none is."""

    dirty: list[Item] = field(default_factory=list[Item])
    moved_from: int | None = None

    def __bool__(self) -> bool:
        return bool(self.dirty) or self.moved_from is not None


class ShownItems:
    """The items, each of which knows its place."""

    def __init__(self) -> None:
        self.items: list[AnyItem] = []
        self.changed: Callable[[], None] | None = None
        """Called when there is something new to draw, once until it is taken."""

        self._dirty: dict[str, Item] = {}
        self._moved_from: int | None = 0
        self._is_told = False

    @property
    def has_changes(self) -> bool:
        """Return whether `pop_changes` would return any."""
        return bool(self._dirty) or self._moved_from is not None

    def pop_changes(self) -> Changes:
        """Return what is new since the last call."""
        changes = Changes(list(self._dirty.values()), self._moved_from)
        self._dirty, self._moved_from, self._is_told = {}, None, False
        return changes

    def clear_changes(self) -> None:
        """Discard the recorded changes before all items are replaced."""
        self._dirty = {}

    def replace(self, items: list[AnyItem]) -> None:
        """Show these in the place of all that were there."""
        self.items = items
        for at, item in enumerate(items):
            item.at = at

    def insert(self, at: int, items: Sequence[AnyItem]) -> None:
        """Put new items into a place; nearly always that is the end."""
        self.items[at:at] = items
        for number in range(at, len(self.items)):
            self.items[number].at = number
        self.move(at)

    def touch(self, item: Item) -> None:
        """Record that an item has changed."""
        item.revision += 1
        self._dirty[item.id] = item
        self._notify()

    def move(self, at: int) -> None:
        """Record that items were added, removed or moved from an index on."""
        self._moved_from = at if self._moved_from is None else min(at, self._moved_from)
        self._notify()

    def _notify(self) -> None:
        if not self._is_told and self.changed is not None:
            self._is_told = True
            self.changed()


# How an answer ended that was stopped or failed; pure.


def has_failed(info: AnyMessage) -> bool:
    """Return whether the answer failed; an interrupted one did not."""
    error = info.error if isinstance(info, AssistantMessage) else None
    return error is not None and not isinstance(error, StoredAbortedError)


def end_of(info: AssistantMessage, items: Sequence[AnyItem]) -> ErrorItem | StopItem | None:
    """Return what is below an answer's items, None where it ended well or goes on."""
    if info.error is None:
        return None
    item_id, ended = f"{info.id}:end", info.time.completed or info.time.created
    if isinstance(info.error, StoredAbortedError):
        is_told = any(isinstance(item, ToolItem) and is_interrupted(item.part.state) for item in items)
        is_killed = info.error.data.message == PROGRAM_ENDED
        return StopItem(item_id, info.id, time=ended, is_told=is_told, is_killed=is_killed)
    return ErrorItem(item_id, info.id, error=info.error, provider=info.provider_id, model=info.model_id, time=ended)
