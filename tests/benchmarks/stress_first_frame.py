"""Starts of the screen with random keys, pastes, sizes, signals and crashes, from the moment of its start on.

    python -m tests.benchmarks.stress_first_frame [STARTS] [SEED] [FIRST]

Half of the starts get keys: the prompt, and the message that enter sent, must be the same as after the same keys typed at a
complete screen. The others are ended, stopped or made to fail at a random moment: the terminal must have its settings and its
screen again. Each start prints what happens in it, and has random numbers of its own: `1 SEED NUMBER` repeats it. Exits 1 at the
first difference.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tests.conftest import isolated_environment
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.waiting import PATIENCE_S

STARTS = 20 if os.environ.get("BENCHMARK_QUICK") else 1500
BEFORE = ("a", "word ", "ü", "字", "\x1b[D", "\x1b[H")
"""What is typed before the program owns the terminal, which then edits the line itself."""
PIECES = (*BEFORE, "\x7f", "\x1b[C", "\x1b[F", "\x1b[200~two words\x1b[201~", "\x03x")
LIST = "\x10th\x03"
"""Opens the list of commands, filters and closes it."""
SIZES = ((110, 34), (79, 25), (140, 40), (60, 20))
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGTSTP)
MARK = "§"
_LONGEST_S = 1.2
_OWNED = b"\x1b[>25u"
"""What the screen writes when it owns the terminal."""
_CRASH = """
import runpy, signal, sys
def fail(number, frame):
    raise SystemError
