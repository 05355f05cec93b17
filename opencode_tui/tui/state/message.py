"""The messages of a conversation in order, and their items on the screen."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal
from urllib.parse import unquote, urlsplit

from opencode_tui.schema.session.message import FINISH_CONTINUES, AnyMessage, AssistantMessage, UserMessage
from opencode_tui.schema.session.part import (
    AgentPart,
    AnyPart,
    CompactionPart,
    FilePart,
    PatchPart,
    ReasoningPart,
    RetryPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.session import UNTIL_KEY
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, StoredAbortedError, StoredError
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.schema.tools import row_of
from opencode_tui.text.tool import is_interrupted
from opencode_tui.text.undo import UndoneFile

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
"""Names of files that are pictures."""


@dataclass(frozen=True, slots=True)
class PictureSource:
    """A picture that is read when it becomes visible; `url` is `data:`, or the path of a file of this machine."""

    name: str
    url: str

    @property
    def is_file(self) -> bool:
        """Whether it is read from a file."""
        return not self.url.startswith("data:")


def source_of(name: str, mime: str, url: str) -> PictureSource | None:
    """Return the picture that an attachment is; None for another one."""
    if not mime.startswith("image/"):
        return None
    if url.startswith("data:"):
        return PictureSource(name, url)
    parts = urlsplit(url)
    return PictureSource(name, unquote(parts.path)) if parts.scheme == "file" and not parts.netloc else None


def sources_of(attachments: Iterable[Mapping[str, object]]) -> tuple[PictureSource, ...]:
    """Return the pictures among the attachments of a call."""
    found = (
        source_of(str(one.get("filename") or "picture"), str(one.get("mime") or ""), str(one.get("url") or ""))
        for one in attachments
    )
    return tuple(one for one in found if one is not None)


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


def prompt_words(parts: Iterable[AnyPart]) -> tuple[str, tuple[str, ...]]:
    """Return the text of a request's parts and its attachments; a file that the text mentions is not an attachment."""
    texts: list[str] = []
    names: list[str] = []
    for part in parts:
        if isinstance(part, TextPart) and not part.synthetic:
            texts.append(part.text)
        elif words := _words_of_check(part):
            texts.append(words)
        elif isinstance(part, SubtaskPart):
            texts.append(f"@{part.agent} {part.description}")
        elif isinstance(part, FilePart) and (part.source is None or part.source.text.value not in "".join(texts)):
            names.append(part.filename or part.mime)
    return "\n".join(text.strip("\n") for text in texts if text.strip()), tuple(names)


def _pictures_of(parts: Iterable[AnyPart]) -> tuple[PictureSource, ...]:
    """Return the attachments of a request that are pictures."""
    found = (source_of(part.filename or "picture", part.mime, part.url) for part in parts if isinstance(part, FilePart))
    return tuple(one for one in found if one is not None)


def _words_of_check(part: AnyPart) -> str:
    """Return what is shown of a text that sends a failed check to the model; empty for any other part."""
    if not isinstance(part, TextPart) or UNTIL_KEY not in (part.metadata or {}):
        return ""
    from opencode_tui.schema.session.until import failure_of  # few sessions have a check
    from opencode_tui.text.check import failure_words

    failure = failure_of(part)
    return "" if failure is None else failure_words(failure)


