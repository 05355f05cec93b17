"""A long session, a project of many sessions and a large tree: what waits for them, beside ripgrep and git in the same run.

In full 20,000 messages, 10,000 sessions, 200,000 files; `python -m benchmarks.bench_scale --messages 20000 --sessions 100000
--files 0` takes other numbers (100,000 sessions need 2 GB). Each wait has its processor time beside it, which holds on a busy
machine, where the clock says nothing. Commands are measured from their start, with the start of Python; those of many sessions over
the same command with one session.
"""

import argparse
import asyncio
import gc
import math
import multiprocessing
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

from benchmarks.comparison import Figure, report
from benchmarks.rounds import rounds
from benchmarks.scale_stores import StoreWriter
from benchmarks.scale_trees import measure_tree
from opencode_tui.__main__ import GARBAGE_THRESHOLD
from opencode_tui.client.local import open_client
from opencode_tui.engine.search.build import start_build
from opencode_tui.engine.search.index import IndexFiles
from opencode_tui.schema.api.request import ForkSession
from opencode_tui.schema.ids import system_clock
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage
from opencode_tui.tui.pages.timeline_reader import TimelineReader
from opencode_tui.tui.sessions.known_sessions import KnownSessions
from opencode_tui.tui.sessions.session_list import SessionList
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.session_map import SessionMap
from opencode_tui.tui.theme.look import UNICODE
from tests.conftest import isolated_environment
from tests.support.provider.canned_server import CannedServer, answer_packets, provider
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo

MESSAGES, SESSIONS, FILES = (20_000, 2_000), (10_000, 1_000), (200_000, 5_000)
"""In full and with --quick."""

ROUNDS = 3
OLDER_MS = 3_600_000
"""How old the newest record is at least: what was written just now may not be kept by derived files."""

_MB = 1024

P = ParamSpec("P")
T = TypeVar("T")


class Spent(NamedTuple):
    """Seconds of one command until its end and until its request arrived (0 without one), seconds of the processor, peak memory."""

    wall: float
    request: float
    processor: float
    megabytes: float


class World(NamedTuple):
    """A project with records, and what runs commands in it."""

    line: CommandLine
    server: CannedServer
    storage: Path
    writer: StoreWriter

    def run(self, *arguments: str) -> Spent:
        """Run a command some times and return the medians; the first run warms up."""
        runs = [self.once(*arguments) for _ in range(rounds(ROUNDS, 1) + 1)][1:]
        return Spent(*(statistics.median(column) for column in zip(*runs, strict=True)))

    def once(self, *arguments: str) -> Spent:
        """Run a command."""
        command, arrived = [sys.executable, "-m", "opencode_tui", *arguments], len(self.server.arrived)
        begin = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=self.line.folder,
            env=self.line.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, command
        wall = time.monotonic() - begin
        request = self.server.arrived[arrived] - begin if len(self.server.arrived) > arrived else 0.0
        return Spent(wall, request, used.ru_utime + used.ru_stime, used.ru_maxrss / _MB)

    def turn(self, *options: str) -> Spent:
        """Run one turn."""
        return self.run(*self.line.turn_arguments("hello", *options))

    def ripgrep(self, name: str) -> list[Figure]:
        """Return how long ripgrep takes to list and to search the records; no goals."""
        work = {"listed": ["--files", "--hidden"], "searched": _SEARCHED}
        return [
            Figure(f"{name}: {done} by ripgrep, processor", self.scanned(self.storage, options), math.inf, "s")
            for done, options in work.items()
        ]

    def scanned(self, folder: Path, options: Sequence[str]) -> float:
        """Return the seconds of the processor that ripgrep takes for the records of a folder."""
        ripgrep = shutil.which("rg", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
        if ripgrep is None:
            raise FileNotFoundError("rg: a goal is a ratio to it")
        command = [ripgrep, *options, str(folder)]
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)  # reads the disk
        return _children(
            lambda: subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
        )

    def built(self) -> float:
        """Return the seconds of the processor that the index for searches takes."""
        paths = find_paths(self.line.environ)
        paths.lock.mkdir(parents=True, exist_ok=True)
        taken = _children(lambda: start_build(str(paths.storage), paths.cache, paths.lock / "search").wait())
        assert IndexFiles(paths.cache, str(paths.storage)).current() is not None
        return taken


_SEARCHED = ["--count", "--no-ignore", "no such words"]
"""What ripgrep reads all records for."""


