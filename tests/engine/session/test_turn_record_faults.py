"""Failure of any one call on the records in a turn after an undo, and in a compaction: nothing is lost or built on less."""

import asyncio
import errno
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.client.local import LocalClient
from opencode_tui.engine.engine import Engine, open_engine
from opencode_tui.engine.permission.policy import AskPerson, AutoApprove
from opencode_tui.engine.session.records.loading import load_session
from opencode_tui.engine.session.repair import is_unfinished
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.storage.storage import Storage
from tests.support.faults.file_system import FaultyFiles
from tests.support.provider.model_server import ModelServer, asks_for_summary, provider_config
from tests.support.undo.history import Stored, as_stored
from tests.support.world.engine import MODEL
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow

FAULTS = [(errno.ENOSPC, False), (errno.EIO, True), (errno.EMFILE, False)]
WRITE = 'three <<tool write {"filePath": "new.txt", "content": "n"}>>'
STEP = 13
"""Every so many calls, from another one on for each fault: a turn makes some hundred."""


@dataclass
class Turns:
    """A session whose first two turns no fault may change."""

    engine: Engine
    client: LocalClient
    server: ModelServer
    files: FaultyFiles
    session: str
    kept: Stored
    hidden: str = ""
    """The request where an undo begins that is still to be made final."""

    async def prompt(self, text: str) -> None:
        await self.client.prompts.prompt(self.session, PromptInput(model=MODEL, parts=[TextInput(text=text)]))

    async def fails(self, act: Callable[[], Awaitable[object]], at: int, code: int, lasting: bool) -> bool:
        """Do something without anything in memory while call number `at` fails; return whether it came so far."""
        await self.idle()
        self.engine.store.drop(self.session)
        files = self.files
        files.log.clear()
        files.calls, files.at, files.error, files.lasting = 0, at, code, lasting
        healing = asyncio.create_task(self._heal())
        with suppress(OSError, OpencodeError):
            await act()
        files.heal()
        await healing
        await self.idle()
        return files.calls >= at

    async def _heal(self) -> None:
        """Heal a disk that fails from then on: a run waits for it."""
        while self.files.at:
            await asyncio.sleep(0.05)
            if self.files.calls > self.files.at + 20:
                self.files.heal()

    async def idle(self) -> None:
        while await self.client.prompts.status():
            await asyncio.sleep(0.01)
        await self.engine.store.flush()

    def stored(self) -> Stored:
        """Return the messages as another process reads them; one that an undo hides may have lost its parts already."""
        loaded = load_session(Storage(self.engine.core.paths), self.session)
        assert loaded.damaged == []
        assert not [one.info.id for one in loaded.messages if is_unfinished(one)]
        requests = [one for one in loaded.messages if isinstance(one.info, UserMessage)]
        assert [one.info.id for one in requests if not one.parts and one.info.id != self.hidden] == []
        return as_stored(loaded.messages)

    def check(self, place: object, sent: int) -> None:
        """Check that the turns before are stored as they were, and were in each request since, or their summary."""
        assert (place, _plain(self.stored()[: len(self.kept)])) == (place, _plain(self.kept))
        for body in self.server.bodies[sent:]:
            text = json.dumps(body)
            assert place and [word for word in ("one", "Echo: one", "two", "Echo: two") if word not in text] == []


def _plain(messages: Stored) -> list[tuple[str, Any]]:
    """Return the ids of messages with their parts: a request's summary of changes is refreshed."""
    return [(info["id"], parts) for info, parts in messages]


@asynccontextmanager
async def turns(environ: dict[str, str], folder: Path) -> AsyncGenerator[Turns]:
    files = FaultyFiles()
    with ModelServer() as server:
        settings = {"provider": provider_config(server.base_url), "model": "fake/fake-model"}
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(settings)}
        async with open_engine(variables, files=files) as engine:
            client = LocalClient(engine, await engine.instance(folder), AutoApprove(AskPerson()))
            session = await client.sessions.create(CreateSession(title="of a test"))
            made = Turns(engine, client, server, files, session.id, [])
            await made.prompt("one")
            await made.prompt("two")
            await made.idle()
            made.kept = made.stored()
            yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    repo = make_repo(tmp_path / "project")
    repo.commit(**{"a.txt": "a\n"})
    return repo.path


@pytest.mark.parametrize("number", range(len(FAULTS)), ids=[f"{errno.errorcode[one]}" for one, _ in FAULTS])
async def test_a_prompt_after_an_undo_loses_nothing_and_sends_all_that_is_kept(environ, folder: Path, number: int):
    async with turns(environ, folder) as world:
        at, is_reached = 1 + number * STEP // len(FAULTS), True
        while is_reached:
            await world.prompt(WRITE)
            await world.idle()
            assert (folder / "new.txt").exists()
            await world.client.undo.revert(world.session)
            assert not (folder / "new.txt").exists()
            sent = len(world.server.bodies)
            is_reached = await world.fails(lambda: world.prompt("four"), at, *FAULTS[number])
            place = (at, world.files.log[at - 1] if is_reached else None)
            revert = (await world.engine.store.get(world.session)).revert
            world.hidden = "" if revert is None else revert.message_id
            world.check(place, sent)
            await world.prompt("five")
            await world.idle()
            world.hidden = ""
            assert place and not (folder / "new.txt").exists()
            assert (place, WRITE in json.dumps(world.stored())) == (place, False)
            world.check(place, sent)
            await _undo_all_but_two(world)
            at += STEP
        assert at > 10 * STEP


async def _undo_all_but_two(world: Turns) -> None:
    messages = world.stored()
    later = [info["id"] for info, _ in messages[len(world.kept) :] if info["role"] == "user"]
    await world.client.undo.revert(world.session, later[0])


@pytest.mark.parametrize("number", range(len(FAULTS)), ids=[f"{errno.errorcode[one]}" for one, _ in FAULTS])
async def test_a_compaction_loses_nothing(environ, folder: Path, number: int):
    async with turns(environ, folder) as world:
        at, is_reached = 1 + number * STEP // len(FAULTS), True
        while is_reached:
            sent = len(world.server.bodies)
            is_reached = await world.fails(
                lambda: world.client.context.compact(world.session, CompactSession()), at, *FAULTS[number]
            )
            place = (at, world.files.log[at - 1] if is_reached else None)
            assert (place, _plain(world.stored()[: len(world.kept)])) == (place, _plain(world.kept))
            asked = [json.dumps(one) for one in world.server.bodies[sent:] if asks_for_summary(one)]
            for text in asked:
                assert place and [word for word in ("one", "Echo: one", "two", "Echo: two") if word not in text] == []
            await world.prompt("three")
            await world.idle()
            assert place and "Echo: three" in json.dumps(world.stored())
            await _undo_all_but_two(world)
            at += STEP
        assert at > 5 * STEP
