"""Actions that scroll the conversation or change what it shows."""

from collections.abc import Callable, Mapping

from opencode_tui.tui.conversation.view import ConversationView
from opencode_tui.tui.screen_api import AppApi, ChatApi


class ScrollActions:
    """Scrolls the conversation."""

    def __init__(self, screen: ChatApi) -> None:
        self._screen = screen
        self._at = ""

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "messages_page_up": lambda: self._with(lambda view: view.action_page_up()),
            "messages_page_down": lambda: self._with(lambda view: view.action_page_down()),
            "messages_half_page_up": lambda: self._with(lambda view: view.scroll_lines(-(view.size.height // 2))),
            "messages_half_page_down": lambda: self._with(lambda view: view.scroll_lines(view.size.height // 2)),
            "messages_line_up": lambda: self._with(lambda view: view.scroll_lines(-1)),
            "messages_line_down": lambda: self._with(lambda view: view.scroll_lines(1)),
            "messages_first": lambda: self._with(lambda view: view.action_scroll_home()),
            "messages_last": lambda: self._with(lambda view: view.action_scroll_end()),
            "messages_next": lambda: self._with(lambda view: self._step(view, 1)),
            "messages_previous": lambda: self._with(lambda view: self._step(view, -1)),
            "messages_last_user": lambda: self._with(self._last_user),
            "messages_focus": lambda: self._with(lambda view: view.focus()),
        }

    def can(self, action_id: str) -> bool:
        """Return whether a conversation is shown."""
        return self._screen.view is not None and self._screen.view.display

    def _with(self, act: Callable[[ConversationView], object]) -> None:
        if self._screen.view is not None:
            act(self._screen.view)

    def _step(self, view: ConversationView, step: int) -> None:
        """Go to the prompt after or before the last visited one."""
        users = [item.id for item in view.transcript.items if item.kind == "user"]
        if not users:
            return
        here = users.index(self._at) if self._at in users else len(users)
        self._at = users[min(max(0, here + step), len(users) - 1)]
        view.scroll_to_item(self._at)

    @staticmethod
    def _last_user(view: ConversationView) -> None:
        if view.transcript.last_user is not None:
            view.scroll_to_item(view.transcript.last_user.id)


class DisplayActions:
    """Toggles for the running program."""

    def __init__(self, screen: ChatApi, app: AppApi) -> None:
        self._screen = screen
        self._app = app

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "display_thinking": lambda: self._switch("thought", "Reasoning shown", "Reasoning hidden"),
            "tool_details": lambda: self._switch("tool", "Tool output expanded", "Tool output collapsed"),
            "terminal_title_toggle": self._switch_title,
        }

    def _switch(self, kind: str, on: str, off: str) -> None:
        view = self._screen.view
        if view is not None:
            self._screen.show_note("note", on if view.switch_details(kind) else off)

    def _switch_title(self) -> None:
        title = self._app.title_line
        title.switch()
        self._screen.show_note("note", "Terminal title on" if title.is_on else "Terminal title off")
