import asyncio
import json
import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from opencode_tui.engine.permission.policy import AskPerson, AutoApprove
from opencode_tui.engine.session.runs import RunRegistry
from opencode_tui.engine.snapshot.worktree_paths import find_store
from opencode_tui.schema.api.request import ShellInput
from opencode_tui.schema.error import RunAborted
from opencode_tui.schema.event.event import PartGrowth
from opencode_tui.schema.session.part import StepFinishPart, StepStartPart
from opencode_tui.storage.locks import Locks
from tests.support.provider.model_script import Answer, Call
from tests.support.sessions.stored import read_store
from tests.support.snapshot.worktree import facts_of
from tests.support.undo.steps import names_in, open_snapshots, patches_in, undo
from tests.support.world.engine import MODEL, opened, while_reacting
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S

AUTO = AutoApprove(AskPerson(), outside=True)
DONE = Answer(text="done")


@pytest.fixture
def folder(tmp_path):
    repo = make_repo(tmp_path / "project")
    repo.write("a.txt", "a1\n")
    repo.write("b.txt", "b1\n")
    repo.commit("begin")
    return repo.path


def bash(command: str) -> Call:
    return Call("bash", {"command": command, "description": "d"})


def write(path: str, content: str) -> Call:
    return Call("write", {"filePath": path, "content": content})


@contextmanager
def worktree_held(environ, folder):
    """Hold the lock of the worktree, as a slow scan of another process would, so that nothing can be recorded."""
    snapshots = open_snapshots(environ, folder)
    paths = snapshots.lock.paths
    place = find_store(paths, project_id=snapshots.lock.project_id, worktree=Path(os.path.realpath(folder)))
    with Locks(paths).worktree(place.name):
        yield


async def test_a_step_that_only_reads_leaves_no_trace(environ, folder, paths):
    async with opened(environ, folder, Answer(calls=(Call("read", {"filePath": "a.txt"}),)), DONE) as world:
        session = await world.prompt("look")
        parts = await world.parts(session)
    assert patches_in(parts) == [] and not paths.snapshot.exists()


def states_in(parts):
    """Return the state before and after each step."""
    starts = [part.snapshot for part in parts if isinstance(part, StepStartPart)]
    return list(zip(starts, [part.snapshot for part in parts if isinstance(part, StepFinishPart)], strict=True))


async def test_a_step_names_the_states_around_its_changes_and_none_where_it_looked_at_nothing(environ, folder):
    script = (Answer(calls=(Call("read", {"filePath": "a.txt"}),)), Answer(calls=(write("a.txt", "a2\n"),)), DONE)
    async with opened(environ, folder, *script, policy=AUTO) as world:
        parts = await world.parts(await world.prompt("work"))
    [patch] = patches_in(parts)
    assert states_in(parts) == [(None, None), (patch.hash, patch.after), (None, None)]
    assert patch.after is not None
    found = await open_snapshots(environ, folder).diff(patch.hash, patch.after)
    assert [(diff.file, diff.before, diff.after) for diff in found] == [("a.txt", "a1\n", "a2\n")]


@pytest.mark.slow
async def test_a_step_of_commands_names_the_states_of_all_files(environ, folder):
    script = (Answer(calls=(bash("echo x > made.txt"),)), Answer(calls=(bash("true"),)), DONE)
    async with opened(environ, folder, *script, policy=AUTO) as world:
        parts = await world.parts(await world.prompt("work"))
    [patch] = patches_in(parts)
    first, second, last = states_in(parts)
    assert (first, last) == ((patch.hash, patch.after), (None, None))
    assert second == (patch.after, patch.after), "a command that changes nothing leaves the state as it was"


@pytest.mark.slow
async def test_a_step_names_no_state_where_undo_is_switched_off(environ, folder):
    script = (Answer(calls=(bash("echo x > made.txt"),)), DONE)
    async with opened(environ, folder, *script, policy=AUTO, settings={"snapshot": False}) as world:
        assert states_in(await world.parts(await world.prompt("work"))) == [(None, None)] * 2


