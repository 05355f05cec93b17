"""The screen without a terminal: the real app on the real engine with the scripted model, keys by a pilot.

async with screen(environ, folder, Answer(text="hi")) as page:
    await page.type("hello"); await page.press("enter")
    await page.sees("hi")
"""

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.app import App
from textual.events import Callback, Key
from textual.keys import REPLACED_KEYS, _character_to_key, key_to_character
from textual.pilot import Pilot
from textual.strip import Strip

from opencode_tui.tui.app import OpenCodeApp, load_actions
from opencode_tui.tui.dialogs.panel import Guard, Panel
from opencode_tui.tui.options import Ending, StartOptions
from opencode_tui.tui.theme.look import Depth, Look, built_in, glyphs_for
from tests.support.provider.model_script import Answer
from tests.support.terminal import style_sheets
from tests.support.terminal.threads import is_awake
from tests.support.world.engine import World, opened
from tests.support.world.waiting import PATIENCE_S

STEP_S = 0.02
IDLE_S = 0.01
"""The process is idle when it uses less than a tenth of so many seconds."""
SETTLE_LOOKS = 30
"""The most looks at whether the process is idle: during a turn it never is. A count, as each takes longer on a loaded machine."""
LATE_LOOKS = 10
"""Looks in a frame of the conversation and some more: so long at most it shows less than the rows around it."""
LOOKS_AGAIN_S = 0.3
"""After so long a wait reads the screen although it was not drawn."""


def screen_lines(app: App[Any]) -> list[Strip]:
    """Return what the screen shows, a strip for each row."""
    return app.screen._compositor.render_strips()[: app.screen.size.height]  # Textual has no public way to them


def screen_text(app: App[Any]) -> str:
    """Return everything on the screen, a line each, without blanks at the ends."""
    return "\n".join(line.text.rstrip() for line in screen_lines(app))


def look(*, dark: bool = True, depth: Depth = "truecolor", plain: bool = False) -> Look:
    """A look that does not move, so that two pictures of one state are alike."""
    return Look(built_in(dark, depth), glyphs_for("utf-8", ascii_wanted=plain), is_still=True)


