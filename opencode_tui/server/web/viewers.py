"""The viewers of the page: each has a terminal with the TUI of its own, which outlives a socket that was cut.

The page that closes or is loaded again says so: its terminal ends unless it is back within `RELOAD_S`. After a cut it is kept for
`KEPT_S`. The page that comes back gets a reset terminal with the same modes, and the TUI draws its screen again.
"""

import asyncio
import re
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from opencode_tui.schema.api.pty import PtyCreate, PtySize
from opencode_tui.schema.error import ConfigError, NotFoundError
from opencode_tui.schema.json_text import decode_json
from opencode_tui.server.terminals import InputQueue, Output, Terminals

VIEWER_LIMIT = 5
"""Most viewers at a time; one that is cut off is given up for a new one."""

KEPT_S = 60.0
"""Seconds that the terminal of a page is kept whose socket was cut."""

RELOAD_S = 10.0
"""Seconds that the terminal of a page is kept that was closed, for the case that it is loaded again.

On a phone or a busy machine loading lasts some seconds.
"""

IDLE_S = 1800.0
"""Seconds without input after which a viewer is disconnected."""

ENDED, IDLE, REPLACED, FULL, FAILED = 4000, 4001, 4002, 4003, 4004
"""Our codes for the end of a socket; the page explains them."""

_BAD_MESSAGE, _TOO_MUCH, _SERVER_ENDS = 1008, 1013, 1012
_GOING_AWAY = (1000, 1001)
_SMALLEST, _LARGEST = 2, 500

_SEQUENCE = re.compile(rb"\x1b\[\?([\d;]{1,64})([hl])|\x1b\][02];([^\x07\x1b]{0,1024})(?:\x07|\x1b\\)")
_TAIL_BYTES = 1100
"""The longest start of a sequence that may lie at the end of the output."""

_SYNCHRONIZED = b"2026"
"""Holds back what is drawn until it is reset: never restored."""

_SCREEN = b"1049"
_RESET = b"\x18\x1bc"
"""Ends a sequence that was cut off, then resets the terminal."""


class ScreenModes:
    """The modes and the title that a program set in its terminal, so that an unused terminal can go on in place of the old one."""

    def __init__(self) -> None:
        self._tail = b""
        self._modes: dict[bytes, bytes] = {}
        self._title: bytes | None = None

    def feed(self, data: bytes) -> None:
        """Read the next output."""
        text = self._tail + data
        end = 0
        for found in _SEQUENCE.finditer(text):
            modes, state, title = found.groups()
            if modes is None:
                self._title = title
            else:
                self._modes |= dict.fromkeys(modes.split(b";"), state)
            end = found.end()
        start = text.rfind(b"\x1b", end)
        self._tail = b"" if start < 0 or len(text) - start > _TAIL_BYTES else text[start:]

    def restore(self) -> bytes:
        """Return the output that resets a terminal, then sets the modes and the title."""
        order = sorted(self._modes, key=lambda mode: mode != _SCREEN)  # the other screen first: it has modes of its own
        modes = [b"\x1b[?%b%b" % (mode, self._modes[mode]) for mode in order if mode != _SYNCHRONIZED]
        title = [] if self._title is None else [b"\x1b]0;%b\x07" % self._title]
        return b"".join([_RESET, *modes, *title])


class _Control(msgspec.Struct, frozen=True):
    """A text message of the page; its binary ones are input."""

    resize: tuple[int, int] | None = None
    ping: int | None = None


@dataclass(eq=False, slots=True)
class _Viewer:
    """A viewer; `lock` is held by the socket that shows it, `replaced` ends that."""

    id: str
    login: str
    terminal: str
    connection: Output
    opened: ExitStack
    used: float
    modes: ScreenModes = field(default_factory=ScreenModes)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    replaced: "asyncio.Future[int] | None" = None
    keeping: "asyncio.Task[None] | None" = None


