"""TCP sockets for commands of tier B that may reach the proxy: made by this process, bound to the loopback device.

A seccomp filter cannot see the address of a connection, and Landlock limits its port only. So the filter reports each creation of a
TCP socket here, and the command gets one that leaves this machine through no device; changing that needs a capability that confined
commands do not have. Landlock then limits it to the port of the proxy.
"""

import fcntl
import os
import select
import socket
import struct
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue

_RECEIVE, _SEND, _ADD_FD = 0xC0502100, 0xC0182101, 0x40182103
"""The requests of `ioctl` to a listener: SECCOMP_IOCTL_NOTIF_RECV, NOTIF_SEND, NOTIF_ADDFD."""
_NOTIFICATION_BYTES = 80
_ARGUMENTS_AT = 32
_ANSWER_WITH_FD = 2
_START_S = 60.0


class SocketMaker:
    """Makes the sockets of one command, on a thread that starts now: one that a confined thread starts would be confined too."""

    def __init__(self) -> None:
        self._listeners: SimpleQueue[int] = SimpleQueue()
        threading.Thread(target=self._run, name="sandbox-sockets", daemon=True).start()

    def serve(self, listener: int) -> None:
        """Make sockets for the processes of a filter until all have ended; the listener is closed then."""
        self._listeners.put(listener)

    def _run(self) -> None:
        try:
            listener = self._listeners.get(timeout=_START_S)
        except Empty:
            return  # the command was not started
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        try:
            while poll.poll()[0][1] & select.POLLIN:
                with suppress(OSError):  # the process has ended, or was interrupted and asks again
                    _make(listener)
        finally:
            os.close(listener)


def _make(listener: int) -> None:
    notification = bytearray(_NOTIFICATION_BYTES)
    fcntl.ioctl(listener, _RECEIVE, notification)
    (request,) = struct.unpack_from("=Q", notification)
    family, kind = struct.unpack_from("=QQ", notification, _ARGUMENTS_AT)
    try:
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
    except OSError as error:
        fcntl.ioctl(listener, _SEND, struct.pack("=QqiI", request, 0, -(error.errno or 1), 0))
        return
    with made:
        made.setblocking(not kind & socket.SOCK_NONBLOCK)
        flags = os.O_CLOEXEC if kind & socket.SOCK_CLOEXEC else 0
        fcntl.ioctl(listener, _ADD_FD, struct.pack("=QIIII", request, _ANSWER_WITH_FD, made.fileno(), 0, flags))
