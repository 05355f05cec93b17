"""Prepared views for tier A: what commands of one policy may reach, made once and entered by each command.

A view is the mount namespace that bubblewrap's first stage makes (`bubblewrap.py`). It holds only paths that no command can
replace, so it may be made while commands run, and it outlives them. The second stage still runs for each command, with mounts,
devices and processes of its own. A view can become old, as when an update replaces a folder: the comparison before the start
finds that (`mounts.py`), the view is forgotten, and the command starts with both stages.
"""

import ctypes
import fcntl
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from weakref import finalize

from opencode_tui.engine.sandbox.tiers.leftover import WATCH

_NEW_MOUNTS, _SHARED_FOLDER = 0x00020000, 0x00000200
"""CLONE_NEWNS and CLONE_FS of Linux."""
_OWNER = 0xB701
"""NS_GET_USERNS: opens the user namespace that owns a namespace."""
_KEPT = 8
_PREPARE_S = 5.0
_HOLDER = 'echo "$$"; read -r _'
"""Prints its process id and keeps the namespaces until its standard input ends."""

_libc = ctypes.CDLL(None, use_errno=True)


class View:
    """The namespaces of a prepared view, open until the last command that uses them has ended."""

    def __init__(self, pid: int, *, has_users: bool) -> None:
        """Open the namespaces of a process, with that of its users if it `has_users` of its own. Raises OSError."""
        self._mounts = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        finalize(self, os.close, self._mounts)
        self._users: int | None = None
        if has_users:
            self._users = fcntl.ioctl(self._mounts, _OWNER)  # bubblewrap makes one more for the program itself
            finalize(self, os.close, self._users)

    def entering(self, nsenter: str | None) -> tuple[str, ...]:
        """Return the words before a command line that enter a view with users of its own; none where `enter` does it."""
        if self._users is None or nsenter is None:
            return ()
        own = f"/proc/{os.getpid()}/fd"
        return nsenter, f"--user={own}/{self._users}", f"--mount={own}/{self._mounts}", "--preserve-credentials", "--"

    def enter(self) -> None:
        """Let the calling thread, and what it starts, see the view for good. Raises OSError. Only with CAP_SYS_ADMIN."""
        if self._users is None:
            _check(_libc.unshare(_SHARED_FOLDER))
            _check(_libc.setns(self._mounts, _NEW_MOUNTS))


class Views:
    """The prepared views of this process, by the command lines that make them. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, ...], View | None] = {}

    def find(self, argv: tuple[str, ...], environ: Mapping[str, str], *, has_users: bool) -> View | None:
        """Return the view that a command line makes, None while it is not there yet: then it is prepared in the background."""
        with self._lock:
            if argv in self._found:
                view = self._found[argv] = self._found.pop(argv)
                return view
            self._found[argv] = None
            while len(self._found) > _KEPT:
                del self._found[next(iter(self._found))]
        work = threading.Thread(target=self._prepare, args=(argv, environ, has_users), name="view", daemon=True)
        work.start()
        return None

    def drop(self, view: View) -> None:
        """Remove a view; the next command prepares a new one."""
        with self._lock:
            for argv in [argv for argv, one in self._found.items() if one is view]:
                del self._found[argv]

    def _prepare(self, argv: tuple[str, ...], environ: Mapping[str, str], has_users: bool) -> None:
        view = None
        with suppress(OSError, ValueError, subprocess.SubprocessError):  # each command makes its own then
            view = _make(argv, environ, has_users=has_users)
        with self._lock:
            if argv in self._found:
                self._found[argv] = view


VIEWS = Views()
"""Of this process."""


def start_inside(
    view: View, start: "Callable[[], subprocess.Popen[bytes]]", until: threading.Event
) -> "subprocess.Popen[bytes]":
    """Return the process that `start` starts in a view, on a thread that lives until the event: bubblewrap ends with its thread.

    Raises what `start` or entering the view raises. Blocks until it is started.
    """
    started: list[subprocess.Popen[bytes]] = []
    failed: list[BaseException] = []
    is_started = threading.Event()

    def run() -> None:
        try:
            view.enter()
            started.append(start())
        except BaseException as error:  # noqa: BLE001 - raised again on the waiting thread
            failed.append(error)
        finally:
            is_started.set()
        until.wait()

    threading.Thread(target=run, name="confined-start", daemon=True).start()
    is_started.wait()
    if failed:
        until.set()
        raise failed[0]
    return started[0]


def _make(argv: Sequence[str], environ: Mapping[str, str], *, has_users: bool) -> View:
    holder = subprocess.Popen(
        [*argv, *WATCH.options(), "--", "/bin/sh", "-c", _HOLDER],
        cwd="/",
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    late = threading.Timer(_PREPARE_S, holder.kill)
    late.start()
    try:
        assert holder.stdout is not None
        return View(int(holder.stdout.readline()), has_users=has_users)
    finally:
        late.cancel()
        holder.kill()
        holder.communicate()


def _check(result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
