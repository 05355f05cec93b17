"""The terminals of a server: a program with a pseudo terminal each, whose output is replayed to each client that connects.

A terminal is a shell of the user: nothing confines it. The program leads a session of its own; removing the terminal while the
program runs ends all processes of that session, and the end of this process hangs up the terminal.
"""

import asyncio
import fcntl
import os
import signal
import struct
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

import psutil

from opencode_tui.schema.api.pty import Pty, PtyCreate, PtySize, PtyUpdate
from opencode_tui.schema.error import ConfigError, NotFoundError
from opencode_tui.schema.event.folder_event import PtyCreated, PtyDeleted, PtyExited, PtyUpdated
from opencode_tui.schema.ids import Identifier, system_clock
from opencode_tui.server.terminals import Output, Publish, TerminalsMaker

RUNNING_LIMIT = 20
"""Most terminals that run at a time."""

KEPT_LIMIT = 20
"""Most terminals that have ended and are still listed."""

REPLAY_BYTES = 256 * 1024
"""How much of its output a terminal keeps for those that connect later."""

QUEUE_BYTES = 4 * 1024 * 1024
"""Output that waits for one client; one that is slower is disconnected."""

PACE_BYTES = 256 * 1024
"""Output that waits for a client that sets the pace; the program waits until it was read."""

_PIECE_BYTES = 64 * 1024
_GRACE_S = 0.2
_END_LIMIT_S = 2.0
"""Seconds to wait for a killed program: one of another user (`sudo`) cannot be killed, only hung up."""
DEFAULT_SIZE = PtySize(rows=24, cols=80)
_HIDDEN = ("OPENCODE_SERVER_PASSWORD",)
_START = 'exec "$@" 0<>"$0" 1>&0 2>&0'
"""The first terminal that the leader of a session opens controls it."""


class Connection(Output):
    """The output for one client: the replayed one, then what follows.

    With `resume`, the client sets the pace: the terminal is not read while much output waits, and `resume` reads it again.
    """

    def __init__(self, replay: bytes, resume: Callable[[], None] | None = None) -> None:
        self._resume = resume
        self._pieces = [replay] if replay else []
        self._size = len(replay)
        self._news = asyncio.Event()
        self._is_ended = False
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self.is_slow = False

    def add(self, data: bytes) -> None:
        """Add output."""
        self._size += len(data)
        if self._size > QUEUE_BYTES:
            self.is_slow = True
            self.end()
        else:
            self._pieces.append(data)
            self._news.set()

    @property
    def is_behind(self) -> bool:
        """Return whether the terminal should wait for this client."""
        return self._resume is not None and self._size > PACE_BYTES

    def end(self) -> None:
        """Let `read` return the rest, then nothing."""
        self._is_ended = True
        self._news.set()

    async def read_bytes(self) -> bytes | None:
        """Wait for output and return it; None at the end."""
        while True:
            if self._pieces and not self.is_slow:
                was_behind = self.is_behind
                data, self._pieces, self._size = b"".join(self._pieces), [], 0
                if was_behind and self._resume is not None:
                    self._resume()
                return data
            elif self._is_ended:
                return None
            else:
                self._news.clear()
                await self._news.wait()

    async def read(self) -> str | None:
        """Wait for output and return it as text; None at the end."""
        while (data := await self.read_bytes()) is not None:
            if text := self._decoder.decode(data):
                return text
        return None


@dataclass(eq=False, slots=True)
class _Terminal:
    """A terminal; `master` is our end, -1 when it is closed."""

    info: Pty
    directory: str
    master: int
    process: asyncio.subprocess.Process
    replay: bytearray = field(default_factory=bytearray)
    connections: list[Connection] = field(default_factory=list[Connection])
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    watcher: "asyncio.Task[None] | None" = None


