"""The state of the view that drawing needs: expanded items, the focus, the time."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opencode_tui.text.quantity import clock, when
from opencode_tui.tui.conversation.tools.tool import Opened
from opencode_tui.tui.pictures.source import PictureSource
from opencode_tui.tui.state.items import Item

if TYPE_CHECKING:
    from opencode_tui.tui.pictures.forms import Form

PictureForm = Callable[[PictureSource, int, int, Item], "Form | None"]
"""Return the form of an item's picture in at most so many columns and rows; None while it is read, or where none are shown."""

_DATED_WIDTH = 60
"""Columns of the page from which a time has its day."""


@dataclass(slots=True)
class ViewState:
    """The state of the view itself; `redo_key` takes an undo back."""

    now: int = 0
    """Milliseconds since 1970."""

    focus: str = ""
    """The id of the item that the keys act on, empty when none."""

    redo_key: str = "ctrl+x r"
    focus_key: str = ""
    """The key that focuses the conversation."""

    host: str = ""
    """The name of this machine in links to files; empty where the files are on another one."""
    link_form: str = ""
    """The form of their addresses, or the name of an editor; empty for that of files."""

    opened: dict[str, Opened] = field(default_factory=dict[str, Opened])
    """The states of items that were opened or folded individually, by item ID."""

    excerpts: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """The line and the character around which a call's text is shown in the place of its body, by item ID."""

    pictures: PictureForm | None = None
    """What shows pictures; None where they are names only."""

    detailed: set[str] = field(default_factory=set[str])
    """Kinds of items that are open unless one was folded by itself."""

    def time_words(self, moment: int, width: int) -> str:
        """Return the time of a moment in ms since 1970; where so many columns have room, with its day unless that is today."""
        return when(moment, self.now) if width >= _DATED_WIDTH else clock(moment)

    def is_focused(self, item: Item) -> bool:
        """Return whether the keys act on this item."""
        return bool(self.focus) and item.id == self.focus

    def is_open(self, item: Item) -> bool:
        """Return whether an item that is folded at first was opened."""
        return self.opened.get(item.id, "whole" if item.kind in self.detailed else "folded") != "folded"
