"""State that follows the events of the folder, and facts of the shown session outside of its conversation."""

from collections.abc import Sequence

from opencode_tui.schema.event.event import (
    Event,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartRemoved,
    PartUpdated,
    SessionDiff,
    SessionStatusChanged,
    SessionUpdated,
    TodoUpdated,
)
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts, session_cost
from opencode_tui.schema.session.message import FINISH_CONTINUES, AnyMessage, AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, PatchPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.session import IdleStatus, SessionInfo, Todo, is_default_title
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, StoredAbortedError, has_reached_plan
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning
from opencode_tui.text.quantity import period, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import brief_activity

OPEN_CALLS = ("pending", "running")


def is_left_open(messages: Sequence[MessageWithParts]) -> bool:
    """Return whether an answer or a call never ended, or the last request has no complete response."""
    if not messages:
        return False
    last = messages[-1].info
    if not isinstance(last, AssistantMessage) or last.finish in FINISH_CONTINUES:
        return True
    return any(_is_open(message) for message in messages)


def _is_open(message: MessageWithParts) -> bool:
    if not isinstance(message.info, AssistantMessage):
        return False
    calls = (part for part in message.parts if isinstance(part, ToolPart))
    return message.info.time.completed is None or any(part.state.status in OPEN_CALLS for part in calls)


LETTERS_PER_TOKEN = 4
WAITS_FOR_MODEL = "Waiting for the model"
NAME_LENGTH = 40
"""Maximum length of a tool's name in the activity line."""


