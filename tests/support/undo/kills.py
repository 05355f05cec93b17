"""Kills `session revert` and `session unrevert` at random moments and says what does not hold after the next start.

The files are all as before the turn or all as after it, and the session's record says which.
"""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from opencode_tui.storage.paths import find_paths
from tests.conftest import isolated_environment
from tests.support.sessions.stored import read_store
from tests.support.snapshot.worktree import Fact, facts_of
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.repo import make_repo

FILES = 60
LARGE = b"large\0" * (512 * 1024)
"""More than is recorded of an untracked file."""

IGNORED = 6
WORK = """
for n in $(seq 0 3 59); do echo new $n > f$n; done; for n in $(seq 1 3 59); do rm f$n; done;
mkdir made; for n in $(seq 0 19); do echo made > made/n$n; done;
for n in $(seq 0 2 5); do echo new > data/i$n; done; rm -r uploads; rm -f local.sqlite video.mov; truncate -s 5 data/rows.bin
""".strip().replace("\n", " ")
CALL = f'work <<tool bash {{"command":"{WORK}","description":"Work"}}>>'


@dataclass
class Undone:
    """A session whose last turn changed many files; `old` and `new` are the files around it."""

    line: CommandLine
    storage: Path
    session_id: str
    old: dict[str, Fact]
    new: dict[str, Fact]
    seconds: float

    def kill(self, chance: random.Random) -> list[str]:
        """Kill an undo, or the taking back of one, start anew, and return what is wrong."""
        verb = "unrevert" if self._is_undone() else "revert"
        process = self.line.start("session", verb, self.session_id)
        sleep(chance.uniform(0.3, 1.05) * self.seconds)
        kill_session(process)
        left = [file for _, _, files in os.walk(self.line.folder) for file in files if file.endswith(".tmp")]
        found = [f"temporary files {left}"] if len(left) > 1 else []
        again = self.line.run(*chance.choice((("session", "list"), ("session", "tree"), ("stats",))))
        found += [again.stderr] if again.code else []
        return [f"kill of {verb}: {what}" for what in [*found, *self._complaints()]]

    def _complaints(self) -> list[str]:
        files = facts_of(self.line.folder)
        if files not in (self.old, self.new):
            return ["the files are neither as before nor as after"]
        if (files == self.old) != self._is_undone():
            return [f"the record says undone: {self._is_undone()}, the files do not"]
        stored = read_store(self.storage)
        return [*stored.damaged, *stored.strays]

    def _is_undone(self) -> bool:
        return "revert" in read_store(self.storage).of_kind("session")[0]


def make_undone(folder: Path, provider: Mapping[str, Any]) -> Undone:
    """Return such a session, made with the scripted model."""
    home = folder / "home"
    home.mkdir()
    repo = make_repo(folder / "project")
    committed = {f"f{number}": f"old {number}\n" * 50 for number in range(FILES)}
    repo.commit(**committed, **{".gitignore": "*.sqlite\ndata/\nuploads/\n"})
    left = {f"data/i{number}": b"old\n" for number in range(IGNORED)} | {
        "local.sqlite": b"rows\n",
        "uploads/a.png": b"a",
    }
    for name, content in (left | dict.fromkeys(("data/rows.bin", "uploads/b.png", "video.mov"), LARGE)).items():
        path = repo.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    environ = isolated_environment(home)
    line = CommandLine(repo.path, environ, provider=provider)
    old = facts_of(repo.path)
    done = line.turn(CALL)
    new = facts_of(repo.path)
    assert done.code == 0 and new != old, done.stderr
    begin = monotonic()
    assert line.run("session", "revert", done.session_id).code == 0
    return Undone(line, find_paths(environ).storage, done.session_id, old, new, monotonic() - begin)
