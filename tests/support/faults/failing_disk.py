"""A disk that fails while a program runs: full, read-only, broken or slow, below one folder, and well again when a test wants it.

disk = FailingDisk(tmp_path)
with ScreenTerminal(..., environ={**environ, **disk.variables()}) as terminal:
    disk.fail(paths.data, "full"); ...; disk.heal()

The calls of the C library fail in the program and in all that it starts (`failing_disk.c`, which needs gcc), so it works for every
user. Calls that reading needs go on. What a real file system does shows `tests/faults/local/test_mounts.py`.
"""

import ctypes
import errno
import mmap
import os
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Literal

Fault = Literal["full", "quota", "broken", "read-only", "forbidden", "unreadable"]

_DATA, _NAMES, _SYNC, _FREE, _READ = 1, 2, 4, 8, 16
_CALLS: dict[Fault, tuple[int, int]] = {
    "full": (errno.ENOSPC, _DATA | _NAMES),
    "quota": (errno.EDQUOT, _DATA | _NAMES),
    "broken": (errno.EIO, _DATA | _SYNC),
    "read-only": (errno.EROFS, _DATA | _NAMES | _FREE),
    "forbidden": (errno.EACCES, _NAMES | _FREE),
    "unreadable": (errno.EIO, _READ),
}
"""The error of each fault and the classes of calls that fail: a full disk can still remove and rename files."""

MISSING = "" if shutil.which("gcc") or shutil.which("cc") else "no C compiler builds the library that makes calls fail"
"""Why there is no such disk here; empty where there is."""

_SOURCE = Path(__file__).with_name("failing_disk.c")
_FOLDER_BYTES = 4080


class _Rule(ctypes.Structure):
    """`struct rule` of the library."""

    _fields_ = (
        ("calls", ctypes.c_uint32),
        ("error", ctypes.c_uint32),
        ("delay_ms", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        ("folder", ctypes.c_char * _FOLDER_BYTES),
    )


class FailingDisk:
    """Well until `fail` or `slow`; one fault below one folder at a time."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "failing-disk"
        self._file.write_bytes(bytes(ctypes.sizeof(_Rule)))
        with self._file.open("r+b") as opened:
            self._rule = _Rule.from_buffer(mmap.mmap(opened.fileno(), 0))

    def variables(self) -> dict[str, str]:
        """Return the environment variables of a program that works on this disk."""
        return {"LD_PRELOAD": str(_library()), "FAILING_DISK": str(self._file)}

    def fail(self, folder: Path, fault: Fault) -> None:
        """Let the calls below a folder fail from now on."""
        code, calls = _CALLS[fault]
        self._set(folder, calls, code=code)

    def slow(self, folder: Path, seconds: float) -> None:
        """Let every write, new name and sync below a folder take so long from now on, at most until `heal`."""
        self._set(folder, _DATA | _NAMES | _SYNC | _FREE, delay_ms=round(seconds * 1000))

    def heal(self) -> None:
        """Let nothing fail from now on."""
        self._rule.calls = 0
        self._rule.delay_ms = 0

    @property
    def is_failing(self) -> bool:
        """Whether calls fail or wait now."""
        return bool(self._rule.calls)

    @property
    def count(self) -> int:
        """How many calls failed or waited since `fail` or `slow`."""
        return int(self._rule.count)

    def _set(self, folder: Path, calls: int, *, code: int = 0, delay_ms: int = 0) -> None:
        self.heal()
        self._rule.folder = os.fsencode(folder)
        self._rule.error, self._rule.delay_ms, self._rule.count = code, delay_ms, 0
        self._rule.calls = calls


@lru_cache
def _library() -> Path:
    """Return the library, built once for each state of its source."""
    stamp = _SOURCE.stat().st_mtime_ns
    target = Path(tempfile.gettempdir()) / f"opencode-tui-tests-{os.getuid()}" / f"failing-disk-{stamp}.so"
    if not target.exists():
        target.parent.mkdir(mode=0o700, exist_ok=True)
        fresh = target.with_suffix(f".{os.getpid()}")
        compiler = shutil.which("gcc") or "cc"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", fresh, _SOURCE, "-ldl"], check=True)
        fresh.replace(target)
    return target
