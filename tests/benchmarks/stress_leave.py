"""Leaving a task of 20 steps at random moments, by closing the terminal, by a quit and by `/background`, and coming back; kills.

    python -m tests.benchmarks stress_leave
    python -m tests.benchmarks.stress_leave [--jobs N] [--seed N] [--only rest|leave|kill] [--count N]

Real terminals, real processes, a scripted model. Exit code 1 when a step is missing or ran twice, when the model was asked for one
twice, when a question was lost or asked again, or when an engine at rest wakes up, writes or stays too large. An engine without a
terminal that is killed with -9 must leave whole records, be listed as stopped, and go on with the next prompt. A line
names the seed of each round: `--only KIND --seed SEED --count 1` runs it again.
"""

import argparse
import json
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from opencode_tui.storage.engine_claim import live_engines
from opencode_tui.storage.paths import find_paths
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import report_progress, rounds
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.stored import read_store
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.waiting import PATIENCE_S, wait_until

MOMENTS = rounds(500, 6)
KILLS = rounds(500, 4)
REST_S = rounds(600, 10)
STEPS = 20
ASKS_AT = 11
"""The step whose command asks."""
SHELL = ["-c", "import os; os.environ['PS1'] = 'SHELL> '; os.execvp('bash', ['bash', '--norc', '--noprofile'])"]
SEED = 4711
RULES = {"*": "allow", "touch *": "ask"}


class World:
    """A folder of its own with the command line in it."""

    def __init__(self, root: Path, server: ModelServer) -> None:
        (root / "home").mkdir(parents=True)
        (root / "work").mkdir()
        settings = {"model": "fake/fake-model", "background": {"rest": 1}, "permission": {"bash": RULES}}
        environ = isolated_environment(root / "home")
        self.line = CommandLine(root / "work", environ, provider=server.config(), settings=settings)
        self.log = root / "work/log"
        self.paths = find_paths(environ)

    def start(self, *arguments: str, is_in_shell: bool = False) -> ScreenTerminal:
        """Open the screen in a terminal, by a shell if asked."""
        words = ["-m", "opencode_tui", *arguments]
        terminal = ScreenTerminal(
            SHELL if is_in_shell else words, folder=self.line.folder, environ=self.line.variables()
        )
        if is_in_shell:
            terminal.sees("SHELL>")
            terminal.type(f"{sys.executable} {' '.join(words)}\r")
        return terminal

    def done(self) -> list[str]:
        """Return the steps that have run, in their order."""
        return self.log.read_text().split() if self.log.exists() else []

    def has_begun(self) -> bool:
        """Return whether the prompt is stored: what was typed before that is lost with its terminal."""
        return any(self.paths.storage.glob("message/*/*.json"))

    def results(self) -> int:
        """Return how many calls have a result."""
        parts = [json.loads(path.read_text()) for path in self.paths.storage.glob("part/*/*.json")]
        return sum(one["type"] == "tool" and one["state"]["status"] == "completed" for one in parts)


def task() -> str:
    """Return the prompt whose answer is the steps, one call each."""
    commands = [f"echo {step} | tee -a log; sleep 0.1" for step in range(STEPS)]
    commands[ASKS_AT] = f"echo {ASKS_AT} | tee -a log && touch asked"
    calls = (json.dumps({"command": one, "description": "a step"}) for one in commands)
    return "work <<slow 10>> " + " ".join(f"<<tool bash {one}>>" for one in calls)


def leave(terminal: ScreenTerminal, way: str) -> None:
    """Leave the terminal while the task works."""
    if way == "hang up":
        terminal.hang_up()
    elif way == "quit":
        terminal.press("ctrl+x", "q")
        terminal.sees("keep working in the background")
        terminal.answer("y")
    else:
        terminal.type("/background\r")
    if way != "hang up":
        terminal.sees("goes on in the background")
        terminal.sees("SHELL>")


