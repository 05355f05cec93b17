"""`run` for people: the answer as it is written to stdout; tools, waits and the bill to stderr.

One line moves: the activity line, in a terminal only. Everything else stays where it was printed.
"""

import sys
import time

from opencode_tui.cli.activity import Activity
from opencode_tui.cli.style import glyph, style
from opencode_tui.cli.terminal import make_safe
from opencode_tui.cli.tool_line import tool_line
from opencode_tui.schema.event import (
    Event,
    MessageUpdated,
    PartGrowth,
    PartUpdated,
    PermissionReplied,
    RetryStatus,
    SessionFailed,
    SessionStatusChanged,
)
from opencode_tui.schema.message import AssistantMessage
from opencode_tui.schema.part import ReasoningPart, StepFinishPart, TextPart, ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning


class TerminalReporter:
    """Follows one session."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._began = time.monotonic()
        self._activity = Activity()
        self._is_live = sys.stdout.isatty()
        self._texts: set[str] = set()
        self._streamed: set[str] = set()
        self._is_line_open = False
        self._tools = 0
        self._tokens = 0
        self._cost = 0.0
        self._is_headed = False

    def show(self, event: Event) -> None:
        """Print what the event tells."""
        match event:
            case MessageUpdated() if event.info.session_id == self._session_id:
                if isinstance(event.info, AssistantMessage):
                    self._head(event.info)
            case PartGrowth() if event.session_id == self._session_id:
                self._grow(event)
            case PartUpdated() if event.part.session_id == self._session_id:
                self._part(event)
            case SessionStatusChanged() if event.session_id == self._session_id:
                self._status(event)
            case PermissionReplied() if event.session_id == self._session_id and event.reply == "reject":
                self._say(f"{style(glyph('■', '#'), 'muted')} {style('rejected', 'muted')}")
            case SessionFailed() if event.session_id == self._session_id:
                self.close()
            case _:
                pass

    def close(self) -> None:
        """Remove the activity line and end an open line."""
        self._activity.stop()
        self._end_line()

    def _head(self, info: AssistantMessage) -> None:
        if not self._is_headed:
            self._is_headed = True
            self._say(style(f"{info.agent or info.mode} · {info.provider_id}/{info.model_id}", "muted"))
        if info.time.completed is None:
            self._activity.start("Thinking")
        elif info.finish not in (None, "tool-calls", "unknown") and info.error is None:
            self._bill()

    def _grow(self, event: PartGrowth) -> None:
        if self._is_live and event.part_id in self._texts:
            self._activity.stop()
            self._streamed.add(event.part_id)
            self._write(event.delta)

    def _part(self, event: PartUpdated) -> None:
        part = event.part
        match part:
            case TextPart() if part.synthetic or part.time is None:
                pass
            case TextPart() if part.time is not None and part.time.end is None:
                self._texts.add(part.id)
            case TextPart():
                if part.id not in self._streamed:
                    self._write(part.text)
                self._end_line()
            case ReasoningPart() if part.time.end is None:
                self._activity.start("Thinking")
            case ToolPart() if isinstance(part.state, ToolStateRunning):
                self._activity.start(tool_line(part, running=True))
            case ToolPart() if isinstance(part.state, ToolStateCompleted | ToolStateError):
                self._tools += 1
                self._say(tool_line(part))
            case StepFinishPart():
                self._tokens += part.tokens.input + part.tokens.output + part.tokens.cache.read
                self._cost += part.cost
            case _:
                pass

    def _status(self, event: SessionStatusChanged) -> None:
        if isinstance(event.status, RetryStatus):
            wait = max(0, round((event.status.next - time.time_ns() // 1_000_000) / 1000))
            text = f"{make_safe(event.status.message)}  next try in {wait} s, attempt {event.status.attempt + 1} of 8"
            self._say(f"{style(glyph('↻', '~'), 'warning')} {style(text, 'muted')}")
            self._activity.start("Waiting")

    def _bill(self) -> None:
        facts = [_seconds(time.monotonic() - self._began)]
        if self._tools:
            facts.append(f"{self._tools} tool{'s' if self._tools != 1 else ''}")
        facts.append(f"{_count(self._tokens)} tokens")
        if self._cost:
            facts.append(f"${self._cost:.2f}" if self._cost >= 0.01 else f"${self._cost:.4f}")
        self._say(style(f"Done  {' · '.join(facts)}", "muted"))

    def _say(self, line: str) -> None:
        self._activity.stop()
        self._end_line()
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def _write(self, text: str) -> None:
        self._activity.stop()
        if not text:
            return
        sys.stdout.write(make_safe(text, multiline=True))
        sys.stdout.flush()
        self._is_line_open = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._is_line_open:
            self._is_line_open = False
            sys.stdout.write("\n")
            sys.stdout.flush()


def _seconds(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60} m {whole % 60} s"


def _count(number: int) -> str:
    if number < 1_000:
        return str(number)
    return f"{number / 1_000:.1f} k" if number < 1_000_000 else f"{number / 1_000_000:.1f} M"