class SessionFacts:
    """Follows the events of one session; reading it is cheap."""

    def __init__(self, info: SessionInfo) -> None:
        self.info = info
        self.todos: Sequence[Todo] = ()
        self.diffs: Sequence[FileDiff] = ()
        self.older_cost = 0.0
        """The USD of answers that were not read."""
        self._order: dict[str, int] = {}
        """The messages that were read, each with its number in the order of the session."""
        self._answers: dict[str, AssistantMessage] = {}
        self._requests: dict[str, int] = {}
        self._pruned: dict[str, tuple[int, int]] = {}
        """When an output was pruned, and its tokens, by part."""
        self._patches: dict[str, PatchPart] = {}
        self._measured: int | None = None
        """Tokens of the next request as the engine measured them; None from a response on."""
        self.is_context_changed = False
        """Whether pruning or an undo changed the context since the last response, and nothing measured it yet."""
        self._user: UserMessage | None = None
        self._began: int | None = None
        """The time of the first request of the current or last run."""
        self._begins = ""
        """That request."""
        self._is_over = False
        """Whether the last run is known to have ended."""
        self._running: dict[str, str] = {}
        self._calls: set[str] = set()
        self._rejected: set[str] = set()
        """Answers with a call that the user rejected."""
        self._phase = ""
        self.grown = 0
        """Letters of the answer that are in no count of the provider yet."""

    def load(self, messages: Sequence[MessageWithParts], *, is_busy: bool = False) -> None:
        """Load the stored conversation; `is_busy`: a run works on it."""
        for message in messages:
            self._apply_message(message.info)
            for part in message.parts:
                self._apply_part(part)
        newest = messages[-1].parts[-1] if messages and messages[-1].parts else None
        if not isinstance(newest, TextPart | ReasoningPart) or newest.time is None or newest.time.end is not None:
            self._phase = ""
        self._is_over = not is_busy
        last = next(reversed(self._answers.values()), None)
        pruned = [time for time, _ in self._pruned.values() if last is not None and time > last.time.created]
        is_summary = last is not None and bool(last.summary)
        self.is_context_changed = self.info.revert is not None or bool(pruned) or is_summary

    def apply(self, event: Event) -> bool:
        """Apply an event; return whether it changed this session."""
        match event:
            case SessionUpdated() if event.info.id == self.info.id:
                self.is_context_changed |= event.info.revert != self.info.revert
                self.info = event.info
            case SessionStatusChanged() if event.session_id == self.info.id:
                self._is_over = isinstance(event.status, IdleStatus)
            case MessageUpdated() if event.info.session_id == self.info.id:
                self._apply_message(event.info)
            case PartUpdated() if event.part.session_id == self.info.id:
                self._apply_part(event.part)
            case PartRemoved() if event.session_id == self.info.id:
                self._running.pop(event.part_id, None)
            case PartGrowth() if event.session_id == self.info.id:
                self.grown += len(event.delta)
            case PartProgress():
                return False
            case TodoUpdated() if event.session_id == self.info.id:
                self.todos = event.todos
            case SessionDiff() if event.session_id == self.info.id:
                self.diffs = event.diff
            case _:
                return False
        return True

    @property
    def title(self) -> str:
        """The title; empty while it is the default one."""
        return "" if is_default_title(self.info.title) else " ".join(self.info.title.split())

    def edited_since(self, message_id: str) -> int:
        """Return how many files were changed by messages after this one."""
        later = (part for part in self._patches.values() if self._is_behind(part.message_id, message_id))
        return len({file for part in later for file in part.files})

    def is_undone(self, message_id: str) -> bool:
        """Return whether the active undo hides a message, whole or in part."""
        revert = self.info.revert
        return revert is not None and (
            message_id == revert.message_id or self._is_behind(message_id, revert.message_id)
        )

    def _is_behind(self, message_id: str, other: str) -> bool:
        """Return whether a message follows another one; those that are not read are before all that are."""
        return other in self._order and self._order.get(message_id, -1) > self._order[other]

    @property
    def agent(self) -> str:
        """The agent of the latest request; empty without one."""
        return self._user.agent if self._user is not None else ""

    @property
    def word(self) -> str:
        """The current activity in two or three words."""
        if self._running:
            return next(reversed(self._running.values()))
        return self._phase or WAITS_FOR_MODEL

    @property
    def context(self) -> int:
        """Tokens of the last request and its response; after pruning or an undo those that were measured, or estimated."""
        if self._measured is not None:
            return self._measured
        undone_from = self.info.revert.message_id if self.info.revert is not None else None
        for message in reversed(self._answers.values()):
            if message.tokens.context and (undone_from is None or not self._is_behind(message.id, undone_from)):
                freed = sum(tokens for time, tokens in self._pruned.values() if time > message.time.created)
                return max(0, message.tokens.context - freed)
        return 0

    def set_context(self, tokens: int) -> None:
        """Set the tokens of the next request, as measured: what the context page shows, too."""
        self._measured, self.is_context_changed = tokens, False

    @property
    def cost(self) -> float:
        """Cost of the session in USD, by `session_cost`."""
        return self.read_cost + self.older_cost

    @property
    def read_cost(self) -> float:
        """Cost of the answers that were read in USD, and of calls without a message."""
        return float(session_cost(self.info, self._answers.values()))

    @property
    def turn_tokens(self) -> int:
        """Output tokens of the current turn; those still being streamed are estimated."""
        return sum(one.tokens.written for one in self._turn()) + self.grown // LETTERS_PER_TOKEN

    @property
    def turn_started(self) -> int | None:
        """The time of the request that started the current or last run, in ms since 1970; a queued one starts none."""
        return self._began

    def _is_queued(self, user: UserMessage) -> bool:
        """Return whether a new request came while an earlier one was being answered."""
        last = next(reversed(self._answers.values()), None)
        if last is None or self._is_over:
            return False
        is_open = last.finish in FINISH_CONTINUES and last.id not in self._rejected
        return last.time.completed is None or is_open or last.time.created <= user.time.created < last.time.completed

    def span(self, message_ids: Sequence[str], turns: int, now: int) -> str:
        """Return `2 turns · 12:04 to 12:06`: the number of turns, and the times of their messages as is clear at `now`."""
        wanted = set(message_ids)
        users = [time for one, time in self._requests.items() if one in wanted]
        ends = [one.time.completed or one.time.created for one in self._answers.values() if one.id in wanted]
        times = sorted([*users, *ends])
        if not times:
            return ""
        counted = f"{plural(turns, 'turn')} · " if turns else ""
        return counted + period(times[0], times[-1], now)

    def turn_summary(self) -> str:
        """Return the tool calls of the finished turn, `9 tools`; empty for none."""
        return plural(len(self._calls), "tool") if self._calls else ""

    @property
    def turn_cost(self) -> float:
        """Cost of the current or last turn in USD."""
        return sum(message.cost for message in self._turn())

    @property
    def failure(self) -> str:
        """The name of the error that ended the last answer; empty for none."""
        last = next(reversed(self._answers.values()), None)
        return last.failure.name if last is not None and last.failure is not None else ""

    @property
    def killed_at(self) -> int:
        """Return when the process of the last turn ended before it was complete (ms since 1970); 0 if none did."""
        last = next(reversed(self._answers.values()), None)
        error = last.failure if last is not None else None
        if last is None or not isinstance(error, StoredAbortedError) or error.data.message != PROGRAM_ENDED:
            return 0
        is_answered = self._user is None or self._is_behind(last.id, self._user.id)
        return (last.time.completed or last.time.created) if is_answered and self.info.revert is None else 0

    @property
    def has_reached_plan(self) -> bool:
        """Whether the last answer ended because the limit of a plan is reached."""
        last = next(reversed(self._answers.values()), None)
        return last is not None and has_reached_plan(last.failure)

    @property
    def is_stopped_by_rejection(self) -> bool:
        """Return whether the last answer ended because the user rejected one of its calls."""
        last = next(reversed(self._answers.values()), None)
        return last is not None and last.finish in FINISH_CONTINUES and last.id in self._rejected

    def _turn(self) -> list[AssistantMessage]:
        return [one for one in self._answers.values() if self._is_behind(one.id, self._begins)]

    def _apply_message(self, info: AnyMessage) -> None:
        is_new = info.id not in self._order
        self._order.setdefault(info.id, len(self._order))
        if isinstance(info, UserMessage):
            self._requests[info.id] = info.time.created
            if is_new:
                self._user = info
                if not self._is_queued(info):
                    self._began, self._begins, self._calls, self.grown = info.time.created, info.id, set(), 0
            return
        if is_new or self._answers[info.id].tokens != info.tokens:
            self._measured = None
        was_over = not is_new and self._answers[info.id].time.completed is not None
        self._answers[info.id] = info
        self.is_context_changed |= bool(info.summary) and info.time.completed is not None and not was_over
        if is_new:
            self._phase = ""
        if info.time.completed is not None and self._is_newest(info.id):
            self.grown = 0
            self._phase = ""

    def _is_newest(self, message_id: str) -> bool:
        """Return whether no later answer has begun: what ends late in an earlier one does not end what happens now."""
        return message_id == next(reversed(self._answers), message_id)

    def _apply_part(self, part: AnyPart) -> None:
        match part:
            case ToolPart():
                self._apply_call(part)
            case ReasoningPart():
                self._phase = "Thinking" if part.time.end is None else ""
            case TextPart() if part.message_id in self._answers:
                self._phase = "Writing"
            case PatchPart():
                self._patches[part.id] = part
            case _:
                pass

    def _apply_call(self, part: ToolPart) -> None:
        self._calls.add(part.id)
        was_pruned = self._pruned.pop(part.id, None) is not None
        is_pruned = isinstance(part.state, ToolStateCompleted) and part.state.time.compacted is not None
        self.is_context_changed |= is_pruned != was_pruned
        if isinstance(part.state, ToolStateCompleted) and part.state.time.compacted is not None:
            self._pruned[part.id] = part.state.time.compacted, len(part.state.output) // LETTERS_PER_TOKEN
        match part.state:
            case ToolStateRunning():
                self._running[part.id] = brief_activity(part.tool, part.state.input)
            case ToolStateCompleted() | ToolStateError():
                if isinstance(part.state, ToolStateError) and part.state.stop_reason == "rejected":
                    self._rejected.add(part.message_id)
                self._running.pop(part.id, None)
                if self._is_newest(part.message_id):
                    self._phase = ""
            case _:
                self._phase = f"Preparing {screen_line(part.tool)[:NAME_LENGTH]}"
