"""A program between this one and a server over pipes, which breaks what comes back: `python pipe.py CONTROL COMMAND...`.

The file CONTROL says what happens to what comes from then on: nothing or no file, `stall` (it is kept back), `drip` (a byte each 10
ms), `garbage` (other bytes instead), `close` (its standard output ends, the program stays), `exit` (it is killed), `deaf` (what it
is sent is not read any more).
"""

import os
import signal
import subprocess
import sys
import threading
import time


def fault() -> str:
    try:
        with open(sys.argv[1]) as file:
            return file.read().strip()
    except OSError:
        return ""


def wait_for_end_of(name: str) -> None:
    while fault() == name:
        time.sleep(0.01)


def forward(child: "subprocess.Popen[bytes]") -> None:
    """Forward standard input until it ends, which ends the server's."""
    assert child.stdin is not None
    while True:
        data = os.read(0, 64 * 1024)
        if not data:
            break
        wait_for_end_of("deaf")
        child.stdin.write(data)
        child.stdin.flush()
    child.stdin.close()


def main() -> None:
    child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    threading.Thread(target=forward, args=(child,), daemon=True).start()
    while data := os.read(child.stdout.fileno(), 64 * 1024):
        match fault():
            case "stall":
                wait_for_end_of("stall")
                os.write(1, data)
            case "drip":
                for value in data:
                    os.write(1, bytes([value]))
                    time.sleep(0.01)
            case "garbage":
                os.write(1, b"\x00\xff not what you asked for \r\n\r\n" * 4)
            case "close":
                os.close(1)
                time.sleep(120)
            case "exit":
                child.kill()
                os.kill(os.getpid(), signal.SIGKILL)
            case _:
                os.write(1, data)


if __name__ == "__main__":
    main()
