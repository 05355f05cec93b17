"""The results file of a batch: one line of JSON a task, appended and synced to the disk as the task ends.

A task is done when its whole line is in the file. A torn last line, as a killed process or a full disk leaves it, is ignored and
cut. One batch at a time writes a file.
"""

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from filelock import lock_descriptor, unlock_descriptor

from opencode_tui.batch.task import TaskResult
from opencode_tui.schema.error import ConfigError, StorageError
from opencode_tui.schema.json_text import load_json
from opencode_tui.schema.record import ValidationError

_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_TORN = b'{"'
"""How a line of results begins, also one that was not written to its end."""
_MODE = 0o600
"""Results have the text of files: only their user reads them."""


class Journal:
    """An open results file, opened by `open_journal`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.results: dict[str, TaskResult] = {}
        """The results by task; the last line of a task counts."""
        self._descriptor = descriptor
        self._end = 0
        self._writing = asyncio.Lock()

    def read(self) -> Self:
        """Read the results and cut a torn end. Raises ConfigError for a line that is not a result, OSError. Blocks."""
        data = b""
        while chunk := os.read(self._descriptor, 1 << 20):
            data += chunk
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.split(b"\n"), 1):
            if line.strip():
                result = self._parse(line, number)
                self.results[result.id] = result
        if len(whole) < len(data):
            torn = data[len(whole) :]
            if not torn.startswith(_TORN[: len(torn)]):
                self._parse(torn, whole.count(b"\n") + 1)
            os.ftruncate(self._descriptor, len(whole))
        self._end = len(whole)
        return self

    def _parse(self, line: bytes, number: int) -> TaskResult:
        try:
            return TaskResult.model_validate(load_json(line))
        except (ValueError, ValidationError):
            raise ConfigError(
                f"{self.path}:{number}: not a result of a batch; name another file with --out, or remove the line"
            ) from None

    async def append(self, result: TaskResult) -> None:
        """Write a result; return when it is on the disk. Raises StorageError; then the file ends as before."""
        async with self._writing:
            await asyncio.to_thread(self._append, result.changed(export=None).to_line())
            self.results[result.id] = result

    def _append(self, line: bytes) -> None:
        try:
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._end)
            raise StorageError(
                f"{self.path} cannot be written ({error.strerror}); make room, then use --resume"
            ) from error
        self._end += len(line)


@contextmanager
def open_journal(path: Path, *, is_resumed: bool) -> Generator[Journal]:
    """Open a results file for a batch; no one else writes it in the meantime. Blocks.

    Raises ConfigError when it has results already, unless `is_resumed`, or when another batch writes it, or it cannot be opened.
    """
    descriptor, is_new = _open_locked(path)
    undo: list[Callable[[], None]] = [lambda: os.close(descriptor), lambda: unlock_descriptor(descriptor)]
    try:
        journal = Journal(path, descriptor).read()
        if journal.results and not is_resumed:
            raise ConfigError(
                f"{path} has {len(journal.results)} results; add --resume to run what is missing, or name another file with --out"
            )
        try:
            yield journal
        finally:
            if is_new and os.fstat(descriptor).st_size == 0:
                path.unlink(missing_ok=True)
    finally:
        for action in reversed(undo):
            action()


def _open_locked(path: Path) -> tuple[int, bool]:
    """Return the locked descriptor of the file at `path`, and whether it was created here. Raises ConfigError."""
    while True:
        try:
            descriptor, is_new = _open(path)
        except OSError as error:
            raise ConfigError(f"{path} cannot be written ({error.strerror}); name another file with --out") from error
        is_kept = False
        try:
            if not lock_descriptor(descriptor, blocking=False):
                raise ConfigError(f"another batch writes {path}; wait for its end, or name another file with --out")
            # A batch that ends without results removes its file, perhaps between the two calls: no one would find ours.
            if is_kept := _is_at(path, descriptor):
                return descriptor, is_new
            unlock_descriptor(descriptor)
        finally:
            if not is_kept:
                os.close(descriptor)


def _open(path: Path) -> tuple[int, bool]:
    """Return the descriptor of the file, and whether it was created here. A link is not followed: a command may have made it."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FLAGS, _MODE), True
    except FileExistsError:
        if path.is_symlink():
            raise ConfigError(f"{path} is a link; name the file that it leads to with --out") from None
        return os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, _MODE), False


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