def _children(work: Callable[[], object]) -> float:
    """Return the seconds of the processor of the processes that were started and ended by a work."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def make_world(root: Path, server: CannedServer) -> World:
    """Return an empty project below a folder."""
    home = root / "home"
    home.mkdir(parents=True)
    repo = make_repo(root / "project")
    repo.commit(**{"a.py": "x = 1\n"})
    environ = isolated_environment(home)
    storage = find_paths(environ).storage
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    writer = StoreWriter(storage, project_id=first, directory=repo.path, now_ms=system_clock() - OLDER_MS)
    return World(CommandLine(repo.path, environ, provider=provider(server.base_url)), server, storage, writer)


def measure_long(world: World, messages: int) -> list[Figure]:
    """One long session."""
    session_id, name = world.writer.write_long_session(messages), f"{messages:,} messages"
    figures = _elsewhere(_measure_calls, world.line.variables(), world.line.folder, session_id, name)
    preview = world.run("session", "revert", "--dry-run", session_id)
    shown = world.run("session", "show", session_id)
    turn, fork = world.turn("-s", session_id), world.turn("-s", session_id, "--fork")
    compact = world.once("session", "compact", session_id)  # a second one would have nothing to do
    return [
        *figures,
        Figure(f"{name}: session revert --dry-run", preview.wall, 1, "s"),
        Figure(f"{name}: session revert --dry-run, processor", preview.processor, 1, "s"),
        Figure(f"{name}: session show", shown.wall, 3, "s"),
        Figure(f"{name}: session show, processor", shown.processor, 3, "s"),
        Figure(f"{name}: run -s, until its request", turn.request, 1.5, "s"),
        Figure(f"{name}: run -s, processor", turn.processor, 1.5, "s"),
        Figure(f"{name}: run -s, memory", turn.megabytes, 120, "MB"),
        Figure(f"{name}: run -s --fork, until its request", fork.request, 1.5, "s"),
        Figure(f"{name}: run -s --fork, processor", fork.processor, 1.5, "s"),
        Figure(f"{name}: session compact, until its request", compact.request, 1.5, "s"),
        Figure(f"{name}: session compact, processor", compact.processor, 1.5, "s"),
        *world.ripgrep(name),
    ]


def _elsewhere(measure: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Return what a function returns in a process of its own, whose memory is set up as that of the screen.

    Its peak memory is not that of this one.
    """
    own = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, own, _set_up) as other:
        return other.submit(measure, *arguments, **named).result()


def _set_up() -> None:
    gc.set_threshold(GARBAGE_THRESHOLD)


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MB


def _measure_calls(environ: Mapping[str, str], folder: Path, session_id: str, name: str) -> list[Figure]:
    return asyncio.run(_measure_engine(environ, folder, session_id, name))


async def _measure_engine(environ: Mapping[str, str], folder: Path, session_id: str, name: str) -> list[Figure]:
    """Calls of the client, in the order in which a screen makes them."""
    async with open_client(environ, folder) as client:
        page = await _timed(client.messages.list(session_id, 100))
        context = await _timed(client.context.items(session_id))
        megabytes = _megabytes()
        begun = _now()
        fork = await client.sessions.fork(session_id, ForkSession())
        forked = _since(begun)
        await client.sessions.wait_copied(fork.id)
        await client.sessions.remove(fork.id)
        begun = _now()
        timeline = TimelineReader(client.messages, session_id, ())
        await timeline.start()
        first_rows = _since(begun)
        while timeline.left:
            await timeline.read_older()
        rows = _since(begun)
    measured = [
        ("the newest 100", page, 0.3),
        ("items of the context page", context, 0.5),
        ("fork", forked, 0.1),
        ("first rows of the timeline", first_rows, 0.1),
        ("all rows of the timeline", rows, 0.5),
    ]
    return [
        Figure(f"{name}: the newest 100 and the context page, memory", megabytes, 120, "MB"),
        Figure(f"{name}: then the whole timeline, memory", _megabytes(), 120, "MB"),
        *(
            Figure(f"{name}: {what}{kind}", spent, goal, "s")
            for what, both, goal in measured
            for kind, spent in zip(("", ", processor"), both, strict=True)
        ),
    ]


def _now() -> tuple[float, float]:
    return time.monotonic(), time.process_time()


def _since(begun: tuple[float, float]) -> tuple[float, float]:
    """Return the seconds since then by the clock, and those of the processor."""
    wall, processor = _now()
    return wall - begun[0], processor - begun[1]