async def test_a_patch_precedes_the_end_of_its_step(environ, folder):
    async with opened(environ, folder, Answer(calls=(write("new.txt", "n\n"),)), DONE, policy=AUTO) as world:
        parts = await world.parts(await world.prompt("write"))
    kinds = [part.type for part in parts]
    assert kinds[kinds.index("tool") :][:3] == ["tool", "patch", "step-finish"]
    assert names_in(patches_in(parts)[0]) == {"new.txt"}


@pytest.mark.slow
async def test_a_step_of_files_and_commands_is_undone_exactly_by_its_one_patch(environ, folder):
    before = facts_of(folder)
    calls = (
        write("deep/new/one.txt", "1"),
        write("deep/new/two.txt", "2"),
        bash("sleep 0.1; rm b.txt; chmod 600 a.txt; mkdir empty; ln -s a.txt link"),
        bash("sleep 0.2; echo more >> a.txt; echo x > deep/new/three.txt"),
    )
    async with opened(environ, folder, Answer(calls=calls), DONE, policy=AUTO) as world:
        parts = await world.parts(await world.prompt("work"))
    [patch] = patches_in(parts)
    assert names_in(patch) == {"one.txt", "two.txt", "three.txt", "a.txt", "b.txt", "empty", "link"}
    report = await undo(environ, folder, parts)
    assert (facts_of(folder), report.kept, report.unprotected) == (before, [], [])


async def test_a_link_that_a_patch_deletes_is_restored_by_undo(environ, folder):
    (folder / "link").symlink_to("a.txt")
    (folder / "away").symlink_to("/nowhere")
    before = facts_of(folder)
    text = "*** Begin Patch\n*** Delete File: link\n*** Delete File: away\n*** End Patch"
    call = Call("apply_patch", {"patchText": text})
    async with opened(environ, folder, Answer(calls=(call,)), DONE, policy=AUTO) as world:
        parts = await world.parts(await world.prompt("work"))
    [patch] = patches_in(parts)
    assert names_in(patch) == {"link", "away"}
    assert {path.name for path in folder.iterdir()} == {".git", "a.txt", "b.txt"}
    report = await undo(environ, folder, parts)
    assert (facts_of(folder), report.kept, report.unprotected) == (before, [], [])


@pytest.mark.slow
async def test_an_edit_and_a_command_on_one_file_in_one_step_are_undone_together(environ, folder):
    calls = (
        write("n.txt", "n\n"),
        bash("while [ ! -e n.txt ]; do sleep 0.01; done; echo more >> n.txt; cp n.txt m.txt"),
    )
    async with opened(environ, folder, Answer(calls=calls), DONE, policy=AUTO) as world:
        parts = await world.parts(await world.prompt("work"))
    assert (folder / "n.txt").read_text() == "n\nmore\n"
    report = await undo(environ, folder, parts)
    assert (sorted(os.listdir(folder)), report.kept) == ([".git", "a.txt", "b.txt"], [])


@pytest.mark.slow
async def test_edits_by_the_user_while_the_model_streams_survive_undo(environ, folder):
    answer = Answer(text="wait a little " * 10, delay_ms=10, calls=(bash("echo agent >> a.txt"),))
    async with opened(environ, folder, answer, DONE, policy=AUTO) as world:

        async def type_in(event):
            (folder / "a.txt").write_text("person\n")

        session, _ = await while_reacting(world, PartGrowth, type_in, world.prompt("work"))
        parts = await world.parts(session)
    assert (folder / "a.txt").read_text() == "person\nagent\n"
    await undo(environ, folder, parts)
    assert (folder / "a.txt").read_text() == "person\n"


@pytest.mark.slow
async def test_no_tool_changes_a_file_before_its_state_is_recorded(environ, folder):
    calls = (write("one.txt", "1"), write("two.txt", "2"), bash("echo x >> a.txt"))
    async with opened(environ, folder, Answer(calls=calls), DONE, policy=AUTO) as world:
        before = facts_of(folder)
        with worktree_held(environ, folder):
            turn = asyncio.create_task(world.prompt("work"))
            await asyncio.sleep(1)
            visible = {name: fact for name, fact in facts_of(folder).items() if not name.startswith(".opencode-tui-")}
            assert visible == before
        parts = await world.parts(await turn)
    assert names_in(patches_in(parts)[0]) == {"one.txt", "two.txt", "a.txt"}


