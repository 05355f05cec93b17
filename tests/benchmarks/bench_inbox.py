"""Eight sessions in four folders at once: what `ps`, the page of what runs and the page for phones list, compared with the records.

    python -m tests.benchmarks.bench_inbox [--seed N] [--moments N] [--only lists|keys]

Real terminals, a real web server, a scripted model. Each session works, asks once, and ends; questions are answered at random
moments, by `answer` and by the page for phones, and one engine is killed on the way. A moment counts when the records before and
after a look say the same. A list that differs is looked at again, as a call is stored before its question is asked: one that
still differs is a fault. The processor time of a key on the page is measured meanwhile.

Then letters are typed where longer sessions work, in turns with letters on a screen of a user without sessions: what other programs
do makes both late. Beside it stands how late without what the scheduler gave to others, the same on a quiet machine.
"""

import argparse
import json
import os
import random
import re
import select
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from opencode_tui.storage.paths import find_paths
from opencode_tui.text.inbox import ENDED_STATES
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import counted, rounds
from tests.benchmarks.stress_leave import seconds
from tests.conftest import isolated_environment
from tests.support.browser.web import PASSWORD, web_server
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.stopwatch import Stopwatch
from tests.support.world.waiting import PATIENCE_S, wait_until

FOLDERS, EACH = 4, 2
STEPS = 14
LONG_STEPS = rounds(60, 20)
MOMENTS = rounds(60, 6)
KEYS = rounds(200, 20)
LOOKS = 6
SETTLE_S = 1.0
"""Seconds between two looks: the page reads its list every two seconds."""
KEY_MS = 11
LETTERS = [chr(code) for code in (*range(0x410, 0x450), *range(0x531, 0x557))]
"""No text of the screen has them."""
LETTERS_AT_ONCE = 10
"""Letters into one terminal before the next one has its turn; the first is not counted, as much may have waited to be drawn."""
LOST_S = 5.0
SLACK = 1.25
"""How much later a letter may be drawn than on a screen without sessions, where other programs make that one late too."""
WORDS = {"asks you": "asks", "stopped": "stopped", "retries": "retries", "works": "works"}
Listed = Mapping[str, str]
"""The state of each session that is listed, by its name."""


class Desk:
    """The sessions, their records, and the ways to look at them."""

    def __init__(self, root: Path, server: ModelServer) -> None:
        for name in ("home", "desk", *(f"folder{number}" for number in range(FOLDERS))):
            (root / name).mkdir()
        environ = isolated_environment(root / "home")
        rules = {"*": "allow", "touch *": "ask"}
        settings = {"model": "fake/fake-model", "background": {"rest": 1}, "permission": {"bash": rules}}
        self.line = CommandLine(root / "desk", environ, provider=server.config(), settings=settings)
        self.folders = [root / f"folder{number}" for number in range(FOLDERS)]
        self.storage = find_paths(environ).storage
        self.answered: set[str] = set()
        """The names of the sessions whose question was answered."""
        self.killed: set[str] = set()
        """The names of those whose process was killed."""

    def open(self, folder: Path, *, size: tuple[int, int] = (110, 34)) -> ScreenTerminal:
        """Open the screen in a folder."""
        line = replace(self.line, folder=folder)
        return ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables(), size=size)

    def names(self) -> dict[str, str]:
        """Return the name of each session by its ID: the first word of its prompt."""
        found: dict[str, str] = {}
        for path in self.storage.glob("part/*/*.json"):
            part = json.loads(path.read_text())
            if part["type"] == "text" and (named := re.match(r"(s\d) work", part["text"])):
                found[part["sessionID"]] = named[1]
        return found

    def truth(self) -> Listed:
        """Return what is to be listed, as the records say."""
        found: dict[str, str] = {}
        for session_id, name in self.names().items():
            paths = sorted(self.storage.glob(f"message/{session_id}/*.json"))
            last = json.loads(paths[-1].read_text())
            if last.get("finish") == "stop" and "completed" in last["time"]:
                continue
            parts = [json.loads(path.read_text()) for path in self.storage.glob(f"part/{last['id']}/*.json")]
            waits = any(
                one["type"] == "tool"
                and one["state"]["status"] in ("pending", "running")
                and "touch" in str(one["state"].get("input"))
                for one in parts
            )
            asks = waits and name not in self.answered
            found[name] = "stopped" if name in self.killed else "asks" if asks else "works"
        return found

    def rows(self) -> list[dict[str, Any]]:
        """Return what `ps` lists."""
        rows = json.loads(self.line.run("ps", "--format", "json").stdout)
        return [row for row in rows if row["state"] not in ENDED_STATES]


