"""The process of a local MCP server: its environment, its lines, the end of its output, and its end with all that it started."""

import asyncio
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from opencode_tui.engine.mcp.lists import McpError
from opencode_tui.engine.project.programs import close_pipes
from opencode_tui.schema.system_error import cause_of

LINE_LIMIT = 64 << 20
"""Most bytes of one message of a server."""

OUTPUT_LINES = 50
"""Last lines of the standard error that are kept."""

_LINE_CHARACTERS = 500
_READ_BYTES = 16 * 1024
"""Bytes that are handled before other work runs: a server that floods its output has many lines in them."""

_GRACE_S = 0.05
_POLL_S = 0.005

_PASSED = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR", "TEMP", "TMP",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT",
    }
)  # fmt: skip
"""The variables of ours that a server gets, also in lower case."""

_PASSED_PREFIXES = ("LC_", "XDG_")


def server_environment(environ: Mapping[str, str], own: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment of a server: of ours only what programs need to run, never keys, and its own of the settings."""
    passed = {
        name: value
        for name, value in environ.items()
        if name.upper() in _PASSED or name.upper().startswith(_PASSED_PREFIXES)
    }
    return {**passed, **(own or {})}


class ServerProcess:
    """A started server. Its group is killed by `stop`, which must be called."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.ended = asyncio.Event()
        """Set at the end of its standard output."""
        self._is_too_long = False
        self._output: deque[str] = deque(maxlen=OUTPUT_LINES)
        self._reading = asyncio.create_task(self._read_output(), name="output of an MCP server")

    @classmethod
    async def start(cls, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> "ServerProcess":
        """Start a server in a group of its own. Raises McpError when the program cannot be started."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env=environ,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = cause_of(error) if isinstance(error, OSError) else str(error)
            raise McpError(
                f"`{command[0]}` cannot be started: {reason}; correct its command in the settings"
            ) from error
        return cls(process)

    @property
    def pid(self) -> int:
        """The process, and its group."""
        return self._process.pid

    @property
    def output(self) -> list[str]:
        """The last lines of its standard error, oldest first."""
        return list(self._output)

    @property
    def exit_text(self) -> str:
        """How it ended, for a message."""
        code = self._process.returncode
        if self._is_too_long:
            return f"sent a message of more than {LINE_LIMIT >> 20} MiB"
        if code is None:
            return "closed its output"
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            return f"was killed ({name})"
        return f"exited with code {code}"

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines of its standard output until that ends; a line that is too long ends it."""
        assert self._process.stdout is not None
        async for line in _lines(self._process.stdout, LINE_LIMIT):
            if len(line) > LINE_LIMIT:
                self._is_too_long = True
                break
            yield line
        self.ended.set()

    async def write(self, data: bytes) -> None:
        """Write to its standard input. Raises OSError when it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        await self._process.stdin.drain()

    async def wait_exit(self, seconds: float) -> bool:
        """Return whether it has ended within this time; does not wait for programs that it started."""
        deadline = asyncio.get_running_loop().time() + seconds
        while self._process.returncode is None:
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(_POLL_S)
        return True

    async def stop(self) -> None:
        """End it with all programs in its group, within 0.1 s."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._signal(signal.SIGTERM)
        try:
            await self.wait_exit(_GRACE_S)
        finally:
            self._signal(signal.SIGKILL)  # also what it started and left behind
            self._reading.cancel()
            try:
                await self.wait_exit(_GRACE_S)
            finally:
                close_pipes(self._process)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _read_output(self) -> None:
        assert self._process.stderr is not None
        async for line in _lines(self._process.stderr, 4 * _LINE_CHARACTERS):
            if text := line.decode("utf-8", "replace").strip():
                self._output.append(text[:_LINE_CHARACTERS])


async def _lines(stream: asyncio.StreamReader, longest: int) -> AsyncIterator[bytes]:
    """Yield the lines of a stream that are not empty, without their ends; of a longer one a little more than `longest` bytes.

    Other work runs in between, however fast they come.
    """
    begun: list[bytes] = []
    size, is_cut = 0, False
    while data := await stream.read(_READ_BYTES):
        *ends, rest = data.split(b"\n")
        for end in ends:
            if not is_cut and (begun or end):
                yield b"".join((*begun, end))
            begun.clear()
            size, is_cut = 0, False
        if rest and not is_cut:
            begun.append(rest)
            size += len(rest)
            if is_cut := size > longest:
                yield b"".join(begun)
                begun.clear()
        await asyncio.sleep(0)
    if begun:
        yield b"".join(begun)
