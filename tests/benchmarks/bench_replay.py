"""A session of 1,000 turns with 30 compactions, 4 restarts and 200 planted facts: what is kept, found, written and held in memory.

The engine is a process of its own between two restarts; the last one does 800 turns. The driver, the model, and the checks that
read the whole session are in this one, so that the memory is that of a program which works: it has one heap for all threads and
looks for garbage as seldom as the program. Each kind of tool is used before turn 10, with which the memory at the end is compared.
"""

import asyncio
import gc
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencode_tui.__main__ import GARBAGE_THRESHOLD
from opencode_tui.engine.session.compaction.recall import find_excerpts
from opencode_tui.engine.session.records.loading import load_session
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.storage import Storage
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.replay import Driver, Plan, Result, State, local_run, make_folder, settings, size_of
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer

QUICK = Plan(turns=100, facts=60, restarts=(20, 40))
_LONGEST_LINE = 1 << 26


class RemoteRun:
    """An engine in a process of its own, spoken to in lines of JSON; `paths` are those of its records."""

    def __init__(self, process: asyncio.subprocess.Process, paths: Paths) -> None:
        self._process = process
        self._storage = Storage(paths)
        self.session_id = ""

    async def prompt(self, text: str, feedback: str) -> State:
        state = State(**await self.ask({"prompt": [text, feedback]}))
        return State(state.written, proportional(self._process.pid), state.causes)

    async def recall(self, words: Sequence[str]) -> list[str]:
        return await asyncio.to_thread(unfound, self._storage, self.session_id, words)

    async def ask(self, order: dict[str, Any]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the engine's process ended")
        return json.loads(line)


def proportional(pid: int) -> int:
    """Return the KiB of a process in memory, of what it shares with others its part."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    raise RuntimeError("no Pss")


def unfound(storage: Storage, session_id: str, words: Sequence[str]) -> list[str]:
    """Return the words that a recall does not find in the stored messages."""
    messages = load_session(storage, session_id).messages
    return [word for word in words if not any(word in one.text for one in find_excerpts(messages, word))]


async def serve(folder: Path, session_id: str | None) -> None:
    """Be the engine's process."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    async with local_run(os.environ, folder, session_id) as run:
        while line := await asyncio.to_thread(sys.stdin.readline):
            match json.loads(line):
                case {"prompt": [text, feedback]}:
                    state = await run.prompt(text, feedback)
                    answer: Any = {"written": state.written, "memory": state.memory, "causes": list(state.causes)}
                case _:
                    answer = run.session_id
            print(json.dumps(answer), flush=True)


async def replay(plan: Plan, root: Path) -> Result:
    """Do all turns, and return what was seen."""
    folder = root / "project"
    make_folder(folder)
    environ = isolated_environment(root)
    with ModelServer() as server:
        variables = {**os.environ, **environ, "OPENCODE_CONFIG_CONTENT": json.dumps(settings(server, plan))}
        driver, session_id = Driver(plan, folder, server), ""
        for first, last in zip((1, *(one + 1 for one in plan.restarts)), (*plan.restarts, plan.turns), strict=True):
            session_id = await _segment(driver, variables, folder, session_id, range(first, last + 1))
    driver.result.records = size_of(find_paths(environ).storage)
    return driver.result


async def _segment(driver: Driver, environ: Mapping[str, str], folder: Path, session_id: str, turns: range) -> str:
    """Do turns in one process, and return the session's id."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.benchmarks.bench_replay", "--serve", str(folder), session_id),
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_LONGEST_LINE,
    )
    run = RemoteRun(process, find_paths(environ))
    run.session_id = await run.ask({})
    await driver.turns(run, turns[0], turns[-1])
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()
    return run.session_id


def figures(result: Result, plan: Plan) -> list[Figure]:
    """Return what was seen, with its goals."""
    first, last = result.memory[10], result.memory[plan.turns]
    return [
        Figure(f"facts not in the next request, of {result.checked}", len(result.lost), 0, ""),
        Figure(f"facts not found by recall, of {result.recalled}", len(result.unfound), 0, ""),
        Figure(
            f"new beginnings, of {result.requests} requests, beyond compactions",
            result.breaks - result.compactions,
            0,
            "",
        ),
        Figure("new beginnings without a named cause", len(result.unnamed), 0, ""),
        Figure("bytes written over bytes of the records", result.written / 1e6, 3, "MB", floor=result.records / 1e6),
        Figure(f"memory at turn {plan.turns} over turn 10", last / 1024, 1.2, "MB", floor=first / 1024),
    ]


def main() -> int:
    """Replay and print the table."""
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run(serve(Path(sys.argv[2]), sys.argv[3] or None))
        return 0
    plan = QUICK if os.environ.get("BENCHMARK_QUICK") else Plan(turns=int(os.environ.get("REPLAY_TURNS", "1000")))
    with tempfile.TemporaryDirectory() as name:
        result = asyncio.run(replay(plan, Path(name)))
    print(f"{plan.turns} turns, {result.compactions} compactions, {len(plan.restarts)} restarts, {plan.facts} facts")
    print("  MB after turns: " + ", ".join(f"{n}: {result.memory[n] / 1024:.0f}" for n in result.memory if n % 50 == 0))
    for words in (*result.lost[:10], *result.unfound[:10], *result.unnamed[:10]):
        print(f"  {words}")
    return report(figures(result, plan))


if __name__ == "__main__":
    sys.exit(main())
