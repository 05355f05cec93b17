"""All acts of the chat in one table, and which of them make sense now."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from opencode_tui.tui.actions.lists import ListActs
from opencode_tui.tui.actions.pages import PageActs
from opencode_tui.tui.actions.prompt import WritingActs
from opencode_tui.tui.actions.run import RunActs
from opencode_tui.tui.actions.session import SessionActs
from opencode_tui.tui.actions.trust import TrustActs
from opencode_tui.tui.actions.undo import UndoActs
from opencode_tui.tui.actions.view import ChatScroll, LookActs
from opencode_tui.tui.keymap import Action
from opencode_tui.tui.state.controller import SessionController

if TYPE_CHECKING:
    from opencode_tui.tui.screens.chat import ChatScreen

Act = Callable[[], object]


class Acts:
    """The acts of one chat screen."""

    def __init__(self, screen: "ChatScreen", control: SessionController) -> None:
        self.run = RunActs(screen, control)
        self.session = SessionActs(screen, control)
        self.undo = UndoActs(screen, control)
        self.writing = WritingActs(screen, control, self.do)
        self.lists = ListActs(screen, control, self)
        self.pages = PageActs(screen, control, self)
        self.scroll = ChatScroll(screen)
        self.look = LookActs(screen)
        self._table: Mapping[str, Act] = {
            **self.run.table(),
            **self.session.table(),
            **self.undo.table(),
            **self.writing.table(),
            **self.lists.table(),
            **self.pages.table(),
            **self.scroll.table(),
            **self.look.table(),
            **TrustActs(screen, control).table(),
        }

    def can(self, action: Action) -> bool:
        """Whether there is such an act, and anything for it to do."""
        if action.id in self.scroll.table():
            return self.scroll.can(action.id)
        return action.id in self._table

    def knows(self, action_id: str) -> bool:
        """Whether there is such an act."""
        return action_id in self._table

    def do(self, action_id: str) -> None:
        """Do it."""
        self._table[action_id]()