@pytest.mark.slow
async def test_a_failed_call_is_recorded_for_what_it_did_and_no_more(environ, folder):
    calls = (bash("echo x > half.txt; exit 3"), write("b.txt", "not read before"))
    async with opened(environ, folder, Answer(calls=calls), DONE, policy=AUTO) as world:
        parts = await world.parts(await world.prompt("work"))
    assert names_in(patches_in(parts)[0]) == {"half.txt"}


@pytest.mark.slow
async def test_the_patch_of_an_interrupted_command_follows_idle_and_the_next_prompt_waits_for_it(environ, folder):
    answers = (Answer(calls=(bash("echo x > half.txt; sleep 30"),)), Answer(text="again"))
    async with opened(environ, folder, *answers, policy=AUTO) as world:
        session = await world.new_session()
        turn = asyncio.create_task(world.prompt("work", session=session))
        while not (folder / "half.txt").exists():
            await asyncio.sleep(0.01)
        with worktree_held(environ, folder):
            await world.client.prompts.abort(session.id)
            with pytest.raises(RunAborted):
                await turn
            assert await world.client.prompts.status() == {}
            assert patches_in(await world.parts(session)) == []
            following = asyncio.create_task(world.prompt("again", session=session))
            await asyncio.sleep(0.2)
            assert len(world.server.bodies) == 1
        await following
        parts = await world.parts(session)
        assert await world.answer(session) == "again"
    assert names_in(patches_in(parts)[0]) == {"half.txt"}
    await undo(environ, folder, parts)
    assert not (folder / "half.txt").exists()


@pytest.mark.slow
@pytest.mark.parametrize("is_slow", [False, True], ids=["at-once", "slowly"])
async def test_closing_waits_for_the_patch_of_an_interrupted_command(environ, folder, paths, is_slow, monkeypatch):
    """A command that took longer than 250 ms to end once lost its patch, and its session stayed unfinished."""
    monkeypatch.setitem(
        RunRegistry.close.__kwdefaults__, "limit_ms", PATIENCE_S * 1000
    )  # a busy machine needs more than 3 s
    if is_slow:
        monkeypatch.setattr("opencode_tui.engine.tool.process.process.CANCEL_GRACE_S", 0.6)
    command = f"{'trap : TERM; ' if is_slow else ''}echo x > half.txt; while :; do sleep 30; done"
    async with opened(environ, folder, Answer(calls=(bash(command),)), policy=AUTO) as world:
        session = await world.new_session()
        turn = asyncio.create_task(world.prompt("work", session=session))
        while not (folder / "half.txt").exists():
            await asyncio.sleep(0.01)
    with pytest.raises(RunAborted):
        await turn
    assert read_store(paths.storage).unfinished == []
    async with opened(environ, folder) as world:
        assert names_in(patches_in(await world.parts(session))[0]) == {"half.txt"}


@pytest.mark.slow
@pytest.mark.parametrize("at_home", [True, False])
async def test_without_snapshots_the_step_runs_and_its_calls_say_that_undo_is_off(environ, folder, at_home):
    place = Path(environ["HOME"]) if at_home else folder
    calls = (write("new.txt", "n"), bash("echo x > made.txt"), Call("glob", {"pattern": "*.md"}))
    settings = {} if at_home else {"snapshot": False}
    async with opened(environ, place, Answer(calls=calls), DONE, policy=AUTO, settings=settings) as world:
        session = await world.prompt("work")
        said = [part.state.metadata.get("unprotected") for part in await world.calls(session)]
        assert patches_in(await world.parts(session)) == []
    assert "undo is off" in said[0] and "undo is off" in said[1] and said[2] is None
    assert (place / "new.txt").exists() and (place / "made.txt").exists()


async def test_a_file_outside_the_project_is_written_and_named_unprotected(environ, folder, tmp_path):
    outside = tmp_path / "outside.txt"
    async with opened(environ, folder, Answer(calls=(write(str(outside), "n"),)), DONE, policy=AUTO) as world:
        [call] = await world.calls(await world.prompt("work"))
    assert (call.state.metadata["unprotected"], outside.read_text()) == ("it is outside the project", "n")


