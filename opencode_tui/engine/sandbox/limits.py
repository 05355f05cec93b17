"""The limits of a command: memory, processes, file size, open files. They hold in each tier, and outside the sandbox too.

The kernel holds the size of a file and the number of open files of each process, which a process cannot raise again. Memory and
processes belong to all processes of a command together, so `tool/process/limit_watch.py` counts them. The kernel's limits for these
two do not fit. `RLIMIT_AS` and `RLIMIT_DATA` also count memory that is only reserved: no program with a sanitizer would start.
`RLIMIT_NPROC` counts all threads of the user and does not bind root: it only ends the growth of what hides from the count, and
marks the command's processes, since each command has another number.

A limit of 0 is none. Only Linux has these limits.
"""

import os
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import randrange

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.schema.setting_defaults import COMMAND_OPEN_FILES, COMMAND_PROCESSES

_SHARE_OF_MEMORY = 2
_SHARE_OF_DISK = 2
_MOST_BEHIND = 1 << 30
"""How much larger than the limit the kernel lets a file grow at most, so that the watcher can end the command in words first."""

_NUMBERS = 512
_NEXT_NUMBER = count(randrange(_NUMBERS))
"""Commands of one program get different numbers, those of two programs probably."""

_KILLED_FIRST = 500
"""Where the machine runs out of memory, the kernel ends such a process before this program (`oom_score_adj`, up to 1000)."""

_MEMORY_OF_CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_UNITS = {"KB": 10, "MB": 20, "GB": 30, "TB": 40}


class Limits(Struct, frozen=True):
    """The limits of one command; 0 is none. `memory` and `file_size` are bytes.

    Without a `file_size`, a file may use half of what the disk has free when the command starts.
    """

    memory: int = 0
    processes: int = 0
    file_size: int | None = 0
    open_files: int = 0
    highest_processes: int = 0
    """What the kernel lets the user of the command's processes have; of no other command."""

    @property
    def threads(self) -> int:
        """How many threads all processes may have together: some programs have as many as the machine has cores."""
        return 4 * self.processes

    def for_command(self, folder: Path) -> "Limits":
        """Return the limits of a command that starts now in a folder."""
        return replace(self, file_size=self._file_size(folder), highest_processes=self._highest_processes())

    def _file_size(self, folder: Path) -> int:
        if self.file_size is not None:
            return self.file_size
        try:
            facts = os.statvfs(folder)
        except OSError:
            return 0
        return facts.f_bavail * facts.f_frsize // _SHARE_OF_DISK

    def _highest_processes(self) -> int:
        present = count_threads()[0] if self.processes else 0
        least = present + self.threads
        if not present:
            return 0
        return least + (next(_NEXT_NUMBER) - least) % _NUMBERS  # differs, however many threads the machine has by then

    def apply(self, pid: int) -> None:
        """Limit the files of a process and of all that it will start; it may be gone already."""
        if sys.platform != "linux":
            return
        import resource  # only where a command starts

        wanted = {resource.RLIMIT_NOFILE: self.open_files, resource.RLIMIT_NPROC: self.highest_processes}
        if self.file_size:
            wanted[resource.RLIMIT_FSIZE] = self.file_size + min(self.file_size, _MOST_BEHIND)
        for kind, limit in wanted.items():
            with suppress(OSError, ValueError):
                if limit:
                    soft, hard = resource.prlimit(pid, kind)
                    resource.prlimit(pid, kind, (_lower(soft, limit), _lower(hard, limit)))
        if self.memory:
            with suppress(OSError), open(f"/proc/{pid}/oom_score_adj", "w") as file:
                file.write(str(_KILLED_FIRST))


NO_LIMITS = Limits()


def count_threads() -> tuple[int, int]:
    """Return how many threads the machine has now, and how many of them run or could; 0 where that is not known."""
    with suppress(OSError, ValueError, IndexError):
        running, threads = Path("/proc/loadavg").read_text().split()[3].split("/")
        return int(threads), int(running)
    return 0, 0


def find_limits(settings: SandboxSettings | None) -> Limits:
    """Return the limits of the settings, the defaults of this machine for others."""
    given = settings or SandboxSettings.trusted()  # no schema is built for it
    return Limits(
        memory=machine_memory() // _SHARE_OF_MEMORY if given.memory is None else parse_size(given.memory),
        processes=COMMAND_PROCESSES if given.processes is None else given.processes,
        file_size=None if given.file_size is None else parse_size(given.file_size),
        open_files=COMMAND_OPEN_FILES if given.open_files is None else given.open_files,
    )


def parse_size(text: str) -> int:
    """Return the bytes of `8 GB`, 0 for `none`."""
    return 0 if text == "none" else int(float(text[:-2]) * (1 << _UNITS[text[-2:]]))


def machine_memory() -> int:
    """Return the bytes of memory that this machine, or the container, has; 0 where that is not known."""
    found: list[int] = []
    with suppress(OSError, ValueError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in _MEMORY_OF_CONTAINER:
        with suppress(OSError, ValueError):  # without a limit it is a word, or a huge number
            found.append(int(path.read_text()))
    return max(0, min(found, default=0))


def _lower(present: int, limit: int) -> int:
    return limit if present < 0 else min(present, limit)
