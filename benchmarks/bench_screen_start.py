"""How soon the screen is drawn and accepts keys, compared with a bare Textual app with a text and an input, in one run.

    python -m benchmarks.bench_screen_start

Both run in a terminal of 120 x 40, in turns. CPU of all threads is read when the first frame is seen. A letter is typed at that
moment; keys are accepted when it is seen. PSS is read from a screen that has rested for two seconds with a session open.
"""

import codecs
import contextlib
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.hostile.terminal import DriverScreen

ROUNDS = 5 if os.environ.get("BENCHMARK_QUICK") else 11
LETTER = "§"
BARE = """
from textual.app import App
from textual.widgets import Input, Static
class Bare(App):
    def compose(self):
        yield Static("Ask anything")
        yield Input()
Bare().run()
"""
REST_S = 2.0


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from exec to the first frame and to the first echo, CPU ms at the first frame, PSS in MB after a rest."""

    paint_s: float
    echo_s: float
    cpu_ms: float
    pss_mb: float


class Screen:
    """A program on a terminal of its own."""

    def __init__(self, arguments: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            arguments, cwd=folder, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self._drawn = DriverScreen(120, 40)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def wait_for(self, words: str, timeout: float = 30.0) -> float:
        """Return the seconds since exec when the words have come."""
        end = time.perf_counter() + timeout
        while words not in (shown := "\n".join(self._drawn.lines())):
            if not select.select([self._master], [], [], max(0.0, end - time.perf_counter()))[0]:
                raise AssertionError(f"{words!r} did not come:\n{shown}")
            self._read()
        return time.perf_counter() - self.began

    def type(self, text: str) -> None:
        """Type."""
        os.write(self._master, text.encode())

    def rest(self, seconds: float) -> None:
        """Read what comes for so long."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self._master], [], [], left)[0]:
                self._read()

    def _read(self) -> None:
        self._drawn.feed(self._decode(os.read(self._master, 65536)))

    def cpu_ms(self) -> float:
        """Milliseconds that all threads have run."""
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e6

    def pss_mb(self) -> float:
        """The share of memory that is this process's."""
        lines = Path(f"/proc/{self._process.pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._master)


def start(arguments: Sequence[str], folder: Path, environ: Mapping[str, str], *, rests: bool) -> Start:
    """Start a program and measure it."""
    screen = Screen(arguments, folder, environ)
    try:
        paint = screen.wait_for("Ask")
        cpu = screen.cpu_ms()
        screen.type(LETTER)
        echo = screen.wait_for(LETTER)
        if rests:
            screen.wait_for("tour")
            screen.rest(REST_S)
        return Start(paint, echo, cpu, screen.pss_mb() if rests else 0.0)
    finally:
        screen.close()


def main() -> int:
    """Measure both in turns."""
    if not Path("/proc/self/smaps_rollup").exists():
        print("needs /proc; nothing measured")
        return 0
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name) / "home", Path(name) / "work"
        home.mkdir()
        folder.mkdir()
        environ = {
            **isolated_environment(home),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.getcwd(),
        }
        ours, bare = [sys.executable, "-m", "opencode_tui"], [sys.executable, "-c", BARE]
        subprocess.run([*ours, "run", "list the files here"], cwd=folder, env=environ, check=True, capture_output=True)
        rounds = [
            (start([*ours, "-c"], folder, environ, rests=True), start(bare, folder, environ, rests=False))
            for _ in range(ROUNDS + 1)
        ][1:]
    mine, floor = [one for one, _ in rounds], [one for _, one in rounds]

    def median(starts: Sequence[Start], field: str) -> float:
        return statistics.median(getattr(one, field) for one in starts)

    return report(
        [
            Figure("CPU at the first frame", median(mine, "cpu_ms"), 1.3, floor=median(floor, "cpu_ms")),
            Figure("first frame, wall", median(mine, "paint_s") * 1000, 1.6, floor=median(floor, "paint_s") * 1000),
            Figure(
                "a key is echoed, wall from exec",
                median(mine, "echo_s") * 1000,
                2.2,
                floor=median(floor, "echo_s") * 1000,
            ),
            Figure("PSS at rest with a session open", median(mine, "pss_mb"), 80, "MB"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
