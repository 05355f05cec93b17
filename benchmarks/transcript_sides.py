"""One side of the transcript's benchmark, as a program on a terminal of its own: our view, or a plain text widget.

The side `repainting` is our view through Textual's own output, which writes every cell of a line that changed.

It feeds the side, and writes the cost as JSON into the file that its argument names.
"""

import argparse
import asyncio
import gc
import json
import resource
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from textual.app import ComposeResult
from textual.driver import Driver
from textual.widgets import Input, Static

from benchmarks.streamed_text import mixed_markdown, one_fence, tokens_of
from opencode_tui.schema.event.event import MessageUpdated, PartGrowth, PartUpdated
from opencode_tui.schema.session.part import PartTime, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.tui.conversation.view import ConversationView
from opencode_tui.tui.output.display import TerminalApp
from opencode_tui.tui.state.message import GrowingItem
from opencode_tui.tui.state.transcript import Transcript
from opencode_tui.tui.terminal_input import TerminalInput
from tests.support.terminal.conversation import NOON, SESSION, Story, look
from tests.support.terminal.warm import warm

FRAMES_PER_SECOND = 30
SLICE_S = 0.008
"""A reader of a fast stream gives way after so long, as the provider adapters do."""


class Side(Protocol):
    """Where tokens go."""

    def widget(self) -> Any:
        """Return what shows them."""
        ...

    def begin(self) -> None:
        """An answer begins."""
        ...

    def add(self, token: str) -> None:
        """Take a token."""
        ...

    def end(self) -> None:
        """The answer has ended."""
        ...

    def is_shown(self) -> bool:
        """Tell whether all of it is on the screen."""
        ...


class _Live:
    """A growing part's pieces."""

    def __init__(self, part: TextPart) -> None:
        self._part = part
        self.pieces: list[str] = []

    def record(self) -> TextPart:
        return self._part.changed(text="".join(self.pieces))


class _Fed:
    """A transcript that receives an answer as the engine publishes it, token by token."""

    def __init__(self) -> None:
        self.transcript = Transcript(SESSION)
        self._story = Story()
        self._part = TextPart(id="prt_1", session_id=SESSION, message_id="", text="", time=PartTime(start=NOON))
        self._live = _Live(self._part)

    def begin(self) -> None:
        user = self._story.user("go")
        answer = self._story.answer([], end=None)
        for message in (user, answer):
            self.transcript.apply(MessageUpdated(info=message.info))
        self.transcript.apply(PartUpdated(part=user.parts[0]))
        self._part = self._part.changed(message_id=answer.info.id)
        self.transcript.apply(PartUpdated(part=self._part))

    def add(self, token: str) -> None:
        self._live.pieces.append(token)
        self.transcript.apply(PartGrowth(SESSION, self._part.message_id, self._part.id, token, self._live.record))

    def end(self) -> None:
        whole = self._part.changed(text="".join(self._live.pieces), time=PartTime(start=NOON, end=NOON + 1))
        self.transcript.apply(PartUpdated(part=whole))


class PlainSide(_Fed):
    """The floor: the text's tail in one widget without markup, at the same frame rate."""

    def __init__(self) -> None:
        super().__init__()
        self._static = Static("", markup=False)
        self._seen = 0
        self._tail = ""

    def widget(self) -> Static:
        self._static.styles.height = "1fr"
        return self._static

    def begin(self) -> None:
        super().begin()
        self._static.set_interval(1 / FRAMES_PER_SECOND, self._show)

    def is_shown(self) -> bool:
        return self._seen == len(self._pieces())

    def _pieces(self) -> list[str]:
        item = self.transcript.item("prt_1")
        return item.pieces if isinstance(item, GrowingItem) else []

    def _show(self) -> None:
        pieces = self._pieces()
        if self._seen < len(pieces):
            fresh = "".join(pieces[self._seen :])
            self._seen = len(pieces)
            self._tail = "\n".join((self._tail + fresh).split("\n")[-40:])
            self._static.update(self._tail)


class OurSide(_Fed):
    """Our view."""

    def __init__(self) -> None:
        super().__init__()
        self._view = ConversationView(self.transcript)

    def widget(self) -> ConversationView:
        return self._view

    def is_shown(self) -> bool:
        return not self.transcript.has_changes and not self._view.viewport.layout.is_behind


class LagMeter:
    """How long the event loop was held up, at most, in CPU time: other programs on the machine do not count."""

    def __init__(self) -> None:
        self.worst_ms = 0.0

    async def watch(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.002)
            self.worst_ms = max(self.worst_ms, (time.thread_time() - before) * 1000)


