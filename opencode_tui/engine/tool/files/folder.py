"""An open folder: operations in it cannot be redirected by a link that appears meanwhile.

Every component of the path is opened without following links; all calls use the folder's descriptor. Blocks: call it in a thread.
Where the system has no descriptor-relative calls (Windows) paths are used, compared with their real path at opening.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct, field

from opencode_tui.schema.error import ToolError

_HAS_DESCRIPTORS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FOLDER = (
    getattr(os, "O_PATH", os.O_RDONLY)
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_FILE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Folder(Struct, frozen=True):
    """An open folder; `made` are the parents that opening it created, outermost first."""

    path: Path
    descriptor: int | None
    made: list[Path] = field(default_factory=list[Path])

    def _at(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of an entry without following links, or None when there is none."""
        try:
            return os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open_to_read(self, name: str) -> int:
        """Return a descriptor of an entry that is not a link; does not wait for the writer of a pipe."""
        return os.open(self._at(name), _FILE, dir_fd=self.descriptor)

    def create(self, name: str, mode: int) -> int:
        """Return a descriptor of a new file; raises FileExistsError when the name is taken."""
        return os.open(self._at(name), _CREATE, mode, dir_fd=self.descriptor)

    def rename(self, source: str, target: str) -> None:
        """Rename an entry; an existing target is replaced."""
        os.replace(self._at(source), self._at(target), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def link(self, source: str, target: str) -> None:
        """Give a file a second name."""
        os.link(
            self._at(source),
            self._at(target),
            src_dir_fd=self.descriptor,
            dst_dir_fd=self.descriptor,
            follow_symlinks=False,
        )

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(self._at(name), dir_fd=self.descriptor)

    def entries(self) -> list[str]:
        """Return the names of the entries; folders end in `/`, also links to folders."""
        descriptor = None if self.descriptor is None else os.open(".", _FILE, dir_fd=self.descriptor)
        try:
            with os.scandir(self.path if descriptor is None else descriptor) as found:
                return [entry.name + "/" if entry.is_dir() else entry.name for entry in found]
        finally:
            if descriptor is not None:
                os.close(descriptor)


@contextmanager
def open_folder(path: Path, *, create: bool = False) -> Generator[Folder]:
    """Open a folder for the context; `path` is real (no links in it).

    With `create` missing folders are made. Raises ToolError when a component is a link or no folder, FileNotFoundError when it
    is missing.
    """
    made: list[Path] = []
    try:
        descriptor = (
            _walk(path, made if create else None) if _HAS_DESCRIPTORS else _check_path(path, made if create else None)
        )
    except BaseException:
        for folder in reversed(made):
            # Someone else may have put a file there meanwhile: then the folder stays.
            with suppress(OSError):
                folder.rmdir()
        raise
    try:
        yield Folder(path, descriptor, made)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _walk(path: Path, made: list[Path] | None) -> int:
    """Return the descriptor of a folder, reached component by component; `made` takes the folders that were missing."""
    descriptor = os.open(path.anchor, _FOLDER)
    try:
        here = Path(path.anchor)
        for name in path.parts[1:]:
            here /= name
            child = _open_child(name, descriptor, here)
            if child is None:
                if made is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(here))
                if _make(name, descriptor):
                    made.append(here)
                child = os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = child
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _make(name: str, parent: int) -> bool:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        # Another call made it meanwhile; opening it will show whether it is a folder.
        return False
    return True


def _open_child(name: str, parent: int, path: Path) -> int | None:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _not_a_folder(path, parent, name) from error
        raise


def _not_a_folder(path: Path, parent: int, name: str) -> ToolError:
    if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        return ToolError(
            f"{path} became a symbolic link after permission was asked; nothing was done, look at the folder again"
        )
    return ToolError(f"{path} is a file, not a folder; choose another path")


def _check_path(path: Path, made: list[Path] | None) -> None:
    if made is not None:
        missing = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
        made.extend(reversed(missing))
    if os.path.realpath(path) != str(path):
        raise ToolError(
            f"{path} became a symbolic link after permission was asked; nothing was done, look at the folder again"
        )