def task(name: str, chosen: random.Random, steps: int) -> str:
    """Return a prompt whose answer is some steps, one of which asks."""
    asks_at = chosen.randrange(2, steps - 2)
    commands = [f"echo {name} {step}; sleep {chosen.uniform(0.2, 1):.1f}" for step in range(steps)]
    commands[asks_at] = f"echo {name} && touch asked-{name}"
    calls = (json.dumps({"command": one, "description": "a step"}) for one in commands)
    return f"{name} work <<slow 10>> " + " ".join(f"<<tool bash {one}>>" for one in calls)


class Phone:
    """The page for phones, over HTTP."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, headers={"origin": url}, trust_env=False, timeout=PATIENCE_S)
        self._key: str = self._http.post("/web/login", json={"password": PASSWORD}).raise_for_status().json()["key"]

    def rows(self) -> list[dict[str, Any]]:
        """Return what the page lists."""
        return self._http.get("/web/inbox/list").raise_for_status().json()["rows"]

    def allow(self, request_id: str) -> bool:
        """Answer a question; return whether the answer counted."""
        ticket = self._http.post("/web/ticket", json={"key": self._key}).raise_for_status().json()["ticket"]
        given = {"act": "once", "id": request_id, "ticket": ticket}
        return self._http.post("/web/inbox/act", json=given).raise_for_status().json()


def shown_on(terminal: ScreenTerminal) -> Listed:
    """Return what the page of what runs shows, once all of it that was written is read."""
    terminal.rest()
    found: dict[str, str] = {}
    for line in terminal.lines():
        state = next((word for word in WORDS if word in line[:16]), None)
        named = re.search(r"\b(s\d) work", line)
        if state and named:
            found[named[1]] = WORDS[state]
    return found


def compare(desk: Desk, look: Callable[[], Listed]) -> tuple[str, int]:
    """Return how a list differs from the records, empty if it does not, and how many looks came before the right one."""
    said, late = "", 0
    for _ in range(LOOKS):
        before = desk.truth()
        listed = look()
        if desk.truth() != before:
            continue
        if listed == before:
            return "", late
        said, late = f"{dict(sorted(listed.items()))} instead of {dict(sorted(before.items()))}", late + 1
        time.sleep(SETTLE_S)
    return said, late


def begin(desk: Desk, stack: ExitStack, chosen: random.Random, *, steps: int = STEPS) -> list[ScreenTerminal]:
    """Open the terminals and send the prompts."""
    terminals: list[ScreenTerminal] = []
    for number, folder in enumerate(desk.folders):
        terminal = stack.enter_context(desk.open(folder))
        terminals.append(terminal)
        for each in range(EACH):
            name = f"s{number * EACH + each}"
            terminal.sees("Ask anything")
            terminal.paste(task(name, chosen, steps))
            terminal.press("enter")
            terminal.read_until(lambda name=name: name in desk.names().values())
            if each + 1 < EACH:
                terminal.type("/new\r")
    return terminals


def answer(desk: Desk, phone: Phone, chosen: random.Random) -> str:
    """Answer a question that waits, by one of the two ways; return what was wrong."""
    rows = [row for row in desk.rows() if row["state"] == "asks"]
    if not rows:
        return ""
    row = chosen.choice(rows)
    request_id, name = row["asks"][0]["id"], desk.names()[row["sessionID"]]
    is_by_command = chosen.random() < 0.5
    counts = desk.line.run("answer", request_id, "yes").code == 0 if is_by_command else phone.allow(request_id)
    desk.answered.add(name)
    return "" if counts else f"the answer to {name} did not count"


@contextmanager
def looking(desk: Desk) -> Generator[tuple[ScreenTerminal, Phone]]:
    """Open the page of what runs, and the page for phones."""
    with desk.open(desk.line.folder, size=(150, 40)) as page, web_server(desk.line) as server:
        page.sees("Ask anything")
        page.type("/running\r")
        page.sees("What runs")
        yield page, Phone(server.url.rstrip("/"))


def read_all(page: ScreenTerminal, duration: float) -> None:
    """Read what the page writes in so many seconds."""
    end = time.monotonic() + duration
    while (left := end - time.monotonic()) > 0:
        page.read_for(left)


def key_ms(page: ScreenTerminal) -> float:
    """Return the processor time of the page's process for a key, in ms, without what it uses in the same time anyway."""
    pid = page.process.pid

    def used(work: Callable[[], None]) -> tuple[float, float]:
        before, begun = seconds(pid), time.monotonic()
        work()
        return seconds(pid) - before, time.monotonic() - begun

    def type_keys() -> None:
        for number in range(KEYS):
            page.press("down" if number % 2 else "up")

    typed, duration = used(type_keys)
    alone, _ = used(lambda: read_all(page, duration))
    return max(0.0, typed - alone) * 1000 / KEYS


