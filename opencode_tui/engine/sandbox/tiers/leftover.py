"""Ends a bubblewrap that this program's end left waiting: each one that is started has a word on its command line that names us.

bubblewrap makes its child, asks the kernel to end with the thread that started it, and then lets the child begin. When that thread
ends between the last two, the child waits forever: it has asked the kernel for nothing yet. It runs nothing, and nothing else ends
it. Therefore a shell in a session of its own waits for our end, and kills what has the word. A bubblewrap that starts after our end
needs no such help: it is not killed, and its program finds its standard input closed.
"""

import atexit
import os
import subprocess
import threading
from contextlib import suppress
from uuid import uuid4

_FOLDERS = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
_WATCH = """read -r _ && exit
tries=0 clean=0
while [ $tries -lt 100 ] && grep -Eqs '^(State:.[^ZX]|Threads:.([2-9]|[0-9]{2}))' "/proc/$PPID/status"; do
sleep 0.05; tries=$((tries + 1))
done
while [ $tries -lt 200 ] && [ $clean -lt 3 ]; do
found=$(printf %s "$WORD" | grep -lsFf - /proc/[0-9]*/cmdline)
[ "$found" ] && clean=0 || clean=$((clean + 1))
for path in $found; do path=${path%/cmdline}; kill -9 "${path#/proc/}"; done
sleep 0.1; tries=$((tries + 1))
done
"""
"""Ends at a line; when its standard input ends without one, it kills the processes with the word, which its own do not have.

The kernel sends the signals of our end when our last thread is gone, later than it closes our files. One look may miss a process
that ends in the meantime, or starts another program, and its child: so it looks until it has found nothing three times.
"""


class _Watch:
    """The shell that waits for the end of this process, started with the first bubblewrap. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._word = f"OPENCODE_ENGINE_{uuid4().hex}"
        self._shell: subprocess.Popen[bytes] | None = None

    def options(self) -> tuple[str, ...]:
        """Return the options that name this process on a command line of bubblewrap. Raises OSError where no shell starts."""
        with self._lock:
            if self._shell is None or self._shell.poll() is not None:
                self._shell = subprocess.Popen(
                    ("/bin/sh", "-c", _WATCH),
                    cwd="/",
                    env={"PATH": _FOLDERS, "WORD": self._word},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                atexit.register(self._dismiss, self._shell)
        return "--unsetenv", self._word

    def _dismiss(self, shell: "subprocess.Popen[bytes]") -> None:
        """Let the shell end: an ordinary end of this process has ended what it started."""
        assert shell.stdin is not None
        with suppress(OSError):
            os.write(shell.stdin.fileno(), b"\n")


WATCH = _Watch()
"""Of this process."""
