"""Actions that search all sessions and open what was found."""

from collections.abc import Callable, Mapping

from opencode_tui.schema.api.search import SearchGroup, SearchHit
from opencode_tui.tui.actions.session import SessionActions
from opencode_tui.tui.options import Place
from opencode_tui.tui.screen_api import ChatApi
from opencode_tui.tui.state.controller import SessionController


def _nothing() -> None: ...


class SearchActions:
    """Opens the search page, and a session at the part that was chosen there."""

    def __init__(self, screen: ChatApi, control: SessionController, sessions: SessionActions) -> None:
        self._screen = screen
        self._control = control
        self._sessions = sessions

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {"session_search": self.search}

    def with_words(self) -> Mapping[str, Callable[[str], object]]:
        """Return the actions that use the words after the name of their slash command, by id."""
        return {"session_search": self.search}

    def search(self, typed: str = "", back: Callable[[], object] = _nothing) -> None:
        """Open the search page with a query; `back` is called when the user leaves it."""
        from opencode_tui.tui.screens.search import SearchScreen  # pages load on demand

        self._screen.open_page(SearchScreen(self._control, self._open, back=back, typed=typed))

    def _open(self, group: SearchGroup, hit: SearchHit | None) -> None:
        """Open a session, at a hit if there is one."""
        place = None
        if hit is not None:
            words = hit.snippet[slice(*hit.marks[0])] if hit.marks else ""
            place = Place(hit.message_id, hit.part_id, words)
        if group.session_id not in self._control.folder.sessions:
            self._sessions.open_elsewhere(group.directory, group.session_id, place)
        elif place is None:
            self._sessions.open(group.session_id)
        else:
            self._screen.do(self._open_at(group.session_id, place))

    async def _open_at(self, session_id: str, place: Place) -> None:
        if self._control.session_id != session_id:
            await self._control.open(session_id)
        self._screen.show_place(place)
