"""Aborts a turn at chosen moments and reports how it ended."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.engine.permission.policy import AutoApprove, RefuseQuestions
from opencode_tui.engine.session.repair import is_unfinished
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import RunAborted
from opencode_tui.schema.model import ModelRef
from tests.support.provider.model_server import ModelServer
from tests.support.shell.bench import survivors

MODEL = ModelRef(provider_id="fake", model_id="fake-model")


def work(token: str) -> str:
    """Return a request whose turn streams, then runs parallel tools that ignore SIGTERM; their command lines contain `token`."""
    return f"""<<slow 15>> <<reason hm>> <<par>>
<<tool bash {{"command":"trap '' TERM; MARK={token} sleep 30 & sleep 30","description":"sleep"}}>>
<<tool grep {{"pattern":"x"}}>> <<tool bash {{"command":"MARK={token} setsid sleep 30","description":"sleep"}}>>"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an aborted turn ended; `problems` are in words."""

    milliseconds: float
    problems: list[str]


@asynccontextmanager
async def open_aborting(environ: dict[str, str], folder: Path) -> AsyncGenerator[LocalClient, None]:
    with ModelServer() as server:
        environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": server.config()})
        async with open_client(environ, folder, policy=AutoApprove(RefuseQuestions())) as client:
            yield client


async def abort_after(client: LocalClient, seconds: float) -> Ended:
    """Begin a turn that streams and runs stubborn tools, abort it after so many seconds, and prompt once more."""
    session = await client.sessions.create(CreateSession())
    turn = asyncio.create_task(client.prompts.prompt(session.id, _request(work(session.id))))
    await asyncio.sleep(seconds)
    begin = time.monotonic()
    was_running = await client.prompts.abort(session.id)
    try:
        await turn
        problems = ["the turn was not interrupted"] if was_running else []
    except RunAborted:
        problems = []
    taken = (time.monotonic() - begin) * 1000
    if await client.prompts.status():
        problems.append("not idle")
    problems += [
        f"{message.info.id} is unfinished"
        for message in await client.messages.list(session.id)
        if is_unfinished(message)
    ]
    again: Any = await client.prompts.prompt(session.id, _request("<<anew>> hello again"))
    problems += [f"still running: {line}" for line in survivors(session.id)]
    if again.info.finish != "stop":
        problems.append(f"the next prompt ended with {again.info.finish}")
    return Ended(taken, problems)


def _request(text: str) -> PromptInput:
    return PromptInput(model=MODEL, parts=[TextInput(text=text)])