class Typing:
    """Letters that are typed one by one, and how soon each was drawn: ms with and without what the scheduler gave to others."""

    def __init__(self) -> None:
        self.passed: list[float] = []
        self.used: list[float] = []
        self.lost = 0
        """Letters that were not drawn although no question had come."""
        self._next = 0

    def type_into(self, terminal: ScreenTerminal) -> None:
        """Type some letters into a prompt and remove them, unless a question has its place."""
        terminal.rest(timeout=0.3)
        if terminal.process.poll() is not None or asks(terminal):
            return
        for number in range(LETTERS_AT_ONCE):
            letter = LETTERS[self._next % len(LETTERS)]
            self._next += 1
            found = echo_ms(terminal, letter)
            if found is None:
                if not asks(terminal):
                    self.lost += 1
                    print(f"the letter {letter} was lost:\n{terminal.shown()}", flush=True)
                return
            if number:
                self.passed.append(found[0])
                self.used.append(found[1])
            terminal.read_for(0.05)
        terminal.press(*(["backspace"] * LETTERS_AT_ONCE))

    def p95_ms(self, whose: str) -> float:
        """Print the times, and return their 95th percentile."""
        passed, used = (statistics.quantiles(times, n=20, method="inclusive")[-1] for times in (self.passed, self.used))
        print(
            f"{len(self.used)} letters {whose}: p95 {passed:.1f} ms, without the scheduler {used:.1f} ms, "
            f"median {statistics.median(self.passed):.1f} and {statistics.median(self.used):.1f} ms"
        )
        return passed


def asks(terminal: ScreenTerminal) -> bool:
    """Return whether a question has the place of the prompt."""
    return "Waiting for your" in terminal.shown()


def echo_ms(terminal: ScreenTerminal, letter: str) -> tuple[float, float] | None:
    """Return how soon a typed letter is drawn, with and without what the scheduler gave to others; None when it is not."""
    wanted, drawn, end = letter.encode(), b"", time.monotonic() + LOST_S
    pid = terminal.process.pid
    # the first thread of a process is that of its screen
    watch = Stopwatch(f"self/task/{threading.get_native_id()}", f"{pid}/task/{pid}")
    os.write(terminal._master, wanted)
    while wanted not in drawn and (left := end - time.monotonic()) > 0:
        if select.select([terminal._master], [], [], left)[0]:
            drawn += os.read(terminal._master, 65_536)
    passed = watch.passed
    used = max(0.0, watch.seconds)
    terminal.take(drawn)
    return (passed * 1000, min(used, passed) * 1000) if wanted in drawn else None


def type_letters(desk: Desk, screen: ScreenTerminal, seed: int) -> list[Figure]:
    """Type until all sessions have ended; answer what they ask, so that they do. Return how soon letters were drawn."""
    beside, alone = Typing(), Typing()
    with ExitStack() as stack:
        terminals = begin(desk, stack, random.Random(seed), steps=LONG_STEPS)
        while desk.truth():
            for terminal in terminals:
                beside.type_into(terminal)
                alone.type_into(screen)
            for row in [row for row in desk.rows() if row["state"] == "asks"]:
                desk.line.run("answer", row["asks"][0]["id"], "yes")
                desk.answered.add(desk.names()[row["sessionID"]])
        for terminal in terminals:
            terminal.press("ctrl+d", "ctrl+d")
            terminal.ends()
    ours, floor = beside.p95_ms("beside eight sessions"), alone.p95_ms("on a screen without sessions")
    return [
        Figure("a letter beside eight sessions, p95", ours, max(KEY_MS, floor * SLACK)),
        Figure("letters that were lost", beside.lost + alone.lost, 0, ""),
    ]


