"""Actions of the lists of sessions: the session browser in the place of the sidebar, and the sessions page."""

from collections.abc import Callable, Sequence
from functools import partial

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.actions import session, session_sets
from opencode_tui.tui.actions.export import export
from opencode_tui.tui.actions.registry import action
from opencode_tui.tui.actions.search import search
from opencode_tui.tui.actions.session_sets import Back
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.sessions.session_list import NOTHING, Done, SessionList

ON_SETS: dict[str, Callable[[Chat, Sequence[SessionInfo], Back], None]] = {
    "delete": session_sets.delete,
    "archive": session_sets.archive,
    "unarchive": session_sets.unarchive,
    "pin": session_sets.pin,
}


@action("session_browser")
def open_browser(chat: Chat) -> None:
    """Show the session browser with the focus, or close it if it has the focus."""
    chat.open_browser()


@action("session_list", with_words=True)
def list_sessions(chat: Chat, words: str = "") -> None:
    """Open the list of sessions, filtered by the words."""
    _open_page(chat, SessionList(chat.sessions, chosen=chat.control.session_id or "", typed=words))


def _open_page(chat: Chat, sessions: SessionList, result: Done = NOTHING) -> None:
    from opencode_tui.tui.sessions.page import SessionsScreen  # pages load on demand

    def act(what: str, stays: bool) -> None:
        def back(result: Done = NOTHING) -> None:
            if result.head:
                sessions.marked.clear()
            if stays:
                page.show_result(result)
            else:
                _open_page(chat, sessions, result)

        if what == "search":
            search(chat, sessions.typed, back)
        else:
            _act(chat, what, sessions, back)

    page = SessionsScreen(chat.control, sessions, act, result=result)
    chat.open_page(page)


def act_in_browser(chat: Chat, what: str) -> None:
    """Run an action of the session browser."""
    sessions = chat.browser.sessions
    match what:
        case "new":
            chat.close_browser()
            chat.control.leave()
        case "everywhere":
            chat.do(_toggle_everywhere(chat, sessions))
        case "search":
            search(chat, sessions.typed)
        case _:
            _act(chat, what, sessions, partial(_back_in_browser, chat, what))


def _back_in_browser(chat: Chat, what: str, result: Done = NOTHING) -> None:
    """Show what was done, which can be undone in the browser; a pin is seen in its row."""
    if what == "undo" and chat.sessions.last_restored:
        chat.browser.select(chat.sessions.last_restored)
    if result.head and what != "pin":
        chat.show_note("note", result.head, result.facts)
    chat.browser.redraw()


async def _toggle_everywhere(chat: Chat, sessions: SessionList) -> None:
    sessions.is_everywhere = not sessions.is_everywhere
    if sessions.is_everywhere:
        await chat.sessions.load_everywhere()
    else:
        chat.sessions.drop_everywhere()
    chat.refresh_chrome()


def _act(chat: Chat, what: str, sessions: SessionList, back: Back) -> None:
    """Act on the targets of a list; `back` is called at the end, except where another session is shown then."""
    infos = sessions.infos()
    chosen = next((info for info in infos if info.id == sessions.chosen), None)
    match what:
        case "undo":
            session_sets.undo(chat, back)
        case "restore":
            session_sets.restore(chat, sessions.trashed(), back)
        case "remove":
            session_sets.remove(chat, sessions.trashed(), back)
        case _ if not infos:
            return
        case _ if what in ON_SETS:
            ON_SETS[what](chat, infos, back)
        case "export" if len(infos) > 1:
            session_sets.export(chat, infos, back)
        case _ if chosen is not None:
            _act_on_one(chat, what, chosen, back)
        case _:
            back(NOTHING)


def _act_on_one(chat: Chat, what: str, info: SessionInfo, back: Back) -> None:
    match what:
        case "open" if chat.sessions.is_here(info):
            chat.close_browser()
            session.open_session(chat, info.id)
        case "open":
            session.open_elsewhere(chat, info.directory, info.id)
        case "rename":
            session.rename(chat, info, partial(back, NOTHING))
        case "export":
            export(chat, info, partial(back, NOTHING))
        case _ if chat.sessions.is_here(info):
            chat.do(_fork(chat, info))
        case _:
            chat.show_note("note", "Open it first", "a session is forked in its own folder")


async def _fork(chat: Chat, info: SessionInfo) -> None:
    await session.fork(chat, info.id)
    chat.browser.select(chat.control.session_id or "")
