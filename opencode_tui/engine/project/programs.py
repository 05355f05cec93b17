"""Programs that help with a project, and running one to its end."""

import asyncio
import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from opencode_tui.programs import find_program, is_below
from opencode_tui.tasks import task_group

_PROJECT_FOLDERS = ("node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin")
"""Where projects keep the programs of their own."""


class FoundProgram(Struct, frozen=True):
    """The path of a program that helps with a project; `is_confined`: it must run inside the sandbox."""

    path: str
    is_confined: bool


class ProjectPrograms(Struct, frozen=True):
    """Looks for the programs that help with a project, those of its work tree only where the folder `is_trusted`.

    Where commands are confined (`is_sandboxed`, which may block at first), so are programs of the work tree: a command may have
    written them. So are those that follow what a command may have written in files of the project.
    """

    environ: Mapping[str, str]
    directory: Path
    worktree: Path
    is_trusted: bool
    is_sandboxed: Callable[[], bool]

    def find(
        self, command: Sequence[str], *, runs_project_code: bool, follows_project: bool = False
    ) -> FoundProgram | None:
        """Return the program of a command, the project's own first; None without one. Blocks for a few lookups.

        `runs_project_code`: the program may run code of the project. `follows_project`: it may show files, or ask hosts, that
        files of the project name.
        """
        path = self._find(command[0])
        if path is None:
            return None
        needs_trust = runs_project_code or self._is_own(path)
        if needs_trust and not self.is_trusted:
            return None
        return FoundProgram(path, is_confined=(needs_trust or follows_project) and self.is_sandboxed())

    def has_any(self, names: Sequence[str]) -> bool:
        """Return whether one of these words, relative to the directory, names something in the work tree. Blocks."""
        paths = [self.directory / name for name in names if name]
        return any(path.exists() and self._is_own(str(path)) for path in paths)

    def _find(self, program: str) -> str | None:
        if os.sep in program:
            path = str(self.directory / program)
            return shutil.which(path) if self.is_trusted or not self._is_own(path) else None
        if not self.is_trusted:
            return find_program(program, self.environ, self.worktree)
        own = [str(top / name) for top in (self.directory, self.worktree) for name in _PROJECT_FOLDERS]
        users = [entry for entry in self.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(entry)]
        return shutil.which(program, path=os.pathsep.join([*own, *users]))

    def _is_own(self, path: str) -> bool:
        """Return whether a command may write a path, or lead it elsewhere."""
        return is_below(path, self.worktree, self.environ)


class Process(Protocol):
    """A program with pipes for its standard streams, which leads a session of its own: an `asyncio.subprocess.Process` or alike."""

    @property
    def pid(self) -> int:
        """The process's id, which is also that of its group."""
        ...

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        ...

    @property
    def stdin(self) -> asyncio.StreamWriter | None:
        """Its standard input; like the other streams None only where it has no pipe."""
        ...

    @property
    def stdout(self) -> asyncio.StreamReader | None:
        """Its standard output."""
        ...

    @property
    def stderr(self) -> asyncio.StreamReader | None:
        """Its standard error."""
        ...

    async def wait(self) -> int:
        """Return the exit code at the end."""
        ...

    async def communicate(self, input: bytes | None = None, /) -> tuple[bytes, bytes]:
        """Write bytes and close the standard input; return all output and errors at the end."""
        ...


class Program(Struct, frozen=True):
    """A program to start, with its arguments, in a folder; where it is confined it may also write the `writable` folders."""

    argv: Sequence[str]
    folder: Path
    environ: Mapping[str, str]
    writable: Sequence[Path] = ()


Start = Callable[[Program], Awaitable[Process]]
"""Returns the started program. Raises OSError when it cannot be started."""


async def start_program(program: Program) -> Process:
    """Return a program that was started unconfined. Raises OSError when it cannot be started."""
    return await asyncio.create_subprocess_exec(
        *program.argv,
        cwd=program.folder,
        env=program.environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )


class Ran(Struct, frozen=True):
    """How a program ended, and what it wrote."""

    code: int
    output: bytes
    errors: bytes


MAX_OUTPUT_BYTES = 16 * 1024 * 1024
"""Bytes that a program may write to each of its outputs by default."""

_READ_BYTES = 64 * 1024
_END_S = 0.2
"""Seconds that a killed program has to end."""


class LateError(TimeoutError):
    """A program took longer than it may. `ran` is what it did until then, with the exit code if it had ended by itself."""

    def __init__(self, ran: Ran) -> None:
        super().__init__()
        self.ran = ran


class OutputLimitError(OSError):
    """A program wrote more than it may."""


async def run_program(
    program: Program,
    data: bytes,
    *,
    limit_s: float,
    max_bytes: int = MAX_OUTPUT_BYTES,
    start: Start = start_program,
) -> Ran:
    """Run a program with data on its standard input. With all that it started it is killed after the limits, or by a cancellation.

    Raises LateError after `limit_s`, OutputLimitError after `max_bytes` of an output, OSError when it cannot start.
    """
    process = await start(program)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = bytearray(), bytearray()
    try:
        async with asyncio.timeout(limit_s):
            async with task_group() as group:
                group.create_task(_feed(process.stdin, data))
                for stream, read in ((process.stdout, output), (process.stderr, errors)):
                    group.create_task(_read(stream, read, max_bytes, process.pid))
            await process.wait()
    except (TimeoutError, asyncio.CancelledError) as error:
        code = process.returncode
        _kill_group(process.pid)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await process.wait()
        finally:  # a second cancellation ends the wait
            close_pipes(process)
        if isinstance(error, TimeoutError):
            raise LateError(Ran(-signal.SIGKILL if code is None else code, bytes(output), bytes(errors))) from None
        raise
    if max(len(output), len(errors)) > max_bytes:
        raise OutputLimitError(f"{program.argv[0]} wrote more than {max_bytes} bytes")
    return Ran(process.returncode or 0, bytes(output), bytes(errors))


def close_pipes(process: Process) -> None:
    """Close what a process outside the group may hold open; asyncio has no public name for it."""
    transport: object = getattr(process, "_transport", None)
    if isinstance(transport, asyncio.SubprocessTransport):
        transport.close()


async def _feed(stream: asyncio.StreamWriter, data: bytes) -> None:
    with suppress(ConnectionResetError, BrokenPipeError):  # it does not read its input
        stream.write(data)
        await stream.drain()
    stream.close()


async def _read(stream: asyncio.StreamReader, data: bytearray, max_bytes: int, pid: int) -> None:
    """Read an output to its end; of more than `max_bytes`, which kill the program, a little more than that."""
    while piece := await stream.read(_READ_BYTES):
        if len(data) <= max_bytes:
            data += piece
            if len(data) > max_bytes:
                _kill_group(pid)


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it may have ended and left children that hold its output
        os.killpg(pid, signal.SIGKILL)
