"""Actions of the session browser in the sidebar."""

from collections.abc import Callable, Mapping

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.actions.search import SearchActions
from opencode_tui.tui.actions.session import SessionActions
from opencode_tui.tui.actions.session_sets import SessionSets
from opencode_tui.tui.screen_api import ChatApi
from opencode_tui.tui.state.controller import SessionController


class BrowserActions:
    """Opens the browser and acts on its selected session."""

    def __init__(
        self,
        screen: ChatApi,
        control: SessionController,
        sessions: SessionActions,
        sets: SessionSets,
        search: SearchActions,
    ) -> None:
        self._screen = screen
        self._control = control
        self._sessions = sessions
        self._sets = sets
        self._search = search

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {"session_browser": self._screen.open_browser}

    def act(self, action: str, session_id: str) -> None:
        """Run an action of the browser; `session_id` is empty when no session is selected."""
        info = self._find(session_id)
        match action:
            case "new":
                self._screen.close_browser()
                self._control.leave()
            case "everywhere":
                self._screen.do(self._toggle_everywhere())
            case "search":
                self._search.search(self._screen.browser.typed if self._screen.browser is not None else "")
            case "undo":
                self._sets.undo(self._after_undo)
            case _ if info is not None:
                self._act_on(action, info)
            case _:
                pass

    def _act_on(self, action: str, info: SessionInfo) -> None:
        match action:
            case "open":
                self.open(info)
            case "fork" if not self._is_here(info):
                self._screen.show_note("note", "Open it first", "a session is forked in its own folder")
            case "fork":
                self._screen.do(self._fork(info))
            case "rename":
                self._sessions.rename(info)
            case "pin":
                self._sets.pin([info], lambda _words: None)
            case "archive":
                self._sets.archive([info], self._after)
            case _:
                self._sets.delete([info], self._after)

    def _find(self, session_id: str) -> SessionInfo | None:
        known = {info.id: info for info in self._control.everywhere}
        return self._control.folder.sessions.get(session_id) or known.get(session_id)

    def _is_here(self, info: SessionInfo) -> bool:
        return info.id in self._control.folder.sessions

    def open(self, info: SessionInfo) -> None:
        """Show a session, one of another project in its folder."""
        if self._is_here(info):
            self._screen.close_browser()
            self._sessions.open(info.id)
        else:
            self._sessions.open_elsewhere(info.directory, info.id)

    async def _fork(self, info: SessionInfo) -> None:
        await self._sessions.fork(info.id)
        if self._screen.browser is not None:
            self._screen.browser.select(self._control.session_id or "")

    def _after(self, words: str) -> None:
        """Show what was done, which can be undone in the browser."""
        if words:
            self._screen.show_note("note", *_split(words))
        self._show_undo()

    def _after_undo(self, words: str) -> None:
        if self._screen.browser is not None and self._sets.last_restored:
            self._screen.browser.select(self._sets.last_restored)
        self._after(words)

    def _show_undo(self) -> None:
        if self._screen.browser is not None:
            self._screen.browser.can_undo = self._sets.can_undo

    async def _toggle_everywhere(self) -> None:
        browser = self._screen.browser
        if browser is None:
            return
        browser.is_everywhere = not browser.is_everywhere
        self._control.everywhere = await self._control.client.sessions.everywhere() if browser.is_everywhere else ()
        self._screen.refresh_chrome()


def _split(words: str) -> tuple[str, str]:
    head, _, facts = words.partition(": ")
    return head, facts
