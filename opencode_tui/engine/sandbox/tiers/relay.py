"""Process 1 of a network namespace whose commands reach single hosts: starts a program, and relays its connections to our proxy.

Its source is run by `python -c` inside the namespace, where this package is not mounted: it uses the standard library only. The
arguments are the path of the proxy's Unix socket, the port to listen on, and the program with its arguments. Its pipes are those of
`bubblewrap.hold`.
"""

import os
import socket
import sys
from _thread import start_new_thread
from contextlib import suppress
from signal import SIG_DFL, SIGPIPE, signal

_PIECE_BYTES = 64 * 1024


def main(path: str, port: str, *argv: str) -> None:
    """Run the program and end with its code, once its remaining processes may end."""
    server = socket.create_server(("127.0.0.1", int(port)), backlog=256)
    os.write(2, b"ready\n")
    if not os.read(0, 1):
        return
    child = os.fork()
    if not child:
        _execute(argv)
    start_new_thread(_accept, (server, path))
    start_new_thread(_end_with_program, ())
    ended, status = 0, 0
    while ended != child:
        ended, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    code = code if code >= 0 else 128 - code
    if _has_others():
        os.write(2, b"%d\n" % code)
        os.close(1)
        os.read(0, 1)
    os._exit(code)


def _end_with_program() -> None:
    os.read(0, 1)  # closed by the end of the program, which writes nothing
    os._exit(1)


def _execute(argv: tuple[str, ...]) -> None:
    signal(SIGPIPE, SIG_DFL)  # Python ignores it, and a program would inherit that
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(1, 2)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _has_others() -> bool:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    try:
        os.kill(-1, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _accept(server: socket.socket, path: str) -> None:
    while True:
        client, _ = server.accept()
        start_new_thread(_relay, (client, path))


def _relay(client: socket.socket, path: str) -> None:
    proxy = socket.socket(socket.AF_UNIX)
    try:
        proxy.connect(path)
    except OSError:
        client.close()
        return
    start_new_thread(_copy, (client, proxy))
    _copy(proxy, client)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE_BYTES):
            target.sendall(piece)
    for end, how in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
        with suppress(OSError):
            end.shutdown(how)


if __name__ == "__main__":
    main(*sys.argv[1:])