@pytest.mark.slow
async def test_of_a_patch_in_and_out_of_the_project_the_outer_file_is_named_unprotected(environ, folder, tmp_path):
    outside = tmp_path / "outside.txt"
    text = f"*** Begin Patch\n*** Add File: in.txt\n+i\n*** Add File: {outside}\n+o\n*** End Patch"
    answer = Answer(calls=(Call("apply_patch", {"patchText": text}),))
    async with opened(environ, folder, answer, DONE, policy=AUTO) as world:
        session = await world.prompt("work")
        [call], [patch] = await world.calls(session), patches_in(await world.parts(session))
    assert call.state.metadata["unprotected"] == f"{outside}: it is outside the project"
    assert names_in(patch) == {"in.txt"} and outside.read_text() == "o\n"


@pytest.mark.slow
async def test_changes_of_a_child_session_are_in_its_own_steps_only(environ, folder):
    task = Call("task", {"description": "d", "prompt": "p", "subagent_type": "general"})
    answers = (Answer(calls=(task,)), Answer(calls=(write("child.txt", "c"), bash("echo x > made.txt"))), DONE, DONE)
    async with opened(environ, folder, *answers, policy=AUTO) as world:
        session = await world.prompt("delegate")
        [child] = await world.client.sessions.children(session.id)
        assert patches_in(await world.parts(session)) == []
        assert [names_in(patch) for patch in patches_in(await world.parts(child))] == [{"child.txt", "made.txt"}]


def directive(command):
    """Return the words by which the scripted model calls bash with a command."""
    return f"<<tool bash {json.dumps({'command': command, 'description': 'd'})}>>"


def until(condition):
    """Return a command that waits until a condition of the shell holds."""
    return f"until {condition}; do sleep 0.02; done"


@pytest.mark.slow
async def test_commands_of_two_agents_at_once_are_undone_together(environ, folder):
    before = facts_of(folder)
    tasks = tuple(
        Call("task", {"description": name, "prompt": directive(command), "subagent_type": "general"})
        for name, command in (
            ("one", f"echo 1 > a.txt; {until('grep -qx 2 b.txt')}; echo 1 > one.txt"),
            ("two", f"{until('grep -qx 1 a.txt')}; echo 2 > b.txt; {until('test -e one.txt')}; rm a.txt"),
        )
    )
    async with opened(environ, folder, policy=AUTO) as world:
        world.server.script(Answer(calls=tasks))
        session = await world.prompt("delegate")
        children = await world.client.sessions.children(session.id)
        parts = [part for child in reversed(children) for part in await world.parts(child)]
    patches = sorted(patches_in(parts), key=lambda part: part.id)
    assert not (folder / "a.txt").exists() and (folder / "one.txt").exists()
    report = await undo(environ, folder, patches)
    assert (facts_of(folder), report.kept) == (before, [])


@pytest.mark.slow
async def test_what_another_session_wrote_during_a_command_is_not_the_commands(environ, folder):
    async with opened(environ, folder, policy=AUTO) as world:
        command = f"echo x > started; {until('test -e other.txt')}; echo y > a.txt"
        busy = asyncio.create_task(world.prompt(directive(command)))
        while not (folder / "started").exists():
            await asyncio.sleep(0.01)
        other = await world.prompt('<<tool write {"filePath":"other.txt","content":"o"}>>')
        session = await busy
        [mine], [others] = patches_in(await world.parts(session)), patches_in(await world.parts(other))
    assert (names_in(mine), names_in(others)) == ({"started", "a.txt"}, {"other.txt"})
    await undo(environ, folder, [mine])
    assert (folder / "other.txt").read_text() == "o" and (folder / "a.txt").read_text() == "a1\n"


@pytest.mark.slow
async def test_where_commands_of_two_sessions_overlap_the_paths_are_named_and_left(environ, folder):
    async with opened(environ, folder, policy=AUTO) as world:
        sessions = await asyncio.gather(
            *(
                world.prompt(
                    f'<<tool bash {{"command":"sleep 0.5; echo {name} > {name}.txt; sleep 0.5","description":"d"}}>>'
                )
                for name in ("one", "two")
            )
        )
        parts = [part for session in sessions for part in await world.parts(session)]
    report = await undo(environ, folder, parts)
    assert {os.path.basename(remark.path) for remark in report.kept} == {"one.txt", "two.txt"}
    assert (folder / "one.txt").exists() and (folder / "two.txt").exists()


