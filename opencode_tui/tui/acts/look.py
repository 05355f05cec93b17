"""Acts on what is shown of the conversation, and on the terminal's title."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from opencode_tui.tui.app import OpenCodeApp
    from opencode_tui.tui.screens.chat import ChatScreen


class LookActs:
    """Each switches something on or off until the program ends."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen

    def table(self) -> Mapping[str, Callable[[], object]]:
        """By action id."""
        return {
            "display_thinking": lambda: self._switch("thought", "Thoughts are open", "Thoughts are folded"),
            "tool_details": lambda: self._switch("tool", "Finished tools are open", "Finished tools are folded"),
            "terminal_title_toggle": self._switch_title,
        }

    def _switch(self, kind: str, on: str, off: str) -> None:
        view = self._screen.view
        if view is not None:
            self._screen.tell("note", on if view.switch_details(kind) else off)

    def _switch_title(self) -> None:
        title = cast("OpenCodeApp", self._screen.app).title_line
        title.switch()
        self._screen.tell(
            "note", "The terminal's title is set" if title.is_on else "The terminal's title stays as it was"
        )
