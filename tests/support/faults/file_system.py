"""File systems that go wrong: at the n-th call, with an error, half a write or the death of the process; or by hanging."""

import os
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from opencode_tui.storage.files import FILE_MODE, FileSystem
from tests.support.world.waiting import PATIENCE_S

SHORT_WRITE = -1
"""In place of an errno: the call, if it writes, writes half."""

DEATH = -2
"""In place of an errno: the process ends there and then, as by kill -9."""


class FaultyFiles(FileSystem):
    """Counts its calls in `calls`; call number `at` (from 1), and with `lasting` every later one, goes wrong.

    `only` restricts the faults and the count to one method; `log` lists the calls as (method, path or descriptor), `moments` their
    times in seconds.
    """

    def __init__(self, *, at: int = 0, error: int = 0, lasting: bool = False, only: str | None = None) -> None:
        self.at = at
        self.error = error
        self.lasting = lasting
        self.only = only
        self.calls = 0
        self.log: list[tuple[str, str | int]] = []
        self.moments: list[float] = []

    def heal(self) -> None:
        """Go wrong no more."""
        self.at = 0

    def open(self, path: str, flags: int, mode: int = FILE_MODE) -> int:
        self._step("open", path)
        return super().open(path, flags, mode)

    def read(self, descriptor: int, size: int) -> bytes:
        self._step("read", descriptor)
        return super().read(descriptor, size)

    def write(self, descriptor: int, data: memoryview) -> int:
        is_short = self._step("write", descriptor)
        return super().write(descriptor, data[: max(1, len(data) // 2)] if is_short else data)

    def fsync(self, descriptor: int) -> None:
        self._step("fsync", descriptor)
        super().fsync(descriptor)

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self._step("close", descriptor)

    def replace(self, source: str, target: str) -> None:
        self._step("replace", target)
        super().replace(source, target)

    def unlink(self, path: str) -> None:
        self._step("unlink", path)
        super().unlink(path)

    def mkdir(self, path: str) -> None:
        self._step("mkdir", path)
        super().mkdir(path)

    def rmdir(self, path: str) -> None:
        self._step("rmdir", path)
        super().rmdir(path)

    def chmod(self, path: str, mode: int) -> None:
        self._step("chmod", path)
        super().chmod(path, mode)

    def lstat(self, path: str) -> os.stat_result:
        self._step("lstat", path)
        return super().lstat(path)

    @contextmanager
    def scandir(self, path: str) -> Generator[Iterator[os.DirEntry[str]], None, None]:
        self._step("scandir", path)
        with super().scandir(path) as entries:
            yield entries

    def names(self, path: str) -> list[str]:
        self._step("names", path)
        return super().names(path)

    def _step(self, name: str, subject: str | int) -> bool:
        """Count a call and let it go wrong if it is its turn; return whether it shall write half."""
        self.log.append((name, subject))
        self.moments.append(time.monotonic())
        is_counted = self.only in (None, name)
        self.calls += is_counted
        if not is_counted or not self.at or not (self.calls == self.at or (self.lasting and self.calls > self.at)):
            return False
        if self.error == DEATH:
            os._exit(137)
        if self.error == SHORT_WRITE:
            return True
        raise OSError(self.error, os.strerror(self.error), subject)


class StalledDisk(FileSystem):
    """Writes that hang until they may end, well or, with `fails`, badly."""

    def __init__(self) -> None:
        self.begun = 0
        self.has_begun = threading.Event()
        self.may_end = threading.Event()
        self.fails = False

    def write(self, descriptor: int, data: memoryview) -> int:
        self.begun += 1
        self.has_begun.set()
        assert self.may_end.wait(PATIENCE_S)
        if self.fails:
            raise OSError(5, "input/output error")
        return super().write(descriptor, data)
