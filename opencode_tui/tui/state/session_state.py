"""What a session is called and what it does, with the sign and the color of each state."""

import re
from collections.abc import Mapping
from typing import Literal

from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.session import RetryStatus, is_default_title
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.state.folder import FolderState
from opencode_tui.tui.theme.look import Glyphs

State = Literal["running", "asks", "retry", "undone", "done", "failed", "interrupted", "idle"]

HUES: Mapping[State, str] = {
    "running": "accent",
    "asks": "warning",
    "retry": "warning",
    "undone": "muted",
    "done": "success",
    "failed": "error",
    "interrupted": "muted",
    "idle": "muted",
}

_AGENT_TITLE = re.compile(r"^(?P<title>.*) \(@(?P<agent>[^()\s]+) subagent\)$", re.DOTALL)


def name_of(info: ListedSession) -> tuple[str, str]:
    """Return the kind of a session and its title, both safe."""
    title = _in_one_line(info.title)
    found = _AGENT_TITLE.match(title) if info.parent_id else None
    return (found["agent"], found["title"]) if found else (info.kind, title)


def _in_one_line(title: str) -> str:
    """Return a title in one line, safe; of a subagent session with the name of the agent behind it."""
    if is_default_title(title):
        return "New session"
    if "  " in title or title[:1] == " " or title[-1:] == " " or not title.isprintable():
        title = " ".join(title.split())
    return screen_line(title)


def state_of(info: ListedSession, folder: FolderState) -> State:
    """Return what a session does, or how its last run in this process ended."""
    if folder.waits(info.id) is not None:
        return "asks"
    if folder.is_busy(info.id):
        return "retry" if isinstance(folder.status(info.id), RetryStatus) else "running"
    still = still_state(info)
    return still if still == "undone" else folder.ended.get(info.id) or still


def still_state(info: ListedSession) -> State:
    """Return what a session does that has not run in this process."""
    return "undone" if info.is_undone else "done" if info.parent_id else "idle"


def sign_of(state: State, glyphs: Glyphs) -> str:
    """Return the sign of a state; a blank for an idle session."""
    return {
        "running": glyphs.running,
        "asks": glyphs.asks,
        "retry": glyphs.retried,
        "undone": glyphs.undone,
        "done": glyphs.done,
        "failed": glyphs.failed,
        "interrupted": glyphs.interrupted,
        "idle": " ",
    }[state]
