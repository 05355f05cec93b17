"""A shell command that runs on a thread of its own, for the event loop to wait for and to cancel, and its output.

The end of a command has several blocking steps that no second cancel may interrupt; on a thread nothing can.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from msgspec import Struct

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.sandbox.environment import StreamRedactor
from opencode_tui.engine.tool.process.process import Command, Ended, ShellProcess
from opencode_tui.engine.tool.truncate import MAX_BYTES, MAX_LINES, Cut, hint
from opencode_tui.schema.session.tool_state import KeptLines

HALF_BYTES = MAX_BYTES // 2
HALF_LINES = MAX_LINES // 2
FILE_BYTES = 64 * 1024 * 1024
"""How much of an output its file keeps."""

PREVIEW_CHARS = 30_000
"""How much of an output the screen gets. Source: docs/internals/tools.md#bash."""

_PARTIAL_LINE_BYTES = 2_000
"""A line that was cut is left out when no more than this of it remains."""

logger = logging.getLogger(__name__)


class Excerpt(Struct, frozen=True):
    """The output at a moment: all of it in `head`, or, with `removed`, its first and last whole lines."""

    head: str
    tail: str = ""
    removed: Cut | None = None
    path: Path | None = None
    file_is_whole: bool = True
    lines: int = 0
    """Lines of the whole output, with `removed`."""

    def kept(self) -> KeptLines | None:
        """Return how many lines the output has and how many of them are left, None when all are."""
        if self.removed is None:
            return None
        return KeptLines(self.lines, *(one.rstrip("\n").count("\n") + 1 for one in (self.head, self.tail)))

    def preview(self) -> str:
        """Return the text for the screen, at most 30,000 characters."""
        text = self.head if self.removed is None else f"{self.head}\n\n...\n\n{self.tail}"
        if len(text) <= PREVIEW_CHARS:
            return text
        half = PREVIEW_CHARS // 2 - 5
        return f"{text[:half]}\n\n...\n\n{text[-half:]}"

    def for_model(self, *, may_delegate: bool) -> str:
        """Return the text for the model: both ends, and where the rest is."""
        if self.removed is None:
            return self.head
        return "\n\n".join((self.head, self.removed.marker, self.tail.rstrip("\n"), self._advice(may_delegate)))

    def _advice(self, may_delegate: bool) -> str:
        if self.path is None:
            return "The full text could not be kept; run the command again with less output."
        advice = hint(self.path, may_delegate=may_delegate)
        return (
            advice
            if self.file_is_whole
            else f"{advice} Of this output the file holds the first {FILE_BYTES >> 20} MiB."
        )


class CommandOutput:
    """The output of a command: its beginning and end in memory, all of it in a file once it is long.

    Written by one thread and read by another. At most 150 KB stay in memory; the file ends at 64 MiB.
    """

    def __init__(
        self, reserve: Callable[[], Path], *, redactor: StreamRedactor | None = None, file_bytes: int = FILE_BYTES
    ) -> None:
        """`reserve` names a new file; it is called when the output turns out to be long. `redactor` removes keys."""
        self._reserve = reserve
        self._redactor = redactor
        self._room = file_bytes
        self._lock = threading.Lock()
        self._head = bytearray()
        self._tail = bytearray()
        self._file: BinaryIO | None = None
        self._path: Path | None = None
        self._file_is_whole = True
        self._is_long = False
        self._newlines = 0
        self.size = 0
        """Bytes so far; grows with each piece, so a change means new output."""

    def feed(self, data: bytes) -> None:
        """Add the next piece, which is not empty; blocks for a write to the file. A full disk only costs the file."""
        shown = data if self._redactor is None else self._redactor.feed(data)
        if shown:
            self._add(shown)

    def _add(self, data: bytes) -> None:
        with self._lock:
            self.size += len(data)
            self._newlines += data.count(b"\n")
            lines = self._newlines if data.endswith(b"\n") else self._newlines + 1
            became_long = not self._is_long and (self.size > MAX_BYTES or lines > MAX_LINES)
            self._is_long = self._is_long or became_long
            before = bytes(self._head) if became_long else b""
            self._head += data[: MAX_BYTES - len(self._head)]
            self._tail += data[-HALF_BYTES:]
            if len(self._tail) > 2 * HALF_BYTES:
                del self._tail[:-HALF_BYTES]
        if became_long:
            self._open()
            self._write(before)
        if self._is_long:
            self._write(data)

    def close(self) -> None:
        """Add what was held back, and finish the file; to be called once nothing more comes."""
        rest = b"" if self._redactor is None else self._redactor.finish()
        if rest:
            self._add(rest)
        if self._file is not None:
            self._file.close()
            self._file = None

    def excerpt(self, *, is_final: bool) -> Excerpt:
        """Return the present output; an incomplete character at the end is shown only when `is_final`."""
        with self._lock:
            head, tail = bytes(self._head), bytes(self._tail)
            size, newlines, is_long = self.size, self._newlines, self._is_long
        if not is_long:
            return Excerpt(_decoded(head, cut_end=not is_final))
        first, last = _first_lines(head), _last_lines(tail)
        if size > MAX_BYTES:
            removed = Cut("", size - len(first) - len(last), "bytes")
        else:
            removed = Cut("", newlines - first.count(b"\n") - 1 - last.count(b"\n"), "lines")
        return Excerpt(
            _decoded(first, cut_end=True),
            _decoded(last, cut_start=True),
            removed,
            self._path,
            self._file_is_whole,
            newlines + (not tail.endswith(b"\n")),
        )

    def _open(self) -> None:
        try:
            path = self._reserve()
            self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", buffering=0)
            self._path = path
        except OSError as error:
            logger.warning("a command's full output cannot be kept: %s", error)

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        piece = data[: self._room]
        self._file_is_whole = self._file_is_whole and len(piece) == len(data)
        try:
            while piece:
                written = self._file.write(piece)
                self._room -= written
                piece = piece[written:]
        except OSError as error:
            logger.warning("a command's full output is cut at %s: %s", self._path, error)
            self._file_is_whole, self._room = False, 0