async def _timed(work: Awaitable[object]) -> tuple[float, float]:
    begun = _now()
    await work
    return _since(begun)


def measure_many(world: World, few: World, sessions: int) -> list[Figure]:
    """Many sessions, and in `few` one."""
    few.writer.write_sessions(1)
    world.writer.write_sessions(sessions)
    name = f"{sessions:,} sessions"
    listing, stats = ("session", "list", "-n", "50"), ("stats",)
    (listed, listed_few), (counted, counted_few) = (
        (world.run(*command), few.run(*command)) for command in (listing, stats)
    )
    new, latest = world.turn(), world.turn("-c")
    whole = world.run("session", "list")
    searched_by = world.scanned(world.storage, _SEARCHED)
    return [
        Figure(f"{name}: session list -n 50, more than of one", listed.wall - listed_few.wall, 0.2, "s"),
        Figure(f"{name}: session list -n 50, processor", listed.processor - listed_few.processor, 0.2, "s"),
        Figure(f"{name}: session list -n 50, memory", listed.megabytes, 90, "MB"),
        Figure(f"{name}: session list, processor", whole.processor, 3, "s"),
        Figure(f"{name}: session list, memory", whole.megabytes, 90, "MB"),
        Figure(f"{name}: stats, more than of one", counted.wall - counted_few.wall, 0.5, "s"),
        Figure(f"{name}: stats, processor", counted.processor - counted_few.processor, 0.5, "s"),
        Figure(f"{name}: run -c to the request, more than run", latest.request - new.request, 0.2, "s"),
        Figure(f"{name}: run -c, processor, more than run", latest.processor - new.processor, 0.2, "s"),
        *_elsewhere(_measure_list, find_paths(world.line.environ), world.writer.project_id, world.line.folder, name),
        Figure(f"{name}: index for searches, processor, over ripgrep", world.built(), 3, "s", floor=searched_by),
        *world.ripgrep(name),
    ]


KEYS = "step 12"
"""What is typed into the filter of the sessions page."""


def _measure_list(paths: Paths, project_id: str, directory: Path, name: str) -> list[Figure]:
    """The rows behind the sessions page, in processor time: read, made, looked at again, and filtered by each key."""
    control = SessionController(
        as_client(ScriptedClient(Script([], directory=directory))),
        opened=lambda: None,
        lagged=lambda _reason: None,
        requested=lambda _event: None,
        clock=time.time,
    )
    begun = time.process_time()
    found, _ = SessionIndex(Storage(paths)).listed(project_id)
    control.folder.sessions = SessionMap(found)
    read = time.process_time() - begun
    sessions = SessionList(KnownSessions(control))
    begun = time.process_time()
    sessions.read(UNICODE)
    made = time.process_time() - begun
    begun = time.process_time()
    sessions.read(UNICODE)
    again = time.process_time() - begun
    begun = time.process_time()
    sessions.prepare()
    prepared = time.process_time() - begun
    spent: list[float] = []
    for key in KEYS * 4:
        begun = time.process_time()
        sessions.type(key)
        spent.append((time.process_time() - begun) * 1_000)
        if len(sessions.typed) == len(KEYS):
            sessions.clear_filter()
    return [
        Figure(f"{name}: sessions of the screen at its start, processor", read, 0.3, "s"),
        Figure(f"{name}: rows of the sessions page, processor", made, 0.2, "s"),
        Figure(f"{name}: the same while nothing changed", again * 1_000, 30),
        Figure(f"{name}: its filter, made ready in another thread, processor", prepared, 0.2, "s"),
        Figure(f"{name}: a key of its filter, p95", statistics.quantiles(spent, n=20)[-1], 50),
        Figure(f"{name}: the sessions and these rows, memory", _megabytes(), 90, "MB"),
    ]


def main() -> int:
    """Measure and return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=rounds(*MESSAGES))
    parser.add_argument("--sessions", type=int, default=rounds(*SESSIONS))
    parser.add_argument("--files", type=int, default=rounds(*FILES))
    options = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder, CannedServer(answer_packets(20)) as server:
        root = Path(folder)
        if options.messages:
            figures += measure_long(make_world(root / "long", server), options.messages)
            shutil.rmtree(root / "long")
        if options.sessions:
            many, few = make_world(root / "many", server), make_world(root / "few", server)
            figures += measure_many(many, few, options.sessions)
            shutil.rmtree(root / "many")
        if options.files:
            figures += measure_tree(root, options.files)
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
