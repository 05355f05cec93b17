"""Kills the command at a chosen moment of a run and says what of its promises does not hold afterwards.

A lane is a project with a store and one session of its own, so that several lanes can work side by side: runs that are killed with
SIGKILL, and from time to time one that must work after them.
"""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencode_tui.storage.paths import find_paths
from tests.conftest import isolated_environment
from tests.support.sessions.stored import Stored, read_store
from tests.support.world.cli import CommandLine, kill_session, read_events
from tests.support.world.repo import make_repo

WORK = (
    'work <<slow 6>> <<reason think of it first>> <<words 20>> <<tool read {"filePath":"a.py"}>>'
    ' <<tool edit {"filePath":"a.py","oldString":"x = 1","newString":"x = 2"}>>'
    ' <<tool bash {"command":"sleep 0.1; echo made > made.txt","description":"Make"}>>'
)


@dataclass
class Lane:
    """A session that is killed again and again; `printed` are the lines that were ever printed."""

    line: CommandLine
    storage: Path
    chance: random.Random
    duration_s: float = 0.0
    session_id: str | None = None
    rounds: int = 0
    printed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    complaints: list[str] = field(default_factory=list[str])

    def measure(self) -> None:
        """Run once to the end, to know how long a run lasts and how many lines it prints."""
        done = self.line.turn(WORK)
        assert done.code == 0, done.stderr
        self.session_id, self.duration_s = done.session_id, done.seconds

    def kill(self, *, at_line: bool) -> None:
        """Kill a run, directly after one of its lines or at any moment of it, and check the store."""
        self.rounds += 1
        (self.line.folder / "a.py").write_text("x = 1\n")
        printed = self._killed_run(at_line=at_line)
        self.printed += printed
        self._check(f"kill {self.rounds} ({'at a line' if at_line else 'at a moment'}, {len(printed)} lines printed)")

    def recover(self) -> None:
        """Run to the end; afterwards nothing is open, and nothing that was ever printed has changed."""
        after = self.line.turn("and now", "-s", str(self.session_id))
        ends = [part["reason"] for part in after.parts("step_finish")]
        name = f"the run after kill {self.rounds}"
        if after.code != 0 or ends[-1:] != ["stop"]:
            self.complaints.append(f"{name} gave {after.code}, its steps ended with {ends}: {after.stderr}")
        self.printed += after.events
        self.complaints += [f"{name} left open: {what}" for what in self._check(name).unfinished]

    def _killed_run(self, *, at_line: bool) -> list[dict[str, Any]]:
        process = self.line.start_turn(WORK, "-s", str(self.session_id))
        printed = read_events(process, self.chance.randint(1, 14)) if at_line else []
        if not at_line:
            time.sleep(self.chance.uniform(0, self.duration_s))
        process.kill()
        printed += read_events(process)
        kill_session(process)
        return printed

    def _check(self, name: str) -> Stored:
        stored = read_store(self.storage)
        lost = lost_lines(stored, self.printed)
        self.complaints += [f"{name}: {what}" for what in [*stored.damaged, *stored.strays, *lost]]
        return stored


def make_lane(folder: Path, provider: Mapping[str, Any], *, seed: int) -> Lane:
    """Return a lane below a folder, measured."""
    home = folder / "home"
    home.mkdir(parents=True)
    repo = make_repo(folder / "project")
    repo.commit(**{"a.py": "x = 1\n"})
    environ = isolated_environment(home)
    line = CommandLine(repo.path, environ, provider=provider)
    lane = Lane(line=line, storage=find_paths(environ).storage, chance=random.Random(seed))
    lane.measure()
    return lane


def lost_lines(stored: Stored, printed: list[dict[str, Any]]) -> list[str]:
    """Return what was printed and is not on the disk as it was printed; nothing that has ended may change or go.

    The beginning of a step gets the state of its files when that is known, after it was printed.
    """
    lost: list[str] = []
    for event in printed:
        part = event.get("part")
        if part is None:
            continue
        found = stored.part(part["id"])
        if found is not None and part.get("type") == "step-start":
            found = {key: value for key, value in found.items() if key != "snapshot"}
        if found != part:
            lost.append(f"printed {part}, stored {found}")
    return lost
