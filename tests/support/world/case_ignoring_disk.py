"""A file system as macOS has by default, for tests on Linux: it ignores the case and form of names and keeps how they are written.

It shows the content of a folder and speaks the protocol of the kernel's FUSE itself, in a process of its own: `python -m
tests.support.world.case_ignoring_disk FOLDER MOUNT_POINT` serves until it is unmounted. The kernel keeps one entry per spelling, so
a mount over `.env` does not cover `.ENV`, as with Docker Desktop's and WSL's folders. Source: fuse(4).
"""

import errno
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_REQUEST = struct.Struct("<IIQQIII4x")
_REPLY = struct.Struct("<IiQ")
_ATTRIBUTES = struct.Struct("<6Q10I")
_ENTRY = struct.Struct("<4Q2I")
_SET = struct.Struct("<II3Q3Q4I4x2I4x")
_BLOCK = struct.Struct("<QQIIQII")
_DIRECTORY_ENTRY = struct.Struct("<QQII")
_WRITE_BYTES = 1 << 17
_BUFFER_BYTES = _WRITE_BYTES + 4096
_MODE, _UID, _GID, _SIZE, _ATIME, _MTIME, _HANDLE, _ATIME_NOW, _MTIME_NOW = (
    *(1 << bit for bit in range(7)),
    1 << 7,
    1 << 8,
)
_NO_REPLACE = 1
_FORGET, _BATCH_FORGET, _INTERRUPT, _INIT, _DESTROY = 2, 42, 36, 26, 38
_PATIENCE_S = 20.0


def unavailable() -> str:
    """Return why such a disk cannot be mounted here, empty where it can."""
    if sys.platform != "linux":
        return "FUSE is used on Linux only"
    if not os.path.exists("/dev/fuse"):
        return "this machine has no /dev/fuse"
    if _mounter() is None:
        return "fusermount is not installed (apt install fuse3)"
    return ""


