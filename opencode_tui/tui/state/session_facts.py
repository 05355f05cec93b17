"""Facts of the shown session: its activity, tokens and cost, todos and changes."""

from collections.abc import Sequence
from datetime import datetime

from opencode_tui.schema.event.event import (
    Event,
    MessageUpdated,
    PartGrowth,
    PartProgress,
    PartRemoved,
    PartUpdated,
    SessionDiff,
    SessionUpdated,
    TodoUpdated,
)
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts, session_cost
from opencode_tui.schema.session.message import FINISH_CONTINUES, AnyMessage, AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.session import SessionInfo, Todo, is_default_title
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import brief_activity

LETTERS_PER_TOKEN = 4
NAME_LENGTH = 40
"""Maximum length of a tool's name in the activity line."""


class SessionFacts:
    """Follows the events of one session; reading it is cheap."""

    def __init__(self, info: SessionInfo) -> None:
        self.info = info
        self.todos: Sequence[Todo] = ()
        self.diffs: Sequence[FileDiff] = ()
        self._answers: dict[str, AssistantMessage] = {}
        self._requests: dict[str, int] = {}
        self._user: UserMessage | None = None
        self._running: dict[str, str] = {}
        self._calls: set[str] = set()
        self._rejected: set[str] = set()
        """Answers with a call that the user rejected."""
        self._phase = ""
        self._grown = 0

    def load(self, messages: Sequence[MessageWithParts]) -> None:
        """Load the stored conversation."""
        for message in messages:
            self._apply_message(message.info)
            for part in message.parts:
                self._apply_part(part)
        newest = messages[-1].parts[-1] if messages and messages[-1].parts else None
        if not isinstance(newest, TextPart | ReasoningPart) or newest.time is None or newest.time.end is not None:
            self._phase = ""

    def apply(self, event: Event) -> bool:
        """Apply an event; return whether it changed this session."""
        match event:
            case SessionUpdated() if event.info.id == self.info.id:
                self.info = event.info
            case MessageUpdated() if event.info.session_id == self.info.id:
                self._apply_message(event.info)
            case PartUpdated() if event.part.session_id == self.info.id:
                self._apply_part(event.part)
            case PartRemoved() if event.session_id == self.info.id:
                self._running.pop(event.part_id, None)
            case PartGrowth() if event.session_id == self.info.id:
                self._grown += len(event.delta)
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

    @property
    def word(self) -> str:
        """The current activity in two or three words."""
        if self._running:
            return next(reversed(self._running.values()))
        return self._phase or "Waiting for the model"

    @property
    def context(self) -> int:
        """Tokens of the last request and its response."""
        for message in reversed(self._answers.values()):
            if message.tokens.context:
                return message.tokens.context
        return 0

    @property
    def cost(self) -> float:
        """Cost of the session in USD, by `session_cost`."""
        return float(session_cost(self.info, self._answers.values()))

    @property
    def turn_tokens(self) -> int:
        """Output tokens of the current turn; those still being streamed are estimated."""
        return sum(one.tokens.written for one in self._turn()) + self._grown // LETTERS_PER_TOKEN

    @property
    def turn_started(self) -> int | None:
        """The time of the request that is being answered, or was answered last, in ms since 1970."""
        last = next(reversed(self._answers.values()), None)
        if last is None or (self._user is not None and not self._is_queued(last)):
            return self._user.time.created if self._user else None
        return self._requests.get(last.parent_id)

    def _is_queued(self, last: AssistantMessage) -> bool:
        """Return whether the newest request came while the newest answer to another one was being written."""
        user = self._user
        if user is None or last.parent_id == user.id:
            return False
        return last.time.completed is None or last.finish == "tool-calls" or last.time.completed > user.time.created

    def span(self, message_ids: Sequence[str]) -> str:
        """Return `2 turns · 12:04 to 12:06`: the number of requests in the messages, and their times."""
        wanted = set(message_ids)
        users = [time for one, time in self._requests.items() if one in wanted]
        ends = [one.time.completed or one.time.created for one in self._answers.values() if one.id in wanted]
        times = sorted([*users, *ends])
        if not times:
            return ""
        turns = f"{plural(len(users), 'turn')} · " if users else ""
        first, last = clock(times[0]), clock(times[-1])
        return f"{turns}{first}" + (f" to {last}" if last != first else "")

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
        return last.error.name if last is not None and last.error is not None else ""

    @property
    def is_stopped_by_rejection(self) -> bool:
        """Return whether the last answer ended because the user rejected one of its calls."""
        last = next(reversed(self._answers.values()), None)
        return last is not None and last.finish in FINISH_CONTINUES and last.id in self._rejected

    def _turn(self) -> list[AssistantMessage]:
        started = self.turn_started
        return [one for one in self._answers.values() if started is not None and one.time.created >= started]

    def _apply_message(self, info: AnyMessage) -> None:
        if isinstance(info, UserMessage):
            self._requests[info.id] = info.time.created
            if self._user is None or info.time.created > self._user.time.created:
                self._user = info
                self._calls = set()
                self._grown = 0
            return
        is_new = info.id not in self._answers
        self._answers[info.id] = info
        if is_new:
            self._phase = ""
        if info.time.completed is not None:
            self._grown = 0
            self._phase = ""

    def _apply_part(self, part: AnyPart) -> None:
        match part:
            case ToolPart():
                self._apply_call(part)
            case ReasoningPart():
                self._phase = "Thinking" if part.time.end is None else ""
            case TextPart() if part.message_id in self._answers:
                self._phase = "Writing"
            case _:
                pass

    def _apply_call(self, part: ToolPart) -> None:
        self._calls.add(part.id)
        match part.state:
            case ToolStateRunning():
                self._running[part.id] = brief_activity(part.tool, part.state.input)
            case ToolStateCompleted() | ToolStateError():
                if isinstance(part.state, ToolStateError) and part.state.stop_reason == "rejected":
                    self._rejected.add(part.message_id)
                self._running.pop(part.id, None)
                self._phase = ""
            case _:
                self._phase = f"Preparing {screen_line(part.tool)[:NAME_LENGTH]}"


def clock(moment: int) -> str:
    """Return the time of day of a moment in ms since 1970."""
    try:
        return f"{datetime.fromtimestamp(moment / 1000):%H:%M}"
    except (OverflowError, ValueError, OSError):  # a foreign record with a time beyond the calendar
        return "?"
