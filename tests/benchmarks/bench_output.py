"""What the real program writes to its terminal while an answer streams, compared with Textual's own output of the same run.

    python -m tests.benchmarks.bench_output

200 tokens a second on 40 rows, with the sidebar (120 columns) and without (118); then on a terminal that takes 20 KB a second. The
floor is the same program with Textual's output and compositor, at 30 frames a second.
"""

import fcntl
import json
import os
import pty
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.benchmarks.streamed_text import mixed_markdown, tokens_of
from tests.benchmarks.typist import Typist
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer, provider_config

ROWS = 40
SLOW = 20_000
"""Bytes that the slow terminal takes in a second."""

_WARM_S = 3

OURS = ["-m", "opencode_tui"]
BEFORE = [
    "-c",
    """
from textual.app import App
from textual._compositor import Compositor
from opencode_tui.tui.output import display
from opencode_tui.tui.conversation import view
display.TerminalApp._display = App._display
display.LineCompositor._get_renders = Compositor._get_renders
view.FRAMES_PER_SECOND = 30
from opencode_tui.__main__ import main
main()
""",
]


@dataclass(frozen=True, slots=True)
class Stream:
    """KB and CPU seconds per 1,000 tokens, seconds until the engine had the whole answer, milliseconds of each echo."""

    kilobytes: float
    cpu_s: float
    engine_s: float
    echoes_ms: list[float]

    @property
    def echo_p99(self) -> float:
        """The time of nearly all echoes; of two seconds where none came in time."""
        return statistics.quantiles(self.echoes_ms, n=100)[98] if len(self.echoes_ms) > 1 else 2_000


class Reader(threading.Thread):
    """Reads what a program draws, all of it at once or so many bytes a second."""

    def __init__(self, descriptor: int, typist: Typist) -> None:
        super().__init__(daemon=True)
        self.total = 0
        self.tail = b""
        self.rate: int | None = None
        self._descriptor = descriptor
        self._typist = typist

    def run(self) -> None:
        with suppress(OSError):
            while data := os.read(self._descriptor, 65_536 if self.rate is None else 400):
                self.total += len(data)
                self.tail = (self.tail + data)[-20_000:]
                self._typist.see(data)
                if self.rate is not None:
                    time.sleep(len(data) / self.rate)


def stream(program: list[str], columns: int, tokens: int, *, rate: int | None = None, types: bool = False) -> Stream:
    """Have the program show an answer."""
    text = mixed_markdown(tokens)
    count = len(list(tokens_of(text)))
    with tempfile.TemporaryDirectory() as name, ModelServer() as server:
        home, folder = Path(name) / "home", Path(name) / "work"
        home.mkdir()
        folder.mkdir()
        done = folder / "done.txt"
        call = Call("write", {"filePath": str(done), "content": "x"})
        settings = {
            "provider": provider_config(server.base_url),
            "model": "fake/fake-model",
            "permission": {"edit": "allow"},
        }
        environ = {
            **isolated_environment(home),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "PYTHONPATH": os.getcwd(),
        }
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        command = [sys.executable, *program]
        process = subprocess.Popen(
            command, cwd=folder, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        typist = Typist()
        reader = Reader(master, typist)
        reader.start()
        try:
            while b"fake-model" not in reader.tail:
                time.sleep(0.05)
            server.script(Answer(text="warm"))  # the first turn imports what later ones use
            os.write(master, b"hello\r")
            time.sleep(_WARM_S)
            server.script(Answer(text=text, delta_size=4, delay_ms=4.9, calls=(call,)), Answer(text="ended"))
            reader.rate = rate
            os.write(master, b"go on\r")
            begin, cpu, total = time.perf_counter(), _cpu_s(process.pid), reader.total
            while not done.exists():
                if types:
                    typist.type(master)
                else:
                    time.sleep(0.02)
            spent = time.perf_counter() - begin
            per_1000 = 1000 / count
            return Stream(
                (reader.total - total) / 1000 * per_1000,
                (_cpu_s(process.pid) - cpu) * per_1000,
                spent,
                [echo * 1000 for echo in typist.echoes],
            )
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(master)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure both programs in turns."""
    if not Path("/proc/self/stat").exists():
        print("needs /proc; nothing measured")
        return 0
    tokens = rounds(2_000, 800)
    figures: list[Figure] = []
    for columns, where in ((120, "with the sidebar"), (118, "without the sidebar")):
        before, ours = (stream(program, columns, tokens) for program in (BEFORE, OURS))
        figures += [
            Figure(f"{where}: per 1,000 tokens", ours.kilobytes, 142, "KB"),
            Figure(f"{where}: the same, to Textual's output", ours.kilobytes, 0.2, "KB", before.kilobytes),
            Figure(f"{where}: CPU per 1,000 tokens", ours.cpu_s, 1.1, "s"),
            Figure(f"{where}: the same, to Textual's output", ours.cpu_s, 1.0, "s", before.cpu_s),
        ]
    quick = stream(OURS, 118, tokens, types=True)
    slow_before, slow = (stream(program, 118, tokens, rate=SLOW, types=True) for program in (BEFORE, OURS))
    return report(
        [
            *figures,
            Figure("a key's echo while it streams, p99", quick.echo_p99, 30),
            Figure("20 KB/s: until the engine has all (floor: quick)", slow.engine_s, 1.15, "s", quick.engine_s),
            Figure("20 KB/s: the same, to Textual's output", slow.engine_s, 1.0, "s", slow_before.engine_s),
            Figure("20 KB/s: a key's echo, p99", slow.echo_p99, 150),
            Figure("20 KB/s: the same, to Textual's output", slow.echo_p99, 1.0, "ms", slow_before.echo_p99),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
