"""Open folders: calls on their entries follow no link, also none that is made in the meantime.

Every part of a folder's path is opened without following links, and all calls use its descriptor. Everything blocks.
"""

import errno
import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Self

_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | _FLAGS
_ENTERED_FOLDER = _FOLDER | getattr(os, "O_PATH", 0)
"""Flags that also open a folder that the user may enter but not list."""
READ = os.O_RDONLY | os.O_NONBLOCK | _FLAGS
"""Flags to open a file without following a link and without waiting for the writer of a pipe."""
_HELD = os.O_PATH | _FLAGS if hasattr(os, "O_PATH") else READ
"""Flags to open an entry for its status and its attributes, also one that its mode closes to the user."""
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | _FLAGS
_CHUNK = 1 << 20
_OPENAT2 = 437
_AT_CWD = -100
_NO_LINKS = 0x04
"""`RESOLVE_NO_SYMLINKS` of openat2."""
_OWNER = stat.S_IRWXU
_ATTEMPTS = 3
"""How often a folder is emptied again because something was written to it in the meantime."""
_KEPT = 64
_NEIGHBOURS = 24
_OWN_TRIES = 5


class NotAFolderError(NotADirectoryError):
    """A part of a folder's path, `filename`, is a file or a link."""

    def __init__(self, path: str, *, is_link: bool) -> None:
        super().__init__(errno.ENOTDIR, "it is a file or a link", path)
        self.is_link = is_link


