"""Moving in the conversation by keys."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencode_tui.tui.screens.chat import ChatScreen


class ChatScroll:
    """Scrolls the conversation; what the view cannot do is no act."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen

    def table(self) -> Mapping[str, Callable[[], object]]:
        """By action id."""
        return {
            "messages_page_up": lambda: self._page(-1.0),
            "messages_page_down": lambda: self._page(1.0),
            "messages_half_page_up": lambda: self._page(-0.5),
            "messages_half_page_down": lambda: self._page(0.5),
            "messages_line_up": lambda: self._by(-1),
            "messages_line_down": lambda: self._by(1),
            "messages_first": self._first,
            "messages_last": self._last,
        }

    def can(self, action_id: str) -> bool:
        """Whether there is a conversation to move in."""
        return self._screen.view is not None

    def _page(self, pages: float) -> None:
        view = self._screen.view
        if view is not None:
            self._by(int(pages * max(1, view.size.height - 2)))

    def _by(self, lines: int) -> None:
        view = self._screen.view
        if view is not None:
            view.scroll_relative(y=lines, animate=False)

    def _first(self) -> None:
        if self._screen.view is not None:
            self._screen.view.scroll_home(animate=False)

    def _last(self) -> None:
        if self._screen.view is not None:
            self._screen.view.scroll_end(animate=False)
