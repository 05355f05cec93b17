"""What the server needs of its terminals, which `opencode_tui/extras/pty/` implements, and the input that waits for them."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol, cast

from opencode_tui.entry_points import load
from opencode_tui.schema.api.pty import Pty, PtyCreate, PtySize
from opencode_tui.schema.event.folder_event import PtyCreated, PtyDeleted, PtyExited, PtyUpdated

INPUT_LIMIT = 4 * 1024 * 1024
"""Input that waits until a program reads; a client that sends more is disconnected."""

Publish = Callable[[str, PtyCreated | PtyUpdated | PtyExited | PtyDeleted], None]
"""Sends an event of a folder to the clients."""


class Output(ABC):
    """The output of a terminal for one reader."""

    @abstractmethod
    async def read_bytes(self) -> bytes | None:
        """Wait for output and return it; None at the end."""


class Terminals(Protocol):
    """Programs with a pseudo terminal each; methods with a `name` raise NotFoundError where there is no such terminal."""

    async def create(self, directory: str, request: PtyCreate, size: PtySize) -> Pty:
        """Start a terminal. Raises ConfigError when it cannot be started."""
        ...

    def connect(self, name: str, *, is_paced: bool) -> AbstractContextManager[Output]:
        """Return a reader of a terminal's output, from what it kept on.

        A paced reader is never too slow: the program waits for it, and for it all other readers wait.
        """
        ...

    async def write(self, name: str, text: str | bytes) -> None:
        """Send input to a terminal, waiting while its program does not read; one that has ended ignores it."""
        ...

    def resize(self, name: str, size: PtySize) -> None:
        """Change the size of a terminal, without an event."""
        ...

    def repaint(self, name: str) -> None:
        """Let the program in the foreground draw its screen again, as after a change of the size."""
        ...

    async def remove(self, name: str) -> None:
        """Remove a terminal and end its processes; returns within 3 s."""
        ...

    async def close(self) -> None:
        """Remove all terminals; returns within 3 s."""
        ...


TerminalsMaker = Callable[[Publish, Mapping[str, str]], Terminals]
"""Returns the terminals of a server, which start with these variables; none runs yet."""


def make_terminals(*, publish: Publish, environ: Mapping[str, str]) -> Terminals:
    """Import the extra and return the terminals of a server, which start with the variables of `environ`."""
    return cast("TerminalsMaker", load("terminals"))(publish, environ)


class InputQueue:
    """Input of a client that was not written yet."""

    def __init__(self) -> None:
        self._pieces: asyncio.Queue[str | bytes] = asyncio.Queue()
        self._size = 0
        self.is_full = False

    def add(self, piece: str | bytes) -> None:
        """Add a piece of any size, unless too much waits already."""
        self.is_full = self._size > INPUT_LIMIT
        if not self.is_full:
            self._size += len(piece)
            self._pieces.put_nowait(piece)

    async def next(self) -> str | bytes:
        """Wait for a piece and return it."""
        piece = await self._pieces.get()
        self._size -= len(piece)
        return piece
