"""The state of the view that drawing needs: expanded items, the focus, the time."""

from dataclasses import dataclass, field

from opencode_tui.tui.conversation.tools.tool import Opened
from opencode_tui.tui.state.items import Item


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

    opened: dict[str, Opened] = field(default_factory=dict[str, Opened])
    """The states of items that were opened or folded individually, by item ID."""

    excerpts: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """The line and the character around which a call's text is shown in the place of its body, by item ID."""

    detailed: set[str] = field(default_factory=set[str])
    """Kinds of items that are open unless one was folded by itself."""

    def is_focused(self, item: Item) -> bool:
        """Return whether the keys act on this item."""
        return bool(self.focus) and item.id == self.focus

    def is_open(self, item: Item) -> bool:
        """Return whether an item that is folded at first was opened."""
        return self.opened.get(item.id, "whole" if item.kind in self.detailed else "folded") != "folded"