@contextmanager
def mounted(folder: Path, point: Path) -> Generator[Path]:
    """Mount a folder as such a disk for the context. Raises OSError where that is not possible."""
    point.mkdir(exist_ok=True)
    before = os.stat(point).st_dev
    server = subprocess.Popen([sys.executable, "-m", __name__, str(folder), str(point)], stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + _PATIENCE_S
        while os.stat(point).st_dev == before:
            if server.poll() is not None or time.monotonic() > end:
                server.kill()
                raise OSError(f"nothing is mounted: {server.communicate()[1].decode(errors='replace').strip()}")
            time.sleep(0.01)
        yield point
    finally:
        subprocess.run([_mounter() or "fusermount3", "-u", "-z", str(point)], check=False, capture_output=True)
        with suppress(subprocess.TimeoutExpired):
            server.wait(_PATIENCE_S)
        server.kill()
        server.communicate()


def _mounter() -> str | None:
    return shutil.which("fusermount3") or shutil.which("fusermount")


def _key(name: bytes) -> str:
    text = unicodedata.normalize("NFD", os.fsdecode(name))
    return unicodedata.normalize("NFD", text.casefold())


class _Server:
    """Answers the requests of the kernel. A node is a spelling of a name in a node; its number stays while it is used."""

    def __init__(self, folder: str, device: int) -> None:
        self._root = os.fsencode(folder)
        self._device = device
        self._nodes: dict[int, tuple[int, bytes]] = {1: (0, b"")}
        self._numbers: dict[tuple[int, bytes], int] = {}
        self._listed: dict[int, list[tuple[bytes, int, int]]] = {}
        self._last = 1
        self._answers: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._lookup, 3: self._status, 4: self._change, 5: self._read_link, 6: self._symlink, 8: self._make_node,
            9: self._make_folder, 10: self._unlink, 11: self._remove_folder, 12: self._rename, 13: self._link, 14: self._open,
            15: self._read, 16: self._write, 17: self._disk, 18: self._release, 20: self._sync, 25: self._nothing, 26: self._begin,
            27: self._open_folder, 28: self._list, 29: self._close_folder, 30: self._nothing, 35: self._create,
            45: self._rename_flagged,
        }  # fmt: skip

    def serve(self) -> None:
        """Answer until the disk is unmounted."""
        while True:
            try:
                data = os.read(self._device, _BUFFER_BYTES)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR, errno.EAGAIN):
                    continue
                return  # ENODEV: it is unmounted
            _, operation, unique, node, *_ = _REQUEST.unpack_from(data)
            if operation in (_FORGET, _BATCH_FORGET, _INTERRUPT):
                continue
            self._reply(unique, operation, node, data[_REQUEST.size :])
            if operation == _DESTROY:
                return

    def _reply(self, unique: int, operation: int, node: int, body: bytes) -> None:
        code, answer = 0, b""
        try:
            handler = self._answers.get(operation)
            code = errno.ENOSYS if handler is None else 0
            answer = b"" if handler is None else handler(node, body)
        except OSError as error:
            code = error.errno or errno.EIO
        with suppress(OSError):
            os.write(self._device, _REPLY.pack(_REPLY.size + len(answer), -code, unique) + answer)

    def _path(self, node: int, *names: bytes) -> bytes:
        """Return the path on the disk below for a node and names in it, in the stored spelling where there is one."""
        parts: list[bytes] = []
        while node != 1:
            node, name = self._nodes[node]
            parts.insert(0, name)
        path = self._root
        for name in (*parts, *names):
            path = os.path.join(path, self._stored(path, name))
        return path

    @staticmethod
    def _stored(folder: bytes, name: bytes) -> bytes:
        if os.path.lexists(os.path.join(folder, name)):
            return name
        wanted = _key(name)
        with suppress(OSError):
            return next((one for one in os.listdir(folder) if _key(one) == wanted), name)
        return name

    def _entry(self, node: int, name: bytes) -> bytes:
        status = os.lstat(self._path(node, name))
        number = self._numbers.get((node, name))
        if number is None:
            self._last += 1
            number = self._numbers[node, name] = self._last
            self._nodes[number] = node, name
        return _ENTRY.pack(number, 0, 0, 0, 0, 0) + _attributes(status)

    def _begin(self, _node: int, body: bytes) -> bytes:
        major, minor, ahead, _ = struct.unpack_from("<4I", body)
        return struct.pack("<4IHHIIHHI28x", major, min(minor, 31), ahead, 0, 16, 12, _WRITE_BYTES, 1, 32, 0, 0)

    def _lookup(self, node: int, body: bytes) -> bytes:
        return self._entry(node, body.rstrip(b"\0"))

    def _status(self, node: int, body: bytes) -> bytes:
        flags, handle = struct.unpack_from("<I4xQ", body)
        status = os.fstat(handle) if flags & 1 else os.lstat(self._path(node))
        return struct.pack("<QII", 0, 0, 0) + _attributes(status)

    def _change(self, node: int, body: bytes) -> bytes:
        (valid, _, handle, size, _, atime, mtime, _, atime_ns, mtime_ns, _, mode, uid, gid) = _SET.unpack_from(body)
        path = self._path(node)
        if valid & _SIZE:
            os.truncate(handle if valid & _HANDLE else path, size)
        if valid & (_UID | _GID):
            os.chown(path, uid if valid & _UID else -1, gid if valid & _GID else -1, follow_symlinks=False)
        if valid & _MODE:
            os.chmod(path, stat.S_IMODE(mode))
        if valid & (_ATIME | _MTIME):
            now, present = time.time_ns(), os.lstat(path)
            access = atime * 10**9 + atime_ns if valid & _ATIME else present.st_atime_ns
            change = mtime * 10**9 + mtime_ns if valid & _MTIME else present.st_mtime_ns
            times = now if valid & _ATIME_NOW else access, now if valid & _MTIME_NOW else change
            os.utime(path, ns=times, follow_symlinks=False)
        return struct.pack("<QII", 0, 0, 0) + _attributes(os.lstat(self._path(node)))

    def _read_link(self, node: int, _body: bytes) -> bytes:
        return os.readlink(self._path(node))

    def _symlink(self, node: int, body: bytes) -> bytes:
        name, target, _ = body.split(b"\0", 2)
        os.symlink(target, self._path(node, name))
        return self._entry(node, name)

    def _make_node(self, node: int, body: bytes) -> bytes:
        mode, device, umask = struct.unpack_from("<III", body)
        name = body[16:].rstrip(b"\0")
        os.mknod(self._path(node, name), mode & ~umask, device)
        return self._entry(node, name)

    def _make_folder(self, node: int, body: bytes) -> bytes:
        mode, umask = struct.unpack_from("<II", body)
        name = body[8:].rstrip(b"\0")
        os.mkdir(self._path(node, name), mode & ~umask)
        return self._entry(node, name)

    def _unlink(self, node: int, body: bytes) -> bytes:
        name = body.rstrip(b"\0")
        os.unlink(self._path(node, name))
        self._numbers.pop((node, name), None)
        return b""

    def _remove_folder(self, node: int, body: bytes) -> bytes:
        name = body.rstrip(b"\0")
        os.rmdir(self._path(node, name))
        self._numbers.pop((node, name), None)
        return b""

    def _rename(self, node: int, body: bytes) -> bytes:
        return self._move(node, struct.unpack_from("<Q", body)[0], body[8:])

    def _rename_flagged(self, node: int, body: bytes) -> bytes:
        target, flags = struct.unpack_from("<QI", body)
        if flags & ~_NO_REPLACE:
            raise OSError(errno.EINVAL, "")
        new = body[16:].split(b"\0", 2)[1]
        if flags and os.path.lexists(self._path(target, new)):
            raise FileExistsError(errno.EEXIST, "")
        return self._move(node, target, body[16:])

    def _move(self, node: int, target: int, names: bytes) -> bytes:
        old, new, _ = names.split(b"\0", 2)
        source, goal = self._path(node, old), self._path(target, new)
        os.rename(source, os.path.join(os.path.dirname(goal), new) if source == goal else goal)
        number = self._numbers.pop((node, old), None)
        self._numbers.pop((target, new), None)
        if number is not None:
            self._nodes[number] = target, new
            self._numbers[target, new] = number
        return b""

    def _link(self, node: int, body: bytes) -> bytes:
        name = body[8:].rstrip(b"\0")
        source = self._path(struct.unpack_from("<Q", body)[0])
        os.link(source, self._path(node, name), follow_symlinks=False)
        return self._entry(node, name)

    def _open(self, node: int, body: bytes) -> bytes:
        flags = struct.unpack_from("<I", body)[0] & ~(os.O_CREAT | os.O_EXCL)
        return struct.pack("<QII", os.open(self._path(node), flags | os.O_NOFOLLOW | os.O_CLOEXEC), 0, 0)

    def _create(self, node: int, body: bytes) -> bytes:
        flags, mode, umask = struct.unpack_from("<III", body)
        name = body[16:].rstrip(b"\0")
        handle = os.open(self._path(node, name), flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode & ~umask)
        return self._entry(node, name) + struct.pack("<QII", handle, 0, 0)

    def _read(self, _node: int, body: bytes) -> bytes:
        handle, offset, size, *_ = _BLOCK.unpack_from(body)
        return os.pread(handle, size, offset)

    def _write(self, _node: int, body: bytes) -> bytes:
        handle, offset, size, *_ = _BLOCK.unpack_from(body)
        return struct.pack("<II", os.pwrite(handle, body[_BLOCK.size : _BLOCK.size + size], offset), 0)

    def _release(self, _node: int, body: bytes) -> bytes:
        os.close(struct.unpack_from("<Q", body)[0])
        return b""

    def _sync(self, _node: int, body: bytes) -> bytes:
        os.fsync(struct.unpack_from("<Q", body)[0])
        return b""

    def _nothing(self, _node: int, _body: bytes) -> bytes:
        return b""

    def _disk(self, _node: int, _body: bytes) -> bytes:
        found = os.statvfs(self._root)
        counts = (found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree)
        return struct.pack("<5Q3I28x", *counts, found.f_bsize, found.f_namemax, found.f_frsize)

    def _open_folder(self, node: int, _body: bytes) -> bytes:
        path = self._path(node)
        found = [(b".", 1, stat.S_IFDIR), (b"..", 1, stat.S_IFDIR)]
        with os.scandir(path) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                found.append((entry.name, status.st_ino, status.st_mode))
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._listed[handle] = found
        return struct.pack("<QII", handle, 0, 0)

    def _list(self, _node: int, body: bytes) -> bytes:
        handle, offset, size, *_ = _BLOCK.unpack_from(body)
        data = b""
        for number, (name, inode, mode) in enumerate(self._listed[handle][offset:], offset + 1):
            head = _DIRECTORY_ENTRY.pack(inode, number, len(name), stat.S_IFMT(mode) >> 12)
            entry = head + name + b"\0" * (-len(name) % 8)
            if len(data) + len(entry) > size:
                break
            data += entry
        return data

    def _close_folder(self, node: int, body: bytes) -> bytes:
        self._listed.pop(struct.unpack_from("<Q", body)[0], None)
        return self._release(node, body)


def _attributes(status: os.stat_result) -> bytes:
    seconds = [divmod(one, 10**9) for one in (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)]
    return _ATTRIBUTES.pack(
        status.st_ino, status.st_size, status.st_blocks, *(whole for whole, _ in seconds), *(rest for _, rest in seconds),
        status.st_mode, status.st_nlink, status.st_uid, status.st_gid, status.st_rdev, 4096, 0,
    )  # fmt: skip


def _mount(point: str) -> int:
    """Mount a new FUSE file system and return the descriptor of its requests. Raises OSError."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        options = f"default_permissions,fsname=ignores-case{',allow_other' if os.geteuid() == 0 else ''}"
        done = subprocess.run(
            [_mounter() or "fusermount3", "-o", options, "--", point],
            env={**os.environ, "_FUSE_COMMFD": str(theirs.fileno())},
            pass_fds=[theirs.fileno()],
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise OSError(done.stderr.decode(errors="replace").strip())
        return socket.recv_fds(ours, 1, 1)[1][0]


if __name__ == "__main__":
    _Server(sys.argv[1], _mount(sys.argv[2])).serve()