def round_of(world: World, server: ModelServer, chosen: random.Random) -> tuple[str, list[str]]:
    """Leave once and come back; return the way and what was wrong."""
    way, moment = chosen.choice(["hang up", "quit", "background"]), chosen.randrange(ASKS_AT + 1)
    pause_s, away_s, asked = chosen.uniform(0, 0.2), chosen.uniform(0, 2), len(server.requests)
    faults: list[str] = []
    with world.start(is_in_shell=way != "hang up") as terminal:
        terminal.sees("Ask anything")
        terminal.paste(task())
        terminal.press("enter")
        terminal.read_until(lambda: world.has_begun() and len(world.done()) >= moment)
        terminal.read_for(pause_s)
        leave(terminal, way)
        time.sleep(away_s)
        with world.start("-c") as again:
            again.sees("run once")
            again.answer("y")
            again.sees("Done:")
            again.press("ctrl+d", "ctrl+d")
            again.ends()
        wait_until(lambda: not live_engines(world.paths))
        if way != "hang up":
            terminal.type("exit\r")
    if world.done() != [str(step) for step in range(STEPS)]:
        faults.append(f"the steps are {' '.join(world.done())}")
    if world.results() != STEPS:
        faults.append(f"{world.results()} results")
    if len(server.requests) - asked != STEPS + 1:
        faults.append(f"{len(server.requests) - asked} requests")
    if left := world.line.survivors(grace_s=5):
        faults.append(f"{len(left)} processes are left")
        world.line.kill_survivors()
    return f"{way} after {moment} steps and {pause_s:.2f} s", faults


def kill_round(world: World, chosen: random.Random) -> tuple[str, list[str]]:
    """Kill the engine once after its terminal was closed, and go on; return the moment and what was wrong."""
    moment, pause_s = chosen.randrange(ASKS_AT), chosen.uniform(0, 0.4)
    faults: list[str] = []
    with world.start() as terminal:
        terminal.sees("Ask anything")
        terminal.paste(task())
        terminal.press("enter")
        terminal.read_until(lambda: world.has_begun() and len(world.done()) >= moment)
        terminal.hang_up()
        wait_until(lambda: any(one.is_detached for one in live_engines(world.paths)))
        time.sleep(pause_s)
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.process.wait()
    if left := world.line.survivors(grace_s=PATIENCE_S):
        states = [f"{one} ({_state(int(one.split()[0]))})" for one in left]
        raise AssertionError(f"{len(left)} processes are left: {'; '.join(states)}")
    for path in world.paths.storage.rglob("*.json"):
        try:
            json.loads(path.read_text())
        except ValueError:
            faults.append(f"{path.name} is not whole")
    rows = json.loads(world.line.run("ps", "--format", "json").stdout)
    if [one["state"] for one in rows] != ["stopped"]:
        faults.append(f"listed as {[one['state'] for one in rows]}")
    with world.start("-c") as again:
        again.sees("Session ended unexpectedly")
        again.type("<<anew>> go on\r")
        again.read_until(lambda: "Echo: go on" in again.shown() or "Done: go on" in again.shown())
        again.sees("✓ Done")
        again.press("ctrl+d", "ctrl+d")
        again.ends()
    if unfinished := read_store(world.paths.storage).unfinished:
        faults.append(f"{len(unfinished)} records are unfinished")
    if len(set(world.done())) != len(world.done()):
        faults.append(f"the steps are {' '.join(world.done())}")
    return f"killed after {moment} steps and {pause_s:.2f} s", faults


def _state(pid: int) -> str:
    """Return the parent of a process, and what the process waits for in the kernel."""
    try:
        return f"{field(f'/proc/{pid}/status', 'PPid')}, {Path(f'/proc/{pid}/wchan').read_text()}"
    except OSError:
        return "it ended meanwhile"


def wakes(pid: int) -> int:
    """Return how often the threads of a process were woken so far."""
    texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    return sum(int(count) for text in texts for count in re.findall(r"^voluntary_ctxt_switches:\s*(\d+)", text, re.M))


