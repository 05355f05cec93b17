"""Reading files for edits, and changing files; tools use nothing else for it.

A change is atomic: new content is written durably to a temporary file in the same folder, which then replaces the file; of several
changes either all happen or none. Paths are real ones (`location.locate`), and nothing that becomes a link meanwhile leads
elsewhere. A file that is no longer the one that was read is left unchanged.
"""

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path
from weakref import WeakValueDictionary

from msgspec import Struct

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.tool.files.read_guard import Stamp, stamp_of
from opencode_tui.engine.tool.files.text_format import TextFormat, decode, is_binary
from opencode_tui.engine.tool.files.transaction import Change, FileTransaction, explain
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.engine.waits import writing
from opencode_tui.schema.error import ToolError
from opencode_tui.storage.safe_folder import OpenFolder, open_folder

EDIT_LIMIT_BYTES = 10 * 1024 * 1024
"""Maximum size of a file that is read for an edit, in bytes."""


class NotTextError(ToolError):
    """A file exists but cannot be edited as text; `stamp` is its state."""

    def __init__(self, problem: str, advice: str, stamp: Stamp) -> None:
        super().__init__(problem, advice)
        self.stamp = stamp


class TextFile(Struct, frozen=True):
    """A file's text as it was read, line ends as they are; `mode` are its permission bits, `names` counts its hard links."""

    path: Path
    text: str
    format: TextFormat
    stamp: Stamp
    mode: int = 0o644
    names: int = 1

    def change(self, text: str) -> Change:
        """Return the change that gives this very file another text; raises ToolError when its encoding cannot hold it."""
        return Change(self.path, self.format.encode(text), self.stamp)

    @property
    def note(self) -> str:
        """The note for the model after the file was replaced; empty when there is none."""
        return (
            "" if self.names == 1 else f"\nNote: {self.names - 1} other hard links of this file keep its old content."
        )


class WorktreeFiles:
    """Reads and changes files for tools. `edited` is called with every change, after the call's own watch."""

    def __init__(self, *, edited: Callable[[Change], None] | None = None) -> None:
        self._edited = edited
        self._locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def exclusively(self, *paths: Path) -> AsyncGenerator[None]:
        """Lock these paths against all other tool calls of the process, from reading to writing."""
        locks = [self._locks.setdefault(path, asyncio.Lock()) for path in sorted(set(paths))]
        async with contextlib.AsyncExitStack() as stack:
            for lock in locks:
                await stack.enter_async_context(lock)
            yield

    async def read(self, path: Path) -> TextFile | None:
        """Return a file's text, or None if it does not exist.

        Raises ToolError for folders, pipes and dangling links, NotTextError for binary files and those over 10 MiB.
        """
        return await asyncio.to_thread(_read, path)

    async def link_stamp(self, path: Path) -> Stamp | None:
        """Return the state of a link itself, None where there is none. Raises ToolError."""
        return await asyncio.to_thread(_link_stamp, path)

    async def apply(self, changes: Sequence[Change], context: ToolContext) -> list[Stamp | None]:
        """Make all changes or none, and return the files' new stamps (None for a deleted one) in the order of `changes`.

        Raises ToolError, with everything as it was, when a file is not the one that was read, or the disk refuses.
        """
        stage = FileTransaction(changes)
        with writing(str(changes[0].path) if changes else ""):
            try:
                await run_to_completion(asyncio.to_thread(stage.prepare))
                if context.watch is not None:
                    await context.watch.before_write(stage.writes, stage.made)
                return await run_to_completion(self._commit(stage, changes, context))
            finally:
                await run_to_completion(asyncio.to_thread(stage.clear))

    async def _commit(
        self, stage: FileTransaction, changes: Iterable[Change], context: ToolContext
    ) -> list[Stamp | None]:
        is_done = False
        try:
            stamps = await asyncio.to_thread(stage.commit)
            is_done = True
        finally:
            if context.watch is not None:
                await context.watch.after_write(done=is_done)
        if self._edited is not None:
            for change in changes:
                self._edited(change)
        return stamps


def _read(path: Path) -> TextFile | None:
    try:
        with open_folder(path.parent) as folder:
            return _read_entry(folder, path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path) from error


def _link_stamp(path: Path) -> Stamp | None:
    try:
        with open_folder(path.parent) as folder:
            status = folder.find(path.name)
    except OSError as error:
        raise explain(error, path) from error
    return None if status is None or not stat.S_ISLNK(status.st_mode) else stamp_of(status)


def _read_entry(folder: OpenFolder, path: Path) -> TextFile | None:
    status = folder.find(path.name)
    if status is None:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise ToolError(
            f"{path} is a symbolic link that cannot be followed (a loop, or made just now)",
            "write to its target instead",
        )
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path} is a folder, not a file", "name a file in it")
    descriptor = folder.open_to_read(path.name)
    with open(descriptor, "rb", closefd=True) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{path} is not a regular file", "only regular files can be edited")
        stamp = stamp_of(status)
        if status.st_size > EDIT_LIMIT_BYTES:
            raise NotTextError(
                f"{path} has {status.st_size} bytes, more than the {EDIT_LIMIT_BYTES} that an edit takes",
                "use bash",
                stamp,
            )
        data = file.read(EDIT_LIMIT_BYTES + 1)
    if is_binary(data):
        raise NotTextError(f"{path} is a binary file and cannot be edited as text", "use bash", stamp)
    try:
        text, form = decode(data)
    except ToolError as error:
        raise NotTextError(f"{path}: {error.problem}", error.advice, stamp) from error
    return TextFile(path, text, form, stamp, stat.S_IMODE(status.st_mode), status.st_nlink)
