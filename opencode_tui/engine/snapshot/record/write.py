"""What a call is about to change: a file that it writes, or a program that it leaves running."""

from collections.abc import Callable, Collection
from pathlib import Path

from msgspec import Struct


class FileWrite(Struct, frozen=True):
    """A write that is about to happen: the file's whole content (None: it is deleted) and its permission bits."""

    path: Path
    content: bytes | None
    mode: int


class BackgroundProgram(Struct, frozen=True):
    """A program that outlives its call: its name for the user; device and inode of the files that it has open for writing.

    `open_files` may be called on any thread, and blocks for some milliseconds.
    """

    name: str
    open_files: Callable[[], Collection[tuple[int, int]]]
