"""Actions that search all sessions and open what was found."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from opencode_tui.tui.actions import session
from opencode_tui.tui.actions.registry import action
from opencode_tui.tui.actions.view import show_place
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.options import Place

if TYPE_CHECKING:
    from opencode_tui.schema.api.search import SearchGroup, SearchHit


def _nothing() -> None: ...


@action("session_search", with_words=True)
def search(chat: Chat, typed: str = "", back: Callable[[], object] = _nothing) -> None:
    """Open the search page with a query; `back` is called when the user leaves it."""
    from opencode_tui.tui.pages.search import SearchScreen  # pages load on demand

    chat.open_page(SearchScreen(chat.control, partial(_open, chat), back=back, typed=typed))


def _open(chat: Chat, group: "SearchGroup", hit: "SearchHit | None") -> None:
    """Open a session, at a hit if there is one."""
    place = None
    if hit is not None:
        words = hit.snippet[slice(*hit.marks[0])] if hit.marks else ""
        place = Place(hit.message_id, hit.part_id, words)
    if group.session_id not in chat.control.folder.sessions:
        session.open_elsewhere(chat, group.directory, group.session_id, place)
    elif place is None:
        session.open_session(chat, group.session_id)
    else:
        chat.do(_open_at(chat, group.session_id, place))


async def _open_at(chat: Chat, session_id: str, place: Place) -> None:
    if chat.control.session_id != session_id:
        await chat.control.open(session_id)
    await show_place(chat, place)
