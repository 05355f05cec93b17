"""Eight agents in worktrees that write 10,000 files together: the session's checkout until it applies their changes, and the costs.

    python -m tests.benchmarks agents

Exit code 1 when a byte of the checkout differs before a change is applied, when a file of an agent is missing, or a worktree
is left.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from opencode_tui.client.local import open_client
from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.agent_branch import agent_branch
from opencode_tui.storage.paths import find_paths
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer, provider_config

AGENTS = 8
FILES = rounds(10_000, 400)
MODEL = ModelRef(provider_id="fake", model_id="fake-model")


def git(folder: Path, *words: str) -> str:
    """Return the output of git."""
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def make_repository(folder: Path) -> None:
    """Make a repository with 500 files, one of them changed since the commit."""
    folder.mkdir()
    git(folder, "init", "-q")
    for number in range(500):
        place = folder / f"d{number % 20}"
        place.mkdir(exist_ok=True)
        (place / f"f{number}.txt").write_text(f"{number}\n" * 20)
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "first")
    (folder / "d0" / "f0.txt").write_text("changed\n")


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of the checkout, of its git folder the index, HEAD and settings."""
    git_files = [folder / ".git" / name for name in ("HEAD", "config", "index")]
    own = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in (*git_files, *own)}


def task(number: int) -> Call:
    """Return the call that starts an agent, whose one command writes its files."""
    count = FILES // AGENTS
    writes = f"for i in $(seq {count}); do echo $i > new{number}/$i.txt; done"
    command = f"mkdir -p new{number}; {writes}; echo {number} | tee -a d1/f1.txt"
    prompt = f"write {number} <<tool bash {json.dumps({'command': command, 'description': 'writes'})}>>"
    work = {"description": "write", "prompt": prompt, "subagent_type": "general", "isolation": "worktree"}
    return Call("task", work)


async def measure(root: Path, server: ModelServer) -> list[Figure]:
    """Run the agents, apply what one after the other did, and return the figures."""
    repo = root / "repo"
    (root / "home").mkdir()
    make_repository(repo)
    environ = isolated_environment(root / "home")
    environ["OPENCODE_CONFIG_CONTENT"] = json.dumps({"provider": provider_config(server.base_url)})
    server.script(Answer(calls=tuple(task(number) for number in range(AGENTS))))
    before = contents(repo)
    async with open_client(environ, repo, policy=RefuseQuestions()) as client:
        session = await client.sessions.create(CreateSession(title="named"))

        async def send(text: str) -> float:
            begun = time.monotonic()
            await client.prompts.prompt(session.id, PromptInput(model=MODEL, parts=[TextInput(text=text)]))
            return time.monotonic() - begun

        wrote_s = await send("go")
        differing = [name for name, data in contents(repo).items() if before.get(name) != data]
        children = await client.sessions.children(session.id)
        branches = [agent_branch(child) for child in children]
        apply_s, conflicts = 0.0, 0
        for child in children:
            arguments = {
                "description": "x",
                "prompt": "",
                "subagent_type": "general",
                "task_id": child.id,
                "apply": True,
            }
            server.script(Answer(calls=(Call("task", arguments),)))
            apply_s += await send("apply")
            conflicts += not (branch := agent_branch(await client.sessions.get(child.id))) or not branch.is_applied
    written = sum(1 for path in repo.glob("new*/*") if path.is_file())
    left = len(list(find_paths(environ).tasks.iterdir()))
    return [
        Figure("files of the checkout that differ before anything is applied", len(differing), 0, ""),
        Figure("agents without a branch", AGENTS - len({one.branch for one in branches if one and one.branch}), 0, ""),
        Figure("agents whose changes conflict with those of the first", conflicts, AGENTS - 1, ""),
        Figure("files that are missing after the first was applied", max(0, FILES // AGENTS - written), 0, ""),
        Figure("worktrees that are left", left, 0, ""),
        Figure("eight agents with their worktrees", wrote_s, rounds(120, 60), "s"),
        Figure("applying what they did", apply_s, rounds(120, 60), "s"),
    ]


def main() -> int:
    """Measure and report."""
    with tempfile.TemporaryDirectory() as name, ModelServer() as server:
        return report(asyncio.run(measure(Path(name), server)))


if __name__ == "__main__":
    sys.exit(main())
