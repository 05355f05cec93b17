"""A hundred random keys while a turn streams and a question appears: what the prompt must hold afterwards, and what it holds.

The clock of the question stands still between two keys except for a pause that is too short to make it listen, so that no key is
meant for it, however slow the machine is.
"""

import asyncio
import random
import string
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual import events

from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import TextPart
from opencode_tui.tui.dialogs import panel
from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen
from tests.support.world.waiting import PATIENCE_S

KEYS = 100
PRINTED = string.ascii_letters + string.digits + "   "
"""Every letter that answers a question is among them."""

MOVES = ("left", "right", "home", "end", "backspace", "delete")
ELSEWHERE = 0.3
"""The share of rounds in which another terminal answers the question."""

LONGEST_PAUSE_MS = 100
"""Less than the pause after which a question listens."""


@dataclass
class Model:
    """What a prompt does with keys."""

    text: str = ""
    at: int = 0
    sent: list[str] = field(default_factory=list[str])

    def press(self, key: str) -> None:
        match key:
            case "left":
                self.at = max(0, self.at - 1)
            case "right":
                self.at = min(len(self.text), self.at + 1)
            case "home":
                self.at = 0
            case "end":
                self.at = len(self.text)
            case "backspace":
                self.text = self.text[: max(0, self.at - 1)] + self.text[self.at :]
                self.at = max(0, self.at - 1)
            case "delete":
                self.text = self.text[: self.at] + self.text[self.at + 1 :]
            case "enter":
                self.sent.append(self.text.strip())
                self.text, self.at = "", 0
            case _:
                letter = " " if key == "space" else key
                self.text = self.text[: self.at] + letter + self.text[self.at :]
                self.at += 1


def random_key(dice: random.Random, model: Model) -> str:
    """Return a key; enter only where there is something to send."""
    roll = dice.random()
    if roll < 0.02 and model.text.strip():
        return "enter"
    if roll < 0.2:
        return dice.choice(MOVES)
    return dice.choice(PRINTED).replace(" ", "space")


class Clock:
    """The clock of the questions, in ms."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@dataclass
class Stress:
    """A screen with a session in which each round is a turn."""

    page: Page
    clock: Clock
    dice: random.Random
    sent: list[str] = field(default_factory=list[str])

    async def round(self, number: int) -> list[str]:
        """Run a turn, type while it streams, answer its question at the end; return what went wrong."""
        page, model, before = self.page, Model(), len(self.sent)
        begin = f"round {number}"
        words = " ".join(f"w{n}" for n in range(self.dice.randrange(1, 60)))
        call = Call("bash", {"command": f"touch {number}.asked", "description": "ask"})
        page.world.server.script(Answer(text=words, delay_ms=8, calls=(call,)))
        await page.send(begin)
        other = asyncio.create_task(self._answer_elsewhere()) if self.dice.random() < ELSEWHERE else None
        for _ in range(KEYS):
            key = random_key(self.dice, model)
            self.clock.now += self.dice.randrange(1, LONGEST_PAUSE_MS)
            self._press(key)
            if key != "enter" or await self._is_sent():
                model.press(key)
            await asyncio.sleep(self.dice.random() * 0.012)
        await page.pilot.pause()
        self.sent += [begin, *model.sent]
        if other is not None:
            await other
        else:
            await page.sees("Run this")
        faults = await self._faults(number, model, waiting=0 if other else 1)
        if other is None:
            self.clock.now += 10_000
            self._press("y")
        control = page.app.chat.opened.control
        while control.is_busy or control.questions():
            await asyncio.sleep(0.02)
        texts = await self._stored()
        end = time.monotonic() + PATIENCE_S
        while len(texts) < len(self.sent) and time.monotonic() < end:  # a message may be on its way between two turns
            await asyncio.sleep(0.02)
            texts = await self._stored()
        while control.is_busy:  # with its turn
            await asyncio.sleep(0.02)
        if texts != self.sent:
            faults.append(f"round {number}: sent {self.sent[before:]}, stored {texts[before:]}")
            self.sent = texts
        page.app.chat.prompt.editor.put("")
        return faults

    async def _is_sent(self) -> bool:
        """Return whether enter sends: it does nothing while a question hides the prompt."""
        await self.page._keys_handled()
        chat = self.page.app.chat
        assert not chat.prompt.editor.text or chat.opened.panels.is_open
        return not chat.prompt.editor.text

    def _press(self, key: str) -> None:
        """Send a key as the terminal does, with the time of the clock; nothing waits until it is handled."""
        event = events.Key(key, " " if key == "space" else key if len(key) == 1 else None)
        event.time = self.clock.now / 1000
        self.page.app.post_message(event)

    async def _answer_elsewhere(self) -> None:
        """Answer the question as another terminal does, so that it disappears while keys are typed."""
        permissions = self.page.world.client.permissions
        while not (pending := await permissions.pending()):
            await asyncio.sleep(0.01)
        await asyncio.sleep(self.dice.random() * 0.4)
        await permissions.reply(pending[0].id, "once")

    async def _faults(self, number: int, model: Model, *, waiting: int) -> list[str]:
        page = self.page
        faults: list[str] = []
        if len(await page.world.client.permissions.pending()) != waiting:
            faults.append(f"round {number}: a key answered the question")
        if page.app.chat.prompt.editor.text != model.text:
            faults.append(f"round {number}: typed {model.text!r}, the prompt has {page.app.chat.prompt.editor.text!r}")
        return faults

    async def _stored(self) -> list[str]:
        messages = await self.page.world.client.messages.list(self.page.session_id or "")
        return [
            "".join(part.text for part in one.parts if isinstance(part, TextPart) and not part.synthetic).strip()
            for one in messages
            if isinstance(one.info, UserMessage)
        ]


@asynccontextmanager
async def stress(environ: dict[str, str], folder: Path, seed: int) -> AsyncGenerator[Stress]:
    """Open a screen for rounds of random keys; the same seed gives the same keys."""
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panel, "_now", clock)
        settings = {"permission": {"bash": "ask"}}
        async with screen(environ, folder, Answer(text="ready"), settings=settings) as page:
            await page.send("begin")
            await page.sees("✓ Done")
            yield Stress(page, clock, random.Random(seed), ["begin"])