class MessageView:
    """A message, its parts by ID with their items, and its turn."""

    def __init__(
        self, info: AnyMessage, *, at: int, parent: "MessageView | None", previous: "MessageView | None"
    ) -> None:
        self.info = info
        self.at = at
        self.items: list[AnyItem] = []
        self.parts: dict[str, AnyItem | None] = {}
        self.unsure: set[str] = set()
        """Parts that were read from the store while they grew: their next growth is compared with the full part once."""
        self.user: UserItem | None = None
        self.compaction: CompactionItem | None = None
        self.before = 0
        self._previous_turn: Turn | None = previous.turn if previous is not None else None
        self._parent = parent
        self._prompt: dict[str, AnyPart] = {}
        self._retries: RetryItem | None = None
        self._is_asked = False
        """Whether a model was called for this response."""
        self._end: ErrorItem | StopItem | None = None
        self.first_changes: list[AnyItem] = []
        """The items of earlier messages that this message changed when it appeared."""
        self.turn: Turn
        if isinstance(info, UserMessage):
            self.turn = Turn(started=info.time.created, previous=self._previous_turn)
            self.user = self.turn.user = UserItem(info.id, info.id, turn=self.turn)
            self.items.append(self.user)
        else:
            self.turn = parent.turn if parent is not None else self._previous_turn or Turn()
            self.first_changes = self._account()

    @property
    def used(self) -> int:
        """Tokens of the context as the provider counted them; 0 when it did not, and of summaries."""
        info = self.info
        if isinstance(info, UserMessage) or info.summary:
            return 0
        return info.tokens.context

    @property
    def sent(self) -> int:
        """Tokens that the step was sent; 0 when they are unknown, and for summaries."""
        info = self.info
        if isinstance(info, UserMessage) or info.summary:
            return 0
        return info.tokens.prompt

    @property
    def goes_on(self) -> bool:
        """Return whether this response's turn continues."""
        info = self.info
        if isinstance(info, UserMessage) or info.failure is not None:
            return False
        return info.time.completed is None or info.finish in FINISH_CONTINUES

    def mark_unsure(self) -> None:
        """Record that the parts so far come from the store, which may be older or newer than the events."""
        self.unsure = {one for one, item in self.parts.items() if isinstance(item, GrowingItem) and not item.is_closed}

    def update(self, info: AnyMessage) -> list[AnyItem]:
        """Apply the message's new record; return the changed items."""
        self.info = info
        if isinstance(info, UserMessage):
            return []
        return self._account()

    def put(self, part: AnyPart) -> list[AnyItem]:
        """Apply a new part, or a new state of one; return the changed items."""
        if isinstance(self.info, UserMessage):
            return self._put_prompt(part)
        if self._is_summary:
            return self._put_summary(part)
        if isinstance(part, PatchPart):
            return self._put_patch(part)
        if isinstance(part, StepStartPart) and part.id not in self.parts:
            self._is_asked, self.parts[part.id] = True, None
            return self._account()
        known = self.parts.get(part.id)
        if known is None:
            known = self._make(part)
            self.parts[part.id] = known
            return [known] if known is not None else []
        self._renew(known, part)
        return [known]

    def remove(self, part_id: str) -> bool:
        """Remove a part; return whether its item was removed, too."""
        self._prompt.pop(part_id, None)
        item = self.parts.pop(part_id, None)
        if isinstance(item, RetryItem):
            item.attempts = [part for part in item.attempts if part.id != part_id]
            if item.attempts:
                return True
            self._retries = None
        if item is None or item is self.user:
            if item is not None:
                self._show_prompt()
            return item is not None
        self.items.remove(item)
        if item is self.turn.last_tool:
            self.turn.last_tool = None
        return True

    def first_from(self, part_id: str) -> AnyItem | None:
        """Return the first item of the parts from this one on."""
        ids = list(self.parts)
        start = ids.index(part_id) if part_id in self.parts else 0
        return next((item for item in (self.parts[one] for one in ids[start:]) if item is not None), None)

    def last_tool_id(self) -> str:
        """Return the ID of the latest tool call, empty if there is none."""
        return next((item.id for item in reversed(self.items) if isinstance(item, ToolItem)), "")

    def find_last_tool(self) -> None:
        """Mark the latest call as the last of its turn so far; called for the messages in order."""
        for item in self.items:
            if isinstance(item, ToolItem):
                if self.turn.last_tool is not None:
                    self.turn.last_tool.is_last = False
                self.turn.last_tool = item
                item.is_last = True

    @property
    def _is_summary(self) -> bool:
        return isinstance(self.info, AssistantMessage) and bool(self.info.summary) and self._marker is not None

    @property
    def _is_own(self) -> bool:
        """Return whether this is a command that the user ran, without a prompt or a model step."""
        parent = self._parent
        return (
            parent is not None
            and parent.user is not None
            and parent.user.is_hidden
            and parent.compaction is None
            and not self._is_asked
        )

    @property
    def _marker(self) -> CompactionItem | None:
        return self._parent.compaction if self._parent is not None else None

    def _put_prompt(self, part: AnyPart) -> list[AnyItem]:
        if isinstance(part, CompactionPart):
            return self._put_marker(part)
        if isinstance(part, TextPart) and part.synthetic and not self._prompt and self._previous_turn is not None:
            self.turn = self._previous_turn  # the program went on by itself: still the user's last request
        if isinstance(part, TextPart | FilePart | AgentPart | SubtaskPart):
            self._prompt[part.id] = part
            self.parts[part.id] = self.user
            self._show_prompt()
        return [self.user] if self.user is not None else []

    def _show_prompt(self) -> None:
        if self.user is not None:
            self.user.text, self.user.attachments = prompt_words(self._prompt.values())
            self.user.pictures = _pictures_of(self._prompt.values())
            self.user.is_typed = not any(_words_of_check(part) for part in self._prompt.values())
            if not self.user.is_hidden and self.turn is self._previous_turn:
                self.turn = self.user.turn

    def _put_marker(self, part: CompactionPart) -> list[AnyItem]:
        if self.compaction is None:
            self.compaction = CompactionItem(part.id, self.info.id, before=self.before, is_running=True)
            self.items.append(self.compaction)
            self.parts[part.id] = self.compaction
        self.compaction.is_auto, self.compaction.time = part.auto, self.info.time.created
        if self._previous_turn is not None:
            self.turn = self._previous_turn
        return [self.compaction]

    def _put_summary(self, part: AnyPart) -> list[AnyItem]:
        marker = self._marker
        if marker is None or not isinstance(part, TextPart):
            return []
        marker.summary = part.text
        return [marker]

    def _make(self, part: AnyPart) -> AnyItem | None:
        item: AnyItem
        match part:
            case TextPart():
                if part.synthetic:
                    return None
                item = TextItem(part.id, self.info.id)
                self._renew_text(item, part)
            case ReasoningPart():
                item = ThoughtItem(part.id, self.info.id)
                self._renew_text(item, part)
            case ToolPart():
                item = ToolItem(part.id, self.info.id, part=part, is_own=self._is_own)
                self._renew_tool(item, part)
            case RetryPart():
                return self._retried(part)
            case _:
                return None
        at = len(self.items) - (self._end is not None)
        self.items.insert(at, item)
        return item

    def _retried(self, part: RetryPart) -> RetryItem:
        if self._retries is None:
            provider = self.info.provider_id if isinstance(self.info, AssistantMessage) else ""
            self._retries = RetryItem(part.id, self.info.id, provider=provider, began=self.info.time.created)
            self.items.append(self._retries)
        self._retries.attempts.append(part)
        return self._retries

    def _put_patch(self, part: PatchPart) -> list[AnyItem]:
        """Give the pictures that a step wrote to its last command."""
        self.parts[part.id] = None
        made = tuple(PictureSource(os.path.basename(one), one) for one in part.files if one.lower().endswith(ENDINGS))
        commands = [
            one for one in self.items if isinstance(one, ToolItem) and row_of(one.part.tool).result == "command"
        ]
        if not made or not commands:
            return []
        commands[-1].made = made
        return [commands[-1]]

    def _renew(self, item: AnyItem, part: AnyPart) -> None:
        if isinstance(item, GrowingItem) and isinstance(part, TextPart | ReasoningPart):
            self._renew_text(item, part)
        elif isinstance(item, ToolItem) and isinstance(part, ToolPart):
            self._renew_tool(item, part)
        elif isinstance(item, RetryItem) and isinstance(part, RetryPart):
            item.attempts = [part if one.id == part.id else one for one in item.attempts]

    def _renew_text(self, item: GrowingItem, part: TextPart | ReasoningPart) -> None:
        is_closed = part.time is None or part.time.end is not None or self.info.time.completed is not None  # pyright: ignore[reportAttributeAccessIssue] - only an answer has such parts
        item.apply_stored_text(part.text, is_closed=is_closed)
        if isinstance(item, ThoughtItem) and part.time is not None:
            item.started, item.ended = part.time.start, part.time.end

    def _renew_tool(self, item: ToolItem, part: ToolPart) -> None:
        item.part = part
        if isinstance(self._end, StopItem) and is_interrupted(part.state):
            self._end.is_in_call = True

    def _account(self) -> list[AnyItem]:
        """Apply the step's record to the turn: cost, time, failure."""
        info = self.info
        assert isinstance(info, AssistantMessage)
        changed: list[AnyItem] = []
        if self._is_own:
            return changed  # the user's own command belongs to no turn
        self.turn.costs[info.id] = info.cost
        self.turn.begun = self.turn.begun or info.time.created
        if not info.summary:
            self.turn.is_open = self.goes_on
            self.turn.step_ended = None if has_failed(info) else info.time.completed
        earlier: Turn | None = self.turn
        while earlier is not None and (earlier is self.turn or not earlier.is_passed):
            earlier.is_passed = earlier is not self.turn
            changed += [earlier.user] if earlier.user is not None else []
            earlier = earlier.previous
        if self._is_summary:
            return [*changed, *self._account_summary(info)]
        end = end_of(info, self.items) if self._end is None else None
        if end is not None:
            self._end = end
            self.items.append(end)
        return changed

    def _account_summary(self, info: AssistantMessage) -> list[AnyItem]:
        marker = self._marker
        if marker is None:
            return []
        marker.is_running = info.time.completed is None
        if not marker.is_measured:
            marker.after = info.tokens.output
        if info.error is not None:
            marker.failure = "interrupted by you" if isinstance(info.error, StoredAbortedError) else "failed"
        return [marker]


