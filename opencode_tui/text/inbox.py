"""A session that runs, waits or was stopped, in words: its state, and what it does or asks.

All texts are raw: a client makes them safe.
"""

from opencode_tui.schema.api.inbox import Asked, Running, State
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.part import TextPart, ToolPart
from opencode_tui.schema.session.session import RetryStatus
from opencode_tui.text.permission import subject_of, title_of
from opencode_tui.text.quantity import duration
from opencode_tui.text.tool import activity_of

STATES: dict[State, str] = {"asks": "asks you", "stopped": "stopped", "retries": "retries", "works": "works"}


def line_of(row: Running, now: int) -> str:
    """Return in one line what a session asks, what ended it, or what it does; `now` is in ms."""
    if row.asked:
        asked, call = row.asked[0]
        more = f" (and {len(row.asked) - 1} more)" if len(row.asked) > 1 else ""
        return f"{question_line(asked, call)}{more}"
    if row.state == "stopped":
        return f"process {row.pid} ended in the middle of it"
    if isinstance(row.status, RetryStatus):
        return f"again in {duration(max(0, row.status.next - now) / 1000)}: {_first(row.status.message)}"
    if row.background and row.status.type == "idle":
        return f"in the background: {_first(row.background[0].command)}"
    return _activity(row)


def question_line(asked: Asked, call: ToolPart | None) -> str:
    """Return a question in one line, with the first line of what it is about."""
    if isinstance(asked, PermissionRequest):
        return f"{title_of(asked)} {_first(subject_of(asked, call))}".rstrip()
    return _first(asked.questions[0].question) if asked.questions else ""


def _activity(row: Running) -> str:
    """Return what the newest message does: its running call, else the last line of its text."""
    for part in reversed(row.last.parts if row.last is not None else ()):
        match part:
            case ToolPart() if part.state.status in ("pending", "running"):
                return activity_of(part, row.info.directory)
            case TextPart() if lines := part.text.strip().splitlines():
                return lines[-1]
            case _:
                pass
    return ""


def _first(text: str) -> str:
    lines = text.strip().splitlines()
    return f"{lines[0]} …" if len(lines) > 1 else "".join(lines)