class RunningCommand:
    """Runs a command while its context is entered; leaving it ends the command within 300 ms, with all that it started."""

    def __init__(self, command: Command, output: CommandOutput) -> None:
        self._output = output
        self._process: ShellProcess | None = None
        self._command = command

    def files_open_for_writing(self) -> frozenset[tuple[int, int]]:
        """Return device and inode of the files that the command's processes can write now. For any thread; blocks for ms."""
        return frozenset() if self._process is None else self._process.files_open_for_writing()

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[Ended] = self._loop.create_future()
        self._cancel, self._cancel_end = os.pipe()
        self._thread = threading.Thread(target=self._work, name="shell-command")
        self._thread.start()
        return self

    async def wait(self, timeout_s: float) -> Ended | None:
        """Return the end, or None when the command still runs after that time. Raises OSError when it could not start."""
        await asyncio.wait({self._ended}, timeout=timeout_s)
        return self._ended.result() if self._ended.done() else None

    def stop(self) -> None:
        """Let the command end as a cancel does; `wait` returns its end."""
        os.write(self._cancel_end, b"!")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._ended.done():
                self.stop()
                await run_to_completion(asyncio.wait({self._ended}))
        finally:
            if self._ended.done():  # not where the loop ends, which cancels also what waits here
                self._ended.exception()
            self._thread.join()
            self._output.close()
            os.close(self._cancel)
            os.close(self._cancel_end)

    def _work(self) -> None:
        try:
            self._process = ShellProcess(self._command, self._output.feed, cancel=self._cancel)
            self._end, self._failure = self._process.run(), None
        except Exception as error:  # noqa: BLE001 - raised again by `wait`, on the event loop
            self._failure = error
        with suppress(RuntimeError):  # the loop was closed without leaving the context; nothing waits any more
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        if self._failure is None:
            self._ended.set_result(self._end)
        else:
            self._ended.set_exception(self._failure)


def _first_lines(head: bytes) -> bytes:
    lines = head[:HALF_BYTES].split(b"\n", HALF_LINES)
    if len(lines) > HALF_LINES:
        return b"\n".join(lines[:HALF_LINES])
    if len(lines) > 1 and len(lines[-1]) <= _PARTIAL_LINE_BYTES:
        return b"\n".join(lines[:-1])
    return head[:HALF_BYTES]


def _last_lines(tail: bytes) -> bytes:
    most = HALF_LINES + 1 if tail.endswith(b"\n") else HALF_LINES
    lines = tail[-HALF_BYTES:].rsplit(b"\n", most)
    if len(lines) > most or (len(lines) > 1 and len(lines[0]) <= _PARTIAL_LINE_BYTES):
        return b"\n".join(lines[1:])
    return tail[-HALF_BYTES:]


def _decoded(data: bytes, *, cut_start: bool = False, cut_end: bool = False) -> str:
    """Return bytes as text: invalid UTF-8 and NUL become U+FFFD; a character split by the truncation is omitted."""
    if cut_start:
        data = data[continuation_bytes(data) :]
    if cut_end:
        data = data[: len(data) - unfinished_bytes(data)]
    return data.decode("utf-8", "replace").replace("\0", "\ufffd")


def continuation_bytes(data: bytes) -> int:
    """Return how many bytes at the beginning, at most 3, end a character."""
    count = 0
    while count < min(3, len(data)) and data[count] & 0xC0 == 0x80:
        count += 1
    return count


def unfinished_bytes(data: bytes) -> int:
    """Return how many bytes at the end begin a character that needs more of them."""
    for count in range(1, min(3, len(data)) + 1):
        byte = data[-count]
        if byte & 0xC0 != 0x80:
            needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return count if needed > count else 0
    return 0
