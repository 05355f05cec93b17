"""Actions that scroll the conversation or change what it shows."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from opencode_tui.schema.api.keybinds import ACTIONS
from opencode_tui.tui.conversation.find import Found
from opencode_tui.tui.conversation.view import ConversationView
from opencode_tui.tui.dialogs.text_panel import FindPanel
from opencode_tui.tui.options import Place
from opencode_tui.tui.screen_api import AppApi, ChatApi, PanelApi
from opencode_tui.tui.state.items import AnyItem

_LAYOUT_S, _LAYOUT_LOOKS = 0.02, 100
"""Seconds between two looks whether the conversation has its size, and how many there are."""

_ON_ITEM = frozenset(action.id for action in ACTIONS if action.scope == "item")
"""Actions on the focused item of the conversation."""


class ScrollActions:
    """Scrolls the conversation, also to a text in it."""

    def __init__(self, screen: ChatApi, panels: PanelApi) -> None:
        self._screen = screen
        self._panels = panels
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
            "messages_find": self._find,
            **{action_id: partial(self._on_item, action_id) for action_id in _ON_ITEM},
        }

    def with_words(self) -> Mapping[str, Callable[[str], object]]:
        """Return the actions that use the words after the name of their slash command, by id."""
        return {"messages_find": self._find}

    def can(self, action_id: str) -> bool:
        """Return whether a conversation is shown, with the focus for the actions on its items."""
        if action_id in _ON_ITEM and not (self._screen.view is not None and self._screen.view.has_focus):
            return False
        return self._screen.view is not None and self._screen.view.display

    def _on_item(self, action_id: str) -> None:
        self._with(lambda view: view.run(action_id))

    def _with(self, act: Callable[[ConversationView], object]) -> None:
        if self._screen.view is not None:
            act(self._screen.view)

    def _find(self, words: str = "", start: AnyItem | None = None) -> None:
        """Ask for a text and show where it occurs; at once if it is known, from the item `start` on."""
        view = self._screen.view
        if view is None or not view.display:
            self._screen.show_note("failed", "No conversation is open: there is nothing to find")
            return

        def step(direction: int) -> None:
            if view.found is None:  # another session is shown
                panel.show_count(0, 0)
                return
            view.found.step(direction)
            view.show_found(view.found)
            panel.show_count(view.found.at + 1, view.found.total)

        def back() -> None:
            self._panels.close()
            view.show_found(None)

        def find(text: str) -> None:
            first = start if text == words else None
            self._screen.do(self._search(view, panel, text, first))

        panel = FindPanel(words, find=find, step=step, back=back)
        self._panels.open(panel)

    @staticmethod
    async def _search(view: ConversationView, panel: FindPanel, words: str, start: AnyItem | None) -> None:
        """Find the words in a thread: all texts of a long session need some milliseconds."""
        if not words:
            return
        transcript = view.transcript
        found = await asyncio.to_thread(Found, words, list(transcript.items), view.viewport.page.root)
        if not panel.is_attached or view.transcript is not transcript:
            return
        first = start or next(iter(view.viewport.items), None)
        if found.total and first is not None:
            found.start_at(first)
        view.show_found(found)
        panel.show_count(found.at + 1, found.total)

    async def show_place(self, place: Place) -> None:
        """Scroll to a part of the shown conversation and mark its words, or the part where they are not shown."""
        view = self._screen.view
        if view is None:
            return
        for _ in range(_LAYOUT_LOOKS):
            if view.size:
                break
            await asyncio.sleep(_LAYOUT_S)  # the screen was opened just now
        items = view.transcript.items
        item = view.transcript.item(place.part_id)
        item = item or next((one for one in items if one.message_id == place.message_id and not one.is_hidden), None)
        if item is None:
            self._screen.show_note("note", "The match is not shown", "it is part of what was undone or left out")
            return
        if place.words and Found(place.words, [item], view.viewport.page.root).total:
            self._find(place.words, item)
        else:
            view.show_item(item.id)

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
            "vim_toggle": self._switch_vim,
        }

    def _switch(self, kind: str, on: str, off: str) -> None:
        view = self._screen.view
        if view is not None:
            self._screen.show_note("note", on if view.switch_details(kind) else off)

    def _switch_title(self) -> None:
        title = self._app.title_line
        title.switch()
        self._screen.show_note("note", "Terminal title on" if title.is_on else "Terminal title off")

    def _switch_vim(self) -> None:
        prompt = self._screen.prompt
        prompt.use_vim(is_on=prompt.vim is None)
        self._screen.show_note("note", "Vim mode off" if prompt.vim is None else "Vim mode on")
        self._screen.refresh_chrome()
