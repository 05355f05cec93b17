"""Confined programs with pipes for their standard streams: programs that help with the project, as language servers do.

They need no supervisor (`Launch.is_held`): no one asks what they leave behind, and bubblewrap's namespace ends with them. In tier A
they start when their mounts have been compared, and end when a file cannot be hidden from them any more (`mounts.py`).
"""

import asyncio
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, NamedTuple

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.sandbox.launch import Launch, run_on_thread
from opencode_tui.engine.sandbox.mounts import Mounts, child_pid, open_info, wait_for_end
from opencode_tui.engine.sandbox.tiers.leftover import WATCH

logger = logging.getLogger(__name__)


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
        mounts: Mounts | None = None,
    ) -> None:
        """`mounts` are those to watch; they are closed at the end."""
        self.stdin = stdin
        self.stdout = stdout.reader
        self.stderr = stderr.reader
        self._outputs = (stdout, stderr)
        self._process = process
        self._ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait() -> None:
            if mounts is not None:
                if ended := wait_for_end(mounts, process.pid):
                    logger.warning(
                        "%s was replaced from outside, so a program that must not read it was ended", *ended[:1]
                    )
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                mounts.close()
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
    info = open_info()
    try:
        if launch.confine is None:  # bubblewrap ends with the thread that started it: with this one
            started.append(_spawn(launch, info))
        else:
            await run_to_completion(asyncio.to_thread(run_on_thread, lambda: started.append(_spawn(launch, info))))
        [process] = started
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        stdin = await _write_pipe(process.stdin)
        stdout, stderr = await _read_pipe(process.stdout), await _read_pipe(process.stderr)
        mounts = launch.mounts
        if mounts is not None and await stdout.reader.read(1):  # else bubblewrap has failed, and reports it as an error
            mounts.verify(child_pid(info))
            stdin.write(b"\n")
    except BaseException:
        if launch.mounts is not None:
            launch.mounts.close()
        for process in started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await run_to_completion(asyncio.to_thread(process.wait))
        raise
    finally:
        os.close(info)
    return PipedProcess(process, stdin, stdout, stderr, mounts)


def _spawn(launch: Launch, info: int) -> "subprocess.Popen[bytes]":
    if launch.confine is not None:
        launch.confine()
    passed: list[int] = []
    try:
        if launch.filter:
            watching = WATCH.options()
            reading, writing = os.pipe()
            passed.append(reading)
            os.write(writing, launch.filter)
            os.close(writing)
            options = ("--seccomp", str(reading), "--info-fd", str(info), *watching)
            return _popen(launch.with_options(*options), (reading, info), launch)
        return _popen(launch.argv, (), launch)
    finally:
        for descriptor in passed:
            os.close(descriptor)


def _popen(argv: Sequence[str], passed: Sequence[int], launch: Launch) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        argv,
        cwd=launch.folder,
        env=launch.environ,
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