@contextmanager
def alone_screen(root: Path, server: ModelServer) -> Generator[ScreenTerminal]:
    """Open the screen of a user without sessions."""
    (root / "alone-home").mkdir()
    (root / "alone").mkdir()
    settings = {"model": "fake/fake-model"}
    environ = isolated_environment(root / "alone-home")
    line = CommandLine(root / "alone", environ, provider=server.config(), settings=settings)
    with ScreenTerminal(["-m", "opencode_tui"], folder=line.folder, environ=line.variables()) as terminal:
        terminal.sees("Ask anything")
        yield terminal
        terminal.press("ctrl+d", "ctrl+d")
        terminal.ends()


def measure(desk: Desk, options: argparse.Namespace) -> list[Figure]:
    """Look at random moments until all has ended; return the figures."""
    chosen = random.Random(options.seed)
    faults: list[str] = []
    late = {"ps": 0, "page": 0, "phone": 0}
    with ExitStack() as stack:
        terminals = begin(desk, stack, chosen)
        page, phone = stack.enter_context(looking(desk))
        names = desk.names()
        ways: dict[str, Callable[[], Listed]] = {
            "ps": lambda: {names[row["sessionID"]]: row["state"] for row in desk.rows()},
            "page": lambda: shown_on(page),
            "phone": lambda: {names[row["id"]]: row["state"] for row in phone.rows()},
        }
        per_key = key_ms(page)

        def look(moment: str) -> None:
            for way, listed in ways.items():
                said, after = compare(desk, listed)
                late[way] += bool(after and not said)
                if said:
                    faults.append(f"{moment}: {way} lists {said}")
                    print(faults[-1], flush=True)

        for number in counted(options.moments):
            time.sleep(chosen.uniform(0, 0.5))
            look(f"moment {number}")
            print(f"moment {number}: {dict(sorted(desk.truth().items()))}", flush=True)
            if number == options.moments // 2:
                last = {f"s{(FOLDERS - 1) * EACH + each}" for each in range(EACH)}
                desk.killed = last & desk.truth().keys()
                os.kill(terminals[-1].process.pid, signal.SIGKILL)
                terminals[-1].process.wait()
            elif chosen.random() < 0.4 and (said := answer(desk, phone, chosen)):
                faults.append(said)
        while len(desk.answered | desk.killed) < FOLDERS * EACH and desk.truth():
            if said := answer(desk, phone, chosen):
                faults.append(said)
        wait_until(lambda: set(desk.truth()) == desk.killed)
        look("at the end")
        print(f"killed on the way: {sorted(desk.killed)}; later looks: {late}", flush=True)
        for terminal in terminals[:-1]:
            terminal.press("ctrl+d", "ctrl+d")
            terminal.ends()
    left = desk.line.survivors(grace_s=5)
    desk.line.kill_survivors()
    return [
        Figure(f"lists of {3 * (options.moments + 1)} that differ from the records", len(faults), 0, ""),
        Figure("processes left", len(left), 0, ""),
        Figure("processor time of a key on the page", per_key, KEY_MS),
    ]


def run(part: str, root: Path, server: ModelServer, options: argparse.Namespace) -> list[Figure]:
    """Run a part, and end all that it started."""
    desk = Desk(root, server)
    try:
        if part == "lists":
            return measure(desk, options)
        with alone_screen(root, server) as screen:
            return type_letters(desk, screen, options.seed)
    finally:
        desk.line.kill_survivors()


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=4711)
    parser.add_argument("--moments", type=int, default=MOMENTS)
    parser.add_argument("--only", choices=("lists", "keys"), help="one of the two parts")
    options = parser.parse_args()
    figures: list[Figure] = []
    for part in ("lists", "keys"):
        if options.only in (None, part):
            with tempfile.TemporaryDirectory() as name, ModelServer() as server:
                figures += run(part, Path(name), server, options)
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
