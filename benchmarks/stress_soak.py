"""Eight hours of work in one process, compressed: 5,000 turns, with memory, open files, threads and tasks where they were.

Turns with tools, subagents, failures, aborts, undo and redo, compactions, and a listener for all events, against the scripted model
over a socket; a new session every 50 turns. The model is in another process. `BENCHMARK_SEED` repeats a run.

Memory is the process's PSS. It is compared with that after the warm-up, the first tenth of the turns and at
least 50. `--turns N` does another number.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.comparison import Figure, report
from benchmarks.rounds import report_progress, rounds
from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.engine.permission.policy import AutoApprove, RefuseQuestions
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import OpencodeError, ProviderError
from opencode_tui.schema.model import ModelRef
from opencode_tui.storage.paths import find_paths
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.stored import read_store
from tests.support.world.repo import make_repo

TURNS = rounds(5_000, 150)
A_SESSION = 50
SAMPLE_EVERY = rounds(25, 5)
GOAL_MB = 20
MODEL = ModelRef(provider_id="fake", model_id="fake-model")

_TASK = {"description": "look", "prompt": "look around <<words 40>>", "subagent_type": "general"}
TURN_KINDS: dict[str, tuple[int, str]] = {
    "words": (4, "say something {n} <<reason well>> <<words 120>>"),
    "read": (4, 'look {n} <<tool read {{"filePath":"a.py"}}>> <<tool grep {{"pattern":"value"}}>>'),
    "write": (4, 'write {n} <<tool write {{"filePath":"made{m}.txt","content":"{n}\\n"}}>>'),
    "command": (3, 'run {n} <<tool bash {{"command":"echo {n} > out{m}.txt; seq 300","description":"d"}}>>'),
    "parallel": (
        2,
        'both {n} <<par>> <<tool read {{"filePath":"a.py"}}>> <<tool bash {{"command":"ls","description":"d"}}>>',
    ),
    "wrong call": (1, 'try {n} <<tool read {{"filePath":"missing.py"}}>>'),
    "failure": (1, "fail {n} <<error 400 refused>>"),
    "retry": (1, "again {n} <<flaky 503 0>>"),
    "subagent": (1, "delegate {n} <<tool task " + json.dumps(_TASK).replace("{", "{{").replace("}", "}}") + ">>"),
    "abort": (2, "count {n} <<slow 5>> <<words 900>>"),
    "abort tool": (1, 'wait {n} <<tool bash {{"command":"sleep 30","description":"d"}}>>'),
    "undo": (2, 'undo {n} <<tool write {{"filePath":"undone.txt","content":"{n}\\n"}}>>'),
    "compact": (1, "short {n}"),
}
"""What a turn asks for, and how often of all; `n` is its number, `m` one of a few files."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the process uses after a turn; memory in MB."""

    turn: int
    memory: float
    files: int
    threads: int
    tasks: int
    seconds: float


