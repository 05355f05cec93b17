"""Random histories of one session on one engine and on two, with callers that are canceled at random moments."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.schema.api.request import ForkSession, PromptInput, TextInput
from opencode_tui.schema.error import BusyError, OpencodeError
from opencode_tui.schema.ids import Identifier, system_clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage, is_waiting
from opencode_tui.schema.session.part import TextPart
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import find_paths
from tests.support.provider.model_server import provider_config
from tests.support.world.engine import MODEL, opened

pytestmark = pytest.mark.slow


STEPS = 40
MOST_S = 60
SKEWS_MS = (-600_000, -3, 0, 5_000, 7_200_000)
ENDS = ".", "!"
"""A text ends so that no other one begins with it."""


@dataclass
class History:
    """What a random history did: texts that were stored for their callers, refused ones, and withdrawn ones."""

    session: str
    clients: list[LocalClient]
    rng: random.Random
    locks: Locks
    stored: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)
    withdrawn: set[str] = field(default_factory=set)
    forks: list[str] = field(default_factory=list)
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)
    count: int = 0

    async def step(self) -> None:
        """Do something at random on one of the engines; what is refused changes nothing."""
        client = self.rng.choice(self.clients)
        acts: list[Callable[[LocalClient], Awaitable[object]]] = [
            *[self.prompt] * 5,
            self.queue,
            self.queue,
            self.withdraw,
            self.withdraw,
            self.abort,
            self.undo,
            self.fork,
            self.cancel,
            self.cancel,
            self.look,
        ]
        with suppress(OpencodeError):
            await self.rng.choice(acts)(client)
        await asyncio.sleep(self.rng.random() * 0.04)

    async def prompt(self, client: LocalClient, *, is_queued: bool = False) -> None:
        """Send a prompt in the background, at times with an id from a clock that is wrong."""
        self.count += 1
        text = f"text {self.count}{ENDS[self.count % 2]}"
        words = f"{text} <<slow 10>> <<words {self.rng.choice((1, 20))}>>"
        skew = self.rng.choice(SKEWS_MS)
        name = Identifier(lambda: system_clock() + skew).ascending("msg") if self.rng.random() < 0.3 else None
        given = PromptInput(
            model=MODEL,
            message_id=name,
            delivery="queue" if is_queued else None,
            parts=[TextInput(text=words), TextInput(text="more")],
        )

        async def send() -> None:
            try:
                await client.prompts.prompt(self.session, given, stored=lambda _id: self.stored.add(text))
            except BusyError:
                self.refused.add(text)
            except OpencodeError:
                pass

        self.tasks.append(asyncio.create_task(send()))

    async def queue(self, client: LocalClient) -> None:
        """Send a prompt that waits for the end of the turn."""
        await self.prompt(client, is_queued=True)

    async def withdraw(self, client: LocalClient) -> None:
        """Withdraw a request that waits."""
        waiting = [one for one in await client.messages.list(self.session) if is_waiting(one.info)]
        if waiting:
            one = self.rng.choice(waiting)
            if await client.prompts.withdraw(self.session, one.info.id):
                self.withdrawn.add(mark_of(one))

    async def abort(self, client: LocalClient) -> None:
        """Interrupt the run, if it is this engine's."""
        await client.prompts.abort(self.session)

    async def undo(self, client: LocalClient) -> None:
        """Undo the last turn, or redo."""
        await (client.undo.revert(self.session) if self.rng.random() < 0.6 else client.undo.unrevert(self.session))

    async def fork(self, client: LocalClient) -> None:
        """Fork the session."""
        self.forks.append((await client.sessions.fork(self.session, ForkSession())).id)

    async def cancel(self, _client: LocalClient) -> None:
        """Cancel the caller of a prompt, wherever it is."""
        if left := [one for one in self.tasks if not one.done()]:
            self.rng.choice(left).cancel()

    async def look(self, client: LocalClient) -> None:
        """Read the session."""
        await client.messages.list(self.session)

    async def end(self) -> None:
        """Interrupt what runs until all callers have their ends, and no engine has the session's lock."""
        async with asyncio.timeout(MOST_S):
            while any(not one.done() for one in self.tasks):
                for client in self.clients:
                    await client.prompts.abort(self.session)
                await asyncio.wait(self.tasks, timeout=0.05)
            while self.locks.is_running(self.session):
                await asyncio.sleep(0.01)


def mark_of(message: MessageWithParts) -> str:
    """Return the text by which a request is known."""
    words = next((part.text for part in message.parts if isinstance(part, TextPart)), "")
    return words.partition(" <<")[0]


def requests_of(messages: list[MessageWithParts]) -> list[MessageWithParts]:
    return [one for one in messages if isinstance(one.info, UserMessage)]


def outline(messages: Sequence[MessageWithParts]) -> list[tuple[str, bool, list[str]]]:
    """Return the ids of messages and parts; summaries of changes are stored after the end of a run."""
    return [(one.info.id, is_waiting(one.info), [part.id for part in one.parts]) for one in messages]


def marks_in(text: str) -> set[str]:
    return {f"text {at}{end}" for at in range(1, STEPS + 1) for end in ENDS if f"text {at}{end}" in text}


@pytest.mark.parametrize("engines", [1, 2])
@pytest.mark.parametrize("seed", range(6))
async def test_no_history_loses_doubles_or_carries_out_a_refused_request(
    environ: dict[str, str], tmp_path: Path, seed: int, engines: int
) -> None:
    """What is in memory is what is on the disk, in the same order, and each request has its parts."""
    folder = tmp_path / "project"
    folder.mkdir()
    async with opened(environ, folder) as world, AsyncExitStack() as stack:
        clients = [world.client]
        content = {"provider": provider_config(world.server.base_url), "username": "other"}
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(content)}
        if engines == 2:
            clients.append(await stack.enter_async_context(open_client(variables, folder)))
        history = History((await world.new_session()).id, clients, random.Random(seed), Locks(find_paths(environ)))
        for _ in range(STEPS):
            await history.step()
        await history.end()
        shown = [outline(await client.messages.list(history.session)) for client in clients]
        async with open_client(variables, folder) as later:
            stored = await later.messages.list(history.session)
    assert shown == [outline(stored)] * engines
    marks = Counter(mark_of(one) for one in requests_of(list(stored)))
    assert [mark for mark, count in marks.items() if count > 1] == []
    assert [one.info.id for one in requests_of(list(stored)) if len(one.parts) < 2] == []
    assert history.refused.isdisjoint(marks) and history.withdrawn.isdisjoint(marks)
    sent = marks_in(json.dumps([body["messages"] for body in world.server.bodies]))
    assert (history.refused - history.stored).isdisjoint(sent) and history.withdrawn.isdisjoint(sent)