async def test_the_users_own_command_line_has_a_patch(environ, folder):
    async with opened(environ, folder) as world:
        session = await world.new_session()
        await world.client.prompts.shell(session.id, ShellInput(agent="build", command="echo x >> b.txt", model=MODEL))
        parts = await world.parts(session)
    assert names_in(patches_in(parts)[0]) == {"b.txt"}
    await undo(environ, folder, parts)
    assert (folder / "b.txt").read_text() == "b1\n"


@pytest.mark.slow
async def test_a_name_that_is_not_utf_8_survives_the_record_and_is_undone(environ, folder):
    before = facts_of(folder)
    command = "printf x > $'bad\\xff.txt'; printf y > $'\\u00fc.txt'"
    async with opened(environ, folder, Answer(calls=(bash(command),)), DONE, policy=AUTO) as world:
        session = await world.prompt("work")
    async with opened(environ, folder) as world:
        parts = await world.parts(session)
    assert names_in(patches_in(parts)[0]) == {"bad\udcff.txt", "ü.txt"}
    await undo(environ, folder, parts)
    assert facts_of(folder) == before


async def test_a_plugins_tool_is_recorded_like_a_command(environ, folder):
    plugin = Path(environ["XDG_CONFIG_HOME"]) / "opencode-tui" / "plugins" / "maker.py"
    plugin.parent.mkdir(parents=True)
    plugin.write_text(
        "from pathlib import Path\n"
        "def _make(arguments, context):\n"
        f"    Path({str(folder / 'made.txt')!r}).write_text('x')\n"
        "    raise ValueError('no')\n"
        "def plugin(given):\n"
        "    return {'tool': {'maker': {'description': 'makes', 'args': {}, 'execute': _make}}}\n"
    )
    async with opened(environ, folder, Answer(calls=(Call("maker", {}),)), DONE, policy=AUTO) as world:
        session = await world.prompt("work")
        [call] = await world.calls(session)
        assert call.state.status == "error", call.state
        assert names_in(patches_in(await world.parts(session))[0]) == {"made.txt"}


@pytest.mark.slow
async def test_the_states_of_a_patch_are_of_its_files_alone_and_differ_in_them(environ, folder):
    calls = (write("one.txt", "1\n"), bash("echo 2 > two.txt"))
    async with opened(environ, folder, Answer(calls=calls), DONE, policy=AUTO) as world:
        [patch] = patches_in(await world.parts(await world.prompt("work")))
    assert patch.after is not None
    found = await open_snapshots(environ, folder).diff(patch.hash, patch.after)
    assert [(diff.file, diff.before, diff.after) for diff in found] == [("one.txt", "", "1\n"), ("two.txt", "", "2\n")]


@pytest.mark.slow
@pytest.mark.parametrize("calls", [1, 2])
async def test_what_a_command_changed_among_large_ignored_files_is_named_by_undo(environ, folder, calls):
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "old.log").write_text("before" * 200_000)
    (folder / "change.sh").write_text("echo x > old.log; echo y > b.txt\n")  # no reading of words tells what it does
    work = (bash("sh ./change.sh"), write("new.txt", "n"))[:calls]
    async with opened(environ, folder, Answer(calls=work), DONE, policy=AUTO) as world:
        parts = await world.parts(await world.prompt("work"))
    report = await undo(environ, folder, parts)
    assert [(os.path.basename(one.path), one.reason) for one in report.unprotected] == [
        ("old.log", "ignored and over 1 MiB")
    ]
    assert (folder / "b.txt").read_text() == "b1\n" and report.kept == []


