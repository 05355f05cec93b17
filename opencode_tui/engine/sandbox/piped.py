"""Confined programs with pipes for their standard streams: programs that help with the project, as language servers do.

They need no supervisor (`Launch.is_held`): nobody asks what they leave behind, and bubblewrap's namespace ends with them.
"""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.sandbox.launch import Launch, run_on_thread


class _Output(NamedTuple):
    reader: asyncio.StreamReader
    transport: asyncio.ReadTransport


class PipedProcess:
    """A started program, with the members of `asyncio.subprocess.Process` that its users need. It leads a session of its own."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        stdin: asyncio.StreamWriter,
        stdout: "_Output",
        stderr: "_Output",
    ) -> None:
        self.stdin = stdin
        self.stdout = stdout.reader
        self.stderr = stderr.reader
        self._outputs = (stdout, stderr)
        self._process = process
        self._ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait() -> None:
            process.wait()
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._ended.set)

        threading.Thread(target=wait, name=f"end of process {process.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """The process's id, which is also that of its group; in a namespace, that of bubblewrap."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Return the exit code at the end. Closes the pipes then: what was not read is lost."""
        await self._ended.wait()
        self._close()
        return self._process.returncode

    async def communicate(self, data: bytes | None = None, /) -> tuple[bytes, bytes]:
        """Write data and close the standard input; return all output and errors at the end."""
        try:
            _, output, errors = await asyncio.gather(self._feed(data or b""), self.stdout.read(), self.stderr.read())
            await self.wait()
        finally:
            self._close()
        return output, errors

    def _close(self) -> None:
        """Close the pipes: what the program left behind may hold their other ends."""
        self.stdin.close()
        for output in self._outputs:
            output.transport.close()

    async def _feed(self, data: bytes) -> None:
        with suppress(ConnectionResetError, BrokenPipeError):  # it does not read its input
            self.stdin.write(data)
            await self.stdin.drain()
        self.stdin.close()


async def start_piped(launch: Launch) -> PipedProcess:
    """Start a program as its launch says. Raises OSError when it cannot be started."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        if launch.confine is None:  # bubblewrap ends with the thread that started it: with this one
            started.append(_spawn(launch))
        else:
            await run_to_completion(asyncio.to_thread(run_on_thread, lambda: started.append(_spawn(launch))))
        [process] = started
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        stdin = await _write_pipe(process.stdin)
        stdout, stderr = await _read_pipe(process.stdout), await _read_pipe(process.stderr)
    except BaseException:
        for process in started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await run_to_completion(asyncio.to_thread(process.wait))
        raise
    return PipedProcess(process, stdin, stdout, stderr)


def _spawn(launch: Launch) -> "subprocess.Popen[bytes]":
    if launch.confine is not None:
        launch.confine()
    passed: list[int] = []
    try:
        if launch.filter:
            reading, writing = os.pipe()
            passed.append(reading)
            os.write(writing, launch.filter)
            os.close(writing)
        return _popen(launch.argv, passed, launch.folder, launch.environ)
    finally:
        for descriptor in passed:
            os.close(descriptor)


def _popen(
    argv: Sequence[str], passed: Sequence[int], folder: Path, environ: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    options = [word for descriptor in passed for word in ("--seccomp", str(descriptor))]
    return subprocess.Popen(
        (argv[0], *options, *argv[1:]),
        cwd=folder,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=passed,
    )


async def _read_pipe(pipe: IO[bytes]) -> _Output:
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    return _Output(reader, transport)


async def _write_pipe(pipe: IO[bytes]) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)
