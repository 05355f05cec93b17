"""What clients tell the screens of a folder to do. Source: reference, `http.md` 4."""

from typing import Literal

from opencode_tui.schema.record import Record, absent


class ScreenTextAppended(Record):
    """Text that screens put into their prompt."""

    type: Literal["tui.prompt.append"] = "tui.prompt.append"
    text: str


class ScreenCommandGiven(Record):
    """An action that screens carry out, such as `session.new`."""

    type: Literal["tui.command.execute"] = "tui.command.execute"
    command: str


class ScreenToastShown(Record):
    """A short note that screens show; `duration` in milliseconds."""

    type: Literal["tui.toast.show"] = "tui.toast.show"
    title: str | None = absent()
    message: str
    variant: Literal["info", "success", "warning", "error"]
    duration: float = 5000


class ScreenSessionSelected(Record):
    """A session that screens go to."""

    type: Literal["tui.session.select"] = "tui.session.select"
    session_id: str


ScreenEvent = ScreenTextAppended | ScreenCommandGiven | ScreenToastShown | ScreenSessionSelected
"""What a client tells the screens of a folder to do; no record stands behind it."""
