"""Programs that stop or do not end: ripgrep, hooks, plugins, commands of the user. Each has a deadline, or the user ends it."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.format import formatters
from opencode_tui.engine.plugin import hooks as plugin_hooks
from opencode_tui.engine.plugin import loader
from opencode_tui.engine.tool.search import ripgrep
from opencode_tui.schema.api.request import ShellInput
from opencode_tui.schema.error import RunAborted
from tests.faults.conftest import CANCEL_S, Broken, broken, quickest
from tests.support.provider.model_script import Answer, Call
from tests.support.world.processes import is_running
from tests.support.world.stopwatch import Stopwatch
from tests.support.world.waiting import until

pytestmark = pytest.mark.slow


SHORT_S = 0.4
"""Seconds that each of them has here."""

PLUGIN = """
import asyncio
async def plugin(context):
    async def on_message(given, output):
        await asyncio.sleep(3600)
    return {"chat.message": on_message}
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a program that is found as ripgrep, and return the file in which it writes its number."""

    def write(script: str) -> Path:
        folder = tmp_path / "programs"
        folder.mkdir()
        (folder / "rg").write_text(f"#!/bin/sh\necho $$ > {folder}/pid\n{script}\n")
        (folder / "rg").chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(folder / "python"))
        return folder / "pid"

    return write


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.mark.parametrize(
    "script",
    [
        "exec sleep 3600",
        "kill -STOP $$",
        "setsid sleep 60 & exec sleep 3600",
        "while :; do printf './a.py\\0'; sleep 0.01; done",
    ],
    ids=["silent", "stopped", "pipe-held", "without-end"],
)
async def test_a_search_that_does_not_end_is_killed_after_its_time(
    environ: dict[str, str], work: Path, install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(ripgrep, "LIMIT_S", SHORT_S)
    pid = install(script)
    async with broken(environ, work, None) as world:
        world.server.script(Answer(calls=(Call("glob", {"pattern": "*.rs"}),)), Answer(text="went on"))
        session = await world.world.prompt("look")
        [call] = await world.world.calls(session)
        assert call.state.status == "error"
        assert call.state.error == f"the search did not end within {SHORT_S:g} s; search a narrower path"
        assert await world.world.answer(session) == "went on"
        assert await world.is_idle()
    assert not is_running(int(pid.read_text()))


async def test_a_search_that_does_not_end_is_interrupted_at_once(
    environ: dict[str, str], work: Path, install: Callable[[str], Path]
) -> None:
    pid = install("kill -STOP $$")
    async with broken(environ, work, None) as world:

        async def measured() -> float:
            pid.unlink(missing_ok=True)
            world.server.script(Answer(calls=(Call("grep", {"pattern": "x"}),)))
            took = await interrupted(world, lambda: pid.exists() and bool(pid.read_text()))
            assert not is_running(int(pid.read_text()))
            return took

        assert await quickest(measured) < CANCEL_S


async def interrupted(world: Broken, has_begun: Callable[[], bool]) -> float:
    """Return the seconds in which a turn ends that is interrupted when something has begun."""
    session = await world.world.new_session()
    turn = world.start(session)
    await until(has_begun)
    watch = Stopwatch()
    await world.world.client.prompts.abort(session.id)
    with pytest.raises(RunAborted):
        await turn
    took = watch.seconds
    assert await world.is_idle()
    return took


def hook(command: str, trigger: str = "UserPromptSubmit", timeout: float | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "command", "command": command, **({} if timeout is None else {"timeout": timeout})}
    return {"hooks": {trigger: [{"hooks": [entry]}]}}


async def test_a_hook_that_does_not_end_has_a_name_and_a_deadline(
    environ: dict[str, str], work: Path, quick_names: None
) -> None:
    async with broken(environ, work, None, settings=hook("kill -STOP $$", timeout=SHORT_S)) as world:
        session = await world.world.prompt("hello")
        assert await world.world.answer(session) == "Echo: hello"
        assert "hook" in world.waits  # beside the disk, which may be slow
        notices = await world.world.client.settings.notices()
        assert [one for one in notices.warnings if f"longer than {SHORT_S:g} s" in one]
        assert await world.is_idle()


async def test_a_plugin_that_does_not_end_has_a_name_and_a_deadline(
    environ: dict[str, str], work: Path, quick_names: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: Any = loader.load_plugins.__kwdefaults__
    assert limits["hook_limit_s"] == plugin_hooks.HOOK_LIMIT_S
    monkeypatch.setitem(limits, "hook_limit_s", SHORT_S)
    folder = Path(environ["XDG_CONFIG_HOME"]) / "opencode-tui" / "plugin"
    folder.mkdir(parents=True)
    (folder / "slow.py").write_text(PLUGIN)
    async with broken(environ, work, None) as world:
        session = await world.world.prompt("hello")
        assert await world.world.answer(session) == "Echo: hello"
        assert "hook" in world.waits  # beside the disk, which may be slow
        notices = await world.world.client.settings.notices()
        assert [one for one in notices.warnings if f"longer than {SHORT_S:g} s" in one]


async def test_a_hook_that_does_not_end_is_interrupted_at_once(environ: dict[str, str], work: Path) -> None:
    begun = work / "begun"
    async with broken(environ, work, None, settings=hook(f"touch {begun}; kill -STOP $$")) as world:

        async def measured() -> float:
            begun.unlink(missing_ok=True)
            return await interrupted(world, begun.exists)

        assert await quickest(measured) < CANCEL_S


async def test_a_command_of_the_user_whose_pipe_another_process_holds_ends_and_is_interrupted(
    environ: dict[str, str], work: Path
) -> None:
    async with broken(environ, work, None) as world:
        session = await world.world.new_session()
        prompts = world.world.client.prompts
        async with asyncio.timeout(20):
            await prompts.shell(session.id, ShellInput(agent="build", command="echo said; setsid sleep 3600 &"))
        [call] = await world.world.calls(session)
        assert "said" in call.state.output

        async def measured() -> float:
            (work / "begun").unlink(missing_ok=True)
            command = "trap '' TERM; touch begun; setsid sleep 3600 & kill -STOP $$"
            running = asyncio.create_task(prompts.shell(session.id, ShellInput(agent="build", command=command)))
            await until((work / "begun").exists)
            watch = Stopwatch()
            await prompts.abort(session.id)
            with pytest.raises(RunAborted):
                await running
            return watch.seconds

        assert await quickest(measured) < CANCEL_S
        assert await world.is_idle()


async def test_a_formatter_that_does_not_end_is_killed_after_its_time_and_the_edit_stays(
    environ: dict[str, str], work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formatters, "TIMEOUT_S", 2.0)  # in which it begins, on a loaded machine too
    begun = work.parent / "begun"
    async with broken(environ, work, None, settings=formatter(begun)) as world:
        world.server.script(Answer(calls=(WRITE,)), Answer(text="went on"))
        session = await world.world.prompt("write")
        [call] = await world.world.calls(session)
        assert call.state.status == "completed"
        assert (work / "new.bug").read_text() == "new\n"
        assert await world.world.answer(session) == "went on"
        assert await world.is_idle()
    assert begun.exists()


async def test_a_formatter_that_does_not_end_is_interrupted_at_once(environ: dict[str, str], work: Path) -> None:
    begun = work.parent / "begun"
    async with broken(environ, work, None, settings=formatter(begun)) as world:

        async def measured() -> float:
            begun.unlink(missing_ok=True)
            world.server.script(Answer(calls=(WRITE,)))
            return await interrupted(world, begun.exists)

        assert await quickest(measured) < CANCEL_S


WRITE = Call("write", {"filePath": "new.bug", "content": "new\n"})


def formatter(begun: Path) -> dict[str, Any]:
    """Return the settings of a formatter that makes a file and does not end."""
    command = ["sh", "-c", f"touch {begun}; exec sleep 3600", "sh", "$FILE"]
    return {"formatter": {"slow": {"command": command, "extensions": [".bug"]}}, "permission": "allow"}
