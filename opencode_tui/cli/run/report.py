"""The report of `run` for a terminal: the answer on stdout; tools, waits and the summary on stderr.

Only the activity line is redrawn, and only in a terminal.
"""

import asyncio
import time
from decimal import Decimal
from typing import Literal, TextIO

from opencode_tui.cli.run.answer_text import AnswerText
from opencode_tui.cli.run.check_runs import CheckRuns
from opencode_tui.cli.style import Style, Token
from opencode_tui.cli.tool_line import activity_of, tool_lines
from opencode_tui.schema.event.event import (
    BusLagged,
    Event,
    MessageUpdated,
    PartGrowth,
    PartRemoved,
    PartUpdated,
    SessionCompacted,
    SessionFailed,
    SessionStatusChanged,
    SessionUpdated,
)
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import ReasoningPart, StepFinishPart, TextPart, ToolPart
from opencode_tui.schema.session.session import BusyStatus, RetryStatus, Wait
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning
from opencode_tui.text.cells import clip, width
from opencode_tui.text.model_line import model_line
from opencode_tui.text.quantity import amount, duration, money, plural
from opencode_tui.text.safe_text import make_safe
from opencode_tui.text.wait import said_in, wait_limit, wait_line, wait_words

FRAMES_PER_SECOND = 8
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_ASCII_SPINNER = "|/-\\"


