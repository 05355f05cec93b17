"""`run --format json`: one JSON object a line for everything that has ended. Source: SPEC section 1.

A line is printed after its record is on the disk, so whatever was told survives.
"""

import json
import sys
import time

from opencode_tui.cli.terminal import write_answer
from opencode_tui.schema.event.event import Event, MessageUpdated, PartUpdated, SessionFailed
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


class JsonReporter:
    """Prints the parts of one session's assistant messages as they end; of a summary only its steps: it is no answer."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._summaries: set[str] = set()
        self._begun: set[str] = set()
        """Beginnings of steps that were printed: each comes again when the state of its files is known."""

    def show(self, event: Event) -> None:
        """Print a line if the event tells of an end."""
        if isinstance(event, MessageUpdated) and isinstance(event.info, AssistantMessage) and event.info.summary:
            self._summaries.add(event.info.id)
        elif isinstance(event, PartUpdated) and event.part.session_id == self._session_id:
            kind = _kind(event.part)
            is_summary = event.part.message_id in self._summaries and kind in ("text", "reasoning")
            if kind == "step_start" and event.part.id in self._begun:
                return
            if kind == "step_start":
                self._begun.add(event.part.id)
            if kind is not None and not is_summary:
                self._print(kind, {"part": event.part.to_dict()})
        elif isinstance(event, SessionFailed) and event.session_id == self._session_id:
            self._print("error", {"error": event.error.to_dict()})

    def pause(self) -> None:
        """Nothing stands in a question's way."""

    def end(self, answer: MessageWithParts | None) -> None:
        """Nothing is left to tell: the last line was that of the last step, or of the error."""

    def close(self) -> None:
        """Nothing to tidy."""

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