class PtyTerminals:
    """The terminals of one server."""

    def __init__(self, publish: Publish, environ: Mapping[str, str]) -> None:
        self._publish = publish
        self._environ = environ
        self._identifier = Identifier(system_clock)
        self._terminals: dict[str, _Terminal] = {}

    def list(self, directory: str) -> Sequence[Pty]:
        """Return the terminals of a folder, the oldest first."""
        return [one.info for one in self._terminals.values() if one.directory == directory]

    async def create(self, directory: str, request: PtyCreate, size: PtySize = DEFAULT_SIZE) -> Pty:
        """Start a terminal. Raises ConfigError when it cannot be started."""
        if sum(one.info.status == "running" for one in self._terminals.values()) >= RUNNING_LIMIT:
            raise ConfigError(f"{RUNNING_LIMIT} terminals run already; remove one of them first")
        command = request.command or self._environ.get("SHELL") or "/bin/sh"
        args = request.args if request.args is not None else ([] if request.command else ["-l"])
        cwd = await asyncio.to_thread(_folder, directory, request.cwd)
        environ = {name: value for name, value in self._environ.items() if name not in _HIDDEN}
        environ |= {"TERM": "xterm-256color", "OPENCODE_TERMINAL": "1", **(request.env or {})}
        master, slave = os.openpty()
        try:
            _resize(master, size)
            os.set_blocking(master, False)
            process = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", _START, os.ttyname(slave), command, *args),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=slave,
                stderr=slave,
                cwd=cwd,
                env=environ,
                start_new_session=True,
            )
        except BaseException as error:
            os.close(master)
            if isinstance(error, OSError | ValueError):
                raise ConfigError(f"the terminal cannot be started in {cwd}: {error}") from error
            raise
        finally:
            os.close(slave)
        name = self._identifier.ascending("pty")
        info = Pty(
            id=name,
            title=request.title or f"Terminal {name[-4:]}",
            command=command,
            args=args,
            cwd=cwd,
            status="running",
            pid=process.pid,
        )
        one = self._terminals[name] = _Terminal(info, directory, master, process)
        asyncio.get_running_loop().add_reader(master, self._read, one)
        one.watcher = asyncio.create_task(self._watch(one), name=f"terminal {name}")
        self._publish(directory, PtyCreated(info=info))
        return info

    def get(self, name: str) -> Pty:
        """Return a terminal. Raises NotFoundError."""
        return self._find(name).info

    def update(self, name: str, request: PtyUpdate) -> Pty:
        """Change the title or the size of a terminal. Raises NotFoundError."""
        one = self._find(name)
        if request.title is not None:
            one.info = one.info.changed(title=request.title)
        if request.size is not None:
            self.resize(name, request.size)
        self._publish(one.directory, PtyUpdated(info=one.info))
        return one.info

    def resize(self, name: str, size: PtySize) -> None:
        """Change the size of a terminal, without an event. Raises NotFoundError."""
        one = self._find(name)
        if one.master >= 0:
            _resize(one.master, size)

    async def remove(self, name: str) -> None:
        """Remove a terminal; returns within 3 s. Raises NotFoundError.

        All processes of its session end, except those of other users, which are hung up. When its program has ended before,
        nothing ends: what it left behind (`nohup`) goes on.
        """
        one = self._find(name)
        await self._end(one)
        if self._terminals.pop(name, None) is not None:
            self._publish(one.directory, PtyDeleted(id=name))

    async def close(self) -> None:
        """Remove all terminals; returns within 3 s."""
        await asyncio.gather(*(self.remove(name) for name in list(self._terminals)), return_exceptions=True)

    def repaint(self, name: str) -> None:
        """Let the program in the foreground draw its screen again, as after a change of the size. Raises NotFoundError."""
        one = self._find(name)
        if one.master >= 0:
            with suppress(OSError):  # it has just ended
                os.killpg(os.tcgetpgrp(one.master), signal.SIGWINCH)

    @contextmanager
    def connect(self, name: str, *, is_paced: bool = False) -> Generator[Connection]:
        """Return a reader of a terminal's output, from what it kept on. Raises NotFoundError.

        A paced reader is never too slow: the program waits for it, and for it all other readers wait.
        """
        one = self._find(name)
        connection = Connection(bytes(one.replay), partial(self._resume, one) if is_paced else None)
        one.connections.append(connection)
        if one.info.status == "exited":
            connection.end()
        try:
            yield connection
        finally:
            one.connections.remove(connection)
            self._resume(one)

    def _resume(self, one: _Terminal) -> None:
        if one.master >= 0 and not any(connection.is_behind for connection in one.connections):
            asyncio.get_running_loop().add_reader(one.master, self._read, one)

    async def write(self, name: str, text: str | bytes) -> None:
        """Send input to a terminal, waiting while its program does not read; one that has ended ignores it."""
        one = self._find(name)
        data = memoryview(text.encode("utf-8", "replace") if isinstance(text, str) else text)
        async with one.writing:
            while data and one.master >= 0:
                try:
                    data = data[os.write(one.master, data) :]
                except BlockingIOError:
                    await _writable(one)
                except OSError:
                    return

    def _find(self, name: str) -> _Terminal:
        one = self._terminals.get(name)
        if one is None:
            raise NotFoundError(f"there is no terminal {name}")
        return one

    def _read(self, one: _Terminal) -> None:
        """Pass on what the program wrote; never blocks."""
        try:
            data = os.read(one.master, _PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:  # no process has the terminal open
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(one.master)
            return
        one.replay += data
        if len(one.replay) > 2 * REPLAY_BYTES:
            del one.replay[:-REPLAY_BYTES]
        for connection in one.connections:
            connection.add(data)
        if any(connection.is_behind for connection in one.connections):
            asyncio.get_running_loop().remove_reader(one.master)

    async def _watch(self, one: _Terminal) -> None:
        """Wait for the end of the program, and report it."""
        code = await one.process.wait()
        if one.master >= 0:
            self._read(one)
        self._close(one)
        one.info = one.info.changed(status="exited")
        for connection in one.connections:
            connection.end()
        self._publish(one.directory, PtyExited(id=one.info.id, exit_code=code if code >= 0 else 128 - code))
        ended = [name for name, other in self._terminals.items() if other.info.status == "exited"]
        for name in ended[:-KEPT_LIMIT]:
            del self._terminals[name]

    def _close(self, one: _Terminal) -> None:
        if one.master >= 0:
            loop = asyncio.get_running_loop()
            loop.remove_reader(one.master)
            loop.remove_writer(one.master)
            os.close(one.master)
            one.master = -1

    async def _end(self, one: _Terminal) -> None:
        members = (
            await asyncio.to_thread(_session, one.info.pid) if one.info.status == "running" else set[psutil.Process]()
        )
        _send(members, signal.SIGHUP)
        if one.watcher is not None:
            await asyncio.wait({one.watcher}, timeout=_GRACE_S)
        if members:
            await asyncio.to_thread(_kill, members, one.info.pid)
        if one.watcher is not None and not one.watcher.done():
            self._close(one)  # hangs up a program that could not be killed
            await asyncio.wait({one.watcher}, timeout=_END_LIMIT_S)
            one.watcher.cancel()
        for connection in one.connections:
            connection.end()


make_terminals: TerminalsMaker = PtyTerminals


def _folder(directory: str, wanted: str | None) -> str:
    """Return the folder to start in. Raises ConfigError when there is none."""
    folder = os.path.normpath(os.path.join(directory, os.path.expanduser(wanted or ".")))
    if not os.path.isdir(folder):
        raise ConfigError(f"{wanted!r} is not a folder; pass an existing one as cwd")
    return folder


def _session(leader: int) -> "set[psutil.Process]":
    """Return the processes of a session, and their descendants."""
    found: set[psutil.Process] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if os.getsid(process.pid) == leader:
                found |= {process, *process.children(recursive=True)}
    return found


def _kill(members: "set[psutil.Process]", leader: int) -> None:
    """Kill the members of a session, and those that they have started meanwhile; blocks while there are new ones."""
    deadline = time.monotonic() + _END_LIMIT_S
    known: set[psutil.Process] = set()
    while members and time.monotonic() < deadline:
        _send(members, signal.SIGKILL)
        known |= members
        members = _session(leader) - known
        if any(one.pid == leader for one in members):  # a new process has the number of the leader: all have ended
            return


def _send(processes: "Iterable[psutil.Process]", number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(number)


def _resize(master: int, size: PtySize) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.cols, 0, 0))


async def _writable(one: _Terminal) -> None:
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(one.master, lambda: ready.done() or ready.set_result(None))
    try:
        async with asyncio.timeout(1):
            await ready
    except TimeoutError:
        pass
    finally:
        if one.master >= 0:  # else it was closed, and its number may be that of another file
            loop.remove_writer(one.master)
