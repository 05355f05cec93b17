"""A program on a terminal of its own: 140 × 40, with an emulator that answers what programs ask a terminal."""

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import psutil
import pyte

from benchmarks.typist import Typist

COLUMNS, ROWS = 140, 40
FRAME_LETTERS = 30
"""A frame is seen when the program reads single keys and so many letters have come since."""

_MARK = "PEERS_RUN"
_SEQUENCE = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[P_^X][^\x1b]*\x1b\\|[ -/]*[0-Z\\`-~])"
)
_CUT = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]P_^X][^\x07\x1b]*\x1b?|[ -/]*)?$")
_UNKNOWN = re.compile(
    rb"\x1b\[(?:[<=>][0-?]*[ -/]*[@-~]|[0-?]*[ -/]+[@-~]|[0-?]*:[0-?]*[@-~]|[0-?]*[utqpnc])|\x1b[P_^X][^\x1b]*\x1b\\"
)
"""What pyte would draw as letters or misread."""

_ANSWERS: tuple[tuple[re.Pattern[bytes], bytes], ...] = (
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[>0?c"), b"\x1b[>0;390;0c"),
    (re.compile(rb"\x1b\[>0?q"), b"\x1bP>|XTerm(390)\x1b\\"),
    (re.compile(rb"\x1b\[5n"), b"\x1b[0n"),
    (re.compile(rb"\x1b\[\?2026\$p"), b"\x1b[?2026;2$y"),
    (re.compile(rb"\x1b\[14t"), b"\x1b[4;%d;%dt" % (ROWS * 20, COLUMNS * 10)),
    (re.compile(rb"\x1b\[16t"), b"\x1b[6;20;10t"),
    (re.compile(rb"\x1b\[18t"), b"\x1b[8;%d;%dt" % (ROWS, COLUMNS)),
    (re.compile(rb"\x1b\]10;\?"), b"\x1b]10;rgb:dcdc/dfdf/e6e6\x1b\\"),
    (re.compile(rb"\x1b\]11;\?"), b"\x1b]11;rgb:1515/1616/1b1b\x1b\\"),
    (re.compile(rb"\x1b\]12;\?"), b"\x1b]12;rgb:dcdc/dfdf/e6e6\x1b\\"),
)
_MODE = re.compile(rb"\x1b\[\?([0-9]+)\$p")
_COLOR = re.compile(rb"\x1b\]4;([0-9]+);\?")
_POSITION = re.compile(rb"\x1b\[\??6n")


class Terminal:
    """Runs a program until the block ends, then ends all of its processes.

    A thread reads what is drawn and notes when; the emulator sees it when it is asked for the screen or the cursor.
    """

    def __init__(self, command: Sequence[str], *, folder: Path, environ: Mapping[str, str]) -> None:
        self._mark = uuid.uuid4().hex
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.drawn = bytearray()
        """Every byte that was written to the terminal."""
        self.frame_s: float | None = None
        """Seconds from exec until a frame was seen."""
        self.typist: Typist | None = None
        """Sees what is drawn."""
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._emulator = pyte.Stream(self._screen)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._shown = 0
        self._lock = threading.Lock()
        self._answered = 0
        self._marks: dict[bytes, float] = {}
        self._is_closed = False
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", _MARK: self._mark},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_own_terminal,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        end_processes(self.processes(), self._mark)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self._reader.join(5)
        os.close(self._master)

    def _read(self) -> None:
        cooked = 0
        while not self._is_closed:
            if not select.select([self._master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self._master, 65_536)
            except OSError:
                return
            now = time.perf_counter()
            if not data:
                return
            if self.typist is not None:
                self.typist.see(data)
            with self._lock:
                before = max(0, len(self.drawn) - 8)
                self.drawn += data
                recent = bytes(self.drawn[before:])
            for mark, seen in list(self._marks.items()):
                if not seen and mark in recent:
                    self._marks[mark] = now
            if self.frame_s is None:
                if not self.is_raw():
                    cooked = len(self.drawn)  # words before the screen: a warning
                elif _letters(self.drawn[cooked:]) >= FRAME_LETTERS:
                    self.frame_s = now - self.began
            self._answer()

    def _answer(self) -> None:
        """Answer the questions in what has come; one whose end is missing is answered when it has come."""
        text = bytes(self.drawn[self._answered :])
        cut = _CUT.search(text)
        text = text[: cut.start()] if cut else text
        self._answered += len(text)
        if b"\x1b" not in text:
            return
        for question, answer in _ANSWERS:
            if question.search(text):
                self.send(answer)
        for mode in _MODE.findall(text):
            if mode != b"2026":
                self.send(b"\x1b[?%s;0$y" % mode)
        for color in _COLOR.findall(text):
            self.send(b"\x1b]4;%s;rgb:8080/8080/8080\x1b\\" % color)
        for _ in _POSITION.findall(text):
            self.show()
            self.send(b"\x1b[%d;%dR" % (self._screen.cursor.y + 1, self._screen.cursor.x + 1))

    def send(self, data: bytes) -> None:
        """Type."""
        with contextlib.suppress(OSError):
            os.write(self._master, data)

    def type_letter(self, typist: Typist) -> None:
        """Type the next letter of a typist, and wait until it is drawn."""
        self.typist = typist
        typist.type(self._master)

    def watch(self, mark: str) -> None:
        """Note when this letter is drawn the first time from now on."""
        self._marks[mark.encode()] = 0.0

    def seen(self, mark: str) -> float:
        """Return when it was drawn, 0.0 if it was not."""
        return self._marks[mark.encode()]

    def is_raw(self) -> bool:
        """Return whether the program reads single keys: until then the terminal itself would echo them."""
        return not termios.tcgetattr(self._master)[3] & termios.ECHO

    def is_alive(self) -> bool:
        """Return whether the program runs."""
        return self.process.poll() is None

    def show(self) -> str:
        """Return what the screen shows, a line a row."""
        with self._lock:
            text = bytes(self.drawn[self._shown :])
            cut = _CUT.search(text)
            text = text[: cut.start()] if cut else text
            self._shown += len(text)
            try:
                self._emulator.feed(self._decode(_UNKNOWN.sub(b"", text)))
            except (
                TypeError,
                ValueError,
                IndexError,
            ):  # a sequence that the emulator does not know: it goes on after it
                self._emulator = pyte.Stream(self._screen)
            rows = ("".join(self._screen.buffer[y][x].data for x in range(COLUMNS)) for y in range(ROWS))
            return "\n".join(row.rstrip() for row in rows).strip("\n")

    def processes(self) -> list[psutil.Process]:
        """Return all processes of the program: its descendants, and others that it started."""
        return processes_of(self.process.pid, self._mark)


def run_to_end(
    command: Sequence[str], *, folder: Path, environ: Mapping[str, str], timeout: float
) -> tuple[float, int | None, str]:
    """Run a program without a terminal; return its seconds, its exit code (None: not ended in time) and its last words."""
    mark = uuid.uuid4().hex
    with tempfile.TemporaryFile() as output:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env={**environ, "TERM": "dumb", "NO_COLOR": "1", _MARK: mark},
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(timeout)
            seconds = time.perf_counter() - begun
        except subprocess.TimeoutExpired:
            seconds, code = timeout, None
        finally:
            end_processes(processes_of(process.pid, mark), mark)
            process.wait()
        output.seek(0)
        words = output.read().decode(errors="replace").strip().splitlines()[-1:]
        return seconds, code, " ".join(words)[:160]


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _letters(drawn: bytes | bytearray) -> int:
    return len(re.sub(rb"[\x00-\x20\x7f]", b"", _SEQUENCE.sub(b"", bytes(drawn))))


def processes_of(pid: int | None, mark: str) -> list[psutil.Process]:
    """Return those that have the mark in their environment, a process with its descendants, and its terminal session's."""
    found: dict[int, psutil.Process] = {}
    needle = f"{_MARK}={mark}".encode()
    if pid is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(pid)
            for process in [parent, *parent.children(recursive=True)]:
                found[process.pid] = process
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid not in found and (
                (pid is not None and os.getsid(process.pid) == pid)
                or needle in Path(f"/proc/{process.pid}/environ").read_bytes()
            ):
                found[process.pid] = process
    return list(found.values())


def end_processes(processes: Sequence[psutil.Process], mark: str) -> None:
    """Kill processes, and what they started meanwhile."""
    for _ in range(5):
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes, timeout=3)
        processes = processes_of(None, mark)
        if not processes:
            return


def pss_mb(processes: Sequence[psutil.Process]) -> float:
    """Return the proportional share of memory of all these processes."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def cpu_s(processes: Sequence[psutil.Process]) -> float:
    """Return the CPU seconds of all these processes, and of their children that have ended."""
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


class Activity(NamedTuple):
    """What threads have done since they began."""

    cpu_s: float
    wakeups: int
    """How often they went on after they had waited."""
    written: int
    """Bytes to disks."""


def activity(processes: Sequence[psutil.Process]) -> dict[int, Activity]:
    """Return what each thread of these processes has done, by its ID. psutil has its CPU in hundredths of a second only."""
    found: dict[int, Activity] = {}
    for process in processes:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{process.pid}/task").iterdir():
                with contextlib.suppress(OSError):  # it has ended
                    cpu_s = int((task / "schedstat").read_text().split()[0]) / 1e9
                    wakeups = int(_field(task / "status", "voluntary_ctxt_switches"))
                    found[int(task.name)] = Activity(cpu_s, wakeups, int(_field(task / "io", "write_bytes")))
    return found


def activity_between(before: Mapping[int, Activity], after: Mapping[int, Activity]) -> Activity:
    """Return what was done between two states; what a thread did that has ended since is not known."""
    nothing = Activity(0.0, 0, 0)
    pairs = [(now, before.get(thread, nothing)) for thread, now in after.items()]
    return Activity(
        sum(now.cpu_s - then.cpu_s for now, then in pairs),
        sum(now.wakeups - then.wakeups for now, then in pairs),
        sum(now.written - then.written for now, then in pairs),
    )


def _field(path: Path, name: str) -> str:
    return next(line.split()[1] for line in path.read_text().splitlines() if line.startswith(f"{name}:"))