@dataclass
class Page:
    """An open screen, its pilot, and its engine."""

    app: OpenCodeApp
    pilot: Pilot[Ending]
    world: World
    drawings: int = 0
    """How often the screen was drawn."""

    def __post_init__(self) -> None:
        self.app.post_display_hook = self._count

    def _count(self) -> None:
        self.drawings += 1

    @property
    def session_id(self) -> str | None:
        """The session that is shown."""
        chat = self.app.chat
        return chat.opened.control.session_id if chat.is_open else None

    async def type(self, text: str) -> None:
        """Type letters without a pause, as a terminal delivers them after a delay, and wait for their effect."""
        for letter in text:
            self._deliver(_KEYS.get(letter, letter))
        await self._settle()

    async def press(self, *keys: str) -> None:
        """Press keys by name; wait for the effect of each."""
        for key in keys:
            self._deliver(key)
            await self._settle()

    def press_at_once(self, *keys: str) -> None:
        """Press keys as a terminal that has them in one read: nothing waits for the effect of any."""
        for key in keys:
            self._deliver(key)

    def _deliver(self, key: str) -> None:
        """Send a key as the terminal does; `Pilot.press` would also wait for an idle process, up to 2 s."""
        driver = self.app._driver
        assert driver is not None
        name = _character_to_key(key) if len(key) == 1 else key
        letter = key if len(key) == 1 else key_to_character(REPLACED_KEYS.get(name, name))
        event = Key(name, letter)
        event.set_sender(self.app)
        driver.send_message(event)

    async def _settle(self) -> None:
        """Wait until all keys and messages are handled, and then for two idle periods of the process."""
        await self._keys_handled()
        await self.pilot._wait_for_screen()
        quiet = 0
        for _ in range(SETTLE_LOOKS):
            before = time.process_time()
            await asyncio.sleep(IDLE_S)
            is_idle = time.process_time() - before < IDLE_S / 10 and not is_awake(
                os.getpid(), but=threading.get_native_id()
            )
            quiet = quiet + 1 if is_idle else 0
            if quiet == 2:
                break

    async def _keys_handled(self) -> None:
        """Wait until the app has handled the keys that were delivered: a last message goes the same way, behind them."""
        driver, handled = self.app._driver, asyncio.Event()
        assert driver is not None
        last = Callback(callback=handled.set)
        last.set_sender(self.app)
        driver.send_message(last)
        end = time.monotonic() + PATIENCE_S
        while not handled.is_set() and self.app.is_running and time.monotonic() < end:
            await asyncio.sleep(IDLE_S / 10)

    async def resize(self, columns: int, rows: int) -> None:
        """Give the terminal this size; wait until the screen has it."""
        await resize(self.pilot, columns, rows)
        await self._settle()

    async def send(self, text: str) -> None:
        """Write a prompt and send it."""
        self.app.chat.prompt.editor.put(text)
        await self.press("enter")

    async def answer(self, *keys: str) -> None:
        """Press keys at a question, as if it had appeared long ago.

        The clock of its guard is set instead of waited for; `tests/tui/test_first_steps.py` waits for it in real time.
        """
        for _ in range(SETTLE_LOOKS):
            if isinstance(self.app.focused, Panel) and self.app.focused._is_shown:
                break
            await asyncio.sleep(IDLE_S)
        if isinstance(panel := self.app.focused, Panel):
            panel._guard = Guard(0)
            panel._await_quiet()
        await self.press(*keys)

    def text(self) -> str:
        """Everything on the screen, a line each, without blanks at the ends."""
        return screen_text(self.app)

    async def sees(self, words: str, *, timeout: float = PATIENCE_S) -> str:
        """Wait until the screen shows these words; return its text. Raise AssertionError with that text after the timeout."""
        return await self._until(lambda text: words in text, f"{words!r} did not come", timeout)

    async def says(self, words: str, *, timeout: float = PATIENCE_S) -> str:
        """Wait until the screen shows these words, on one row or wrapped: after a path the break depends on its length."""
        return await self._until(lambda text: words in " ".join(text.split()), f"{words!r} did not come", timeout)

    async def row(self, words: str, *, timeout: float = PATIENCE_S) -> int:
        """Wait until a row consists of these words; return its number, counted from 0."""

        def rows(text: str) -> list[int]:
            return [at for at, line in enumerate(text.splitlines()) if line.strip() == words]

        return rows(await self._until(rows, f"no row was {words!r}", timeout))[0]

    async def sees_no_more(self, words: str, *, timeout: float = PATIENCE_S) -> str:
        """Wait until these words are gone."""
        return await self._until(lambda text: words not in text, f"{words!r} did not go", timeout)

    async def _until(self, is_so: Any, complaint: str, timeout: float) -> str:
        end = time.monotonic() + timeout
        while not is_so(text := self.text()):
            if time.monotonic() > end:
                raise AssertionError(f"{complaint}; the screen says:\n{text}")
            await self._drawn()
        for _ in range(LATE_LOOKS):
            if not self._is_behind:
                break
            await asyncio.sleep(STEP_S / 2)
            later = self.text()
            text = later if is_so(later) else text
        return text

    @property
    def _is_behind(self) -> bool:
        """Whether the conversation has something to draw: the rows around it do not wait for its frames."""
        chat = self.app.chat
        return chat.is_open and self.app.screen is chat and chat.opened.view._transcript.has_changes

    async def _drawn(self) -> None:
        """Wait until the screen is drawn again, or LOOKS_AGAIN_S: to read it costs as much as to draw it."""
        drawings, again = self.drawings, time.monotonic() + LOOKS_AGAIN_S
        await asyncio.sleep(STEP_S)
        while self.drawings == drawings and time.monotonic() < again:
            await asyncio.sleep(STEP_S)

    async def ends(self, *, timeout: float = PATIENCE_S) -> None:
        """Wait until the app has ended."""
        end = time.monotonic() + timeout
        while self.app.is_running and time.monotonic() < end:
            await asyncio.sleep(STEP_S)
        assert not self.app.is_running

    def picture(self, path: Path) -> None:
        """Write the screen as SVG."""
        path.write_text(self.app.export_screenshot())


async def resize(pilot: Pilot[Any], columns: int, rows: int) -> None:
    """Give the terminal this size; wait until the screen has it. `Pilot.resize_terminal` alone may return before it is laid out."""
    await pilot.resize_terminal(columns, rows)
    end = time.monotonic() + PATIENCE_S
    while pilot.app.screen.size != (columns, rows):
        assert time.monotonic() < end, f"the screen is {pilot.app.screen.size}"
        await pilot.pause(STEP_S)


_KEYS = {
    " ": "space",
    "/": "slash",
    "@": "at",
    "!": "exclamation_mark",
    "?": "question_mark",
    "\n": "ctrl+j",
    ".": "full_stop",
}


@asynccontextmanager
async def screen(
    environ: dict[str, str],
    folder: Path,
    *answers: Answer,
    settings: dict[str, Any] | None = None,
    size: tuple[int, int] = (110, 34),
    options: StartOptions | None = None,
    worn: Look | None = None,
    is_attached: bool = True,
) -> AsyncGenerator[Page]:
    """Open the screen in a folder; the model gives these answers, then obeys directives."""
    load_actions()
    style_sheets.share()
    chosen = {"model": "fake/fake-model", **(settings or {})}
    async with opened(environ, folder, *answers, settings=chosen, in_thread=True) as world:
        app = OpenCodeApp(options or StartOptions(folder), worn or look())
        async with app.run_test(size=size) as pilot:
            page = Page(app, pilot, world)
            if is_attached:
                app.attach(world.client)
                await page.sees("build")
            yield page
