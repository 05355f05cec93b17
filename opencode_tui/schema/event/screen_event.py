"""Requests of clients to the screens of a folder. Source: docs/internals/http.md#requests-to-screens."""

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
    """A short note that screens show; `duration` in milliseconds. `session_id` is the session that it is about, if any."""

    type: Literal["tui.toast.show"] = "tui.toast.show"
    title: str | None = absent()
    message: str
    variant: Literal["info", "success", "warning", "error"]
    duration: float = 5000
    session_id: str | None = absent()


class ScreenSessionSelected(Record):
    """A session that screens open."""

    type: Literal["tui.session.select"] = "tui.session.select"
    session_id: str


ScreenEvent = ScreenTextAppended | ScreenCommandGiven | ScreenToastShown | ScreenSessionSelected
"""A request of a client to the screens of a folder; not stored."""
