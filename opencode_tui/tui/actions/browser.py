"""Actions of the session browser in the sidebar."""

from collections.abc import Callable, Mapping

from opencode_tui.schema.api.request import UpdateSession
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.actions.session import SessionActions
from opencode_tui.tui.screen_api import ChatApi
from opencode_tui.tui.session_tree import is_pinned
from opencode_tui.tui.state.controller import SessionController


class BrowserActions:
    """Opens the browser and acts on its selected session."""

    def __init__(self, screen: ChatApi, control: SessionController, sessions: SessionActions) -> None:
        self._screen = screen
        self._control = control
        self._sessions = sessions
        self._archived: list[str] = []

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
            case "unarchive":
                self._screen.do(self._unarchive())
            case _ if info is not None:
                self._act_on(action, info)
            case _:
                pass

    def _act_on(self, action: str, info: SessionInfo) -> None:
        match action:
            case "open":
                self._open(info)
            case "fork" if not self._is_here(info):
                self._screen.show_note("note", "Open it first", "a session is forked in its own folder")
            case "fork":
                self._screen.do(self._fork(info))
            case "rename":
                self._sessions.rename(info)
            case "pin":
                self._screen.do(self._update(info.id, UpdateSession(pinned=not is_pinned(info))))
            case "archive":
                self._screen.do(self._archive(info))
            case _:
                self._sessions.delete(info)

    def _find(self, session_id: str) -> SessionInfo | None:
        known = {info.id: info for info in self._control.everywhere}
        return self._control.folder.sessions.get(session_id) or known.get(session_id)

    def _is_here(self, info: SessionInfo) -> bool:
        return info.id in self._control.folder.sessions

    def _open(self, info: SessionInfo) -> None:
        if self._is_here(info):
            self._screen.close_browser()
            self._sessions.open(info.id)
        else:
            self._sessions.open_elsewhere(info.directory, info.id)

    async def _fork(self, info: SessionInfo) -> None:
        await self._sessions.fork(info.id)
        if self._screen.browser is not None:
            self._screen.browser.select(self._control.session_id or "")

    async def _archive(self, info: SessionInfo) -> None:
        await self._update(info.id, UpdateSession(archived=self._control.now()))
        self._archived.append(info.id)
        self._show_archived()
        self._screen.show_note("note", "Archived", info.title)

    async def _unarchive(self) -> None:
        if not self._archived:
            return
        session_id = self._archived[-1]
        await self._update(session_id, UpdateSession(archived=0))
        self._archived.remove(session_id)
        self._show_archived()
        if self._screen.browser is not None:
            self._screen.browser.select(session_id)
        self._screen.show_note("note", "Restored", "the session is listed again")

    def _show_archived(self) -> None:
        if self._screen.browser is not None:
            self._screen.browser.has_archived = bool(self._archived)

    async def _update(self, session_id: str, change: UpdateSession) -> None:
        self._control.replace(session_id, await self._control.client.sessions.update(session_id, change))
        self._screen.refresh_chrome()

    async def _toggle_everywhere(self) -> None:
        browser = self._screen.browser
        if browser is None:
            return
        browser.is_everywhere = not browser.is_everywhere
        self._control.everywhere = await self._control.client.sessions.everywhere() if browser.is_everywhere else ()
        self._screen.refresh_chrome()
