"""The page of language servers: their state, root and memory, and a key that restarts one."""

from collections.abc import Sequence
from functools import partial

from opencode_tui.schema.api.language import LanguageServerState
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.language import RUN, SERVER_WORDS
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.sidebar import server_sign
from opencode_tui.tui.keys.router import KeyAction
from opencode_tui.tui.screens.page import Entry, PageScreen
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Piece

POLL_S = 2.0
NAME = 22
"""Cells of the column with the server's name."""


class LanguagesScreen(PageScreen):
    """The language servers of the folder; `r` restarts the selected one, in all its roots."""

    scopes = ("page:languages", "page")

    has_preview = False

    def __init__(self, control: SessionController, states: Sequence[LanguageServerState]) -> None:
        super().__init__()
        self._control = control
        self._states = states
        self._error = ""

    def fill(self) -> None:
        """Show the list and keep it current."""
        self.set_interval(POLL_S, self._follow)
        self._draw()

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected server."""
        one = self._find()
        return (
            [KeyAction("language_restart", "restart", self._restart)] if one is not None and one.status in RUN else []
        )

    def show_keys(self) -> None:
        """Draw the row of keys again."""
        super().show_keys()
        if self._error:
            self.foot.show_message(screen_line(self._error), "error")

    def _find(self) -> LanguageServerState | None:
        return next((one for one in self._states if _key(one) == self.listing.chosen), None)

    def _restart(self) -> None:
        one = self._find()
        if one is not None:
            self.run_worker(partial(self._read, one.id), group="restart", exit_on_error=False)

    def _follow(self) -> None:
        self.run_worker(self._read, exclusive=True, group="read", exit_on_error=False)

    async def _read(self, restarted: str = "") -> None:
        client = self._control.client.languages
        try:
            if restarted:
                await client.restart(restarted)
            self._states, self._error = await client.servers(), ""
        except OpencodeError as error:
            self._error = str(error)
        self._draw()

    def _draw(self) -> None:
        running = sum(one.status == "connected" for one in self._states)
        words = f"{running} running" if running else plural(len(self._states), "server")
        title = [("Language servers", self.style("text", bold=True))]
        self.head.show([(title, [(words, self.style("muted"))])])
        self.listing.show([self._entry(one) for one in self._states])
        self.show_keys()

    def _entry(self, one: LanguageServerState) -> Entry:
        glyphs = self.listing.look.glyphs
        sign, hue = server_sign(one.status, glyphs)
        facts = f" {glyphs.separator} ".join(screen_line(fact) for fact in _facts(one))

        def left(area: str) -> Sequence[Piece]:
            name = pad(clip(screen_line(one.name), NAME, glyphs.ellipsis), NAME)
            return [
                (f" {sign} ", self.style(hue, area)),
                (f"{name} ", self.style("text", area, bold=area == "selection")),
                (f"{pad(SERVER_WORDS[one.status], 12)} ", self.style("muted", area)),
                (facts, self.style("muted", area)),
            ]

        return Entry(left, None, _key(one))


def _key(one: LanguageServerState) -> str:
    return f"{one.id} {one.root}"


def _facts(one: LanguageServerState) -> list[str]:
    """Return the root, the open files and the memory of a server that runs; of another one why it does not."""
    if one.status not in ("connected", "starting"):
        return [*([one.root] if one.root != "." else []), *([one.detail] if one.detail else [])]
    return [one.root, plural(one.files, "file"), *([byte_words(one.memory)] if one.memory else [])]
