"""A file system that writes down each call of a store with its time, for counting."""

import time
from dataclasses import dataclass

from opencode_tui.storage.files import FileSystem


@dataclass(frozen=True, slots=True)
class FileCall:
    """One call; `time` is seconds of the monotonic clock."""

    act: str
    path: str
    time: float


class LoggedFiles(FileSystem):
    """Notes whole reads, listings and the renames that bring new content to a file."""

    def __init__(self) -> None:
        self.calls: list[FileCall] = []

    def read_whole(self, path: str) -> bytes:
        self._note("read", path)
        return super().read_whole(path)

    def scandir(self, path: str):
        self._note("list", path)
        return super().scandir(path)

    def names(self, path: str) -> list[str]:
        self._note("list", path)
        return super().names(path)

    def replace(self, source: str, target: str) -> None:
        self._note("write", target)
        super().replace(source, target)

    def times(self, act: str, path_end: str = "", *, since: float = 0.0) -> list[float]:
        """Return when these calls were made, for paths with this end."""
        return [
            call.time for call in self.calls if call.act == act and call.path.endswith(path_end) and call.time >= since
        ]

    def _note(self, act: str, path: str) -> None:
        self.calls.append(FileCall(act, path, time.monotonic()))


def most_in_a_second(times: list[float]) -> int:
    """Return the largest number of moments within one second, its end excluded."""
    return max((sum(1 for other in times if begin <= other < begin + 1) for begin in times), default=0)
