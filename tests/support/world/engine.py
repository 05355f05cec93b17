"""The engine opened on a folder with the scripted model, and short ways to use it.

async with opened(environ, folder, Answer(text="hi"), settings={...}) as world:
    session = await world.prompt("hello")
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.client.thread import open_client_in_thread
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.schema.api.request import CommandInput, CreateSession, PromptInput, PromptPart, TextInput
from opencode_tui.schema.event.event import Event
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import AnyPart, TextPart, ToolPart
from opencode_tui.schema.session.session import SessionInfo
from tests.support.provider.model_script import Answer, content_text
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.provider.token_counter import Window

MODEL = ModelRef(provider_id="fake", model_id="fake-model")


@dataclass
class World:
    """An open client and the server of its model."""

    client: LocalClient
    server: ModelServer

    async def new_session(self) -> SessionInfo:
        return await self.client.sessions.create(CreateSession())

    async def prompt(
        self, *parts: PromptPart | str, session: SessionInfo | None = None, model: ModelRef = MODEL
    ) -> SessionInfo:
        """Send a prompt to its end and return its session."""
        session = session or await self.new_session()
        inputs = [TextInput(text=part) if isinstance(part, str) else part for part in parts]
        await self.client.prompts.prompt(session.id, PromptInput(model=model, parts=inputs))
        return session

    async def command(self, name: str, arguments: str = "", **fields: Any) -> SessionInfo:
        """Run a slash command to its end and return its session."""
        session = await self.new_session()
        given = CommandInput(command=name, arguments=arguments, model=str(MODEL), **fields)
        await self.client.prompts.command(session.id, given)
        return session

    async def messages(self, session: SessionInfo) -> list[Any]:
        """Return the messages with their parts; a test knows of which kind each is."""
        return list(await self.client.messages.list(session.id))

    async def parts(self, session: SessionInfo) -> list[AnyPart]:
        return [part for message in await self.client.messages.list(session.id) for part in message.parts]

    async def calls(self, session: SessionInfo) -> list[Any]:
        """Return the tool parts; a test knows in which state each is."""
        return [part for part in await self.parts(session) if isinstance(part, ToolPart)]

    async def answer(self, session: SessionInfo) -> str:
        """Return the text of the last assistant message."""
        last = [one for one in await self.messages(session) if isinstance(one.info, AssistantMessage)][-1]
        return "".join(part.text for part in last.parts if isinstance(part, TextPart))

    def sent(self, request: int = -1) -> str:
        """Return the text of the last message of a request."""
        return content_text(self.server.bodies[request]["messages"][-1]["content"])

    def system(self, request: int = -1) -> str:
        """Return the system prompt of a request."""
        return "\n".join(
            content_text(message["content"])
            for message in self.server.bodies[request]["messages"]
            if message["role"] == "system"
        )


@asynccontextmanager
async def opened(
    environ: dict[str, str],
    folder: Path,
    *answers: Answer,
    settings: dict[str, Any] | None = None,
    policy: Policy | None = None,
    window: Window | None = None,
    limit: tuple[int, int] = (200_000, 8_000),
    in_thread: bool = False,
    has_all: bool = False,
    models: dict[str, dict[str, Any]] | None = None,
) -> AsyncGenerator[World]:
    """Open the folder; the model gives these answers, then obeys directives. With a window it counts with a real tokenizer.

    `in_thread` runs the engine as it runs for the TUI; with `has_all` there is a provider of every format. `models` are
    more models, by provider.
    """
    with ModelServer(window=window) as server:
        providers = provider_config(server.base_url, limit=limit, has_all=has_all)
        for name, more in (models or {}).items():
            providers[name]["models"] = {**providers[name]["models"], **more}
        content = {"provider": providers, **(settings or {})}
        server.script(*answers)
        variables = {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(content)}
        opening = (
            open_client_in_thread(variables, folder) if in_thread else open_client(variables, folder, policy=policy)
        )
        async with opening as client:
            yield World(client, server)


async def react(world: World, kind: type[Event], action: Callable[[Any], Awaitable[object]]) -> Event:
    """Wait for the next event of a kind, act on it, and return it; to be started before what causes it."""
    with world.client.events() as events:
        async for envelope in events:
            if isinstance(envelope.event, kind):
                await action(envelope.event)
                return envelope.event
    raise AssertionError(f"no {kind.__name__}")


async def while_reacting(
    world: World, kind: type[Event], action: Callable[[Any], Awaitable[object]], work: Awaitable[SessionInfo]
) -> tuple[SessionInfo, Any]:
    """Do the work while one event of a kind is reacted to; returns what the work gave, and the event."""
    waiter = asyncio.create_task(react(world, kind, action))
    await asyncio.sleep(0)
    session = await work
    return session, await waiter
