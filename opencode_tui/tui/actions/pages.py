"""Actions that open a full page: sessions, context, changes, timeline, status."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from opencode_tui import __version__
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.actions import session, session_sets
from opencode_tui.tui.actions.browser import open_listed
from opencode_tui.tui.actions.export import export
from opencode_tui.tui.actions.registry import action
from opencode_tui.tui.actions.search import search
from opencode_tui.tui.actions.undo import ask_undo
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.state.controller import SessionController

if TYPE_CHECKING:
    from opencode_tui.tui.sessions.page import SessionsPlace, SessionsScreen


@action("session_list", with_words=True)
def list_sessions(chat: Chat, words: str = "") -> None:
    """Open the list of sessions, filtered by the words."""
    from opencode_tui.tui.sessions.page import SessionsPlace

    _sessions(chat, SessionsPlace(typed=words))


def _sessions(chat: Chat, place: "SessionsPlace | None" = None) -> None:
    from opencode_tui.tui.sessions.page import SessionsPlace, SessionsScreen  # pages load on demand

    def act(what: str, chosen: str) -> None:
        _from_sessions(chat, what, chosen, page)

    place = place or SessionsPlace()
    place.can_undo = bool(chat.moved)
    page = SessionsScreen(chat.control, act, place=place)
    chat.open_page(page)


def _from_sessions(chat: Chat, what: str, chosen: str, page: "SessionsScreen") -> None:
    infos = page.infos()
    is_open = page.stays
    single = next((info for info in infos if info.id == chosen), None)

    def back(words: str = "") -> None:
        page.place.can_undo = bool(chat.moved)
        if words:
            page.place.marked.clear()
        if is_open:
            page.show_result(words)
        else:
            page.place.message = words
            _sessions(chat, page.place)

    match what:
        case "search":
            search(chat, page.place.typed, lambda: _sessions(chat, page.place))
        case "undo":
            session_sets.undo(chat, back)
        case "restore":
            session_sets.restore(chat, page.trashed(), back)
        case "remove":
            session_sets.remove(chat, page.trashed(), back)
        case _ if not infos:
            return
        case "delete":
            session_sets.delete(chat, infos, back)
        case "archive":
            session_sets.archive(chat, infos, back)
        case "unarchive":
            session_sets.unarchive(chat, infos, back)
        case "pin":
            session_sets.pin(chat, infos, back)
        case "export" if len(infos) > 1:
            session_sets.export(chat, infos, back)
        case _ if single is not None:
            _with_one(chat, what, single, back)
        case _:
            back()


def _with_one(chat: Chat, what: str, info: SessionInfo, back: Callable[[], object]) -> None:
    match what:
        case "open":
            open_listed(chat, info)
        case "rename":
            session.rename(chat, info, back)
        case "export":
            export(chat, info, back)
        case _ if info.id in chat.control.folder.sessions:
            chat.do(session.fork(chat, info.id))
        case _:
            chat.show_note("note", "Open it first", "a session is forked in its own folder")


@action("session_import")
def open_import(chat: Chat) -> None:
    """Open the page that imports sessions of other programs."""
    from opencode_tui.tui.pages.importing import ImportScreen

    chat.open_page(ImportScreen(chat.control, partial(session.open_session, chat)))


@action("background_view")
def open_background(chat: Chat) -> None:
    """Open the page of background commands, if there are any."""
    from opencode_tui.tui.pages.background import BackgroundScreen

    if not chat.control.folder.background_of(chat.control.session_id):
        chat.show_note("note", "No background commands", "the agent starts one for a server or a watcher")
        return
    chat.open_page(BackgroundScreen(chat.control))


@action("language_view")
async def open_languages(chat: Chat) -> None:
    """Open the page of language servers, if there are any."""
    from opencode_tui.tui.pages.languages import LanguagesScreen

    states = await chat.control.client.languages.servers()
    if states:
        chat.open_page(LanguagesScreen(chat.control, states))
    else:
        chat.show_note("note", "No language servers", "none is for the files here, or they are off")


@action("mcp_view")
async def open_mcp_servers(chat: Chat) -> None:
    """Open the page of MCP servers, if there are any."""
    from opencode_tui.tui.pages.mcp_servers import McpServersScreen

    servers = await chat.control.client.mcp.servers()
    if servers:
        chat.open_page(McpServersScreen(chat.control, servers))
    else:
        chat.show_note("note", "No MCP servers", "`opencode-tui mcp add NAME -- COMMAND` adds one")


@action("context_view")
async def open_context(chat: Chat) -> None:
    """Open the page of what the next request sends."""
    from opencode_tui.tui.pages.context import ContextScreen

    session_id = _session_id(chat)
    if session_id is not None:
        view = await chat.control.client.context.items(session_id)
        if chat.control.facts is not None and chat.control.session_id == session_id and not chat.control.is_busy:
            chat.control.facts.set_context(view.tokens)  # the sidebar has the same figure
            chat.refresh_chrome()
        chat.open_page(ContextScreen(chat.control, view, partial(_jump, chat)))


@action("diff_view")
async def open_diff(chat: Chat) -> None:
    """Open the page of the changes of the shown session, if there are any."""
    from opencode_tui.tui.pages.diff import DiffScreen

    session_id = _session_id(chat)
    if session_id is None:
        return
    diffs = await chat.control.client.sessions.diff(session_id)
    if diffs:
        chat.open_page(DiffScreen(diffs, chat.control.client.project.places, is_stacked=chat.control.is_stacked))
    else:
        chat.show_note("note", "No file changes", "in this session so far")


@action("session_timeline")
async def open_timeline(chat: Chat) -> None:
    """Open the page of the turns of the shown session."""
    from opencode_tui.tui.pages.timeline import TimelineScreen
    from opencode_tui.tui.pages.timeline_moments import branches_of, moments

    session_id = _session_id(chat)
    if session_id is None:
        return
    branches = branches_of(chat.control.folder.sessions, session_id)
    root = str(chat.control.client.directory)
    messages = await chat.control.client.messages.list(session_id)
    found = await asyncio.to_thread(moments, messages, branches, root=root)
    chat.open_page(TimelineScreen(chat.control, found, partial(_from_timeline, chat)))


def _from_timeline(chat: Chat, what: str, chosen: str) -> None:
    session_id = chat.control.session_id
    match what:
        case "jump":
            _jump(chat, chosen)
        case "revert":
            chat.do(ask_undo(chat, chosen))
        case "fork" if session_id is not None:
            chat.do(session.fork(chat, session_id, chosen))
        case "open":
            session.open_session(chat, chosen)
        case _:
            pass


def _jump(chat: Chat, item_id: str) -> None:
    chat.view.scroll_to_item(item_id)


@action("status_view")
async def open_status(chat: Chat) -> None:
    """Show the facts of the folder that help with support."""
    from opencode_tui.tui.conversation.tools.tool import FullText

    text = await folder_status(chat.control)
    chat.open_text(FullText("Status", text))


def _session_id(chat: Chat) -> str | None:
    info = chat.shown_session()
    return None if info is None else info.id


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
        if shown := [f"  {' '.join(str(one).split())}" for one in entries]:
            lines += ["", head, *shown]
    return "\n".join(lines)
