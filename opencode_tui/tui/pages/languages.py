"""The page of language servers: their state, root and memory, and a key that restarts one."""

from collections.abc import Sequence
from functools import partial

from opencode_tui.schema.api.language import LanguageServerState
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.language import RUN, SERVER_WORDS
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.sections import server_sign
from opencode_tui.tui.keys.keyed import KeyAction
from opencode_tui.tui.pages.list_page import ListPage
from opencode_tui.tui.pages.page import ListRow
from opencode_tui.tui.state.controller import SessionController

NAME = 22
"""Cells of the column with the server's name."""


class LanguagesScreen(ListPage):
    """The language servers of the folder; the selected one can be restarted, in all its roots."""

    scopes = ("page:languages", "page")
    has_preview = False
    heading = "Language servers"
    every_s = 2.0

    def __init__(self, control: SessionController, states: Sequence[LanguageServerState]) -> None:
        super().__init__()
        self._client = control.client.languages
        self._states = states

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected server."""
        one = next((one for one in self._states if _key(one) == self.listing.chosen), None)
        if one is None or one.status not in RUN:
            return ()
        return (KeyAction("language_restart", "restart", partial(self._restart, one.id)),)

    def _restart(self, name: str) -> None:
        async def work() -> None:
            try:
                await self._client.restart(name)
            except OpencodeError as error:
                self.error = str(error)
                self.draw()
            else:
                await self.read()

        self.run_worker(work, group="restart", exit_on_error=False)

    async def load(self) -> None:
        """Read the states."""
        self._states, self.error = await self._client.servers(), ""

    def summary(self) -> str:
        """Return how many run."""
        running = sum(one.status == "connected" for one in self._states)
        return f"{running} running" if running else plural(len(self._states), "server")

    def entries(self) -> Sequence[ListRow]:
        """Return a row for each server: its name, its state, its root and memory."""
        glyphs = self.listing.look.glyphs
        return [
            self.row(
                _key(one),
                server_sign(one.status, glyphs),
                [
                    (f"{pad(clip(screen_line(one.name), NAME, glyphs.ellipsis), NAME)} ", "text"),
                    (f"{pad(SERVER_WORDS[one.status], 12)} ", "muted"),
                    (f" {glyphs.separator} ".join(screen_line(fact) for fact in _facts(one)), "muted"),
                ],
            )
            for one in self._states
        ]


def _key(one: LanguageServerState) -> str:
    return f"{one.id} {one.root}"


def _facts(one: LanguageServerState) -> list[str]:
    """Return the root, the open files and the memory of a server that runs; of another one why it does not."""
    if one.status not in ("connected", "starting"):
        return [*([one.root] if one.root != "." else []), *([one.detail] if one.detail else [])]
    return [one.root, plural(one.files, "file"), *([byte_words(one.memory)] if one.memory else [])]
