"""What `run` sends: a prompt with its attachments and `@` references, or a slash command.

What comes in by a pipe is data: `@` in it attaches nothing.
"""

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path

from opencode_tui.client.client import Client
from opencode_tui.engine.session.attachment import file_input
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.request import CommandInput, FileInput, PromptInput, PromptPart, TextInput

Request = PromptInput | CommandInput


async def make_prompt(
    client: Client, *, typed: str, piped: str, files: Sequence[str], model: ModelRef | None, agent: str | None
) -> PromptInput:
    """Return the prompt for a message; raises ConfigError for a file that is not there."""
    parts: list[PromptPart] = [*await _attached(files)]
    text = "\n".join(one for one in (typed, piped) if one.strip())
    if text:
        parts.append(TextInput(text=text))
    parts += (await client.prompts.expand(typed))[1:]
    return PromptInput(model=model, agent=agent, parts=parts)


async def make_command(
    client: Client,
    name: str,
    *,
    arguments: str,
    piped: str,
    files: Sequence[str],
    model: ModelRef | None,
    agent: str | None,
) -> CommandInput:
    """Return the request for a slash command; raises ConfigError for an unknown one."""
    known = [command.name for command in await client.catalog.commands()]
    if name.removeprefix("/") not in known:
        raise ConfigError(f"--command {name!r}: there is no such command; there are {', '.join(known)}")
    attached = await _attached(files)
    if piped.strip():
        data = base64.b64encode(piped.encode("utf-8", "replace")).decode("ascii")
        attached.append(FileInput(mime="text/plain", filename="stdin", url=f"data:text/plain;base64,{data}"))
    return CommandInput(
        command=name.removeprefix("/"),
        arguments=arguments,
        model=str(model) if model else None,
        agent=agent,
        parts=attached or None,
    )


async def check(client: Client, request: Request, model: ModelRef | None) -> None:
    """Return when a new session could answer; raises ConfigError or ModelNotFoundError otherwise."""
    if isinstance(request, PromptInput):
        await client.prompts.check(request)
    else:
        await client.prompts.check(PromptInput(model=model, agent=request.agent, parts=[]))


async def send(client: Client, session_id: str, request: Request) -> MessageWithParts:
    """Send it and return the answer."""
    if isinstance(request, CommandInput):
        return await client.prompts.command(session_id, request)
    return await client.prompts.prompt(session_id, request)


async def _attached(files: Sequence[str]) -> list[FileInput]:
    found: list[FileInput] = []
    for name in files:
        path = Path(name)
        if not await asyncio.to_thread(path.exists):
            raise ConfigError(f"--file {name}: there is no such file or folder")
        found.append(await asyncio.to_thread(file_input, path))
    return found