class SideApp(TerminalApp[None]):
    """Shows one side, through our output or Textual's."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, side: Side, act: Callable[["SideApp"], Awaitable[dict[str, Any]]], result: Path, *, is_ours: bool
    ) -> None:
        self._is_ours = is_ours
        super().__init__()
        self.look = look()
        self.side = side
        self._act = act
        self._result = result

    def get_driver_class(self) -> type[Driver]:
        """Return our driver or Textual's."""
        return TerminalInput if self._is_ours else super().get_driver_class()

    def compose(self) -> ComposeResult:
        yield self.side.widget()
        yield Input(compact=True)

    def on_ready(self) -> None:
        self.query_one(Input).focus()
        self.run_worker(self._work())

    async def _work(self) -> None:
        await asyncio.to_thread(warm)
        await asyncio.sleep(0.3)
        gc.collect()
        gc.freeze()
        meter = LagMeter()
        watcher = asyncio.create_task(meter.watch())
        facts = await self._act(self)
        watcher.cancel()
        facts["lag_ms"] = meter.worst_ms
        facts["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self._result.write_text(json.dumps(facts))
        self.exit()


def paced(text: str, rate: float) -> Callable[[SideApp], Awaitable[dict[str, Any]]]:
    """Feed so many tokens a second; return the CPU of 1,000 tokens, and of each quarter."""

    async def act(app: SideApp) -> dict[str, Any]:
        tokens = list(tokens_of(text))
        app.side.begin()
        began = time.perf_counter()
        marks = [time.process_time()]
        for number, token in enumerate(tokens, 1):
            app.side.add(token)
            ahead = began + number / rate - time.perf_counter()
            if ahead > 0:
                await asyncio.sleep(ahead)
            if number % (len(tokens) // 4) == 0:
                marks.append(time.process_time())
        app.side.end()
        await asyncio.sleep(0.1)
        cpu = (time.process_time() - marks[0]) / len(tokens) * 1000
        return {"cpu_per_1000": cpu, "quarters": [after - before for before, after in pairwise(marks)]}

    return act


def flat_out(text: str) -> Callable[[SideApp], Awaitable[dict[str, Any]]]:
    """Feed as fast as it goes; return the time until all is on the screen."""

    async def act(app: SideApp) -> dict[str, Any]:
        tokens = list(tokens_of(text))
        app.side.begin()
        began = slice_began = time.perf_counter()
        for token in tokens:
            app.side.add(token)
            if time.perf_counter() - slice_began > SLICE_S:
                await asyncio.sleep(0)
                slice_began = time.perf_counter()
        app.side.end()
        while not app.side.is_shown():
            await asyncio.sleep(0.001)
        painted = asyncio.Event()
        app.call_after_refresh(painted.set)
        await painted.wait()
        return {"wall": time.perf_counter() - began}

    return act


async def large_things(app: SideApp) -> dict[str, Any]:
    """Bring a tool's output of 100,000 lines, a line of a megabyte and an answer of a megabyte, open and scroll all of it."""
    side = app.side
    assert isinstance(side, OurSide)
    view = side.widget()
    side.begin()
    story = Story()
    message_id = side.transcript.items[0].message_id
    answers = [item for item in side.transcript._views.order if item.user is None]  # pyright: ignore[reportPrivateUsage] - to name the answer
    message_id = answers[-1].info.id
    outputs = [
        "\n".join(f"line {number} of the output" for number in range(100_000)),
        "x" * 1_000_000,
        "日本" * 500_000,
    ]
    for output in outputs:
        part = story.tool("bash", {"command": "make"}, output[:1000], output=output, exit=1)
        assert isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)
        side.transcript.apply(PartUpdated(part=part.changed(message_id=message_id, id=f"prt_{len(output)}")))
        await asyncio.sleep(0.1)
        view.focus()
        await asyncio.sleep(0.1)
        view.run("item_open")
        await asyncio.sleep(0.1)
    for text in ("word " * 200_000, "x" * 1_000_000, "| a | b |\n|---|---|\n" + "| `1` | 2 |\n" * 20_000):
        part = TextPart(
            id=f"prt_text_{len(text)}",
            session_id=SESSION,
            message_id=message_id,
            text=text,
            time=PartTime(start=1, end=2),
        )
        side.transcript.apply(PartUpdated(part=part))
        await asyncio.sleep(0.8)
    for delta in (-40, -400, -4_000, -40_000, 10**9):
        view.scroll_lines(delta)
        await asyncio.sleep(0.05)
    return {}


ACTS: dict[str, Callable[[int], Callable[[SideApp], Awaitable[dict[str, Any]]]]] = {
    "paced": lambda tokens: paced(mixed_markdown(tokens), 200),
    "flat": lambda tokens: flat_out(mixed_markdown(tokens)),
    "swift": lambda tokens: paced(mixed_markdown(tokens), 4_000),
    "fence": lambda tokens: paced(one_fence(tokens), 1_200),
    "large": lambda _: large_things,
}


def main() -> None:
    """Run one side."""
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=["plain", "ours", "repainting"])
    parser.add_argument("act", choices=list(ACTS))
    parser.add_argument("tokens", type=int)
    parser.add_argument("result", type=Path)
    options = parser.parse_args()
    side = PlainSide() if options.side == "plain" else OurSide()
    SideApp(side, ACTS[options.act](options.tokens), options.result, is_ours=options.side == "ours").run()


if __name__ == "__main__":
    main()
