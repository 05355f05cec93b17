"""Eight sessions in four folders at once: what `ps`, the page of what runs and the page for phones list, compared with the records.

    python -m tests.benchmarks.bench_inbox [--seed N] [--moments N]

Real terminals, a real web server, a scripted model. Each session works, asks once, and ends; questions are answered at random
moments, by `answer` and by the page for phones, and one engine is killed on the way. A moment counts when the records before and
after a look say the same. A list that differs is looked at again, as a call is stored before its question is asked: one that
still differs is a fault. The processor time of a key on the page is measured meanwhile.
"""

import argparse
import json
import os
import random
import re
import signal
import sys
import tempfile
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
from tests.support.world.waiting import PATIENCE_S, wait_until

FOLDERS, EACH = 4, 2
STEPS = 14
MOMENTS = rounds(60, 6)
KEYS = rounds(200, 20)
LOOKS = 6
SETTLE_S = 1.0
"""Seconds between two looks: the page reads its list every two seconds."""
KEY_MS = 11
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


def task(name: str, chosen: random.Random) -> str:
    """Return a prompt whose answer is some steps, one of which asks."""
    asks_at = chosen.randrange(2, STEPS - 2)
    commands = [f"echo {name}; sleep {chosen.uniform(0.2, 1):.1f}" for _ in range(STEPS)]
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


def begin(desk: Desk, stack: ExitStack, chosen: random.Random) -> list[ScreenTerminal]:
    """Open the terminals and send the prompts."""
    terminals: list[ScreenTerminal] = []
    for number, folder in enumerate(desk.folders):
        terminal = stack.enter_context(desk.open(folder))
        terminals.append(terminal)
        for each in range(EACH):
            name = f"s{number * EACH + each}"
            terminal.sees("Ask anything")
            terminal.paste(task(name, chosen))
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


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=4711)
    parser.add_argument("--moments", type=int, default=MOMENTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ModelServer() as server:
        desk = Desk(Path(name), server)
        try:
            return report(measure(desk, options))
        finally:
            desk.line.kill_survivors()


if __name__ == "__main__":
    sys.exit(main())
