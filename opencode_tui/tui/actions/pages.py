"""Actions that open a full page: context, changes, timeline, status."""

import os
from functools import partial

from opencode_tui import __version__
from opencode_tui.text.notices import warning_lines
from opencode_tui.tui.actions import session
from opencode_tui.tui.actions.undo import ask_undo
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.notices import FolderNotices


@action("session_import")
def open_import(chat: Chat) -> None:
    """Open the page that imports sessions of other programs."""
    from opencode_tui.tui.pages.importing import ImportScreen

    chat.open_page(ImportScreen(chat.control, partial(session.open_session, chat)))


@action("running_view", loads="what runs")
async def open_running(chat: Chat) -> None:
    """Open the page of what runs and waits in all folders."""
    from opencode_tui.tui.pages.running import RunningScreen

    view = await chat.control.client.inbox.list()
    chat.open_page(RunningScreen(chat.control, view, partial(session.show_anywhere, chat), chat.away.look_at_all))


@action("background_view")
def open_background(chat: Chat) -> None:
    """Open the page of background commands, if there are any."""
    from opencode_tui.tui.pages.background import BackgroundScreen

    if not chat.control.folder.background_of(chat.control.session_id):
        chat.show_note("note", "No background commands", "the agent starts one for a server or a watcher")
        return
    chat.open_page(BackgroundScreen(chat.control))


@action("language_view", loads="the language servers")
async def open_languages(chat: Chat) -> None:
    """Open the page of language servers, if there are any."""
    from opencode_tui.tui.pages.languages import LanguagesScreen

    states = await chat.control.client.languages.servers()
    if states:
        chat.open_page(LanguagesScreen(chat.control, states))
    else:
        chat.show_note("note", "No language servers", "none match the files here, or they are off")


@action("plugin_view", loads="the plugins")
async def open_plugins(chat: Chat) -> None:
    """Open the page of installed plugins."""
    from opencode_tui.tui.pages.plugins import PluginsScreen

    chat.open_page(PluginsScreen(chat.control, await chat.control.client.settings.plugins()))


@action("context_view", loads="the context")
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


@action("ledger_view", loads="what a compaction keeps")
async def open_ledger(chat: Chat) -> None:
    """Open the page of what a compaction keeps word for word."""
    from opencode_tui.tui.pages.ledger import LedgerScreen

    session_id = _session_id(chat)
    if session_id is None:
        return
    view = await chat.control.client.context.ledger(session_id)

    def show(message_id: str | None) -> None:
        if message_id is not None:
            _jump(chat, message_id)

    chat.app.push_screen(LedgerScreen(chat.control, view), show)


@action("diff_view", loads="the changes")
async def open_diff(chat: Chat) -> None:
    """Open the page of the changes of the shown session, if there are any."""
    from opencode_tui.tui.pages.diff import DiffScreen

    session_id = _session_id(chat)
    if session_id is None:
        return
    sessions = chat.control.client.sessions
    diffs = await sessions.diff(session_id) or await sessions.ignored_changes(session_id)
    if diffs:
        chat.open_page(DiffScreen(diffs, chat.control.client.project.places, is_stacked=chat.settings.is_stacked))
    else:
        chat.show_note("note", "No file changes", "in this session so far")


@action("session_timeline", loads="the timeline")
async def open_timeline(chat: Chat) -> None:
    """Open the page of the turns of the shown session."""
    from opencode_tui.tui.pages.timeline import TimelineScreen
    from opencode_tui.tui.pages.timeline_moments import branches_of
    from opencode_tui.tui.pages.timeline_reader import TimelineReader

    session_id = _session_id(chat)
    if session_id is None:
        return
    branches = branches_of(chat.control.folder.sessions.below(session_id or ""), session_id)
    client = chat.control.client
    reader = TimelineReader(client.messages, session_id, branches, root=str(client.directory))
    await reader.start()
    act = partial(_from_timeline, chat)
    chat.open_page(TimelineScreen(chat.control, reader, act, is_stacked=chat.settings.is_stacked))


def _from_timeline(chat: Chat, what: str, chosen: str) -> None:
    session_id = chat.control.session_id
    match what:
        case "jump":
            _jump(chat, chosen)
        case "revert":
            chat.load_page("Loading what would be undone", ask_undo(chat, chosen))
        case "fork" if session_id is not None:
            chat.do(session.fork(chat, session_id, chosen))
        case "open":
            session.open_session(chat, chosen)
        case _:
            pass


def _jump(chat: Chat, item_id: str) -> None:
    if chat.control.is_whole or chat.control.transcript.item(item_id) is not None:
        chat.view.scroll_to_item(item_id)
    else:
        chat.do(_jump_far(chat, item_id))


async def _jump_far(chat: Chat, item_id: str) -> None:
    """Show an item of the older messages of a long session."""
    await chat.load_whole()
    chat.view.scroll_to_item(item_id)


@action("status_view", loads="the status")
async def open_status(chat: Chat) -> None:
    """Show the facts of the folder that help with support."""
    from opencode_tui.tui.conversation.tools import FullText

    text = await folder_status(chat.control, chat.notices)
    chat.open_text(FullText("Status", text))


def _session_id(chat: Chat) -> str | None:
    info = chat.shown_session()
    return None if info is None else info.id


async def folder_status(control: SessionController, notices: FolderNotices) -> str:
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
        f"agent          {control.agent or 'none'}",
        f"session        {control.session_id or 'none yet'}",
        f"sessions       {len(control.folder.sessions)} ({len(control.folder.statuses)} running)",
        "",
        f"providers      {', '.join(one.id for one in providers) or 'none'}",
        f"tools          {', '.join(one.id for one in tools)}",
        f"skills         {', '.join(one.name for one in skills) or 'none'}",
    ]
    return "\n".join([*lines, *_notice_lines(notices)])


def _notice_lines(notices: FolderNotices) -> list[str]:
    """Return the warnings about settings, and the settings that are inactive, below a heading each."""
    warnings = warning_lines(notices.warnings, os.path.expanduser("~"))
    inactive = [" ".join(str(one).split()) for one in notices.ignored]
    lines: list[str] = []
    for head, entries in (("warnings", warnings), ("inactive", inactive)):
        if entries:
            lines += ["", head, *(f"  {one}" for one in entries)]
    return lines