@pytest.mark.slow
async def test_ignored_files_that_no_command_touched_are_not_named_by_undo(environ, folder):
    (folder / ".gitignore").write_text("node_modules/\nbuild/\n*.log\n")
    for path in ("node_modules/a/b.js", "build/out/x.o", "pre.log", "other.log"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")
    answers = (
        Answer(calls=(bash("echo l > real.txt"),)),
        DONE,
        Answer(calls=(bash("echo more >> build/out/x.o; echo y > other.log; echo z > b.txt"),)),
        DONE,
    )
    async with opened(environ, folder, *answers, policy=AUTO) as world:
        session = await world.prompt("write")
        first = await world.parts(session)
        await world.prompt("build", session=session)
        second = (await world.parts(session))[len(first) :]
    assert [one.path for one in (await undo(environ, folder, second)).unprotected] == [str(folder / "build")]
    assert (folder / "other.log").read_text() == "x"
    assert (await undo(environ, folder, first)).unprotected == []
    assert not (folder / "real.txt").exists()


async def test_an_ignored_file_that_a_tool_writes_is_undone(environ, folder):
    (folder / ".gitignore").write_text("out/\n")
    before = facts_of(folder)
    work = (write("out/a.log", "1"), write("out/b.log", "2"), bash("echo x > c.txt"))
    async with opened(environ, folder, Answer(calls=work), DONE, policy=AUTO) as world:
        parts = await world.parts(await world.prompt("work"))
    report = await undo(environ, folder, parts)
    assert (facts_of(folder), report.kept) == (before, [])


@pytest.mark.slow
async def test_an_interruption_ends_the_agents_first_and_their_patches_follow(environ, folder):
    task = Call("task", {"description": "d", "prompt": "p", "subagent_type": "general"})
    answers = (Answer(calls=(task,)), Answer(calls=(bash("echo x > half.txt; sleep 30"),)))
    async with opened(environ, folder, *answers, policy=AUTO) as world:
        session = await world.new_session()
        turn = asyncio.create_task(world.prompt("delegate", session=session))
        while not (folder / "half.txt").exists():
            await asyncio.sleep(0.01)
        await world.client.prompts.abort(session.id)
        with pytest.raises(RunAborted):
            await turn
        assert await world.client.prompts.status() == {}
        await world.client.undo.revert(session.id)
    assert sorted(os.listdir(folder)) == [".git", "a.txt", "b.txt"]


COMMAND = bash("echo x > b.txt")
TASK = Call("task", {"description": "d", "prompt": "p", "subagent_type": "general"})


@pytest.mark.fast_cases("a command that fails")
@pytest.mark.parametrize(
    ("answers", "what"),
    [
        ((Answer(calls=(COMMAND,)), DONE), "bash"),
        ((Answer(calls=(bash("echo x > b.txt; false"),)), DONE), "bash"),
        ((Answer(calls=(write("new.txt", "n"), COMMAND)), DONE), "bash"),
        ((Answer(calls=(TASK,)), Answer(calls=(COMMAND,)), DONE, DONE), "bash"),
    ],
    ids=["a command", "a command that fails", "a command after a tool", "a command of an agent"],
)
async def test_undo_says_that_a_command_was_not_recorded(environ, folder, paths, answers, what):
    paths.snapshot.parent.mkdir(parents=True, exist_ok=True)
    paths.snapshot.write_text("a file where the store should be")
    async with opened(environ, folder, *answers, policy=AUTO) as world:
        session = await world.prompt("work")
        paths.snapshot.unlink()
        preview = await world.client.undo.preview(session.id)
        report = await world.client.undo.revert(session.id)
    for found in (preview, report):
        [said] = [file for file in found.unprotected if file.path == str(folder.resolve())]
        assert said.reason is not None and said.reason.startswith(f"what {what} changed was not recorded: ")
    assert (folder / "b.txt").read_text() == "x\n"


@pytest.mark.fast_cases("True")
@pytest.mark.parametrize("has_snapshots", [True, False])
async def test_undo_says_nothing_of_the_folder_where_commands_were_recorded_or_undo_is_off(
    environ, folder, has_snapshots
):
    settings = {"snapshot": has_snapshots}
    async with opened(environ, folder, Answer(calls=(COMMAND,)), DONE, policy=AUTO, settings=settings) as world:
        session = await world.prompt("work")
        report = await world.client.undo.revert(session.id)
    assert (report.unprotected, report.unavailable is None) == ([], has_snapshots)
