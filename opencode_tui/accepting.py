"""Accepts connections as long as the process may open files.

asyncio's own servers keep accepting at the limit of open files, with one traceback for each place of their backlog, and leave no
file for the work of the sessions.
"""

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None

BACKLOG = 64
"""Connections that wait to be accepted; the system refuses more."""

RESERVED = 64
"""Files that are left for records, commands and requests to providers; of a small limit a quarter."""

RETRY_S = 0.5
"""Seconds between two looks whether connections can be accepted again."""

_AT_ONCE = 16
_SCARCE = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_GONE = (BlockingIOError, InterruptedError, ConnectionAbortedError)

_logger = logging.getLogger(__name__)


class Acceptor:
    """Gives the connections of a listening socket to protocols, on the running loop; without open files it pauses.

    Pauses are logged once.
    """

    def __init__(self, listening: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
        self._listening = listening
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._connecting: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._is_logged = False
        listening.setblocking(False)
        listening.listen(BACKLOG)
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        """Stop accepting, and close the socket. Connections that were accepted continue."""
        if not self._is_closed:
            self._is_closed = True
            if self._timer is not None:
                self._timer.cancel()
            self._loop.remove_reader(self._listening)
            self._listening.close()

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            except _GONE:
                return
            except OSError as error:
                self._pause(error)
                return
            task = self._loop.create_task(self._connect(connection), name="a connection begins")
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)
            if not _has_files(connection.fileno()):
                self._pause()
                return

    async def _connect(self, connection: socket.socket) -> None:
        try:
            connection.setblocking(False)
            await self._loop.connect_accepted_socket(self._protocol, connection)
        except OSError as error:  # it has ended already
            _logger.info("a connection could not be accepted (%s)", error)
            connection.close()
        except Exception:
            _logger.exception("a connection could not be accepted")
            connection.close()

    def _pause(self, error: OSError | None = None) -> None:
        self._loop.remove_reader(self._listening)
        self._timer = self._loop.call_later(RETRY_S, self._resume)
        if self._is_logged:
            return
        self._is_logged = True
        if error is None or error.errno in _SCARCE:
            limit = "" if (most := open_files_limit()) is None else f" (the limit of the process is {most})"
            _logger.warning(
                "no connections are accepted until others close: there are too many open files%s; raise `ulimit -n`",
                limit,
            )
        else:
            _logger.error("no connections can be accepted: %s", error)

    def _resume(self) -> None:
        with suppress(OSError):
            descriptor = os.dup(self._listening.fileno())
            os.close(descriptor)
            if _has_files(descriptor):
                self._timer = None
                self._loop.add_reader(self._listening, self._accept)
                return
        self._timer = self._loop.call_later(RETRY_S, self._resume)


def open_files_limit() -> int | None:
    """Return how many files the process may have open; None where the system has no limit."""
    if resource is None:
        return None
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _has_files(descriptor: int) -> bool:
    """Return whether more connections may be open, where this is the newest descriptor: all smaller numbers are in use."""
    limit = open_files_limit()
    return limit is None or descriptor < limit - min(RESERVED, limit // 4)