def field(path: str, name: str) -> int:
    """Return a number of a file in /proc."""
    return int(re.findall(rf"^{name}:\s*(\d+)", Path(path).read_text(), re.MULTILINE)[0])


def seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rest(world: World) -> list[Figure]:
    """Return what an engine without a terminal uses while a question waits."""
    with world.start() as terminal:
        terminal.sees("Ask anything")
        terminal.paste('ask <<tool bash {"command": "touch asked", "description": "asks"}>>')
        terminal.press("enter")
        terminal.sees("run once")
        terminal.hang_up()
        wait_until(lambda: any(one.is_detached for one in live_engines(world.paths)))
        time.sleep(5)
        pid = terminal.process.pid
        before = wakes(pid), seconds(pid), field(f"/proc/{pid}/io", "wchar")
        time.sleep(REST_S)
        after = wakes(pid), seconds(pid), field(f"/proc/{pid}/io", "wchar")
        size = field(f"/proc/{pid}/smaps_rollup", "Pss")
        terminal.process.terminate()
        terminal.process.wait()
    return [
        Figure("wake-ups of an engine at rest in a minute", (after[0] - before[0]) * 60 / REST_S, 20, ""),
        Figure("processor time of an engine at rest in a minute", (after[1] - before[1]) * 60 / REST_S, 0.01, "s"),
        Figure("bytes that an engine at rest writes", after[2] - before[2], 0, "B"),
        Figure("memory of an engine at rest", size / 1024, 60, "MiB"),
    ]


def one_round(kind: str, number: int, first_seed: int) -> tuple[str, list[str], list[str]]:
    """Run a round in a world with a seed and a model of its own; return the moment, its faults and what did not come in time."""
    chosen = random.Random(f"{kind} {first_seed + number}")
    with tempfile.TemporaryDirectory(prefix="leave") as name, ModelServer() as server:
        world = World(Path(name) / "world", server)
        try:
            way, faults = round_of(world, server, chosen) if kind == "leave" else kill_round(world, chosen)
        except (AssertionError, OSError) as error:  # this round could not be followed to its end; the others go on
            at = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == __file__][-1]
            return kind, [], [f"{type(error).__name__}: {error} (`{at.line}`)"]
        finally:
            world.line.kill_survivors()
    return way, faults, []


def run_rounds(options: argparse.Namespace, kind: str, count: int, after: int) -> tuple[int, int]:
    """Run the rounds of a kind side by side; return how many had a fault, and how many could not be followed to their end."""
    faulty = broken = done = 0
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = {pool.submit(one_round, kind, number, options.seed): number for number in range(count)}
        for job in as_completed(jobs):
            way, faults, missing = job.result()
            faulty, broken, done = faulty + bool(faults), broken + bool(missing), done + 1
            said = "; ".join(faults) or "".join(f"not followed: {one}" for one in missing) or "whole"
            print(f"{done:>3}  {kind} {options.seed + jobs[job]:<6} {way:<45} {said}", flush=True)
            report_progress(after + done, MOMENTS + KILLS)
    return faulty, broken


def main() -> int:
    """Run all, or what the options name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="rounds at a time; most of a round is waiting")
    parser.add_argument("--seed", type=int, default=SEED, help="of the first round; each round has one more")
    parser.add_argument("--only", choices=("rest", "leave", "kill"), help="one of the three parts")
    parser.add_argument("--count", type=int, help="rounds of each kind")
    options = parser.parse_args()
    figures: list[Figure] = []
    if options.only in (None, "rest"):
        with tempfile.TemporaryDirectory() as name, ModelServer() as server:
            figures += rest(World(Path(name) / "rest", server))
    after = 0
    for kind, full, word in (("leave", MOMENTS, "moments"), ("kill", KILLS, "kills")):
        if options.only in (None, kind):
            count = options.count or full
            faulty, broken = run_rounds(options, kind, count, after)
            figures.append(Figure(f"{word} of {count} with a fault", faulty, 0, ""))
            figures.append(Figure(f"{word} of {count} that were not followed to their end", broken, 0, ""))
            after += full
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
