"""Clicks on the hints around the prompt: each does what the key beside it does."""

from rich.style import Style
from textual import events
from textual.message import Message

_META = "act"


class Pressed(Message):
    """A hint was clicked."""

    def __init__(self, action_id: str) -> None:
        super().__init__()
        self.action_id = action_id


def pressing(action_id: str) -> Style:
    """The style that makes text a place to click; without an act it is none."""
    return Style(meta={_META: action_id}) if action_id else Style()


def pressed(event: events.Click) -> str:
    """The act whose hint was hit; empty beside all of them."""
    return str(event.style.meta.get(_META, ""))