class OpenFolder:
    """An open folder; names are those of its entries. Each method raises the OSError of its system call."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        self.is_readable = False
        """Whether the descriptor itself can be listed; one that only enters the folder cannot."""

    def status(self, name: str) -> os.stat_result:
        """Return the status of an entry; links are not followed."""
        return os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)

    def find(self, name: str) -> os.stat_result | None:
        """Return the status of an entry as `status` does, or None when there is none."""
        try:
            return self.status(name)
        except FileNotFoundError:
            return None

    def entries(self) -> list[str]:
        """Return the names of the entries; folders end in `/`, also links to folders."""
        with self.listing() as found:
            return [entry.name + "/" if entry.is_dir() else entry.name for entry in found]

    @contextmanager
    def listing(self) -> Generator[Iterator[os.DirEntry[str]]]:
        """Yield the entries in arbitrary order, for the context; their status is that of the open folder's entries."""
        if self.is_readable:
            with os.scandir(self.descriptor) as found:
                yield found
            return
        descriptor = self.open_to_read(".")
        try:
            with os.scandir(descriptor) as found:
                yield found
        finally:
            os.close(descriptor)

    def scan(self) -> list[tuple[str, bool]]:
        """Return the names of the entries, each with whether it is a folder; a link is none."""
        with self.listing() as found:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]

    @contextmanager
    def enter(self, name: str) -> "Generator[OpenFolder]":
        """Open a folder in this one for the context; raises NotAFolderError for a link or a file."""
        path = os.path.join(self.path, name)
        descriptor = _open_folder(name, self.descriptor, path, _ENTERED_FOLDER)
        try:
            yield type(self)(path, descriptor)
        finally:
            os.close(descriptor)

    def read_link(self, name: str) -> bytes:
        """Return a link's target."""
        return os.fsencode(os.readlink(name, dir_fd=self.descriptor))

    def open_to_read(self, name: str) -> int:
        """Return a descriptor of an entry that is not a link; does not wait for the writer of a pipe."""
        return os.open(name, READ, dir_fd=self.descriptor)

    def read(self, name: str, limit: int, *, start: int = 0) -> tuple[bytes, os.stat_result]:
        """Return at most `limit` bytes of a file, from the byte `start` on, and its status after reading.

        There are none when it is not a regular file.
        """
        descriptor = self.open_to_read(name)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return b"", os.fstat(descriptor)
            os.lseek(descriptor, start, os.SEEK_SET)
            return _read_up_to(descriptor, limit), os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def create(self, name: str, mode: int = 0o600) -> int:
        """Return a descriptor of a new file; raises FileExistsError when the name is in use."""
        return os.open(name, _CREATE, mode, dir_fd=self.descriptor)

    def open_to_append(self, name: str) -> int:
        """Return a descriptor of a file, created where there is none, that writes at its end."""
        return os.open(name, _APPEND, 0o666, dir_fd=self.descriptor)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of the bytes and return how many."""
        return os.write(descriptor, data)

    def set_file_mode(self, descriptor: int, mode: int) -> None:
        """Set the mode bits of an open file."""
        os.fchmod(descriptor, mode)

    def set_file_time(self, descriptor: int, time_ns: int) -> None:
        """Set when an open file was changed last."""
        os.utime(descriptor, ns=(os.fstat(descriptor).st_atime_ns, time_ns))

    def set_time(self, name: str, time_ns: int) -> None:
        """Set when an entry was changed last; a link is not followed."""
        access = self.status(name).st_atime_ns
        os.utime(name, ns=(access, time_ns), dir_fd=self.descriptor, follow_symlinks=False)

    def copy_attributes(self, name: str, descriptor: int) -> None:
        """Give an open file the owner, or the group alone, and the extended attributes of a file here, as far as that is allowed.

        Write its content before, because that removes capabilities, and set its mode afterwards, because a change of owner clears
        some bits.
        """
        with suppress(OSError):
            held = os.open(name, _HELD, dir_fd=self.descriptor)
            try:
                _copy_attributes(held, descriptor)
            finally:
                os.close(held)

    def sync(self, descriptor: int) -> None:
        """Flush an open file to the disk."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Close an open file."""
        os.close(descriptor)

    def rename(self, source: str, target: str) -> None:
        """Rename an entry; an existing target is replaced."""
        os.replace(source, target, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def make_hard_link(self, source: str, name: str) -> None:
        """Create a hard link to a file."""
        folder = self.descriptor
        os.link(source, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)

    def make_link(self, target: bytes, name: str) -> None:
        """Make a symbolic link."""
        os.symlink(os.fsdecode(target), name, dir_fd=self.descriptor)

    def set_mode(self, name: str, mode: int) -> None:
        """Set the mode bits of an entry that may have any, also none; raises OSError (ELOOP) for a link."""
        if not hasattr(os, "O_PATH"):
            if stat.S_ISLNK(self.status(name).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
            os.chmod(name, mode, dir_fd=self.descriptor, follow_symlinks=False)
            return
        descriptor = os.open(name, os.O_PATH | _FLAGS, dir_fd=self.descriptor)
        try:
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
            os.chmod(f"/proc/self/fd/{descriptor}", mode)  # fchmod refuses such a descriptor
        finally:
            os.close(descriptor)

    def read_locked(self, name: str, limit: int, allow: Callable[[int, int], None]) -> tuple[bytes, os.stat_result]:
        """Return what `read` does of a file that its mode closes to the user, its owner; raises PermissionError for any other.

        The file gets its mode back before it is read. `allow` is called before, with that mode and the mode that it gets. On other
        systems than Linux it raises PermissionError.
        """
        if not hasattr(os, "O_PATH"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        held = os.open(name, os.O_PATH | _FLAGS, dir_fd=self.descriptor)
        try:
            status = os.fstat(held)
            mode = stat.S_IMODE(status.st_mode)
            if not _is_own(status) or not stat.S_ISREG(status.st_mode) or mode & stat.S_IRUSR:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
            allow(mode, mode | stat.S_IRUSR)
            path = f"/proc/self/fd/{held}"  # the same file, whatever has its name in the meantime
            os.chmod(path, mode | stat.S_IRUSR)
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            finally:
                os.chmod(path, mode)
        finally:
            os.close(held)
        try:
            return _read_up_to(descriptor, limit), os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def make_pipe(self, name: str) -> None:
        """Make a named pipe."""
        os.mkfifo(name, 0o600, dir_fd=self.descriptor)

    def make_node(self, name: str, kind: int, device: int) -> None:
        """Make a socket that nothing listens on, or a device, by its file type and its number."""
        os.mknod(name, kind | 0o600, device, dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Remove a file or a link."""
        os.unlink(name, dir_fd=self.descriptor)

    def make_folder(self, name: str) -> None:
        """Make a folder that only its owner can read."""
        os.mkdir(name, 0o700, dir_fd=self.descriptor)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=self.descriptor)

    def delete(self, name: str) -> bool:
        """Delete an entry, a folder with all that is in it, and return whether it is gone; raises no OSError.

        Goes on after entries that cannot be deleted. Folders get the modes that this needs; other file systems are not entered. A
        deeper folder moves up before it is emptied, so that any depth needs the same few descriptors.
        """
        with suppress(OSError):
            self.remove(name)
            return True
        for _ in range(_ATTEMPTS):
            with suppress(OSError):
                self._empty(name)
                self.remove_folder(name)
                return True
        with suppress(OSError):
            return self.find(name) is None
        return False

    def _empty(self, name: str) -> None:
        """Delete what is in a folder of this one."""
        self._let_owner_write(name)
        with self.enter(name) as top:
            device = top.status(".").st_dev
            waiting = deque(top._delete_files(top))
            while waiting:
                child = waiting.popleft()
                with suppress(OSError):
                    top._let_owner_write(child)
                    with top.enter(child) as folder:
                        if folder.status(".").st_dev == device:
                            waiting.extend(folder._delete_files(top))
                    top.remove_folder(child)

    def _delete_files(self, top: "OpenFolder") -> list[str]:
        """Delete the files of this folder and move its folders to `top`; return the names of these there."""
        folders: list[str] = []
        for name, is_folder in self.scan():
            with suppress(OSError):
                if not is_folder:
                    self.remove(name)
                elif self is top:
                    folders.append(name)
                else:
                    self._let_owner_write(name)  # else it cannot move
                    moved = f".deleted-{token_hex(8)}"
                    self.move(name, top, moved)
                    folders.append(moved)
        return folders

    def _let_owner_write(self, name: str) -> None:
        """Let the owner list and change a folder, where this program may do that."""
        with suppress(OSError):
            mode = stat.S_IMODE(self.status(name).st_mode)
            if mode & _OWNER != _OWNER:
                self.set_mode(name, mode | _OWNER)

    def move(self, source: str, folder: "OpenFolder", target: str) -> None:
        """Move an entry to another folder of the same file system; an existing target is replaced."""
        os.replace(source, target, src_dir_fd=self.descriptor, dst_dir_fd=folder.descriptor)


class Disk:
    """Opens the folders of a tree, with the given flags; `root` is a real path."""

    def __init__(self, root: str, flags: int = _FOLDER) -> None:
        self.root = root
        self.flags = flags

    @contextmanager
    def open(self, folder: str, *, made: list[Path] | None = None) -> Generator[OpenFolder]:
        """Open a folder ("": the root) for the context.

        Missing folders are made and added to `made`, the outermost first; without it FileNotFoundError is raised. Raises
        NotAFolderError when a part of the path is a file or a link, or leads up.
        """
        names = folder.split("/") if folder else []
        if ".." in names:
            raise NotAFolderError(f"{self.root.rstrip('/')}/{folder}", is_link=True)
        path = f"{self.root.rstrip('/')}/{folder}" if folder else self.root
        descriptor = _open_at_once(path, self.flags)
        if descriptor is not None:
            try:
                yield self.wrap(path, descriptor)
            finally:
                os.close(descriptor)
            return
        path = self.root.rstrip("/")
        descriptor = _open_folder(self.root, None, self.root, self.flags)
        try:
            for name in names:
                path = f"{path}/{name}"
                child = _open_child(name, descriptor, path, self.flags, made)
                os.close(descriptor)
                descriptor = child
            yield self.wrap(path or self.root, descriptor)
        finally:
            os.close(descriptor)

    def wrap(self, path: str, descriptor: int) -> OpenFolder:
        """Return the object for an open folder; tests override this to make calls fail."""
        return OpenFolder(path, descriptor)


class OpenFolders:
    """The folders of a tree, opened one from the other and kept open for their neighbours: a context, left with all closed.

    A tree of any depth costs few calls for each folder, and a path may be longer than the system allows. At most `_KEPT` are open.
    A folder that is moved meanwhile stays the one that was opened. An OpenFolder is usable until the next few calls of `open`.

    With `allow`, a folder of the user that its own mode closes to the user is opened: it gets the missing rights of its owner until
    the context ends. `allow` is called before, with its path, its mode and the mode that it gets.
    """

    def __init__(
        self, disk: Disk, *, rights: int = 0o700, allow: Callable[[str, int, int], None] | None = None
    ) -> None:
        self.root = disk.root
        self._disk = disk
        self._rights = rights
        self.allow = allow
        self._open: dict[str, OpenFolder] = {}
        self.unlocked: dict[str, int] = {}
        """The own modes of the folders that have other ones until the context ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            for folder in reversed(list(self.unlocked)):
                with suppress(OSError):  # it was removed, or another one is there
                    self._restore(folder)
        finally:
            for opened in self._open.values():
                os.close(opened.descriptor)
            self._open.clear()

    def open(self, folder: str, *, unlock: bool = True) -> OpenFolder:
        """Return an open folder ("": the root); raises as `Disk.open` does.

        Without `unlock` folders keep their modes. What lies below one that was removed, and made again, is found after `close`.
        """
        found = self._open.get(folder)
        if found is not None:
            if folder:
                self._open[folder] = self._open.pop(folder)
            return found
        missing = [folder]
        while missing[-1] and (above := missing[-1].rpartition("/")[0]) not in self._open:
            missing.append(above)
        parent = None if not missing[-1] else self._open[missing[-1].rpartition("/")[0]]
        for path in reversed(missing):
            parent = self._enter(parent, path, unlock=unlock)
        assert parent is not None
        return parent

    def close(self, folder: str) -> None:
        """Close a folder: the next `open` looks for it again."""
        found = self._open.pop(folder, None)
        if found is not None:
            os.close(found.descriptor)

    def _enter(self, parent: OpenFolder | None, path: str, *, unlock: bool) -> OpenFolder:
        if parent is None:
            name, above, full = self._disk.root, None, self._disk.root
        else:
            name, above = path.rpartition("/")[2], parent.descriptor
            full = f"{self._disk.root.rstrip('/')}/{path}"
        try:
            descriptor = _open_folder(name, above, full, self._disk.flags)
        except PermissionError:
            if not unlock or parent is None or not self._unlock(parent, name, path):
                raise
            descriptor = _open_folder(name, above, full, self._disk.flags)
        else:
            if unlock and parent is not None and self.allow is not None and self._is_closed(descriptor):
                self._unlock(parent, name, path)
        found = self._disk.wrap(full, descriptor)
        found.is_readable = not self._disk.flags & getattr(os, "O_PATH", 0)
        self._keep(path, found)
        return found

    def _is_closed(self, descriptor: int) -> bool:
        """Return whether the user lacks rights in an open folder."""
        if ~os.fstat(descriptor).st_mode & self._rights == 0:
            return False
        wanted = os.R_OK | os.X_OK | (os.W_OK if self._rights & 0o200 else 0)
        return not os.access(".", wanted, dir_fd=descriptor, effective_ids=os.access in os.supports_effective_ids)

    def _unlock(self, parent: OpenFolder, name: str, path: str) -> bool:
        """Give the user the missing rights in an own folder, and return whether that was possible."""
        status = parent.status(name)
        mode = stat.S_IMODE(status.st_mode)
        if self.allow is None or not _is_own(status) or not stat.S_ISDIR(status.st_mode) or ~mode & self._rights == 0:
            return False
        self.allow(path, mode, mode | self._rights)
        self.unlocked[path] = mode
        parent.set_mode(name, mode | self._rights)
        return True

    def _restore(self, folder: str) -> None:
        above, _, name = folder.rpartition("/")
        mode = self.unlocked[folder]
        restore_mode(self.open(above, unlock=False), name, mode, mode | self._rights)

    def _keep(self, path: str, opened: OpenFolder) -> None:
        if len(self._open) >= _KEPT:
            # Every second one stays, so that the way back up stays short however deep it was; the last ones are neighbours.
            for old in list(self._open)[:-_NEIGHBOURS:2]:
                if old:
                    self.close(old)
        self._open[path] = opened


def restore_mode(parent: OpenFolder, name: str, mode: int, given: int) -> None:
    """Give an entry its mode back, if it still has the one that it was given."""
    if stat.S_IMODE(parent.status(name).st_mode) == given:
        parent.set_mode(name, mode)


def _is_own(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid()


def open_folder(path: Path | str, *, made: list[Path] | None = None) -> AbstractContextManager[OpenFolder]:
    """Open a folder by its real path, as `Disk.open` does; the user need not be able to list it."""
    written = os.fspath(path)
    return Disk(written[:1], _ENTERED_FOLDER).open(written[1:], made=made)


def _open_at_once(path: str, flags: int) -> int | None:
    """Return a descriptor of a folder whose path has no link, in one call; None where that fails or the system has no such call."""
    openat2 = _find_openat2()
    descriptor = -1 if openat2 is None or "\0" in path else openat2(os.fsencode(path), flags)
    return None if descriptor < 0 else descriptor


@cache
def _find_openat2() -> Callable[[bytes, int], int] | None:
    """Return the system call that opens a path without following any link, None where there is none."""
    if sys.platform != "linux":
        return None
    import ctypes  # 5 ms

    syscall = ctypes.CDLL(None).syscall
    syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    syscall.restype = ctypes.c_long
    kind = ctypes.c_uint64 * 3

    def openat2(path: bytes, flags: int) -> int:
        how = kind(flags, 0, _NO_LINKS)
        result: int = syscall(_OPENAT2, _AT_CWD, path, how, ctypes.sizeof(how))
        return result

    return openat2


def _open_child(name: str, parent: int, path: str, flags: int, made: list[Path] | None) -> int:
    try:
        return _open_folder(name, parent, path, flags)
    except FileNotFoundError:
        if made is None:
            raise
    with suppress(FileExistsError):  # another process made it; opening it shows whether it is a folder
        os.mkdir(name, dir_fd=parent)
        made.append(Path(path))
    return _open_folder(name, parent, path, flags)


def _open_folder(name: str, parent: int | None, path: str, flags: int) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        # Linux reports ENOTDIR for a link, other systems ELOOP or EMLINK.
        try:
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        except OSError:
            raise error from None
        if stat.S_ISDIR(mode) and error.errno in (errno.ENOTDIR, errno.ELOOP):  # it was another a moment before
            raise NotAFolderError(path, is_link=True) from error
        if stat.S_ISDIR(mode):
            raise
        raise NotAFolderError(path, is_link=stat.S_ISLNK(mode)) from error


def _copy_attributes(held: int, descriptor: int) -> None:
    status = os.fstat(held)
    if not stat.S_ISREG(status.st_mode):
        return
    if hasattr(os, "fchown"):
        # Only root may give files away; everyone else keeps at least the group where that is allowed.
        for user, group in ((status.st_uid, status.st_gid), (-1, status.st_gid)):
            with suppress(OSError):
                os.fchown(descriptor, user, group)
                break
    if hasattr(os, "listxattr"):
        old = f"/proc/self/fd/{held}"  # such a descriptor has no attributes by itself
        for attribute in os.listxattr(old):
            # Each by itself: some are the system's, and some file systems have none.
            with suppress(OSError):
                os.setxattr(descriptor, attribute, os.getxattr(old, attribute))


def _read_up_to(descriptor: int, limit: int) -> bytes:
    pieces: list[bytes] = []
    while limit > 0 and (data := os.read(descriptor, min(limit, _CHUNK))):
        pieces.append(data)
        limit -= len(data)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def split(path: str) -> tuple[str, str]:
    """Return the folder of a path relative to the root ("" for the root) and its name in it."""
    folder, _, name = path.rpartition("/")
    return folder, name


@contextmanager
def own_folder(root: Path, folder: str, repaired: list[Path]) -> Generator[OpenFolder]:
    """Open a folder of ours that commands can write, below an existing root that only this program writes; see `own_child`."""
    with ExitStack() as opened:
        # The root itself may be reached through links of the user.
        descriptor = os.open(root, _ENTERED_FOLDER & ~os.O_NOFOLLOW)
        opened.callback(os.close, descriptor)
        found = OpenFolder(str(root), descriptor)
        for name in folder.split("/"):
            found = opened.enter_context(own_child(found, name, repaired))
        yield found


@contextmanager
def own_child(folder: OpenFolder, name: str, repaired: list[Path]) -> Generator[OpenFolder]:
    """Open a folder in a folder of ours; it is made if it is missing.

    What a command has put in its place, such as a link, is removed; a folder without rights gets them back. Both are added to
    `repaired`. Raises OSError, also where a command does that faster than it is repaired.
    """
    path = Path(folder.path, name)
    for _ in range(_OWN_TRIES):
        try:
            with suppress(FileExistsError):
                folder.make_folder(name)
            descriptor = _open_folder(name, folder.descriptor, str(path), _ENTERED_FOLDER)
        except NotAFolderError:
            repaired.append(path)
            with suppress(FileNotFoundError, IsADirectoryError):
                folder.remove(name)
        except FileNotFoundError:  # a command removed it in the meantime
            continue
        else:
            break
    else:
        raise OSError(errno.EBUSY, "a command replaces this folder again and again; end it", str(path))
    try:
        if os.fstat(descriptor).st_mode & _OWNER != _OWNER:
            repaired.append(path)
            folder.set_mode(name, _OWNER)
        yield OpenFolder(str(path), descriptor)
    finally:
        os.close(descriptor)
