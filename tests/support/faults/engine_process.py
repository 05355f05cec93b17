"""An engine in a process of its own, whose disk a test lets fail, with a client in the test.

async with engine_process(line) as engine:
    session = await engine.new_session()
    engine.disk.fail(paths.data, "full")
    error = await engine.failure_of(session, "hello")
"""

import asyncio
import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencode_tui.client.remote import RemoteClient, open_remote
from opencode_tui.engine.session.records.loading import load_session
from opencode_tui.engine.session.repair import is_unfinished
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import TextPart, ToolPart
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.storage import Storage
from tests.support.faults.failing_disk import FailingDisk
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine, kill_session

MODEL = ModelRef(provider_id="fake", model_id="fake-model")
PASSWORD = "of-the-test"
_LOOK_S = 0.01


@dataclass
class EngineProcess:
    """A running engine; `disk` is the one that all its programs work on."""

    client: RemoteClient
    disk: FailingDisk
    server: ModelServer
    line: CommandLine
    process: "subprocess.Popen[bytes]"

    @property
    def paths(self) -> Paths:
        """The folders of the engine."""
        return find_paths(self.line.environ)

    async def new_session(self) -> str:
        """Make a session and return its id."""
        return (await self.client.sessions.create(CreateSession())).id

    async def prompt(self, session: str, text: str) -> None:
        """Send a prompt to its end; raises OpencodeError."""
        await self.client.prompts.prompt(session, PromptInput(model=MODEL, parts=[TextInput(text=text)]))

    async def failure_of(self, session: str, text: str) -> str:
        """Send a prompt that fails and return its error; of a turn that failed later, that of its last message."""
        try:
            await self.prompt(session, text)
        except OpencodeError as error:
            return str(error)
        info = (await self.messages(session))[-1].info
        assert isinstance(info, AssistantMessage)
        assert info.error is not None, "it did not fail"
        return str(info.error.to_dict()["data"]["message"])

    async def messages(self, session: str) -> list[MessageWithParts]:
        """Return the messages as the engine has them."""
        return list(await self.client.messages.list(session))

    async def calls(self, session: str) -> list[Any]:
        """Return the tool parts; a test knows in which state each is."""
        return [
            part for message in await self.messages(session) for part in message.parts if isinstance(part, ToolPart)
        ]

    async def texts(self, session: str) -> list[str]:
        """Return the texts of the messages."""
        return [
            part.text
            for message in await self.messages(session)
            for part in message.parts
            if isinstance(part, TextPart)
        ]

    async def is_idle(self, session: str) -> bool:
        """Return whether nothing runs and nothing in the session is unfinished."""
        running = await self.client.prompts.status()
        return not running and not any(map(is_unfinished, await self.messages(session)))

    def stored(self, session: str) -> list[MessageWithParts]:
        """Return the messages as another process reads them from the disk."""
        loaded = load_session(Storage(self.paths), session)
        assert loaded.damaged == []
        return loaded.messages

    async def until_stored(self, session: str) -> None:
        """Wait until the disk has what the engine has."""
        while self.stored(session) != await self.messages(session):
            await asyncio.sleep(_LOOK_S)


@asynccontextmanager
async def engine_process(
    folder: Path, environ: Mapping[str, str], *, disk: FailingDisk, settings: Mapping[str, Any] | None = None
) -> AsyncGenerator[EngineProcess]:
    """Start an engine in a folder; on leaving it is killed with all that it started."""
    with ModelServer() as server:
        chosen = {"model": "fake/fake-model", **(settings or {})}
        known = {**environ, **disk.variables(), "OPENCODE_SERVER_PASSWORD": PASSWORD}
        line = CommandLine(folder, known, provider=server.config(), settings=chosen)
        process = line.start("serve", "--port", "0")
        try:
            assert process.stdout is not None
            said = (await asyncio.to_thread(process.stdout.readline)).decode()
            assert said.startswith("opencode server listening on"), said
            async with open_remote(said.split()[-1], password=PASSWORD) as client:
                yield EngineProcess(client, disk, server, line, process)
        finally:
            kill_session(process)
            line.kill_survivors()
