"""Actions that open a full page: sessions, context, changes, timeline, status."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui import __version__
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.actions.browser import BrowserActions
from opencode_tui.tui.actions.export import ExportActions
from opencode_tui.tui.actions.search import SearchActions
from opencode_tui.tui.actions.session import SessionActions
from opencode_tui.tui.actions.session_sets import SessionSets
from opencode_tui.tui.actions.undo import UndoActions
from opencode_tui.tui.screen_api import AppApi, ChatApi
from opencode_tui.tui.state.controller import SessionController

if TYPE_CHECKING:
    from opencode_tui.tui.screens.sessions import SessionsPlace, SessionsScreen


class PageActions(Struct, frozen=True):
    """Loads the content of a page and opens it unless it is empty."""

    screen: ChatApi
    app: AppApi
    control: SessionController
    session: SessionActions
    undo: UndoActions
    search: SearchActions
    sets: SessionSets
    browser: BrowserActions
    exporter: ExportActions

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "session_list": lambda: self._sessions(),
            "session_import": self._imports,
            "context_view": lambda: self.screen.do(self._context()),
            "diff_view": lambda: self.screen.do(self._diff()),
            "background_view": self._background,
            "language_view": lambda: self.screen.do(self._languages()),
            "mcp_view": lambda: self.screen.do(self._mcp_servers()),
            "session_timeline": lambda: self.screen.do(self._timeline()),
            "status_view": lambda: self.screen.do(self._status()),
        }

    def with_words(self) -> Mapping[str, Callable[[str], object]]:
        """Return the actions that use the words after the name of their slash command, by id."""
        return {"session_list": self._filtered}

    def _filtered(self, words: str) -> None:
        from opencode_tui.tui.screens.sessions import SessionsPlace

        self._sessions(SessionsPlace(typed=words))

    def _sessions(self, place: "SessionsPlace | None" = None) -> None:
        from opencode_tui.tui.screens.sessions import SessionsPlace, SessionsScreen  # pages load on demand

        def act(what: str, chosen: str) -> None:
            self._from_sessions(what, chosen, page)

        place = place or SessionsPlace()
        place.can_undo = self.sets.can_undo
        page = SessionsScreen(self.control, act, place=place)
        self.screen.open_page(page)

    def _from_sessions(self, what: str, chosen: str, page: "SessionsScreen") -> None:
        infos = page.infos()
        is_open = page.stays
        single = next((info for info in infos if info.id == chosen), None)

        def back(words: str = "") -> None:
            page.place.can_undo = self.sets.can_undo
            if words:
                page.place.marked.clear()
            if is_open:
                page.show_result(words)
            else:
                page.place.message = words
                self._sessions(page.place)

        match what:
            case "search":
                self.search.search(page.place.typed, lambda: self._sessions(page.place))
            case "undo":
                self.sets.undo(back)
            case "restore":
                self.sets.restore(page.trashed(), back)
            case "remove":
                self.sets.remove(page.trashed(), back)
            case _ if not infos:
                return
            case "delete":
                self.sets.delete(infos, back)
            case "archive":
                self.sets.archive(infos, back)
            case "unarchive":
                self.sets.unarchive(infos, back)
            case "pin":
                self.sets.pin(infos, back)
            case "export" if len(infos) > 1:
                self.sets.export(infos, back)
            case _ if single is not None:
                self._with_one(what, single, back)
            case _:
                back()

    def _with_one(self, what: str, info: SessionInfo, back: Callable[[], object]) -> None:
        match what:
            case "open":
                self.browser.open(info)
            case "rename":
                self.session.rename(info, back)
            case "export":
                self.exporter.export(info, back)
            case _ if info.id in self.control.folder.sessions:
                self.screen.do(self.session.fork(info.id))
            case _:
                self.screen.show_note("note", "Open it first", "a session is forked in its own folder")

    def _imports(self) -> None:
        from opencode_tui.tui.screens.importing import ImportScreen

        self.screen.open_page(ImportScreen(self.control, self.session.open))

    def _background(self) -> None:
        from opencode_tui.tui.screens.background import BackgroundScreen

        if not self.control.folder.background_of(self.control.session_id):
            self.screen.show_note("note", "No background commands", "the agent starts one for a server or a watcher")
            return
        self.screen.open_page(BackgroundScreen(self.control))

    async def _languages(self) -> None:
        from opencode_tui.tui.screens.languages import LanguagesScreen

        states = await self.control.client.languages.servers()
        if states:
            self.screen.open_page(LanguagesScreen(self.control, states))
        else:
            self.screen.show_note("note", "No language servers", "none is for the files here, or they are off")

    async def _mcp_servers(self) -> None:
        from opencode_tui.tui.screens.mcp_servers import McpServersScreen

        servers = await self.control.client.mcp.servers()
        if servers:
            self.screen.open_page(McpServersScreen(self.control, servers))
        else:
            self.screen.show_note("note", "No MCP servers", "`opencode-tui mcp add NAME -- COMMAND` adds one")

    async def _context(self) -> None:
        from opencode_tui.tui.screens.context import ContextScreen

        session_id = self._session_id()
        if session_id is not None:
            view = await self.control.client.context.items(session_id)
            if self.control.facts is not None and self.control.session_id == session_id and not self.control.is_busy:
                self.control.facts.set_context(view.tokens)  # the sidebar has the same figure
                self.screen.refresh_chrome()
            self.screen.open_page(ContextScreen(self.control, view, self._jump))

    async def _diff(self) -> None:
        from opencode_tui.tui.screens.diff import DiffScreen

        session_id = self._session_id()
        if session_id is None:
            return
        diffs = await self.control.client.sessions.diff(session_id)
        if diffs:
            self.screen.open_page(
                DiffScreen(diffs, self.control.client.project.places, is_stacked=self.control.is_stacked)
            )
        else:
            self.screen.show_note("note", "No file changes", "in this session so far")

    async def _timeline(self) -> None:
        from opencode_tui.tui.screens.timeline import TimelineScreen
        from opencode_tui.tui.screens.timeline_moments import branches_of, moments

        session_id = self._session_id()
        if session_id is None:
            return
        branches = branches_of(self.control.folder.sessions, session_id)
        root = str(self.control.client.directory)
        messages = await self.control.client.messages.list(session_id)
        found = await asyncio.to_thread(moments, messages, branches, root=root)
        self.screen.open_page(TimelineScreen(self.control, found, self._from_timeline))

    def _from_timeline(self, what: str, chosen: str) -> None:
        session_id = self.control.session_id
        match what:
            case "jump":
                self._jump(chosen)
            case "revert":
                self.screen.do(self.undo.ask(chosen))
            case "fork" if session_id is not None:
                self.screen.do(self.session.fork(session_id, chosen))
            case "open":
                self.session.open(chosen)
            case _:
                pass

    def _jump(self, item_id: str) -> None:
        if self.screen.view is not None:
            self.screen.view.scroll_to_item(item_id)

    async def _status(self) -> None:
        """Show the facts of the folder that help with support."""
        from opencode_tui.tui.conversation.tools.tool import FullText

        text = await folder_status(self.control)
        self.screen.open_text(FullText("Status", text))

    def _session_id(self) -> str | None:
        if self.control.session_id is None:
            self.screen.show_note("note", "No session yet", "send a message to start one")
        return self.control.session_id


async def folder_status(control: SessionController) -> str:
    """Return the status page as plain text, one fact per line; not made safe."""
    client = control.client
    places = await client.project.places()
    providers = await client.catalog.providers(only_ready=True)
    tools = await client.catalog.tools()
    skills = await client.catalog.skills()
    lines = [
        f"opencode-tui   {__version__}",
        f"folder         {places.directory}",
        f"worktree       {places.worktree}",
        f"branch         {control.folder.branch or 'none'}",
        f"settings       {places.config}",
        f"state          {places.state}",
        "",
        f"model          {control.choice.model or 'none'}",
        f"agent          {control.choice.agent or 'none'}",
        f"session        {control.session_id or 'none yet'}",
        f"sessions       {len(control.folder.sessions)} ({len(control.folder.statuses)} running)",
        "",
        f"providers      {', '.join(one.id for one in providers) or 'none'}",
        f"tools          {', '.join(one.id for one in tools)}",
        f"skills         {', '.join(one.name for one in skills) or 'none'}",
    ]
    for head, entries in (("warnings", control.warnings), ("inactive", control.ignored)):
        if entries:
            lines += ["", head, *(f"  {' '.join(one.split())}" for one in entries)]
    return "\n".join(lines)