_STEPS_BEHIND = 4
"""Messages between a compaction's marker and the first step after it: the summary, the program's prompt to continue."""

_RECENT = 3
"""Messages at the end in which calls may still run."""


class MessageViews:
    """The views of a session's messages, oldest first in `order`, with their indexes."""

    def __init__(self) -> None:
        self.order: list[MessageView] = []
        self._by_id: dict[str, MessageView] = {}

    def get(self, message_id: str) -> MessageView | None:
        """Return the view of a message, None when it is not known."""
        return self._by_id.get(message_id)

    def parent_of(self, info: AnyMessage) -> MessageView | None:
        """Return the request that a message answers, None for requests and where it is not known."""
        return None if isinstance(info, UserMessage) else self._by_id.get(info.parent_id)

    def add(self, info: AnyMessage) -> MessageView:
        """Append a message."""
        previous = self.order[-1] if self.order else None
        view = MessageView(info, at=len(self.order), parent=self.parent_of(info), previous=previous)
        self._by_id[info.id] = view
        self.order.append(view)
        return view

    def remove(self, message_id: str) -> bool:
        """Remove a message; return whether it was known."""
        view = self._by_id.pop(message_id, None)
        if view is None:
            return False
        self.order.remove(view)
        for at, one in enumerate(self.order):
            one.at = at
        return True

    def item_before(self, view: MessageView, item: AnyItem) -> AnyItem | None:
        """Return the item directly before one of a message's items, None at the beginning."""
        index = view.items.index(item)
        if index:
            return view.items[index - 1]
        for at in range(view.at - 1, -1, -1):
            if self.order[at].items:
                return self.order[at].items[-1]
        return None

    def recent_tools(self) -> Iterator[ToolItem]:
        """Yield the calls of the last messages, oldest first."""
        return (item for view in self.order[-_RECENT:] for item in view.items if isinstance(item, ToolItem))

    @property
    def last_user(self) -> UserItem | None:
        """The latest request that is not queued."""
        found = (view.user for view in reversed(self.order) if view.user is not None)
        return next((user for user in found if not user.is_hidden and not user.is_queued), None)

    @property
    def queued(self) -> list[UserItem]:
        """The requests that wait for the previous turn."""
        found = (view.user for view in self.order if view.user is not None)
        return [user for user in found if user.is_queued and not user.is_hidden]

    def tokens_before(self, view: MessageView) -> int:
        """Return the tokens of the context before a message, as they were last counted."""
        return next((one.used for one in reversed(self.order[: view.at]) if one.used), 0)

    def last_compaction(self) -> CompactionItem | None:
        """Return the compaction that no step has followed yet, if any."""
        for one in reversed(self.order):
            if one.sent:
                return None
            if one.compaction is not None:
                return None if one.compaction.is_running or one.compaction.failure else one.compaction
        return None

    def measure_compactions(self) -> list[CompactionItem]:
        """Call `measure_compaction` for every step; return the compactions."""
        markers = [view for view in self.order if view.compaction is not None]
        for view in markers:
            if view.compaction is not None and view.before == 0:
                view.compaction.before = view.before = self.tokens_before(view)
        found = [self.measure_compaction(view) for view in (self.order if markers else ())]
        return [marker for marker in found if marker is not None]

    def measure_compaction(self, view: MessageView) -> CompactionItem | None:
        """Set on the compaction before a step how many tokens the step was sent; return the compaction, if any."""
        for one in reversed(self.order[max(0, view.at - _STEPS_BEHIND) : view.at] if view.sent else ()):
            if one.sent:
                return None
            if one.compaction is not None:
                one.compaction.after, one.compaction.is_measured = view.sent, True
                return one.compaction
        return None
