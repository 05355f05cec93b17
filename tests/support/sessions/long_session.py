"""A long session against a small window: turns of tool calls on texts of all kinds, with facts planted in what must be kept.

    plan = LongSession(turns=40, steps=10, size=900)
    course = await plan.run(world, folder, usable=24_000, summary=Answer(text="…"))     # the world's server has a `Window`
    assert course.lost == [] and len(course.after) <= course.allowed

Some requests state rules, a call of the first turn writes todos, and each request contains a fact of its own.
"""

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from statistics import mean
from typing import Any

from opencode_tui.client.client import EventReader
from opencode_tui.schema.event.event import MessageUpdated, SessionCompacted
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.session import SessionInfo
from tests.support.provider.model_script import Answer, Call, content_text
from tests.support.provider.model_server import Received, asks_for_summary
from tests.support.sessions.corpus import KINDS, passage
from tests.support.world.engine import World


@dataclass
class Course:
    """What a session went through; sizes are the server's true counts in tokens."""

    usable: int
    refused: int = 0
    added: int = 0
    after: list[int] = field(default_factory=list)
    """The size of the first request after each compaction."""
    facts: int = 0
    """How many facts had to be in those requests, each time anew."""
    lost: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    """Milliseconds from the end of the step before each compaction to the arrival of the request after it."""
    summaries: int = 0

    @property
    def allowed(self) -> int:
        """How many compactions so many tokens may take."""
        return ceil((self.added - self.usable) / (self.usable - mean(self.after))) + 2 if self.after else 0


class LongSession:
    """The script of a session: `steps` model calls in each turn, the reads of which bring about `size` tokens each."""

    def __init__(self, *, turns: int, steps: int, size: int, rules: int = 20, todos: int = 20) -> None:
        self._turns = turns
        self._steps = steps
        self._size = size
        self._rules = rules
        self._todos = [f"finish part {number}, TODO-{number:02}" for number in range(todos)]

    async def run(self, world: World, folder: Path, *, usable: int, summary: Answer, step_ms: float = 0) -> Course:
        """Play it in a folder; the model gives `summary` whenever it is asked for one, and waits `step_ms` before each delta."""
        self._folder, self._chance, self._last_head = folder, random.Random(7), ""
        course = Course(usable)
        answers = [answer for turn in range(self._turns) for answer in self._answers(turn, step_ms)]
        world.server.script(*answers)
        world.server.summary_answers.extend([summary] * len(answers))
        session: SessionInfo | None = None
        begins: list[int] = []
        with world.client.events() as events:
            watch = _Watch(events)
            for turn in range(self._turns):
                begins.append(len(world.server.requests))
                session = await world.prompt(self._request(turn), session=session)
            await watch.end()
        self._read(course, world.server.requests, begins)
        course.waits, course.refused = watch.waits(world.server.requests), world.server.refused
        return course

    def _answers(self, turn: int, step_ms: float) -> Iterator[Answer]:
        for step in range(self._steps - 1):
            call = Call("read", {"filePath": str(self._file(turn, step))})
            if (turn, step) == (0, 0):
                todos = [{"content": one, "status": "pending", "priority": "medium"} for one in self._todos]
                call = Call("todowrite", {"todos": todos})
            yield Answer(text=passage("prose", self._chance, 200), calls=(call,), delay_ms=step_ms, delta_size=100)
        yield Answer(text=passage("prose", self._chance, 400), delay_ms=step_ms, delta_size=200)

    def _file(self, turn: int, step: int) -> Path:
        number = turn * self._steps + step
        kind = KINDS[number % len(KINDS)]
        file = self._folder / f"text_{number}.txt"
        length = self._size * (1 if kind == "chinese" else 4)
        file.write_text(passage(kind, self._chance, length), encoding="utf-8")
        return file

    def _request(self, turn: int) -> str:
        rule = f"Always keep to RULE-{turn:02} in every file that you write.\n" if turn < self._rules else ""
        return f"{rule}Do the work of this turn, and mind ASKED-{turn:02}.\n{passage('prose', self._chance, 300)}"

    def _must_hold(self, turn: int) -> list[str]:
        rules = [f"RULE-{number:02}" for number in range(min(turn + 1, self._rules))]
        return [*rules, *(f"TODO-{number:02}" for number in range(len(self._todos))), f"ASKED-{turn:02}"]

    def _read(self, course: Course, requests: list[Received], begins: list[int]) -> None:
        """Read sizes and facts off the requests that were sent."""
        before: int | None = None
        compacted = False
        for place, received in enumerate(requests):
            if asks_for_summary(received.body):
                course.summaries += 1
                continue
            size, head = received.tokens, _head(received.body)
            is_after = head.startswith("What did we do so far?") and head != self._last_head
            if is_after:
                compacted = True
                course.after.append(size)
                turn = max(number for number, begin in enumerate(begins) if begin <= place)
                sent = "\n".join(content_text(one.get("content")) for one in received.body["messages"])
                course.facts += len(self._must_hold(turn))
                course.lost += [f"{fact} after request {place}" for fact in self._must_hold(turn) if fact not in sent]
            else:
                course.added += size if before is None else max(0, size - before)
            self._last_head = head
            before = size
        assert compacted, "the session was too short to be compacted"


class _Watch:
    """Notes when steps end and compactions are done, by the clock of the server's requests."""

    def __init__(self, events: EventReader) -> None:
        self._events = events
        self._moments: list[tuple[float, float]] = []
        self._task = asyncio.create_task(self._follow())

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})

    def waits(self, requests: Sequence[Received]) -> list[float]:
        """Return the milliseconds from the end of a step over its compaction to the next request's arrival."""
        asked = [one.time for one in requests if not asks_for_summary(one.body)]
        nexts = [(ended, next((time for time in asked if time >= done), None)) for ended, done in self._moments]
        return [(arrived - ended) * 1000 for ended, arrived in nexts if arrived is not None]

    async def _follow(self) -> None:
        ended = 0.0
        async for envelope in self._events:
            match envelope.event:
                case MessageUpdated(info=AssistantMessage() as info) if info.time.completed and not info.summary:
                    ended = time.monotonic()
                case SessionCompacted():
                    self._moments.append((ended, time.monotonic()))
                case _:
                    pass


def _head(body: dict[str, Any]) -> str:
    first = next(one for one in body["messages"] if one["role"] == "user")
    return content_text(first.get("content"))
