"""Actions of the lists of sessions: the session browser in the place of the sidebar, and the sessions page."""

from functools import partial

from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.tui.actions import session
from opencode_tui.tui.actions.export import export
from opencode_tui.tui.actions.session import Origin, search
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.sessions.session_list import NOTHING, Done, SessionList


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

    def back(result: Done) -> None:
        if page.has_left:
            _open_page(chat, sessions, result)
        elif page.is_attached:
            page.show_result(result)

    origin = Origin(back, leave=lambda: page.leave())
    page = SessionsScreen(chat.control, sessions, lambda what: _act(chat, what, sessions, origin), result=result)
    chat.open_page(page)


def _act_in_browser(chat: Chat, what: str) -> None:
    def back(result: Done) -> None:
        """Show what was done, which can be undone in the browser; a pin is seen in its row."""
        sessions.select(result.selected)
        if result.head and what != "pin":
            chat.show_note("note", result.head, result.facts)
        chat.browser.redraw()

    sessions = chat.browser.sessions
    _act(chat, what, sessions, Origin(back))


for _what in ("open", "rename", "fork", "pin", "archive", "delete", "undo", "search"):
    action(f"browser_{_what}")(partial(_act_in_browser, what=_what))


@action("browser_new")
def leave_session(chat: Chat) -> None:
    """Close the browser, and show the empty chat."""
    chat.close_browser()
    chat.control.leave()


@action("browser_everywhere")
async def toggle_everywhere(chat: Chat) -> None:
    """Show the sessions of all projects in the browser, or only those of this one."""
    sessions = chat.browser.sessions
    sessions.is_everywhere = not sessions.is_everywhere
    await sessions.load()
    chat.refresh_chrome()


@action("browser_leave")
def leave_browser(chat: Chat) -> None:
    """Close the session browser."""
    chat.close_browser()


def _act(chat: Chat, what: str, sessions: SessionList, origin: Origin) -> None:
    """Act on the targets of a list, or on the selected session; its frame is left for a question or another view."""
    targets, selected = sessions.targets, sessions.selected
    if what == "undo":
        session.undo(chat, origin)
    elif what in session.VERBS and (what != "export" or len(targets) > 1):
        if targets:
            session.act(chat, what, targets, origin)
    elif what == "search":
        origin.leave()
        search(chat, sessions.typed, partial(origin.back, NOTHING))
    elif selected is not None and isinstance(selected.of, ListedSession):
        origin.leave()
        _act_on_one(chat, what, selected.of, origin)


def _act_on_one(chat: Chat, what: str, info: ListedSession, origin: Origin) -> None:
    back, is_here = partial(origin.back, NOTHING), chat.sessions.is_here(info.id)
    match what:
        case "open" if is_here:
            chat.close_browser()
            session.open_session(chat, info.id)
        case "open":
            session.open_elsewhere(chat, info.directory, info.id)
        case "rename":
            session.rename(chat, info, back)
        case "export":
            export(chat, info.id, back)
        case _ if is_here:
            chat.do(_fork(chat, info))
        case _:
            origin.back(Done("Open it first", "a session is forked in its own folder"))


async def _fork(chat: Chat, info: ListedSession) -> None:
    await session.fork(chat, info.id)
    chat.browser.select(chat.control.session_id or "")
