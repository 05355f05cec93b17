"""Commands in the background: started by the agent, read, stopped, undone, and ended with their session."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from opencode_tui.engine.permission.policy import AskPerson
from opencode_tui.engine.sandbox.tier import Tier, probe
from opencode_tui.engine.session.step import file_changes
from opencode_tui.engine.snapshot.change_log import ChangeLog
from opencode_tui.engine.tool.process.background import BackgroundOutput
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.error import BusyError, NotFoundError, RunAborted
from opencode_tui.schema.event.event import PermissionAsked
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.session.part import PatchPart
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import find_paths
from opencode_tui.text.permission import reasons_of
from opencode_tui.text.undo import beside_commands
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.engine import World, opened, react, while_reacting
from tests.support.world.repo import Repo, make_repo
from tests.support.world.waiting import PATIENCE_S, until, wait_until

pytestmark = pytest.mark.slow


def call(tool: str, **arguments: Any) -> str:
    return f"<<tool {tool} {json.dumps(arguments)}>>"


def start(command: str) -> str:
    return call("bash", command=command, description="x", background=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", "x = 1\n")
    repo.commit("begin")
    return repo.path


@pytest.fixture
async def world(environ: dict[str, str], folder: Path) -> AsyncGenerator[World]:
    async with opened(environ, folder) as world:
        yield world


SLEEP = f"sleep 4{os.getpid()}"
"""The beginning of a command that no other run of the tests starts."""


def processes_with(words: str) -> list[psutil.Process]:
    """Return the processes whose command line has these words."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline", "status", "name"]):
        if words in " ".join(process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


async def until_ended(world: World, name: str = "bg1") -> Any:
    async with asyncio.timeout(PATIENCE_S):
        while (await world.client.background.output(name)).command.is_running:
            await asyncio.sleep(0.02)
    return (await world.client.background.output(name)).command


async def output_of(world: World, session: SessionInfo) -> str:
    return (await world.calls(session))[-1].state.output


async def test_the_agent_starts_reads_and_stops_a_command(world: World) -> None:
    session = await world.prompt(f"go {start(f'echo other; echo ready; {SLEEP}.01')}")
    assert "Started in the background as bg1" in await output_of(world, session)
    await world.prompt(f"look {call('bash_output', id='bg1', wait=20, filter='READY')}", session=session)
    assert await output_of(world, session) == ("ready\n\n<bash_metadata>\nbg1 still runs.\n</bash_metadata>")
    await world.prompt(f"again {call('bash_output', id='bg1')}", session=session)
    assert await output_of(world, session) == "<bash_metadata>\nbg1 still runs.\n</bash_metadata>"
    await world.prompt(f"stop {call('bash_output', id='bg1', stop=True)}", session=session)
    assert "bg1 was stopped." in await output_of(world, session)
    assert processes_with(f"{SLEEP}.01") == []
    await world.prompt("thanks", session=session)
    assert "<system-reminder>" not in world.sent()


UNTIL_GO = "until [ -e go ]; do sleep 0.02; done"


async def test_the_model_learns_once_that_a_command_has_ended_and_earlier_requests_stay(
    world: World, folder: Path
) -> None:
    session = await world.prompt(f"go {start(UNTIL_GO + '; exit 3')}")
    (folder / "go").touch()
    await until_ended(world)
    before = [body["messages"] for body in world.server.bodies]
    await world.prompt("go on", session=session)
    assert "ended with exit code 3; bash_output has its output" in str(world.server.bodies[-1]["messages"][-1])
    await world.prompt("and on", session=session)
    last = world.server.bodies[-1]["messages"]
    assert str(last).count("ended with exit code 3") == 1
    assert before[-1] == last[: len(before[-1])]


async def test_the_model_knows_after_a_compaction_what_runs_and_still_reads_it(world: World, folder: Path) -> None:
    session = await world.prompt(f"go {start('echo here; touch said; ' + UNTIL_GO)} {start('exit 0')}")
    await until_ended(world, "bg2")
    await until((folder / "said").exists)
    await world.client.context.compact(session.id, CompactSession())
    await world.prompt(f"look {call('bash_output', id='bg1')}", session=session)
    sent = str(world.server.bodies[-2]["messages"])
    assert (
        "Background commands that run, for bash_output" in sent and f"- bg1: echo here; touch said; {UNTIL_GO}" in sent
    )
    assert "- bg2" not in sent
    assert "here" in await output_of(world, session)


async def test_a_command_that_ends_while_another_call_runs_is_in_its_result(world: World, folder: Path) -> None:
    session = await world.prompt(f"go {start(UNTIL_GO + '; exit 4')}")
    other = call("bash", command=f"echo > go; {UNTIL_GO.replace('go', 'more')}", description="x")
    running = asyncio.create_task(world.prompt(f"more {other}", session=session))
    await until_ended(world)
    (folder / "more").touch()
    await running
    assert "ended with exit code 4" in await output_of(world, session)


async def test_undo_is_refused_while_it_runs_and_then_reverts_its_files(world: World, folder: Path) -> None:
    wait = call("bash_output", id="bg1", wait=20, filter="ready")
    session = await world.prompt(f"go {start(f'echo 2 > a.py; echo new > made; echo ready; {SLEEP}.02')} {wait}")
    with pytest.raises(BusyError, match=r"bg1 .* still runs; stop it first"):
        await world.client.undo.revert(session.id)
    await world.client.background.stop("bg1")
    report = await world.client.undo.revert(session.id)
    assert (report.kept, (folder / "a.py").read_text(), (folder / "made").exists()) == ([], "x = 1\n", False)


async def test_undo_keeps_what_changes_while_it_runs_after_the_turn(world: World, folder: Path) -> None:
    wait = call("bash_output", id="bg1", wait=20, filter="ready")
    session = await world.prompt(f"go {start('echo new > made; echo ready; ' + UNTIL_GO)} {wait}")
    (folder / "a.py").write_text("by the user\n")
    (folder / "go").touch()
    await until_ended(world)
    report = await world.client.undo.revert(session.id)
    assert ((folder / "a.py").read_text(), (folder / "made").exists()) == ("by the user\n", False)
    assert {os.path.basename(one.path) for one in report.kept} == {"a.py", "go"}


async def test_undo_lists_the_files_of_a_command_that_a_killed_program_left_running(
    environ: dict[str, str], folder: Path
) -> None:
    async with opened(environ, folder) as world:
        session = await world.prompt(f"go {call('bash', command='echo 1 > mine', description='x')}")
        [patch] = [part for part in await world.parts(session) if isinstance(part, PatchPart)]
    [log] = find_paths(environ).snapshot.glob("*/*/claims.jsonl")
    ChangeLog(str(log)).begin_step(patch.message_id, patch.hash, session=session.id, time=1)
    (folder / "late").touch()
    async with opened(environ, folder) as world:
        report = await world.client.undo.revert(session.id)
    assert [os.path.basename(one.path) for one in report.kept] == ["late"]
    assert not (folder / "mine").exists() and not ChangeLog(str(log)).read().steps


async def test_a_record_that_another_process_prevents_leaves_no_command_open(
    world: World, folder: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_changes, "LOCK_WAIT_S", 0.05)
    session = await world.prompt(f"go {start(UNTIL_GO)}")
    [log] = find_paths(environ).snapshot.glob("*/*/claims.jsonl")
    await world.client.undo.recover(session.id)  # waits for the end of the run
    lock = Locks(find_paths(environ)).session_run(session.id)
    lock.try_acquire()
    try:
        (folder / "go").touch()
        async with asyncio.timeout(PATIENCE_S):
            while any(one.ended is None for one in ChangeLog(str(log)).read().shells):
                await asyncio.sleep(0.02)
    finally:
        lock.release()
    assert [step.session for step in ChangeLog(str(log)).read().steps.values()] == [session.id]


async def test_a_start_that_is_interrupted_leaves_nothing(world: World) -> None:
    session = await world.new_session()
    turn = asyncio.create_task(world.prompt(f"go {start(f'{SLEEP}.09')}", session=session))
    while not any(part.tool == "bash" for part in await world.calls(session)):
        await asyncio.sleep(0.005)
    await world.client.prompts.abort(session.id)
    with suppress(RunAborted):
        await turn
    await world.client.sessions.remove(session.id)
    assert (processes_with(f"{SLEEP}.09"), await world.client.background.list()) == ([], [])


def test_a_read_splits_no_character_and_names_what_it_leaves_out(tmp_path: Path) -> None:
    output = BackgroundOutput(lambda: tmp_path / "full")
    output.feed("ä".encode()[:1])
    assert output.read(0) == ("", 0, 0)
    output.feed("ä".encode()[1:] + b"x")
    assert output.read(0) == ("äx", 0, 3)
    output.feed("ä".encode() * 40_000)
    text, skipped, position = output.read(0)
    assert (set(text), len(text.encode()) + skipped, position) == ({"ä"}, 80_003, 80_003)
    assert output.excerpt(is_final=False).path == tmp_path / "full"
    output.close()


async def test_changes_of_other_calls_while_it_runs_stay_theirs(world: World, folder: Path) -> None:
    session = await world.prompt(f"go {start('echo 1 > mine; ' + UNTIL_GO + '; echo 2 | tee -a mine')}")
    write = call("write", filePath="written", content="w\n")
    await until(lambda: (folder / "mine").exists() and (folder / "mine").read_text() == "1\n")
    await world.prompt(f"more {write} {call('bash', command='echo c > other', description='x')}", session=session)
    (folder / "go").touch()
    await until_ended(world)
    report = await world.client.undo.revert(session.id)
    assert ((folder / "written").exists(), (folder / "mine").read_text(), report.kept) == (False, "1\n2\n", [])
    first = (await world.messages(session))[0].info.id
    report = await world.client.undo.revert(session.id, first)
    assert sorted(os.listdir(folder)) == [".git", "a.py", "go", "mine"]
    assert [os.path.basename(one.path) for one in report.kept] == ["go", "mine"]


async def test_deleting_the_session_ends_its_commands(world: World) -> None:
    session = await world.prompt(f"go {start(f'{SLEEP}.03')}")
    await until(lambda: processes_with(f"{SLEEP}.03"))
    await world.client.sessions.remove(session.id)
    assert (processes_with(f"{SLEEP}.03"), await world.client.background.list()) == ([], [])


async def test_the_question_says_that_a_command_goes_on_after_the_turn(environ: dict[str, str], folder: Path) -> None:
    settings = {"permission": {"bash": "ask"}}
    async with opened(environ, folder, settings=settings, policy=AskPerson()) as world:

        async def reply(event: PermissionAsked) -> None:
            await world.client.permissions.reply(event.id, "reject")

        prompt = world.prompt(f"go {start(f'{SLEEP}.08')}")
        _, asked = await while_reacting(world, PermissionAsked, reply, prompt)
    assert "It runs in the background, also after the turn." in reasons_of(asked, (), folder)


async def test_another_session_cannot_read_it_and_a_failed_start_is_an_error(world: World) -> None:
    await world.prompt(f"go {start(f'{SLEEP}.04')}")
    other = await world.prompt(f"look {call('bash_output', id='bg1')}")
    assert "this session has no background command 'bg1'" in (await world.calls(other))[-1].state.error
    with pytest.raises(NotFoundError):
        await world.client.background.output("bg7")


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock", "none"])
async def test_closing_the_program_ends_them_in_every_tier(environ: dict[str, str], folder: Path, tier: Tier) -> None:
    if tier != "none" and not probe(tier, environ).works:
        pytest.skip(f"{tier} does not work here")
    settings = {"experimental": {"sandbox": {"tier": tier, "mode": "off" if tier == "none" else "auto"}}}
    settings |= {"permission": {"bash": "allow"}}
    async with opened(environ, folder, settings=settings) as world:
        await world.prompt(f"go {start(f'echo x > made; setsid {SLEEP}.05 & {SLEEP}.05')}")
        await until(lambda: processes_with(f"{SLEEP}.05"))
    await until(lambda: not processes_with(f"{SLEEP}.05"))


def confined(tier: Tier, environ: dict[str, str]) -> dict[str, Any]:
    """Return settings that confine commands in a tier; skips where it does not work."""
    if not probe(tier, environ).works:
        pytest.skip(f"{tier} does not work here")
    return {"experimental": {"sandbox": {"tier": tier}}, "permission": {"bash": "allow"}}


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
async def test_undo_reverts_what_a_confined_command_changed_by_its_end(
    environ: dict[str, str], folder: Path, tier: Tier
) -> None:
    async with opened(environ, folder, settings=confined(tier, environ)) as world:
        command = f"rm a.py; mkdir -p d/e; echo new > d/e/made; ln -s d link; chmod 700 d; echo ready; {SLEEP}.12"
        wait = call("bash_output", id="bg1", wait=20, filter="ready")
        session = await world.prompt(f"go {start(command)} {wait} {call('bash_output', id='bg1', stop=True)}")
        assert sorted(os.listdir(folder)) == [".git", "d", "link"]
        report = await world.client.undo.revert(session.id)
    assert (report.kept, report.unprotected, sorted(os.listdir(folder))) == ([], [], [".git", "a.py"])
    assert (folder / "a.py").read_text() == "x = 1\n"


async def test_a_file_with_secrets_stays_hidden_when_it_is_replaced_while_a_command_runs(
    environ: dict[str, str], folder: Path
) -> None:
    (folder / ".env").write_text("KEY=old")
    (folder / "look").write_text(
        f"echo ready; {UNTIL_GO}; while cat .env; do sleep 0.02; done; echo hidden; {SLEEP}.07"
    )
    async with opened(environ, folder, settings=confined("bubblewrap", environ)) as world:
        wait = call("bash_output", id="bg1", wait=20, filter="ready")
        session = await world.prompt(f"go {start('sh ./look')} {wait}")
        (folder / "new").write_text("KEY=new")
        (folder / "new").replace(folder / ".env")
        (folder / "go").touch()
        await world.prompt(f"look {call('bash_output', id='bg1', wait=20, filter='hidden')}", session=session)
        assert "hidden" in await output_of(world, session)


DATABASE = f"exec 5>db; echo 1 >&5; echo ready; {UNTIL_GO}; echo 2 >&5; {SLEEP}.15"
BESIDE = "echo c > other; touch go; until [ $(wc -l < db) = 2 ]; do sleep 0.02; done"


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock", "none"])
async def test_undo_of_a_later_turn_keeps_what_a_command_has_open(
    environ: dict[str, str], folder: Path, tier: Tier
) -> None:
    settings = {"permission": {"bash": "allow"}} if tier == "none" else confined(tier, environ)
    settings |= {"experimental": {"sandbox": {"mode": "off"}}} if tier == "none" else {}
    async with opened(environ, folder, settings=settings) as world:
        wait = call("bash_output", id="bg1", wait=20, filter="ready")
        session = await world.prompt(f"go {start(DATABASE)} {wait}")
        await world.prompt(f"more {call('bash', command=BESIDE, description='x')}", session=session)
        preview = await world.client.undo.preview(session.id)
        report = await world.client.undo.revert(session.id)
        assert ((folder / "db").read_text(), (folder / "other").exists()) == ("1\n2\n", False)
        assert [os.path.basename(one.path) for one in report.kept] == ["db"]
        assert preview.beside == report.beside and preview.beside[0].startswith("bg1 (exec 5>db;")
        assert beside_commands(preview).startswith("In the background ran bg1 (exec 5>db;")


async def test_undo_of_its_own_turn_reverts_what_a_command_has_open(world: World, folder: Path) -> None:
    wait, stop = call("bash_output", id="bg1", wait=20, filter="ready"), call("bash_output", id="bg1", stop=True)
    beside = call("bash", command=BESIDE, description="x")
    session = await world.prompt(f"go {start(DATABASE)} {wait} {beside} {stop}")
    report = await world.client.undo.revert(session.id)
    assert (report.kept, sorted(os.listdir(folder))) == ([], [".git", "a.py"])


async def test_undo_without_a_command_in_the_background_names_none(world: World) -> None:
    session = await world.prompt(f"go {start('true')} {call('bash_output', id='bg1', wait=20)}")
    await world.prompt(f"more {call('bash', command='echo c > other', description='x')}", session=session)
    preview = await world.client.undo.preview(session.id)
    assert (preview.beside, beside_commands(preview)) == ([], "")


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
async def test_the_end_of_the_program_reports_protected_files_that_nobody_decided_about(
    environ: dict[str, str], folder: Path, tier: Tier
) -> None:
    (folder / "setup.sh").write_text(f"echo evil > .envrc; echo ready; {SLEEP}.13\n")
    async with opened(environ, folder, settings=confined(tier, environ)) as world:
        shown: list[str] = []

        async def read(event: ScreenToastShown) -> None:
            shown.append(event.message)

        toast = asyncio.create_task(react(world, ScreenToastShown, read))
        await world.prompt(f"go {start('bash setup.sh')} {call('bash_output', id='bg1', wait=20, filter='ready')}")
        [ended] = await world.client.background.end()
        await toast
        assert await world.client.background.end() == []
    assert ended.undone == [".envrc"] and shown == [ended.format_undone()]
    assert "bg1 ended before you could approve" in ended.format_undone() and not (folder / ".envrc").exists()
    assert (folder / ".envrc.not-approved").read_text() == "evil\n"


def test_run_reports_protected_files_that_its_end_undoes(line: CommandLine, project: Repo) -> None:
    if not probe("bubblewrap", line.environ).works:
        pytest.skip("bubblewrap does not work here")
    project.write("setup.sh", f"echo evil > .envrc; echo ready; {SLEEP}.14\n")
    done = line.turn(f"go {start('bash setup.sh')} {call('bash_output', id='bg1', wait=20, filter='ready')}")
    assert (done.code, processes_with(f"{SLEEP}.14")) == (0, [])
    assert "bg1 ended before you could approve its changes of protected files" in done.stderr
    assert ".envrc" in done.stderr


TREE = f"setsid {SLEEP}.06 & nohup {SLEEP}.06 & echo x > made; {SLEEP}.06"


@pytest.mark.parametrize("tier", ["bubblewrap", "landlock"])
def test_a_killed_program_leaves_no_process(
    environ: dict[str, str], tmp_path: Path, project: Repo, server: ModelServer, tier: Tier
) -> None:
    if not probe(tier, environ).works:
        pytest.skip(f"{tier} does not work here")
    grep, programs, searches = shutil.which("grep"), tmp_path / "programs", project.path / "searches"
    programs.mkdir()
    (programs / "grep").write_text(f'#!/bin/sh\necho one >> {searches}\nexec {grep} "$@"\n')
    (programs / "grep").chmod(0o755)
    environ["PATH"] = f"{programs}{os.pathsep}{environ['PATH']}"
    settings = {"experimental": {"sandbox": {"tier": tier}}}
    line = CommandLine(project.path, environ, provider=server.config(), settings=settings)
    wait = call("bash_output", id="bg1", wait=30)
    killed = line.start_turn(f"go {start(TREE)} {wait}")
    wait_until(lambda: [one.info["name"] for one in processes_with(f"{SLEEP}.06")].count("sleep") == 3)
    killed.kill()
    kill_session(killed)
    wait_until(lambda: not processes_with(f"{SLEEP}.06"))
    # A namespace ends at once, and a reaper knows what is below it: no program of PATH searches for what is left.
    assert not searches.exists()


def test_run_reports_what_its_end_stops(line: CommandLine) -> None:
    done = line.turn(f"go {start(f'{SLEEP}.07')}")
    assert (done.code, processes_with(f"{SLEEP}.07")) == (0, [])
    assert f"stopped the background command bg1, which ends with the program: {SLEEP}.07" in done.stderr