class Viewers:
    """The viewers of one server; `start` describes the program of each, which runs in `directory`."""

    def __init__(self, terminals: Terminals, directory: str, start: PtyCreate) -> None:
        self._terminals = terminals
        self._directory = directory
        self._start = start
        self._viewers: dict[str, _Viewer] = {}
        self._opening = 0
        self._is_closed = False
        self._now: Callable[[], float] = time.monotonic

    async def serve(self, socket: WebSocket, *, login: str, name: str, size: tuple[int, int]) -> None:
        """Show a viewer on a socket until either ends: the one with this name where it is kept, else a new one."""
        await socket.accept()
        viewer = self._viewers.get(name)
        is_resumed = viewer is not None
        try:
            viewer = viewer or await self._open(login, limit_size(*size))
        except ConfigError as error:
            await socket.close(FAILED, str(error)[:120])
            return
        if viewer is None:
            await socket.close(_SERVER_ENDS if self._is_closed else FULL)
            return
        if is_resumed:
            _end(viewer, REPLACED)
        async with viewer.lock:
            code = await self._show(viewer, socket, limit_size(*size), is_resumed=is_resumed)
        with suppress(RuntimeError, OSError, WebSocketDisconnect):  # the page has closed it, or was cut off
            await socket.close(code)

    async def log_out(self, login: str) -> None:
        """End the viewers of a login."""
        await asyncio.gather(*(self._remove(viewer) for viewer in [*self._viewers.values()] if viewer.login == login))

    async def close(self) -> None:
        """End all viewers and their processes; returns within 3 s."""
        self._is_closed = True
        for viewer in [*self._viewers.values()]:
            _end(viewer, _SERVER_ENDS)
        await asyncio.gather(*map(self._remove, [*self._viewers.values()]))
        await self._terminals.close()

    async def _open(self, login: str, size: PtySize) -> _Viewer | None:
        """Return a new viewer, None when there are too many. Raises ConfigError when its program cannot start."""
        if len(self._viewers) + self._opening >= VIEWER_LIMIT:
            kept = [one for one in self._viewers.values() if one.keeping is not None]
            if not kept:
                return None
            await self._remove(kept[0])
        if self._is_closed:
            return None
        self._opening += 1
        try:
            made = await self._terminals.create(self._directory, self._start, size)
        finally:
            self._opening -= 1
        opened = ExitStack()
        connection = opened.enter_context(self._terminals.connect(made.id, is_paced=True))
        viewer = _Viewer(secrets.token_urlsafe(16), login, made.id, connection, opened, self._now())
        self._viewers[viewer.id] = viewer
        return viewer

    async def _show(self, viewer: _Viewer, socket: WebSocket, size: PtySize, *, is_resumed: bool) -> int:
        """Exchange output and input until one side ends; return the code for the end of the socket."""
        if viewer.id not in self._viewers:  # removed while this socket waited for the other one
            return ENDED
        if viewer.keeping is not None:
            viewer.keeping.cancel()
            viewer.keeping = None
        viewer.replaced = asyncio.get_running_loop().create_future()
        viewer.used = self._now()
        tasks = [
            asyncio.ensure_future(one)
            for one in (
                viewer.replaced,
                self._send(viewer, socket, size, is_resumed=is_resumed),
                self._receive(viewer, socket),
                self._wait_idle(viewer),
            )
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            viewer.replaced = None
        first = next(task for task in tasks if task in done)
        code = 1006 if first.exception() is not None else first.result()
        if code in (REPLACED, _SERVER_ENDS):
            return code
        if code in (ENDED, IDLE) or viewer.id not in self._viewers:
            await self._remove(viewer)
        else:
            seconds = RELOAD_S if code in _GOING_AWAY else KEPT_S
            viewer.keeping = asyncio.create_task(self._keep(viewer, seconds), name=f"viewer {viewer.terminal}")
        return code

    async def _send(self, viewer: _Viewer, socket: WebSocket, size: PtySize, *, is_resumed: bool) -> int:
        await socket.send_json({"viewer": viewer.id, "isResumed": is_resumed})
        if is_resumed:
            await socket.send_bytes(viewer.modes.restore())
            _resize(self._terminals, viewer, size)
            self._terminals.repaint(viewer.terminal)
        while (data := await viewer.connection.read_bytes()) is not None:
            viewer.modes.feed(data)
            await socket.send_bytes(data)
        return ENDED

    async def _receive(self, viewer: _Viewer, socket: WebSocket) -> int:
        given = InputQueue()
        writing = asyncio.create_task(self._write(viewer, given))
        try:
            while not given.is_full:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    return message.get("code") or 1006
                if (text := message.get("text")) is None:
                    viewer.used = self._now()
                    given.add(message.get("bytes") or b"")
                    continue
                try:
                    control = msgspec.convert(decode_json(text), type=_Control)
                except msgspec.MsgspecError:
                    return _BAD_MESSAGE
                if control.resize is not None:
                    _resize(self._terminals, viewer, limit_size(*control.resize))
                if control.ping is not None:
                    await socket.send_json({"pong": control.ping})
            return _TOO_MUCH
        finally:
            writing.cancel()
            await asyncio.wait({writing})

    async def _write(self, viewer: _Viewer, given: InputQueue) -> None:
        while True:
            await self._terminals.write(viewer.terminal, await given.next())

    async def _wait_idle(self, viewer: _Viewer) -> int:
        while True:
            left = viewer.used + IDLE_S - self._now()
            if left <= 0:
                return IDLE
            await asyncio.sleep(left)

    async def _keep(self, viewer: _Viewer, seconds: float) -> None:
        """Read on, so that the program does not wait, then remove the viewer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (data := await viewer.connection.read_bytes()) is not None:
                    viewer.modes.feed(data)
        await self._remove(viewer)

    async def _remove(self, viewer: _Viewer) -> None:
        if self._viewers.pop(viewer.id, None) is None:
            return
        if viewer.keeping is not None and viewer.keeping is not asyncio.current_task():
            viewer.keeping.cancel()
        viewer.opened.close()
        with suppress(NotFoundError):
            await self._terminals.remove(viewer.terminal)
        _end(viewer, ENDED)


def limit_size(columns: int, rows: int) -> PtySize:
    """Return a size in cells, within what a terminal can have."""
    return PtySize(rows=min(max(rows, _SMALLEST), _LARGEST), cols=min(max(columns, _SMALLEST), _LARGEST))


def _resize(terminals: Terminals, viewer: _Viewer, size: PtySize) -> None:
    with suppress(NotFoundError):
        terminals.resize(viewer.terminal, size)


def _end(viewer: _Viewer, code: int) -> None:
    """End the socket that shows a viewer, if one does."""
    if viewer.replaced is not None and not viewer.replaced.done():
        viewer.replaced.set_result(code)
