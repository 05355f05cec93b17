"""The request of `run`: a prompt with its attachments and `@` references, or a slash command.

Piped text is data: `@` in it attaches nothing.
"""

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.session.request.attachment import file_input
from opencode_tui.schema.api.request import CommandInput, FileInput, PromptInput, PromptPart, TextInput
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.history import MessageWithParts

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

Request = PromptInput | CommandInput


async def make_prompt(
    client: "Client",
    *,
    typed: str,
    piped: str,
    attached: Sequence[FileInput],
    model: ModelRef | None,
    agent: str | None,
) -> PromptInput:
    """Return the prompt for a message and its attachments."""
    parts: list[PromptPart] = [*attached]
    text = "\n".join(one for one in (typed, piped) if one.strip())
    if text:
        parts.append(TextInput(text=text))
    parts += (await client.prompts.expand(typed))[1:]
    return PromptInput.trusted(model=model, agent=agent, parts=parts)


async def make_command(
    client: "Client",
    name: str,
    *,
    arguments: str,
    piped: str,
    attached: Sequence[FileInput],
    model: ModelRef | None,
    agent: str | None,
) -> CommandInput:
    """Return the request for a slash command; raises ConfigError for an unknown one."""
    known = [command.name for command in await client.catalog.commands()]
    if name.removeprefix("/") not in known:
        raise ConfigError(f"unknown command {name!r}; available: {', '.join(known)}")
    given = list(attached)
    if piped.strip():
        given.append(
            _with_data(FileInput(mime="text/plain", filename="stdin", url=""), piped.encode("utf-8", "replace"))
        )
    return CommandInput(
        command=name.removeprefix("/"),
        arguments=arguments,
        model=str(model) if model else None,
        agent=agent,
        parts=given or None,
    )


async def check(client: "Client", request: Request, model: ModelRef | None) -> None:
    """Raise ConfigError or ModelNotFoundError if a new session could not run the request."""
    if isinstance(request, PromptInput):
        await client.prompts.check(request)
    else:
        await client.prompts.check(PromptInput(model=model, agent=request.agent, parts=[]))


async def send(client: "Client", session_id: str, request: Request) -> MessageWithParts:
    """Send the request and return the response."""
    if isinstance(request, CommandInput):
        return await client.prompts.command(session_id, request)
    return await client.prompts.prompt(session_id, request)


async def attach(files: Sequence[str], *, is_remote: bool) -> list[FileInput]:
    """Return the attachments for files; for a remote engine, which cannot read them, with their bytes.

    Raises ConfigError for a file that does not exist or cannot be read.
    """
    found: list[FileInput] = []
    for name in files:
        path = Path(name)
        if not await asyncio.to_thread(path.exists):
            raise ConfigError(f"--file {name}: no such file or folder")
        given = await asyncio.to_thread(file_input, path)
        found.append(await asyncio.to_thread(_with_content, given, path) if is_remote else given)
    return found


def _with_content(given: FileInput, path: Path) -> FileInput:
    """Return the attachment with the file's bytes."""
    try:
        return _with_data(given, path.read_bytes())
    except OSError as error:
        raise ConfigError(f"--file {path}: cannot read it ({error.strerror})") from error


def _with_data(given: FileInput, data: bytes) -> FileInput:
    return given.changed(url=f"data:{given.mime};base64,{base64.b64encode(data).decode('ascii')}")
