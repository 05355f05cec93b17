"""kill -9 at random moments of a step that writes, edits and runs commands; then undo by the command.

Every path must be as before the turn, or be named as kept. What a file tool wrote must never be among the kept ones.
"""

import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.comparison import Figure, report
from benchmarks.rounds import counted, rounds
from opencode_tui.storage.paths import find_paths
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.stored import read_store
from tests.support.snapshot.worktree import facts_of
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.repo import make_repo

KILLS = rounds(100, 8)
FILES = ("a.py", "n/one.py", "n/two.py")
WORK = (
    'work <<par>> <<tool write {"filePath":"n/one.py","content":"1\\n"}>> <<tool write {"filePath":"n/two.py","content":"2\\n"}>>'
    ' <<tool apply_patch {"patchText":"*** Begin Patch\\n*** Update File: a.py\\n-x = 1\\n+x = 2\\n*** End Patch"}>>'
    ' <<tool bash {"command":"sleep 0.2; rm b.py; echo 1 > made; sleep 0.2; echo 2 > made2","description":"d"}>>'
)


def one_kill(folder: Path, server: ModelServer, chance: random.Random) -> tuple[list[str], int]:
    """Return what went wrong, and how many paths were kept."""
    (folder / "home").mkdir(parents=True)
    repo = make_repo(folder / "project")
    repo.commit(**{"a.py": "x = 1\n", "b.py": "y = 1\n"})
    environ = isolated_environment(folder / "home")
    line = CommandLine(repo.path, environ, provider=server.config())
    before = facts_of(repo.path)
    working = line.start_turn(WORK)
    wait_for_work(repo.path / "n", chance)
    working.kill()
    kill_session(working)
    line.kill_survivors()
    sessions = read_store(find_paths(environ).storage).of_kind("session")
    if not sessions or not read_store(find_paths(environ).storage).of_kind("message"):
        return [], 0
    undone = line.run("session", "revert", sessions[0]["id"])
    after = {name: fact for name, fact in facts_of(repo.path).items() if not name.rpartition("/")[2].startswith(".")}
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    silent = [name for name in changed if name not in undone.stdout]
    wrong = [f"{name} is not as before, and not named" for name in silent]
    wrong += [f"{name} was written by a file tool and is kept" for name in changed if name in FILES]
    if undone.code not in (0, 1) or "Traceback" in undone.stderr:
        wrong.append(undone.stderr)
    return wrong, len(changed)


def wait_for_work(made: Path, chance: random.Random) -> None:
    """Wait for a random moment around the tools' work: they begin when a folder is made."""
    deadline = time.monotonic() + chance.choice((chance.uniform(0.3, 1.5), 10, 10))
    while not made.exists() and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(chance.uniform(0, 0.5) if made.exists() else 0)


def main() -> int:
    """Print what went wrong and return the exit code."""
    chance = random.Random(time.time_ns())
    with tempfile.TemporaryDirectory() as name, ModelServer() as server, ThreadPoolExecutor(2) as pool:
        kills = pool.map(lambda n: one_kill(Path(name, str(n)), server, chance), range(KILLS))
        ended = [one for one, _ in zip(kills, counted(KILLS), strict=True)]
    problems = [problem for wrong, _ in ended for problem in wrong]
    for problem in problems[:10]:
        print(problem)
    print(f"{KILLS} kills, {sum(kept > 0 for _, kept in ended)} with files of a command that were named and kept")
    return report([Figure("paths that are wrong", len(problems), 0, "")])


if __name__ == "__main__":
    sys.exit(main())
