"""`run --format json`: one JSON object per line for each finished part.

A line is printed after its record is on disk. What is said about the model goes to stderr, as all that is no result.
"""

import json
import sys
import time

from opencode_tui.cli.run.check_runs import CheckRuns
from opencode_tui.cli.terminal import say, write_answer
from opencode_tui.schema.event.event import Event, MessageUpdated, PartUpdated, SessionFailed, SessionUpdated
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import (
    AnyPart,
    ReasoningPart,
    StepFinishPart,
    StepStartPart,
    TextPart,
    ToolPart,
)
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError
from opencode_tui.text.model_line import model_line
from opencode_tui.text.safe_text import make_safe


class JsonReporter:
    """Prints the finished parts of one session's assistant messages; of a summary only its steps."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._summaries: set[str] = set()
        self._started: set[str] = set()
        """Step starts that were printed: each one is updated when its snapshot is known."""

        self._checks = CheckRuns(session_id)

    def show(self, event: Event) -> None:
        """Print a line if the event finishes a part, the turn or a check."""
        if isinstance(event, MessageUpdated) and isinstance(event.info, AssistantMessage) and event.info.summary:
            self._summaries.add(event.info.id)
        elif isinstance(event, PartUpdated) and event.part.session_id == self._session_id:
            kind = _kind(event.part)
            is_summary = event.part.message_id in self._summaries and kind in ("text", "reasoning")
            if kind == "step_start" and event.part.id in self._started:
                return
            if kind == "step_start":
                self._started.add(event.part.id)
            if kind is not None and not is_summary:
                self._print(kind, {"part": event.part.to_dict()})
        elif isinstance(event, SessionFailed) and event.session_id == self._session_id:
            self._print("error", {"error": event.error.to_dict()})
        elif isinstance(event, SessionUpdated) and (found := self._checks.new(event)) is not None:
            until, run = found
            self._print("check", {"check": {"command": until.command, "turns": until.turns, **run.to_dict()}})
        elif line := model_line(event):
            say(make_safe(line))

    def pause(self) -> None:
        """Do nothing."""

    def end(self, answer: MessageWithParts | None) -> None:
        """Do nothing: the last step or the error was the last line."""

    def close(self) -> None:
        """Do nothing."""

    def _print(self, kind: str, fields: JsonObject) -> None:
        line = {"type": kind, "timestamp": time.time_ns() // 1_000_000, "sessionID": self._session_id, **fields}
        text = json.dumps(line, ensure_ascii=True).replace("\x7f", "\\u007f")
        write_answer(sys.stdout, text + "\n")


def _kind(part: AnyPart) -> str | None:
    match part:
        case StepStartPart():
            return "step_start"
        case StepFinishPart():
            return "step_finish"
        case TextPart() if part.time is not None and part.time.end is not None and not part.synthetic:
            return "text"
        case ReasoningPart() if part.time.end is not None:
            return "reasoning"
        case ToolPart() if isinstance(part.state, ToolStateCompleted | ToolStateError):
            return "tool_use"
        case _:
            return None