class Activity:
    """Draws the terminal's last line, which must be empty at `start`; `stop` erases it.

    Possible only if no other program writes to the terminal (`is_alone`): its text would be overwritten.
    """

    def __init__(self, stream: TextIO, style: Style, *, is_alone: bool) -> None:
        self.is_possible = is_alone and style.is_live
        self._stream = stream
        self._style = style
        self._text = ""
        self._began = 0.0
        self._after = ""
        self._until: float | None = None
        self._frame = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self, text: str, *, lasted_s: float = 0.0, after: str = "") -> None:
        """Show an activity that began `lasted_s` seconds ago; a different text restarts the timer. The text must be safe.

        `after` follows the time.
        """
        if text != self._text:
            self._show(text, until=None, after=after, lasted_s=lasted_s)

    def update(self, text: str) -> None:
        """Show another text; the time continues."""
        if self._timer is None:
            self.start(text)
        elif text != self._text:
            self._text, self._after = text, ""
            self._timer.cancel()
            self._draw()

    def erase(self) -> None:
        """Make way for a line above; the next frame draws the activity again."""
        if self._timer is not None:
            self._write("\r\x1b[2K")

    def wait(self, text: str, *, seconds: float, after: str = "") -> None:
        """Show a reason and a countdown; `after` follows the remaining time."""
        self._show(text, until=time.monotonic() + seconds, after=after)

    def stop(self) -> None:
        """Remove the line."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._text = ""
            self._write("\r\x1b[2K")

    def _show(self, text: str, *, until: float | None, after: str = "", lasted_s: float = 0.0) -> None:
        if not self.is_possible:
            return
        self.stop()
        self._text, self._after, self._began, self._until = text, after, time.monotonic() - lasted_s, until
        self._draw()

    def _draw(self) -> None:
        sign, token = self._sign()
        clock = self._clock()
        room = (self._style.columns() or 80) - 2 - width(clock)
        text = clip(self._text, max(1, room), self._style.words("…"))
        self._write(f"\r\x1b[2K{self._style.paint(sign, token)} {text}{self._style.paint(clock, 'muted')}")
        self._timer = asyncio.get_running_loop().call_later(1 / FRAMES_PER_SECOND, self._draw)

    def _sign(self) -> tuple[str, Token]:
        if self._until is not None:
            return self._style.words("↻"), "warning"
        frames = _SPINNER if self._style.is_utf8 else _ASCII_SPINNER
        self._frame += 1
        return frames[self._frame % len(frames)], "accent"

    def _clock(self) -> str:
        if self._until is not None:
            return f"  next try in {duration(max(0.0, self._until - time.monotonic()) + 0.999)}{self._after}"
        seconds = time.monotonic() - self._began
        return f"  {duration(seconds)}{self._after}" if seconds >= 1 else ""

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


_Block = Literal["head", "prose", "work", "question", "end"]


class TerminalReporter:
    """Reports one session. `style` is the style of `err`."""

    def __init__(self, session_id: str, *, answer: AnswerText, err: TextIO, style: Style) -> None:
        self._session_id = session_id
        self._checks = CheckRuns(session_id)
        self._answer = answer
        self._err = err
        self._style = style
        self._activity = Activity(err, style, is_alone=not answer.is_read_by_others)
        self._began = time.monotonic()
        self._block: _Block | None = None
        self._summaries: set[str] = set()
        self._texts: set[str] = set()
        self._streamed: set[str] = set()
        self._running: dict[str, str] = {}
        self._waits: list[tuple[str, float]] = []
        self._is_named = False
        """Whether the activity line names what is waited for."""
        self._wait_timer: asyncio.TimerHandle | None = None
        """Prints a line about a wait where there is no activity line."""
        self._is_interrupted = False
        self._tools = 0
        self._searches: set[str] = set()
        self._tokens = 0
        self._cost = Decimal(0)

    def show(self, event: Event) -> None:
        """Print one event."""
        match event:
            case MessageUpdated(info=AssistantMessage() as info) if info.session_id == self._session_id:
                self._message(info)
            case PartGrowth() if event.session_id == self._session_id:
                self._grow(event)
            case PartUpdated() if event.part.session_id == self._session_id:
                self._part(event)
            case PartRemoved() if event.part_id in self._streamed:
                self._print_line("↻", "The response was interrupted; retrying.")
            case SessionStatusChanged() if event.session_id == self._session_id:
                self._status(event)
            case SessionUpdated() if (found := self._checks.new(event)) is not None:
                from opencode_tui.text.check import check_line  # few sessions have a check

                self._print_line("✓" if found[1].has_passed else "✗", make_safe(check_line(*found)))
            case SessionCompacted() if event.session_id == self._session_id:
                self._print_line("≡", "Context compacted: older messages were summarized.")
            case SessionFailed() if event.session_id == self._session_id:
                self._is_interrupted = event.error.name == "MessageAbortedError"
            case BusLagged():
                skipped = f"Some output was skipped; see `opencode-tui session show {self._session_id}`."
                self._print_line("!", f"{event.reason} {skipped}".lstrip())
            case _ if line := model_line(event):
                self._print_line("!", make_safe(line))
            case _:
                pass

    def pause(self) -> None:
        """Make way for a question on the terminal."""
        self._follow_wait(None)
        self._open_block("question")

    def end(self, answer: MessageWithParts | None) -> None:
        """Print the summary; without an answer the turn failed or was interrupted, which the caller reports."""
        self._report_waits()
        if self._block is None:
            return  # nothing started
        info = answer.info if answer is not None else None
        finish = getattr(info, "finish", None)
        self._open_block("end")
        if info is None or getattr(info, "failure", None) is not None:
            self._print_summary("■" if self._is_interrupted else "✗", "Stopped")
        else:
            self._print_summary("", "Stopped" if finish in (None, "tool-calls", "unknown") else "Done")

    def close(self) -> None:
        """Clean up the terminal."""
        self._follow_wait(None)
        self._activity.stop()
        self._answer.end()

    def _message(self, info: AssistantMessage) -> None:
        if info.time.completed is not None:
            return
        if self._block is None:
            self._open_block("head")
            head = f"{info.agent or info.mode} · {info.provider_id}/{info.model_id}"
            self._print(self._style.paint(self._style.words(make_safe(head)), "muted"))
        if info.summary:
            self._summaries.add(info.id)
        self._activity.start("Summarizing" if info.summary else "Thinking")

    def _grow(self, event: PartGrowth) -> None:
        if self._answer.is_terminal and event.part_id in self._texts:
            self._prose(event.part_id, event.delta)

    def _prose(self, part_id: str, text: str) -> None:
        if part_id not in self._streamed:
            if not text.strip():
                return  # keep the line free until there is text
            self._streamed.add(part_id)
            self._open_block("prose")
        self._activity.stop()
        self._answer.write(text)

    def _part(self, event: PartUpdated) -> None:
        part = event.part
        match part:
            case TextPart() if part.synthetic or part.time is None:
                pass
            case TextPart() | ReasoningPart() if part.message_id in self._summaries:
                pass
            case TextPart() if part.time is not None and part.time.end is None:
                self._report_waits()
                self._texts.add(part.id)
            case TextPart():
                if part.id not in self._streamed:
                    self._prose(part.id, part.text)
                self._answer.end()
                self._activity.start("Thinking")
            case ReasoningPart():
                self._thought(part)
            case ToolPart():
                self._tool(part)
            case StepFinishPart():
                self._tokens += part.tokens.context
                self._cost += Decimal(str(part.cost))
            case _:
                pass

    def _thought(self, part: ReasoningPart) -> None:
        self._report_waits()
        if part.time.end is None:
            self._activity.start("Thinking")
            return
        seconds = (part.time.end - part.time.start) / 1000
        if seconds >= 1:
            self._open_block("work")
            self._print(self._style.paint(f"  Thought for {duration(seconds)}", "muted", "italic"))

    def _tool(self, part: ToolPart) -> None:
        self._report_waits()
        if isinstance(part.state, ToolStateRunning):
            self._running[part.id] = activity_of(part)
        elif isinstance(part.state, ToolStateCompleted | ToolStateError):
            self._running.pop(part.id, None)
            # A provider's own search is stored again when its answer names the pages.
            if part.id not in self._searches:
                if (part.metadata or {}).get("providerExecuted"):
                    self._searches.add(part.id)
                self._tools += 1
                self._open_block("work")
                self._print("\n".join(tool_lines(part, self._style)))
        labels = list(self._running.values())
        if not self._answer.is_open:
            self._activity.start(
                labels[0] if len(labels) == 1 else f"Running {len(labels)} tools" if labels else "Thinking"
            )

    def _status(self, event: SessionStatusChanged) -> None:
        status = event.status
        self._follow_wait(status.wait if isinstance(status, BusyStatus) else None)
        if isinstance(status, RetryStatus):
            reason = make_safe(" ".join(status.message.split()))
            seconds = max(0.0, status.next / 1000 - time.time())
            self._waits.append((reason, seconds))
            attempt = f", attempt {status.attempt + 1}" + (f" of {status.attempts}" if status.attempts else "")
            if self._activity.is_possible:
                self._answer.end()
                self._activity.wait(reason, seconds=seconds, after=attempt)
            else:
                self._print_line("↻", f"{reason}  next try in {duration(seconds + 0.999)}{attempt}")
        elif isinstance(status, BusyStatus):
            was_named, self._is_named = self._is_named, status.wait is not None
            if status.wait is not None and not self._answer.is_open:
                lasted_s = time.time() - status.wait.since / 1000
                self._activity.start(wait_words(status.wait), lasted_s=lasted_s, after=wait_limit(status.wait))
            elif self._waits or (was_named and not self._answer.is_open):
                self._activity.start("Thinking")

    def _follow_wait(self, wait: Wait | None) -> None:
        """Print one line about a wait that lasts, where the activity line cannot name it."""
        if self._wait_timer is not None:
            self._wait_timer.cancel()
            self._wait_timer = None
        if wait is not None and not self._activity.is_possible:
            seconds = said_in(wait, round(time.time() * 1000))
            self._wait_timer = asyncio.get_running_loop().call_later(seconds, self._print_wait, wait)

    def _print_wait(self, wait: Wait) -> None:
        if self._answer.is_open:  # the answer continues behind it
            self._print(("\n" if self._answer.is_terminal else "") + self._style.words(wait_line(wait)))
        else:
            self._print_line("…", wait_line(wait))

    def _report_waits(self) -> None:
        """Print one line for the waits that the activity line showed."""
        waits, self._waits = self._waits, []
        if waits and self._activity.is_possible:
            waited = duration(sum(seconds for _, seconds in waits))
            self._print_line("↻", f"{waits[-1][0]}  waited {waited}, retried {plural(len(waits), 'time')}")

    def _print_line(self, sign: str, text: str) -> None:
        self._open_block("work")
        self._print(
            f"{self._style.paint(self._style.words(sign), 'warning')} {self._style.paint(self._style.words(text), 'muted')}"
        )

    def _print_summary(self, sign: str, word: str) -> None:
        seconds = time.monotonic() - self._began
        facts = [duration(seconds)] if seconds >= 1 else []
        if self._tools:
            facts.append(plural(self._tools, "tool"))
        if self._cost:
            facts.append(money(self._cost))
        elif self._tokens:
            facts.append(f"{amount(self._tokens)} tokens")
        token: Token = "error" if sign == "✗" else "muted"
        mark = f"{self._style.paint(self._style.words(sign), token)} " if sign else ""
        self._print(mark + self._style.paint(self._style.words(f"{word}  {' · '.join(facts)}".rstrip()), "muted"))

    def _open_block(self, block: _Block) -> None:
        """Clear the activity line and, in a terminal, separate prose from other blocks by an empty line."""
        self._activity.stop()
        self._answer.end()
        if block == "prose" and not self._answer.is_terminal:
            return
        is_apart = self._block is not None and (block != self._block or block in ("prose", "question"))
        if is_apart and self._style.is_terminal:
            self._print("")
        self._block = block

    def _print(self, line: str) -> None:
        self._err.write(line + "\n")
        self._err.flush()
