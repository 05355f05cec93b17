import asyncio
from itertools import count

import pytest
from msgspec.structs import replace

from opencode_tui.engine.command.commands import SnippetShell
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.tool.builtin.bash_permission import ON_HOST
from tests.support.world.tools import Workbench


@pytest.fixture
def shell(tmp_path, environ):
    numbers = count()
    return SnippetShell(
        environ=environ,
        home=tmp_path,
        folder=tmp_path,
        reserve_output=lambda: tmp_path / f"full_{next(numbers)}",
        secrets=Lazy(lambda: Secrets(environ)),
        sandbox=Lazy(lambda: pytest.fail("the command runs on the host")),
    )


def run(shell, command):
    """Run a snippet of the user's own command."""
    return shell.run(command, ON_HOST, Workbench(shell.folder).context)


async def test_output_and_errors_come_back_as_they_are_printed(shell):
    assert await run(shell, "echo one; echo two >&2; pwd; exit 3") == f"one\ntwo\n{shell.folder}\n"


async def test_a_snippet_that_takes_too_long_is_stopped_and_reported(shell):
    assert await run(replace(shell, timeout_ms=200), "echo begun; sleep 30") == (
        "begun\n(`echo begun; sleep 30` was stopped after 0.2 s)"
    )


async def test_a_cancel_ends_what_the_snippet_started(shell):
    task = asyncio.create_task(run(shell, "touch begun; sleep 30; touch ended"))
    while not (shell.folder / "begun").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    assert (task.cancelled(), (shell.folder / "ended").exists()) == (True, False)


async def test_of_a_long_output_both_ends_are_kept(shell):
    text = await run(shell, "seq 1 100000")
    assert len(text) < 60_000
    assert text.startswith("1\n2\n")
    assert "100000" in text


async def test_a_deleted_folder_is_reported(shell):
    gone = replace(shell, folder=shell.folder / "gone")
    assert (await run(gone, "pwd")).startswith("(could not start `pwd` in ")
