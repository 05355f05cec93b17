"""A command that reaches a limit says so to the model, on the screen and on the command line, inside the sandbox and outside."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.sandbox.tier import probe
from opencode_tui.schema.api.request import ShellInput
from opencode_tui.text.tool import facts_of
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.engine import MODEL, World, opened
from tests.support.world.repo import make_repo

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")]

MANY = "for one in $(seq 20); do sleep 4021 & done; wait"
REACHED = {"kind": "processes", "value": 10}


def settings(tier: str) -> dict[str, Any]:
    return {"permission": {"bash": "allow"}, "experimental": {"sandbox": {"tier": tier, "processes": 10}}}


def call(tool: str, **arguments: Any) -> str:
    return f"<<tool {tool} {json.dumps(arguments)}>>"


def bash(command: str, **arguments: Any) -> str:
    return call("bash", command=command, description="x", **arguments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.txt": "a\n", "many.sh": MANY})
    return repo.path


async def last_call(world: World, message: str, session: Any = None) -> Any:
    session = await world.prompt(message, session=session) if session else await world.prompt(message)
    return session, (await world.calls(session))[-1].state


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock", "none"])
async def test_the_result_names_the_limit(environ: dict[str, str], folder: Path, tier: Any) -> None:
    if tier != "none" and not (status := probe(tier, environ)).works:
        pytest.skip(status.reason)
    async with opened(environ, folder, settings=settings(tier)) as world:
        _, state = await last_call(world, f"go {bash('bash many.sh')}")
    assert (state.metadata["limit"], state.metadata["exit"]) == (REACHED, None)
    assert "Stopped at 10 processes; let it use less." in state.output
    assert "experimental.sandbox.processes" in state.output
    assert [fact.text for fact in facts_of("bash", state)] == ["stopped at 10 processes"]


async def test_a_background_command_names_it_too(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings=settings("none")) as world:
        session, _ = await last_call(world, f"go {bash('bash many.sh', background=True)}")
        _, state = await last_call(world, f"look {call('bash_output', id='bg1', wait=20)}", session)
        [command] = await world.client.background.list()
    assert state.metadata["limit"] == REACHED
    assert "bg1 was stopped at 10 processes." in state.output
    assert [fact.text for fact in facts_of("bash_output", state)] == ["stopped at 10 processes"]
    assert (command.state, command.exit_code, command.limit and command.limit.value) == ("stopped", None, 10)


async def test_the_users_own_command_has_no_limits(environ: dict[str, str], folder: Path) -> None:
    async with opened(environ, folder, settings=settings("none")) as world:
        session = await world.new_session()
        text = "for one in $(seq 20); do sleep 0.3 & done; wait; ulimit -n; echo done"
        await world.client.prompts.shell(session.id, ShellInput(agent="build", model=MODEL, command=text))
        state = (await world.calls(session))[-1].state
    assert "limit" not in state.metadata
    assert state.output.endswith("done\n")


def test_run_says_it_in_its_line(environ: dict[str, str], folder: Path) -> None:
    with ModelServer() as server:
        line = CommandLine(folder, environ, provider=server.config(), settings=settings("none"))
        done = line.run("run", "--auto=outside", "-m", "fake/fake-model", f"go {bash('bash many.sh')}")
    assert "stopped at 10 processes" in done.stdout + done.stderr


def test_a_confined_program_of_the_user_ends_as_a_killed_one(environ: dict[str, str], folder: Path) -> None:
    if not (status := probe("landlock", environ)).works:
        pytest.skip(status.reason)
    content = json.dumps(settings("landlock"))
    line = CommandLine(folder, {**environ, "OPENCODE_CONFIG_CONTENT": content})
    done = line.run("debug", "sandbox", "--", "bash", "many.sh")
    assert done.code == 137
    assert "stopped at 10 processes" in done.stderr
