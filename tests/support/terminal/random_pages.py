"""Keys in bursts over all pages, lists and panels: a key that opens one, what is typed for it, what closes it, text for the prompt.

Nothing is waited for between them, so that most keys come before what they are for is shown. In a quarter of the rounds escape
comes right behind the keys that open it. Afterwards the prompt must hold what was typed for it, and no session, setting or file may
have changed.
"""

import asyncio
import random
import string
import time
from dataclasses import dataclass
from pathlib import Path

from opencode_tui.tui.app import ChatScreen
from tests.support.terminal.screen import Page
from tests.support.world.waiting import PATIENCE_S

LETTERS = "qzxvj"
"""What is typed into filters: letters of no title, so that a filter that lost one is seen."""


@dataclass(frozen=True, slots=True)
class Place:
    """A page, list or panel: the keys that open it, whether what is typed is its text, and the keys that do no harm there."""

    name: str
    keys: tuple[str, ...]
    takes_text: bool = False
    moves: tuple[str, ...] = ("down", "up", "pagedown", "home", "end")


def slash(name: str) -> tuple[str, ...]:
    """Return the keys of a slash command."""
    return ("/", *name, "enter")


PLACES = (
    Place("commands", ("ctrl+p",), takes_text=True, moves=("down", "up")),
    Place("keys", ("f1",), takes_text=True, moves=("down", "up")),
    Place("models", ("ctrl+x", "m"), takes_text=True, moves=("down", "up")),
    Place("agents", ("ctrl+x", "a"), takes_text=True, moves=("down", "up")),
    Place("themes", ("ctrl+x", "t"), takes_text=True, moves=()),
    Place("export", ("ctrl+x", "x"), takes_text=True, moves=("down", "up")),
    Place("history", ("ctrl+r",), takes_text=True, moves=("down", "up")),
    Place("sessions", ("ctrl+x", "l"), takes_text=True, moves=("down", "up")),
    Place("settings", ("ctrl+x", "comma"), takes_text=True, moves=("down", "up")),
    Place("timeline", ("ctrl+x", "g")),
    Place("context", ("ctrl+x", "i")),
    Place("diff", ("ctrl+x", "d"), moves=()),  # only a message without changes
    Place("changes", ("ctrl+x", "h"), moves=()),  # only a message without a repository
    Place("running", ("ctrl+x", "z")),
    Place("trust", ("ctrl+x", "w"), moves=()),
    Place("find", ("ctrl+x", "/"), takes_text=True, moves=()),
    Place("undo", ("ctrl+x", "u"), moves=()),
    Place("status", slash("status")),
    Place("permissions", slash("permissions")),
    Place("doctor", slash("doctor")),
    Place("cost", slash("cost")),
    Place("mcp", slash("mcp"), moves=()),  # without servers and jobs only a message is shown
    Place("jobs", slash("jobs"), moves=()),
    Place("lsp", slash("lsp"), moves=()),
    Place("search", slash("search"), takes_text=True, moves=()),
    Place("rename", slash("rename"), takes_text=True, moves=()),
    Place("login", slash("login"), takes_text=True, moves=()),
    Place("memory", slash("memory"), moves=("down", "up")),
    Place("approvals", slash("approvals"), moves=("down", "up")),
)


@dataclass
class PageStress:
    """An open screen with a session, and dice."""

    page: Page
    folder: Path
    dice: random.Random

    async def round(self, number: int) -> list[str]:
        """Open a place, type for it, close it and type for the prompt; return what went wrong."""
        place = self.dice.choice(PLACES)
        for_it = (
            "".join(self.dice.choice(LETTERS) for _ in range(self.dice.randrange(3, 9))) if place.takes_text else ""
        )
        for_prompt = "".join(self.dice.choice(string.ascii_lowercase) for _ in range(self.dice.randrange(4, 12)))
        moves = [self.dice.choice(place.moves) for _ in range(self.dice.randrange(0, 6))] if place.moves else []
        before = await self._world()
        is_given_up = self.dice.random() < 0.25
        if is_given_up:
            self._deliver([*place.keys, "escape"])
        else:
            await self._type([*place.keys, *for_it, *moves])
        if not is_given_up and place.takes_text and self.dice.random() < 0.5:
            seen = await self._shown(for_it)
            if not seen:
                return [
                    f"round {number}: {place.name} does not show {for_it!r}: {self._state()}\n{self.page.text()[:600]}",
                    *await self._reset(),
                ]
        await self._close()
        await self._type(list(for_prompt))
        await self.page._settle()
        text = self.page.app.chat.prompt.editor.text
        faults = (
            []
            if text == for_prompt
            else [f"round {number}: {place.name}: typed {for_prompt!r}, the prompt has {text!r}"]
        )
        if (after := await self._world()) != before:
            faults.append(f"round {number}: {place.name}: changed {before} to {after}")
        return [*faults, *await self._reset()]

    async def _type(self, keys: list[str]) -> None:
        """Send keys; in half of the rounds without a pause between them."""
        if self.dice.random() < 0.5:
            self._deliver(keys)
            return
        for key in keys:
            self._deliver([key])
            await asyncio.sleep(self.dice.random() * 0.02)

    def _deliver(self, keys: list[str]) -> None:
        for key in keys:
            self.page._deliver(key)

    async def _shown(self, text: str) -> bool:
        try:
            await self.page.sees(text)
        except AssertionError:
            return False
        return True

    def _state(self) -> str:
        """Return what an empty page is due to: its screens, what is focused, whether drawing is held, and kept keys."""
        app = self.page.app
        screens = [f"{type(one).__name__} {one.size.width}×{one.size.height}" for one in app.screen_stack]
        return f"{screens}, focus {app.focused}, updates held {app._batch_count}, keys kept {app.router._kept}, {app.router._hold}"

    async def _close(self) -> None:
        """Press escape until the prompt has the keys, once what loads is shown; never twice where it would open something."""
        for _ in range(6):
            await self.page._settle()
            app, end = self.page.app, time.monotonic() + PATIENCE_S
            while (app.router._hold is not None or app.router._kept is not None) and time.monotonic() < end:
                await self.page._settle()
            if isinstance(app.screen, ChatScreen) and app.focused is app.chat.prompt.editor:
                return
            self.page._deliver("escape")

    async def _reset(self) -> list[str]:
        await self._close()
        self.page.app.chat.prompt.editor.put("")
        return []

    async def _world(self) -> tuple[object, ...]:
        """Return what no round may change."""
        client = self.page.world.client
        sessions = sorted((one.id, one.title) for one in await client.sessions.list())
        files = sorted((path.name, path.stat().st_size) for path in self.folder.iterdir() if path.is_file())
        messages = len(await client.messages.list(self.page.session_id or ""))
        return sessions, files, messages, self.page.session_id
