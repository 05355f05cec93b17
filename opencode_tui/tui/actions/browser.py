"""Actions of the session browser in the sidebar."""

from functools import partial

from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.actions import session, session_sets
from opencode_tui.tui.actions.registry import action
from opencode_tui.tui.actions.search import search
from opencode_tui.tui.chat.chat import Chat


@action("session_browser")
def open_browser(chat: Chat) -> None:
    """Show the session browser with the focus, or close it if it has the focus."""
    chat.open_browser()


def act_in_browser(chat: Chat, what: str, session_id: str) -> None:
    """Run an action of the browser; `session_id` is empty when no session is selected."""
    info = chat.sessions.get(session_id)
    match what:
        case "new":
            chat.close_browser()
            chat.control.leave()
        case "everywhere":
            chat.do(_toggle_everywhere(chat))
        case "search":
            search(chat, chat.browser.typed)
        case "undo":
            session_sets.undo(chat, partial(_after_undo, chat))
        case _ if info is not None:
            _act_on(chat, what, info)
        case _:
            pass


def _act_on(chat: Chat, what: str, info: SessionInfo) -> None:
    match what:
        case "open":
            open_listed(chat, info)
        case "fork" if not chat.sessions.is_here(info):
            chat.show_note("note", "Open it first", "a session is forked in its own folder")
        case "fork":
            chat.do(_fork(chat, info))
        case "rename":
            session.rename(chat, info)
        case "pin":
            session_sets.pin(chat, [info], lambda _words: None)
        case "archive":
            session_sets.archive(chat, [info], partial(_after, chat))
        case _:
            session_sets.delete(chat, [info], partial(_after, chat))


def open_listed(chat: Chat, info: SessionInfo) -> None:
    """Show a session, one of another project in its folder."""
    if chat.sessions.is_here(info):
        chat.close_browser()
        session.open_session(chat, info.id)
    else:
        session.open_elsewhere(chat, info.directory, info.id)


async def _fork(chat: Chat, info: SessionInfo) -> None:
    await session.fork(chat, info.id)
    chat.browser.select(chat.control.session_id or "")


def _after(chat: Chat, words: str) -> None:
    """Show what was done, which can be undone in the browser."""
    if words:
        chat.show_note("note", *_split(words))
    _show_undo(chat)


def _after_undo(chat: Chat, words: str) -> None:
    if chat.last_restored:
        chat.browser.select(chat.last_restored)
    _after(chat, words)


def _show_undo(chat: Chat) -> None:
    chat.browser.can_undo = bool(chat.moved)


async def _toggle_everywhere(chat: Chat) -> None:
    browser = chat.browser
    browser.is_everywhere = not browser.is_everywhere
    if browser.is_everywhere:
        await chat.sessions.load_everywhere()
    else:
        chat.sessions.drop_everywhere()
    chat.refresh_chrome()


def _split(words: str) -> tuple[str, str]:
    head, _, facts = words.partition(": ")
    return head, facts
