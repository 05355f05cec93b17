"""A session that runs, waits, was stopped or ended, in words: its state, and what it does or asks.

All texts are raw: a client makes them safe.
"""

from typing import TYPE_CHECKING

from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import RetryStatus
from opencode_tui.text.permission import subject_of, title_of
from opencode_tui.text.quantity import duration, money, plural
from opencode_tui.text.tool import activity_of

if TYPE_CHECKING:
    from opencode_tui.schema.api.inbox import Asked, Done, Running, State
    from opencode_tui.schema.session.stored_error import EndState

DONE_STATES = {
    "asks": "asks you",
    "stopped": "was stopped",
    "failed": "failed",
    "interrupted": "interrupted",
    "retries": "retries",
    "works": "still works",
}

ENDED_STATES: dict["EndState", str] = {"failed": "failed", "interrupted": "interrupted", "done": "done"}

STATES: dict["State", str] = {"asks": "asks you", "stopped": "stopped", "retries": "retries", "works": "works"}


def line_of(row: "Running", now: int) -> str:
    """Return in one line what a session asks, what ended it, or what it does; `now` is in ms."""
    if row.waiting:
        first, *others = row.waiting
        more = f" (and {len(others)} more)" if others else ""
        return f"{question_line(first.asked, first.call)}{more}"
    if row.state == "stopped":
        kept = (
            f"; the next prompt puts what {plural(len(row.left), 'agent')} had changed on a branch" if row.left else ""
        )
        return f"process {row.pid} ended in the middle of it{kept}"
    if isinstance(row.status, RetryStatus):
        return f"again in {duration(max(0, row.status.next - now) / 1000)}: {_first(row.status.message)}"
    if row.background and row.status.type == "idle":
        return f"in the background: {_first(row.background[0].command)}"
    return row.said if row.doing is None else activity_of(row.doing, row.info.directory)


def silent_line(pid: int) -> str:
    """Return that the engine of a process did not answer, and what to do."""
    return (
        f"process {pid} does not respond: what it runs may be missing; continue or close its terminal, or `kill {pid}`"
    )


def done_line(one: "Done") -> str:
    """Return in one line what a session did: its turns, its changes, its cost, and how it stands."""
    changed = f"{plural(one.files, 'file')} +{one.additions} −{one.deletions}" if one.files else ""
    state = "" if one.state == "done" else DONE_STATES[one.state]
    return ", ".join(
        words for words in (plural(one.turns, "turn"), changed, money(one.cost) if one.cost else "", state) if words
    )


def question_line(asked: "Asked", call: ToolPart | None) -> str:
    """Return a question in one line, with the first line of what it is about."""
    if isinstance(asked, PermissionRequest):
        return f"{title_of(asked)} {_first(subject_of(asked, call))}".rstrip()
    return _first(asked.questions[0].question) if asked.questions else ""


def _first(text: str) -> str:
    lines = text.strip().splitlines()
    return f"{lines[0]} …" if len(lines) > 1 else "".join(lines)
