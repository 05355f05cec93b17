"""All actions of the chat in one table, and whether each is available now."""

from collections.abc import Callable, Mapping

from opencode_tui.schema.api.keybinds import Action
from opencode_tui.tui.actions.browser import BrowserActions
from opencode_tui.tui.actions.export import ExportActions
from opencode_tui.tui.actions.facts import FactActions
from opencode_tui.tui.actions.lists import ListActions
from opencode_tui.tui.actions.login import LoginActions
from opencode_tui.tui.actions.memory import MemoryActions
from opencode_tui.tui.actions.pages import PageActions
from opencode_tui.tui.actions.pick import PickActions
from opencode_tui.tui.actions.prompt import PromptActions
from opencode_tui.tui.actions.run import RunActions
from opencode_tui.tui.actions.search import SearchActions
from opencode_tui.tui.actions.session import SessionActions
from opencode_tui.tui.actions.session_sets import SessionSets
from opencode_tui.tui.actions.share import ShareActions
from opencode_tui.tui.actions.trust import TrustActions
from opencode_tui.tui.actions.undo import UndoActions
from opencode_tui.tui.actions.view import DisplayActions, ScrollActions
from opencode_tui.tui.screen_api import AppApi, ChatApi, PanelApi
from opencode_tui.tui.state.controller import SessionController


class ActionTable:
    """The actions of one chat screen."""

    def __init__(self, screen: ChatApi, app: AppApi, panels: PanelApi, control: SessionController) -> None:
        self.run = RunActions(screen, app, panels, control, self.do)
        sets = SessionSets(screen, panels, control)
        self.session = SessionActions(screen, panels, control, sets)
        export = ExportActions(screen, app, panels, control)
        self.undo = UndoActions(screen, panels, control)
        self.memory = MemoryActions(screen, app, panels, control)
        self.prompt = PromptActions(screen, app, control, self.do, self.do_with, self.memory.add)
        search = SearchActions(screen, control, self.session)
        self.browser = BrowserActions(screen, control, self.session, sets, search)
        self.pick = PickActions(screen, app, control)
        self.scroll = ScrollActions(screen, panels)
        lists = ListActions(screen, app, control, can=self.can, run=self.do)
        pages = PageActions(screen, app, control, self.session, self.undo, search, sets, self.browser, export)
        self._with_words = {
            **self.session.with_words(),
            **export.with_words(),
            **lists.with_words(),
            **pages.with_words(),
            **search.with_words(),
            **self.scroll.with_words(),
        }
        self._table: Mapping[str, Callable[[], object]] = {
            **self.run.table(),
            **self.session.table(),
            **export.table(),
            **self.browser.table(),
            **self.undo.table(),
            **self.prompt.table(),
            **self.memory.table(),
            **LoginActions(screen, app, panels, control).table(),
            **FactActions(screen, control).table(),
            **lists.table(),
            **pages.table(),
            **search.table(),
            **self.pick.table(),
            **self.scroll.table(),
            **DisplayActions(screen, app).table(),
            **ShareActions(screen, app, panels, control, export.export).table(),
            **TrustActions(screen, app, panels, control).table(),
        }

    def can(self, action: Action) -> bool:
        """Return whether the action exists and is available now."""
        if action.id in self.scroll.table():
            return self.scroll.can(action.id)
        return action.id in self._table

    def knows(self, action_id: str) -> bool:
        """Return whether the action exists."""
        return action_id in self._table

    def do(self, action_id: str) -> None:
        """Run the action."""
        self._table[action_id]()

    def do_with(self, action_id: str, words: str) -> bool:
        """Run the action with the words after the name of its slash command; return False if it uses none."""
        act = self._with_words.get(action_id)
        if act is not None:
            act(words)
        return act is not None