signal.signal(signal.SIGALRM, fail)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
sys.argv = ["opencode-tui"] if len(sys.argv) < 3 else sys.argv
runpy.run_module("opencode_tui", run_name="__main__")
"""
"""Runs the program, and raises an error in its main thread after so many seconds."""


def open_screen(
    folder: Path, environ: Mapping[str, str], size: tuple[int, int], *, crash_s: float = 0
) -> ScreenTerminal:
    """Return a starting screen with the demo model, which fails after `crash_s` seconds unless that is 0."""
    arguments = ["-c", _CRASH, str(crash_s)] if crash_s else ["-m", "opencode_tui"]
    return ScreenTerminal(arguments, folder=folder, environ=environ, size=size)


def prompt_of(terminal: ScreenTerminal) -> str:
    """Return the words of the prompt: of the lowest lines with its bar."""
    lines = terminal.lines()
    last = max((at for at, line in enumerate(lines) if line.startswith(" ▎")), default=-1)
    words: list[str] = []
    while last >= 0 and lines[last].startswith(" ▎"):
        words.insert(0, lines[last].split("▎", 1)[1].strip())
        last -= 1
    return " ".join(filter(None, words))


def messages(home: Path) -> list[str]:
    """Return the texts that were sent, of all sessions, in their order."""
    storage = home / ".local/share/opencode-tui/storage"
    users = {path.stem for path in storage.glob("message/*/*.json") if json.loads(path.read_bytes())["role"] == "user"}
    parts = [
        json.loads(path.read_bytes()) for path in sorted(storage.glob("part/*/*.json")) if path.parent.name in users
    ]
    return [part["text"] for part in parts if part["type"] == "text" and not part.get("synthetic")]


def try_keys(chance: random.Random, folder: Path, environ: Mapping[str, str]) -> None:
    """Compare the prompt and messages after keys from the start on with those after keys at a complete screen."""
    before = "".join(chance.choice(BEFORE) for _ in range(chance.randrange(6))) if chance.random() < 0.4 else ""
    keys = [chance.choice(PIECES) for _ in range(chance.randrange(1, 12))]
    if chance.random() < 0.25:
        keys.insert(chance.randrange(len(keys) + 1), "\r")
    pauses = [chance.random() * 0.1 for _ in keys]
    sizes = [chance.choice(SIZES) if chance.random() < 0.15 else None for _ in keys]
    if chance.random() < 0.2:  # behind all other random numbers: a former seed has the same keys otherwise
        at = chance.randrange(len(keys) + 1)
        keys[at:at], pauses[at:at], sizes[at:at] = [LIST], [chance.random() * 0.1], [None]
    print(f"keys {before!r}, {keys!r}, sizes {[size for size in sizes if size]}", end=": ", flush=True)
    found: list[tuple[str, list[str]]] = []
    home = Path(environ["HOME"])
    for is_early in (False, True):
        known = len(messages(home))
        with open_screen(folder, environ, SIZES[0]) as terminal:
            if is_early:
                terminal.read_for(chance.random() * 0.03)
                terminal.type(before)
            else:
                terminal.sees("tour")
                terminal.read_until(lambda terminal=terminal: _OWNED in terminal.raw)
                terminal.rest(quiet=0.3)
                terminal.type(before)
            terminal.read_until(lambda terminal=terminal: b"\x1b[?2004h" in terminal.raw)
            last = SIZES[0]
            for key, pause, size in zip(keys, pauses, sizes, strict=True):
                terminal.type(key)
                terminal.read_for(pause)
                if is_early and size is not None:
                    terminal.resize(*size)
                    last = size
            if last != SIZES[0]:
                terminal.resize(*SIZES[0])
            terminal.type(f"\x1b[F{MARK}")
            terminal.read_until(lambda terminal=terminal: _OWNED in terminal.raw)
            terminal.sees(MARK)
            if "\r" in keys:  # what was sent is stored a moment later, at the start when the engine is open
                deadline = time.monotonic() + (PATIENCE_S if found else 8.0)
                while time.monotonic() < deadline and (
                    messages(home)[known:] != found[0][1] if found else not messages(home)[known:]
                ):
                    terminal.read_for(0.1)
            terminal.rest(quiet=0.3)
            deadline = time.monotonic() + PATIENCE_S
            while found and prompt_of(terminal) != found[0][0] and time.monotonic() < deadline:
                terminal.read_for(0.1)  # a busy machine
            found.append((prompt_of(terminal), messages(home)[known:]))
            os.kill(terminal.process.pid, signal.SIGTERM)
            terminal.ends()
    assert found[0] == found[1], f"{found[1]!r} from the start on, {found[0]!r} later"


def try_end(chance: random.Random, folder: Path, environ: Mapping[str, str]) -> None:
    """End, stop or fail a start at a random moment."""
    kind = chance.choice(("signal", "signal", "window", "crash"))
    number, size, is_at_once = chance.choice(SIGNALS), chance.choice(SIZES), chance.random() < 0.3
    delay = chance.random() * (0.12 if is_at_once else _LONGEST_S)
    moment = f"{delay:.3f} s after {'the start' if is_at_once or kind == 'crash' else 'the first frame'}"
    print(f"{number.name if kind == 'signal' else kind} {moment}", end=": ", flush=True)
    with open_screen(folder, environ, size, crash_s=delay if kind == "crash" else 0) as terminal:
        before = terminal.attributes_before
        if not is_at_once and kind != "crash":
            terminal.sees("Ask")
        terminal.read_for(delay)
        if kind == "window":
            terminal.hang_up()
            terminal.process.wait(PATIENCE_S)
            return
        if kind == "crash":
            terminal.read_for(1.0)
            number = signal.SIGTERM  # the loop of events may have handled it
        if terminal.process.poll() is None:
            os.kill(terminal.process.pid, number)
        if number is signal.SIGTSTP and is_stopped(terminal):
            check_restored(terminal, before)
            terminal.raw.clear()
            os.kill(terminal.process.pid, signal.SIGCONT)
            terminal.sees("Ask")
        if number is signal.SIGTSTP:
            os.kill(terminal.process.pid, signal.SIGTERM)
        terminal.ends()
        check_restored(terminal, before)


def is_stopped(terminal: ScreenTerminal) -> bool:
    """Return whether the program stops; before it has a handler the system ignores the signal, as no shell is there."""
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        terminal.read_for(0.02)
        found, status = os.waitpid(terminal.process.pid, os.WUNTRACED | os.WNOHANG)
        if found:
            assert os.WIFSTOPPED(status), "it ended"
            terminal.rest()
            return True
    return False


def check_restored(terminal: ScreenTerminal, before: list[object]) -> None:
    """Raise AssertionError unless the terminal has its settings, its own screen and its own modes."""
    raw = bytes(terminal.raw)
    assert terminal.attributes() == before, f"other settings of the terminal; {raw[-2000:]!r}"
    if b"\x1b[?1049h" not in raw:
        return
    assert raw.rfind(b"\x1b[?1049l") > raw.rfind(b"\x1b[?1049h"), "other screen"
    assert raw.count(b"\x1b[<u") >= raw.count(b"\x1b[>25u"), "the keys of kitty's protocol are on"
    for mode in {*re.findall(rb"\x1b\[\?(\d+)h", raw)} - {b"7", b"25"}:  # wrapping and the cursor are on before
        assert raw.rfind(b"\x1b[?%sl" % mode) > raw.rfind(b"\x1b[?%sh" % mode), f"{mode!r} is on"
    for mode in (b"7", b"25"):
        assert raw.rfind(b"\x1b[?%sh" % mode) > raw.rfind(b"\x1b[?%sl" % mode), f"{mode!r} is off"


def main() -> int:
    """Run the starts; return 1 at the first difference."""
    starts, seed, first = (
        int(sys.argv[at]) if len(sys.argv) > at else usual for at, usual in ((1, STARTS), (2, 1), (3, 0))
    )
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name) / "home", Path(name) / "work"
        home.mkdir()
        folder.mkdir()
        environ = isolated_environment(home)
        for number in range(first, first + starts):
            print(f"start {number} of seed {seed}", end=": ", flush=True)
            try:
                (try_keys if number % 2 else try_end)(random.Random(f"{seed} {number}"), folder, environ)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                print(error)
                return 1
            print("the same", flush=True)
    print(f"{starts} starts, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
