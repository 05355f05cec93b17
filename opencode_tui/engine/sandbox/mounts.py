"""The mounts of a command in tier A: compared with the paths that they are for before it starts, and watched until its end.

bubblewrap resolves names again, some milliseconds after they were chosen, and another command of the folder may swap a folder with
a link meanwhile. So nothing starts before each mount point inside was compared with the path outside: device and inode, with no
link followed on either side. A mount ends when its file is replaced by a rename outside, as `git config` and editors do: then the
new file is covered, or the command ends. Both are seen from outside, through descriptors of the held process: a command can trace
or kill what runs next to it. The open list of mounts stays valid after all processes have ended, so the last check is complete.
"""

import errno
import os
import re
import select
import stat
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct

Access = Literal["read", "write", "hide"]

_PASSED = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NULL = 1, 3
"""The device that covers hidden files."""
_HIDDEN_MODES = (0, 0o111)
_HIDING = "/dev/null"
_COVER_S = 5.0
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""What says nothing about a path."""
_READ_BYTES = 1 << 16


class Mount(Struct, frozen=True):
    """A path inside and what is mounted there; one that `guards` restricts a folder around it, so it must hold until the end."""

    path: str
    source: str
    access: Access
    guards: bool = False


class MountsChangedError(OSError):
    """A path was replaced while its mount was made."""


class Mounts:
    """The mounts of one command. For one thread, but `holds`."""

    def __init__(self, mounts: Sequence[Mount]) -> None:
        self._mounts = mounts
        self._list: int | None = None
        self._guards: dict[bytes, str] = {}
        self._was_started = False
        self._held: frozenset[str] = frozenset()
        self._pid = 0
        self._replaced: set[str] = set()
        self.uncovered: Sequence[str] = ()
        self.accepts: Callable[[str, bytes], bool] = lambda _path, _content: False
        """Whether a protected file may have this content now; a part of it may be from the command."""

    def verify(self, pid: int, *, is_prepared: bool = False) -> None:
        """Compare the mounts of a held process with their paths, before it starts anything. Raises OSError when they differ.

        In a prepared view (`is_prepared`) the mount of a folder ends when the folder is removed outside; one that was made anew
        there is seen through the mount around it, perhaps read-only.
        Afterwards `descriptor` is open, until `close`.
        """
        self.close()
        self._guards = {}
        self._list = os.open(f"/proc/{pid}/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        with opened(f"/proc/{pid}/root") as inside, opened("/") as outside:
            for mount in self._mounts:
                if not _is_as_planned(mount, inside, outside):
                    raise _changed(mount.path)
        # Mounts only end. Those that are listed now were there when their paths were compared.
        listed = self._listed()
        for mount in self._mounts:
            found = listed.get(_as_listed(mount.path))
            is_read_only = found is not None and b"ro" in found[1].split(b",")
            if found is None or (mount.access != "write" and not is_read_only):
                raise _changed(mount.path)
            if is_prepared and mount.access == "write" and is_read_only:
                raise _changed(mount.path)
            if mount.guards:
                self._guards[found[0]] = mount.path
        self._was_started, self._pid = True, pid

    @property
    def descriptor(self) -> int | None:
        """The list of mounts, for `select.POLLPRI`: ready when a mount was added or has ended; None when it is not open."""
        return self._list

    def find_ended(self) -> list[str]:
        """Return the paths whose guarding mounts have ended: their files were replaced or removed outside."""
        present = {number for number, _ in self._listed().values()}
        return [path for number, path in self._guards.items() if number not in present]

    def may_go_on(self) -> bool:
        """Mount again what has ended and return whether the command may continue; else `uncovered` has the paths.

        It may not where a folder is concerned, or where a protected file now has what `accepts` rejects. A file that was removed
        needs no cover, and a command that is over may. Blocks for about 50 ms.
        """
        ended = self.find_ended()
        if not ended:
            return True
        self._replaced.update(ended)
        for _ in range(2):  # a file that is just being removed still has its name for a moment
            try:
                if self._cover_again(ended):
                    return True
                break
            except (OSError, subprocess.SubprocessError):
                continue
        if self._is_over():
            return True
        self.uncovered = ended
        return False

    def _is_over(self) -> bool:
        """Return whether the first process of the namespace ends, and so all of it: then it has no root any more."""
        try:
            os.readlink(f"/proc/{self._pid}/root")
        except OSError:
            return True
        return False

    def _cover_again(self, ended: Sequence[str]) -> bool:
        mounts = [mount for mount in self._mounts if mount.path in ended and os.path.lexists(mount.source)]
        if any(not stat.S_ISREG(os.lstat(mount.source).st_mode) for mount in mounts):
            return False
        if mounts:
            pairs = [word for one in mounts for word in (_HIDING if one.access == "hide" else one.path, one.path)]
            source = Path(__file__).with_name("cover.py").read_text()
            argv = [os.path.realpath(sys.executable), "-I", "-S", "-c", source, str(self._pid), *pairs]
            subprocess.run(argv, check=True, capture_output=True, timeout=_COVER_S, env={})
        with opened(f"/proc/{self._pid}/root") as inside, opened("/") as outside:
            for mount in mounts:
                if not _is_as_planned(mount, inside, outside):
                    return False
                if mount.access != "hide" and not self.accepts(mount.path, outside.read(mount.path)):
                    return False
        listed = self._listed()
        if any(_as_listed(mount.path) not in listed for mount in mounts):  # replaced once more
            return False
        for number in [number for number, path in self._guards.items() if path in ended]:
            path = self._guards.pop(number)
            if found := listed.get(_as_listed(path)):
                self._guards[found[0]] = path
        return not self.find_ended()

    def finish(self) -> list[str]:
        """Record which mounts held to the end, when nothing runs inside any more; return the files that were not always hidden."""
        if self._list is None:
            return []
        self._replaced.update(self.find_ended())
        listed = self._listed()
        held = (path for number, path in self._guards.items() if listed.get(_as_listed(path), (b"", b""))[0] == number)
        self._held = frozenset(held) - self._replaced  # not one that was moved with a folder above it
        self.close()
        return [mount.path for mount in self._mounts if mount.access == "hide" and mount.path in self._replaced]

    def holds(self, path: Path) -> bool:
        """Return whether the mount of a path has kept the command from writing it. For any thread, after the end."""
        return not self._was_started or str(path) in self._held

    def close(self) -> None:
        """Close the list of mounts."""
        if self._list is not None:
            os.close(self._list)
        self._list = None

    def _listed(self) -> dict[bytes, tuple[bytes, bytes]]:
        """Return the mount points with number and options of the last mount at each."""
        assert self._list is not None
        os.lseek(self._list, 0, os.SEEK_SET)
        data = bytearray()
        while piece := os.read(self._list, _READ_BYTES):
            data += piece
        fields = (line.split(b" ", 6) for line in bytes(data).split(b"\n") if line)
        return {field[4]: (field[0], field[5]) for field in fields}


def open_info() -> int:
    """Return a file in memory for `--info-fd`: in a pipe that we do not read any more, bubblewrap ended before its child began."""
    return os.memfd_create("info")


def child_pid(info: int) -> int:
    """Return the process that bubblewrap names in the file of `--info-fd`. Raises OSError where it names none."""
    found = re.search(rb'"child-pid": *(\d+)', os.pread(info, _READ_BYTES, 0))
    if found is None:
        raise OSError("bubblewrap does not report the process that it has started")
    return int(found[1])


def wait_for_end(mounts: Mounts, pid: int) -> list[str]:
    """Block until a guarding mount has ended, and return the paths, or until the process has: none then."""
    watch = select.poll()
    ended = os.pidfd_open(pid)
    try:
        watch.register(ended, select.POLLIN)
        if mounts.descriptor is not None:
            watch.register(mounts.descriptor, select.POLLPRI)
        while ended not in dict(watch.poll()):
            if not mounts.may_go_on():
                return sorted(mounts.uncovered)
        return []
    finally:
        os.close(ended)


class Tree:
    """Looks up paths below an open root without following a link; folders stay open, so that each is looked up once."""

    def __init__(self, root: int) -> None:
        self._folders = {"": root}

    def status(self, path: str) -> os.stat_result:
        """Return the status of what is at a path."""
        if path == "/":
            return os.stat(self._folders[""])
        folder, _, name = path.rpartition("/")
        return os.stat(name, dir_fd=self._folder(folder), follow_symlinks=False)

    def open(self, path: str) -> tuple[int, os.stat_result]:
        """Return a new descriptor that serves as a name only, and the status. Raises OSError (ELOOP) for a link."""
        folder, _, name = path.rpartition("/")
        descriptor = os.open(name or ".", os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder(folder))
        status = os.fstat(descriptor)
        if stat.S_ISLNK(status.st_mode):
            os.close(descriptor)
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        return descriptor, status

    def _folder(self, path: str) -> int:
        known = self._folders.get(path)
        if known is None:
            parent, _, name = path.rpartition("/")
            known = self._folders[path] = os.open(name, _PASSED | os.O_CLOEXEC, dir_fd=self._folder(parent))
        return known

    def read(self, path: str) -> bytes:
        """Return the content of a small file."""
        folder, _, name = path.rpartition("/")
        with open(
            os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self._folder(folder)), "rb"
        ) as file:
            return file.read(_READ_BYTES)

    def close(self) -> None:
        """Close the folders."""
        for descriptor in self._folders.values():
            os.close(descriptor)


@contextmanager
def opened(root: str) -> Generator[Tree]:
    """Open the tree below a folder. Raises OSError."""
    tree = Tree(os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
    try:
        yield tree
    finally:
        tree.close()


def _is_as_planned(mount: Mount, inside: Tree, outside: Tree) -> bool:
    try:
        found = inside.status(mount.path)
        if mount.access != "hide":
            source = outside.status(mount.source)
            return (found.st_dev, found.st_ino) == (source.st_dev, source.st_ino)
    except OSError as error:
        if error.errno in _SCARCE:
            raise
        return False
    if stat.S_ISDIR(found.st_mode):
        return stat.S_IMODE(found.st_mode) in _HIDDEN_MODES
    return stat.S_ISCHR(found.st_mode) and (os.major(found.st_rdev), os.minor(found.st_rdev)) == _NULL


def _as_listed(path: str) -> bytes:
    """Return a path as the kernel writes it into the list of mounts."""
    data = os.fsencode(path)
    for letter in b"\\ \t\n":
        data = data.replace(bytes([letter]), b"\\%03o" % letter)
    return data


def _changed(path: str) -> MountsChangedError:
    return MountsChangedError(
        f"{path} was replaced while the sandbox was prepared, so the command was not started; try it again"
    )
