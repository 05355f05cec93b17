"""What is left of a command: reliability.md, R15. How long its end takes is measured in bench_bash."""

import asyncio
import os
import sys
import threading
from pathlib import Path

import pytest

from opencode_tui.engine.tool.process import process
from tests.support.shell.bench import ShellBench, new_token, running, survivors, until_running
from tests.support.shell.process_trees import TREES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc for survivors")


@pytest.fixture
def shell(tmp_path: Path, environ: dict[str, str]) -> ShellBench:
    folder = tmp_path / "project"
    folder.mkdir()
    return ShellBench(folder, environ=environ)


@pytest.fixture
def token() -> str:
    return new_token()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for place, name in enumerate(TREES) if place % 2 == 0 or place < 4])
async def test_a_command_that_ends_leaves_nothing_running(name: str, shell: ShellBench, token: str) -> None:
    result = await shell.run(TREES[name].format(n=token))
    assert survivors(token) == []
    assert result.metadata["exit"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["setsid", "TERM ignored", "daemon", "stopped"])
async def test_a_timeout_leaves_nothing_running(name: str, shell: ShellBench, token: str) -> None:
    result = await shell.run(f"({TREES[name].format(n=token)}); sleep {token}", timeoutMs=300)
    assert survivors(token) == []
    assert result.metadata["exit"] is None


@pytest.mark.parametrize("name", ["setsid", "TERM ignored", "daemon", "environment cleared"])
async def test_a_cancel_leaves_nothing_running(name: str, shell: ShellBench, token: str) -> None:
    task = asyncio.create_task(shell.run(f"({TREES[name].format(n=token)}); sleep {token}"))
    await until_running(f"sleep {token}", 2 if name != "daemon" else 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert survivors(token) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["background", "nohup", "setsid", "double fork", "daemon", "own group"])
@pytest.mark.parametrize("end", ["by itself", "timeout", "cancel"])
async def test_what_left_the_group_is_found_without_what_only_linux_has(
    name: str, end: str, shell: ShellBench, token: str, monkeypatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    command = TREES[name].format(n=token)
    if end == "by itself":
        await shell.run(command)
    elif end == "timeout":
        await shell.run(f"({command}); sleep {token}", timeoutMs=300)
    else:
        task = asyncio.create_task(shell.run(f"({command}); exec -a last sleep {token}"))
        await until_running(f"last {token}")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert survivors(token) == []


@pytest.mark.slow
async def test_what_escaped_gets_no_second_grace(shell: ShellBench, token: str, monkeypatch) -> None:
    """The group uses up the grace; whatever left it has no time to do more than to die."""
    monkeypatch.setattr(process, "CANCEL_GRACE_S", 1.0)
    saved = shell.folder / "saved"
    escaped = f"setsid bash -c \"trap 'sleep 0.5; touch {saved}' TERM; sleep {token} & wait; wait\""
    task = asyncio.create_task(shell.run(f"{escaped} & trap '' TERM; sleep {token}; sleep {token}"))
    await until_running(f"sleep {token}", 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (survivors(token), saved.exists()) == ([], False)


async def test_the_group_has_its_grace_after_a_cancel(shell: ShellBench, token: str, monkeypatch) -> None:
    monkeypatch.setattr(process, "CANCEL_GRACE_S", 30.0)
    saved = shell.folder / "saved"
    task = asyncio.create_task(shell.run(f"trap 'sleep 0.05; touch {saved}; exit' TERM; sleep {token} & wait"))
    await until_running(f"sleep {token}", 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (survivors(token), saved.exists()) == ([], True)


async def test_a_second_cancel_does_not_leave_the_work_half_done(shell: ShellBench, token: str) -> None:
    task = asyncio.create_task(shell.run(f"trap '' TERM; sleep {token}; sleep {token}"))
    await until_running(f"sleep {token}")
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0.01)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert survivors(token) == []


async def test_a_shell_that_ended_returns_though_its_child_holds_the_pipe(shell: ShellBench, token: str) -> None:
    result = await shell.run(f"sleep {token} & echo started")
    assert result.output == (
        "started\n\n<bash_metadata>\n"
        f"Stopped what was still running when the command ended (1): sleep {token}\n</bash_metadata>"
    )


async def test_what_finishes_by_itself_right_after_the_shell_is_waited_for(
    shell: ShellBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "FINISH_S", 5.0)  # for a busy machine
    result = await shell.run("echo first; echo second > >(sleep 0.03; cat)")
    assert result.output == "first\nsecond\n"


async def test_another_commands_processes_are_not_touched(shell: ShellBench, token: str) -> None:
    other = asyncio.create_task(shell.run(f"sleep {token}; true"))
    await until_running(f"sleep {token}")
    await shell.run("sleep 0.01 & setsid true & echo done")
    assert len(running(f"sleep {token}")) >= 1
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other


async def test_nothing_of_ours_stays_open(shell: ShellBench) -> None:
    await shell.run("true")
    before = len(os.listdir("/proc/self/fd")), own_threads()
    for command in ("true", "sleep 9 &", "exit 3"):
        await shell.run(command)
    await shell.run("sleep 9", timeoutMs=50)
    assert (len(os.listdir("/proc/self/fd")), own_threads()) == before


def own_threads() -> int:
    """Return how many threads there are but those of asyncio's pool, which grows when two of its works overlap."""
    return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())
