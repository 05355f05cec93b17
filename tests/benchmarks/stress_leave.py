"""Leaving a task of 20 steps at random moments, by closing the terminal, by a quit and by `/background`, and coming back; kills.

    python -m tests.benchmarks stress_leave

Real terminals, real processes, a scripted model. Exit code 1 when a step is missing or ran twice, when the model was asked for one
twice, when a question was lost or asked again, or when an engine at rest wakes up, writes or stays too large. An engine without a
terminal that is killed with -9 must leave whole records, be listed as stopped, and go on with the next prompt.
"""

import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

from opencode_tui.storage.engine_claim import live_engines
from opencode_tui.storage.paths import find_paths
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import counted, rounds
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.stored import read_store
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.waiting import wait_until

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
    wait_until(lambda: not world.line.survivors(grace_s=0))
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


def main() -> int:
    """Run all."""
    chosen, faulty = random.Random(SEED), 0
    with tempfile.TemporaryDirectory() as name, ModelServer() as server:
        figures = rest(World(Path(name) / "rest", server))
        report(figures)
        for number in counted(MOMENTS, of=MOMENTS + KILLS):
            way, faults = round_of(World(Path(name) / str(number), server), server, chosen)
            faulty += bool(faults)
            print(f"{number:>3}  {way:<45} {'; '.join(faults) or 'whole'}", flush=True)
        killed = 0
        for number in counted(KILLS, after=MOMENTS):
            way, faults = kill_round(World(Path(name) / f"kill{number}", server), chosen)
            killed += bool(faults)
            print(f"{number:>3}  {way:<45} {'; '.join(faults) or 'whole'}", flush=True)
    figures.append(Figure(f"moments of {MOMENTS} with a fault", faulty, 0, ""))
    return report([*figures, Figure(f"kills of {KILLS} with a fault", killed, 0, "")])


if __name__ == "__main__":
    sys.exit(main())