def sample(turn: int, begun: float) -> Sample:
    """Measure this process."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    memory = next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    files = len(os.listdir("/proc/self/fd"))
    tasks = len(asyncio.all_tasks())
    return Sample(turn, memory, files, threading.active_count(), tasks, time.monotonic() - begun)


class Soak:
    """Turns after turns with one client."""

    def __init__(self, client: LocalClient, chance: random.Random) -> None:
        self._client = client
        self._chance = chance
        self._session_id = ""
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []

    async def turn(self, number: int) -> None:
        """Do one turn, of a kind by chance; what is not as it must be goes into `problems`."""
        if number % A_SESSION == 0:
            self._session_id = (await self._client.sessions.create(CreateSession())).id
        kind = self._chance.choices(list(TURN_KINDS), [weight for weight, _ in TURN_KINDS.values()])[0]
        self.counts[kind] += 1
        text = TURN_KINDS[kind][1].format(n=number, m=self._chance.randrange(10))
        problem = await (self._abort(text) if kind.startswith("abort") else self._whole(kind, text))
        if problem:
            self.problems.append(f"turn {number}, {kind}: {problem}")
        await self._client.messages.list(self._session_id, 100)

    async def _whole(self, kind: str, text: str) -> str | None:
        error: OpencodeError | None = None
        try:
            await self._client.prompts.prompt(self._session_id, _request(text))
        except ProviderError as failed:
            error = failed
        if (error is not None) != (kind == "failure"):
            return f"its error is {error}"
        if kind == "undo":
            await self._client.undo.revert(self._session_id)
            if self._chance.random() < 0.5:
                await self._client.undo.unrevert(self._session_id)
        if kind == "compact":
            await self._client.context.compact(self._session_id, CompactSession())
        return None

    async def _abort(self, text: str) -> str | None:
        turn = asyncio.create_task(self._client.prompts.prompt(self._session_id, _request(text)))
        await asyncio.sleep(self._chance.uniform(0.05, 0.4))
        await self._client.prompts.abort(self._session_id)
        begin = time.monotonic()
        with contextlib.suppress(OpencodeError):  # RunAborted, as wanted
            await turn
        late = time.monotonic() - begin
        if await self._client.prompts.status():
            return "not idle after the abort"
        return f"ended {late:.1f} s after the abort" if late > 5 else None


def _request(text: str) -> PromptInput:
    return PromptInput(model=MODEL, parts=[TextInput(text=f"<<anew>> {text}")])


async def run_engine(settings: str, folder: Path, *, seed: int, turns: int) -> None:
    """Run the turns and print a JSON line per sample, and one at the end."""
    environ = {**isolated_environment(folder / "home"), "OPENCODE_CONFIG_CONTENT": settings}
    begun = time.monotonic()
    async with open_client(environ, folder / "project", policy=AutoApprove(RefuseQuestions())) as client:
        with client.events() as events:

            async def listen() -> None:
                async for _ in events:
                    pass

            listener = asyncio.create_task(listen())
            soak = Soak(client, random.Random(seed))
            for number in range(turns):
                await soak.turn(number)
                if (number + 1) % SAMPLE_EVERY == 0:
                    print(json.dumps(asdict(sample(number + 1, begun))), flush=True)
            listener.cancel()
            await asyncio.wait({listener})
    print(json.dumps({"problems": soak.problems, "counts": soak.counts}), flush=True)


def figures_of(samples: list[Sample], turns: int) -> list[Figure]:
    """Compare what was used after the warm-up with the end."""
    after = [one for one in samples if one.turn >= max(50, turns // 10)]
    window = max(3, len(after) // 10)
    first, last = after[:window], after[-window:]

    def grown(name: str) -> float:
        return statistics.median(getattr(one, name) for one in last) - statistics.median(
            getattr(one, name) for one in first
        )

    peak = max(one.memory for one in after) - statistics.median(one.memory for one in first)
    return [
        Figure(f"{turns} turns: memory grown", grown("memory"), GOAL_MB, "MB"),
        Figure(f"{turns} turns: highest memory over the first", peak, 2 * GOAL_MB, "MB"),
        Figure(f"{turns} turns: open files grown", grown("files"), 2, ""),
        Figure(f"{turns} turns: threads grown", grown("threads"), 4, ""),
        Figure(f"{turns} turns: tasks grown", grown("tasks"), 2, ""),
    ]


def soak(folder: Path, *, seed: int, turns: int) -> list[Figure]:
    """Run the engine in a process of its own and return its figures."""
    (folder / "home").mkdir()
    repo = make_repo(folder / "project")
    repo.commit(**{"a.py": "value = 1\n" * 40})
    command = [sys.executable, "-m", "benchmarks.stress_soak", "--folder", str(folder), "--seed", str(seed)]
    command += ["--turns", str(turns)]
    samples, ended, begun = list[Sample](), dict[str, Any](), time.monotonic()
    with ModelServer() as server:
        settings = json.dumps({"provider": server.config()})
        with subprocess.Popen([*command, "--settings", settings], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                value = json.loads(line)
                for kept in (server.requests, server.titles, server.answered):
                    kept.clear()  # bodies of 5,000 turns
                if "problems" in value:
                    ended = value
                    continue
                samples.append(Sample(**value))
                report_progress(samples[-1].turn, turns)
                one = samples[-1]
                left = (time.monotonic() - begun) / one.turn * (turns - one.turn)
                if one.turn % (4 * SAMPLE_EVERY) == 0:
                    print(
                        f"{one.turn} turns: {one.memory:.1f} MB, {one.files} files, {one.threads} threads, {one.tasks} tasks,"
                        f" {left:.0f} s left",
                        flush=True,
                    )
    if process.returncode or not ended:
        return [
            Figure(f"{len(samples) * SAMPLE_EVERY} of {turns} turns, then ended with", process.returncode or 1, 0, "")
        ]
    stored = read_store(find_paths(isolated_environment(folder / "home")).storage)
    wrong = [*ended["problems"], *stored.damaged, *stored.strays, *stored.unfinished]
    print(*wrong[:20], sep="\n")
    print(f"turns: {ended['counts']}")
    return [
        *figures_of(samples, turns),
        Figure(f"{turns} turns: wrong ends, open or damaged records", len(wrong), 0, ""),
    ]


def main() -> int:
    """Run and print; return 1 when something grew or went wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--settings", default="{}")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("BENCHMARK_SEED") or random.randrange(1 << 30)))
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    if options.folder:
        asyncio.run(run_engine(options.settings, options.folder, seed=options.seed, turns=options.turns))
        return 0
    if not Path("/proc/self/smaps_rollup").exists():
        print("memory is read from /proc, which this system does not have")
        return 0
    print(f"{options.turns} turns, seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        return report(soak(Path(name), seed=options.seed, turns=options.turns))


if __name__ == "__main__":
    sys.exit(main())
