"""Runs a search program in a folder: its output is bounded while it is read, and nothing is left running."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.tool.folder import Folder, open_folder
from opencode_tui.schema.error import ToolError

_CHUNK_BYTES = 64 * 1024
_RECORD_LIMIT_BYTES = 1024 * 1024
_ERROR_BYTES = 4096


class Ending(Struct, frozen=True):
    """How a run ended. `stopped` tells that its reader had enough; `complete` that every path could be read."""

    stopped: bool
    complete: bool


async def run_search(
    command: Sequence[str], folder: Path, *, separator: bytes, take: Callable[[list[bytes]], bool]
) -> Ending:
    """Run a command in a real folder and hand the records that it prints to `take`, batch by batch, until it returns False.

    Exit codes above 1 mean trouble: with a message ToolError is raised, without one some paths could not be read. A cancel kills
    the program.
    """
    process = await _start(command, folder)
    try:
        is_enough = await _read(process, separator, take)
        if is_enough:
            return Ending(stopped=True, complete=True)
        assert process.stderr is not None  # opened as a pipe
        message = await process.stderr.read(_ERROR_BYTES)
        code = await process.wait()
        if code > 1 and message:
            raise ToolError(f"the search failed: {_one_line(message)}; correct the pattern")
        return Ending(stopped=False, complete=code <= 1)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _start(command: Sequence[str], folder: Path) -> asyncio.subprocess.Process:
    with open_folder(folder) as opened:
        return await asyncio.create_subprocess_exec(
            *command,
            cwd=_handle(opened),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )


def _handle(folder: Folder) -> str:
    """Return a path of the very folder that is open, whatever its name leads to by now."""
    handle = f"/proc/self/fd/{folder.descriptor}"
    return handle if folder.descriptor is not None and os.path.exists(handle) else str(folder.path)


async def _read(process: asyncio.subprocess.Process, separator: bytes, take: Callable[[list[bytes]], bool]) -> bool:
    """Return whether `take` had enough."""
    assert process.stdout is not None  # opened as a pipe
    rest = b""
    while chunk := await process.stdout.read(_CHUNK_BYTES):
        *records, rest = (rest + chunk).split(separator)
        rest = rest[:_RECORD_LIMIT_BYTES]
        if records and not take(records):
            return True
    return bool(rest) and not take([rest])


def _one_line(message: bytes) -> str:
    lines = [line.strip() for line in message.decode("utf-8", "replace").splitlines()]
    return " ".join(line for line in lines if line)[:300].removeprefix("rg: ")
