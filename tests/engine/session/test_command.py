import asyncio
from pathlib import Path

import pytest

from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.schema.api.request import AgentInput, CommandInput, FileInput, SubtaskInput
from opencode_tui.schema.error import ConfigError, PermissionRefused, RunAborted
from opencode_tui.schema.event.event import CommandExecuted
from opencode_tui.schema.session.part import AgentPart, FilePart, TextPart
from tests.support.provider.model_script import Answer, Call
from tests.support.sessions.store import drain
from tests.support.world.engine import opened
from tests.support.world.settings import SettingsWorld


def commands(**templates):
    return {"command": {name: {"template": t} if isinstance(t, str) else t for name, t in templates.items()}}


async def texts(world, session):
    return [part.text for part in (await world.messages(session))[0].parts if isinstance(part, TextPart)]


@pytest.mark.slow
async def test_a_template_is_filled_run_and_read(environ, tmp_path):
    (tmp_path / "a.txt").write_text("inside\n")
    template = "Hello $1 and $2 rest=$ARGUMENTS sh=!`echo shellout` file @a.txt"
    async with opened(environ, tmp_path, Answer(text="ok"), settings=commands(hello=template)) as world:
        session = await world.command("hello", '"a b" c d')
        first, *others = await texts(world, session)
        assert first == 'Hello a b and c d rest="a b" c d sh=shellout\n file @a.txt'
        assert "1: inside" in "\n".join(others)
        (file,) = [part for part in await world.parts(session) if isinstance(part, FilePart)]
        assert Path(file.url.removeprefix("file://")).name == "a.txt"


async def test_arguments_without_a_place_are_appended(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(text="ok"), settings=commands(plain="Do it.")) as world:
        assert await texts(world, await world.command("plain", "to a.py")) == ["Do it.\n\nto a.py"]


async def test_a_command_is_published_with_the_message_that_answers_it(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(text="ok"), settings=commands(plain="Do it.")) as world:
        with world.client.events() as reader:
            session = await world.command("plain", "now")
            reported = [event for event in drain(reader) if isinstance(event, CommandExecuted)]
        answer = (await world.messages(session))[-1].info
        assert reported == [CommandExecuted(name="plain", session_id=session.id, arguments="now", message_id=answer.id)]


async def test_nothing_that_a_snippet_prints_attaches_or_runs(environ, tmp_path):
    (tmp_path / "secret.txt").write_text("hidden\n")
    template = "Log: !`printf '@secret.txt !\\140touch x\\140 $1'`"
    async with opened(environ, tmp_path, Answer(text="ok"), settings=commands(log=template)) as world:
        session = await world.command("log")
        assert await texts(world, session) == ["Log: @secret.txt !`touch x`"]
        assert not (tmp_path / "x").exists()


async def test_a_failing_snippet_keeps_its_output(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(text="ok"), settings=commands(bad="[!`echo no >&2; exit 3`]")) as world:
        assert await texts(world, await world.command("bad")) == ["[no\n]"]


async def test_snippets_of_the_repository_ask_as_the_bash_tool_does(environ, tmp_path):
    world = SettingsWorld(tmp_path, environ)
    world.repository("Out: !`touch made`", ".opencode/command/theirs.md")
    world.trust()
    settings = {"permission": {"bash": "ask"}, **commands(mine="Out: !`touch mine`")}
    async with opened(environ, world.project, settings=settings, policy=RefuseQuestions()) as opening:
        with pytest.raises(PermissionRefused, match="touch made"):
            await opening.command("theirs")
        await opening.command("mine")
    assert ((world.project / "made").exists(), (world.project / "mine").exists()) == (False, True)


async def test_snippets_of_an_untrusted_repository_do_not_exist(environ, tmp_path):
    world = SettingsWorld(tmp_path, environ)
    world.repository("Out: !`touch made`", ".opencode/command/theirs.md")
    async with opened(environ, world.project) as opening:
        with pytest.raises(ConfigError, match=r"command\.theirs: .*opencode-tui trust"):
            await opening.command("theirs")
        assert not (world.project / "made").exists()


async def test_an_abort_ends_a_command_whose_snippet_still_runs(environ, tmp_path):
    settings = commands(slow="!`touch begun; sleep 30`")
    async with opened(environ, tmp_path, settings=settings) as world:
        session = await world.new_session()
        task = asyncio.create_task(world.client.prompts.command(session.id, CommandInput(command="slow")))
        while not (tmp_path / "begun").exists():
            await asyncio.sleep(0.01)
        assert await world.client.prompts.abort(session.id)
        with pytest.raises(RunAborted, match="command 'slow' was interrupted"):
            await task
        assert not await world.client.prompts.abort(session.id)


async def test_a_commands_agent_and_model_answer_it(environ, tmp_path):
    settings = commands(planned={"template": "Think.", "agent": "plan", "model": "fake-anthropic/fake-model"})
    async with opened(environ, tmp_path, Answer(text="ok"), settings=settings) as world:
        info = (await world.messages(await world.command("planned")))[0].info
        assert (info.agent, str(info.model)) == ("plan", "fake-anthropic/fake-model")


@pytest.mark.fast_cases("with-its-model")
@pytest.mark.parametrize(
    ("name", "given", "variant"),
    [
        ("same", {"variant": "low"}, "low"),
        ("same", {"variant": "low", "model": None}, "low"),
        ("other", {"variant": "low"}, None),
        ("other", {"variant": "low", "model": None}, "low"),
        ("same", {}, None),
    ],
    ids=["with-its-model", "of-no-model", "other-model", "other-model-of-none", "none"],
)
async def test_a_variant_goes_to_the_model_that_it_was_chosen_for(environ, tmp_path, name, given, variant):
    settings = {
        **commands(same={"template": "Think."}, other={"template": "Think.", "model": "fake-anthropic/fake-model"}),
        "model": "fake/fake-model",
    }
    async with opened(environ, tmp_path, Answer(text="ok"), settings=settings) as world:
        session = await world.new_session()
        chosen = {"model": "fake/fake-model", "variant": None, **given}
        request = CommandInput(command=name, model=chosen["model"], variant=chosen["variant"])
        await world.client.prompts.command(session.id, request)
        assert (await world.messages(session))[0].info.variant == variant


@pytest.mark.slow
async def test_a_subtask_works_apart_and_its_report_is_asked_for(environ, tmp_path):
    settings = commands(look={"template": "Look for $1", "agent": "explore", "description": "look around"})
    answers = [Answer(text="x is in a.py"), Answer(text="It is in a.py.")]
    async with opened(environ, tmp_path, *answers, settings=settings) as world:
        session = await world.command("look", "x")
        asked, worked, wanted, reported = await world.messages(session)
        (subtask,) = asked.parts
        (call,) = await world.calls(session)
        assert (subtask.prompt, subtask.agent, subtask.command) == ("Look for x", "explore", "look")
        assert (worked.info.agent, worked.info.finish, call.tool) == ("explore", "tool-calls", "task")
        assert "x is in a.py" in call.state.output
        assert [part.synthetic for part in wanted.parts] == [True]
        assert (await world.answer(session), reported.info.parent_id) == ("It is in a.py.", wanted.info.id)
        (child,) = await world.client.sessions.children(session.id)
        assert child.title == "look around (@explore subagent)"


@pytest.mark.slow
async def test_subtasks_of_a_request_run_side_by_side_once(environ, tmp_path):
    tasks = [SubtaskInput(prompt=f"find {n}", description=f"find {n}", agent="explore") for n in "ab"]
    async with opened(environ, tmp_path) as world:
        session = await world.prompt(*tasks)
        assert [call.state.status for call in await world.calls(session)] == ["completed", "completed"]
        assert len(await world.client.sessions.children(session.id)) == 2
        await world.prompt("and now?", session=session)
        assert len(await world.client.sessions.children(session.id)) == 2


async def test_a_failed_subtask_is_reported_to_the_model(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(text="sorry")) as world:
        session = await world.prompt(SubtaskInput(prompt="x", description="x", agent="nobody"))
        (call,) = await world.calls(session)
        assert (call.state.status, call.state.error) == ("error", "there is no agent 'nobody'")
        assert await world.answer(session) == "sorry"


@pytest.mark.slow
async def test_a_subtasks_model_is_the_commands(environ, tmp_path):
    settings = commands(look={"template": "Look", "agent": "explore", "model": "fake-anthropic/fake-model"})
    async with opened(environ, tmp_path, settings=settings) as world:
        session = await world.command("look")
        (child,) = await world.client.sessions.children(session.id)
        info = (await world.messages(child))[0].info
        assert str(info.model) == "fake-anthropic/fake-model"


@pytest.mark.slow
async def test_an_agent_that_is_named_is_hinted_at_and_needs_no_further_question(environ, tmp_path):
    call = Call("task", {"description": "d", "prompt": "p", "subagent_type": "explore"})
    answers = [Answer(calls=(call,)), Answer(text="report"), Answer(text="done")]
    settings = {"permission": {"task": "ask"}}
    async with opened(environ, tmp_path, *answers, settings=settings, policy=RefuseQuestions()) as world:
        session = await world.prompt("look, @explore", AgentInput(name="explore"))
        parts = (await world.messages(session))[0].parts
        assert isinstance(parts[1], AgentPart)
        assert parts[2].synthetic
        assert parts[2].text.startswith("<system-reminder>\nThe user wants the agent explore")
        (made,) = await world.calls(session)
        assert made.state.status == "completed"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (CommandInput(command="nope"), "Unknown command 'nope'. Commands: "),
        (CommandInput(command="lost"), "names the agent 'ghost', which does not exist"),
        (CommandInput(command="init", model="odd"), "invalid model 'odd': expected provider/model"),
    ],
)
async def test_what_cannot_work_is_refused_before_anything_is_stored(environ, tmp_path, given, problem):
    settings = commands(lost={"template": "x", "agent": "ghost"})
    async with opened(environ, tmp_path, settings=settings) as world:
        session = await world.new_session()
        with pytest.raises(ConfigError, match=problem):
            await world.client.prompts.command(session.id, given)
        assert await world.messages(session) == []


async def test_attachments_come_along(environ, tmp_path):
    given = FileInput(mime="text/plain", filename="n", url="data:text/plain;base64,aGkK")
    async with opened(environ, tmp_path, Answer(text="ok"), settings=commands(plain="Do it.")) as world:
        session = await world.command("plain", parts=[given])
        assert "hi\n" in await texts(world, session)


async def test_a_skill_can_be_called_as_a_command(environ, tmp_path):
    folder = tmp_path / "home" / ".agents" / "skills" / "pdf"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: pdf\ndescription: d\n---\nRead the PDF.")
    async with opened(environ, tmp_path, Answer(text="ok")) as world:
        assert await texts(world, await world.command("pdf", "a.pdf")) == ["Read the PDF.\n\na.pdf"]


async def test_a_skills_text_neither_runs_nor_attaches_anything(environ, tmp_path):
    world = SettingsWorld(tmp_path, environ)
    world.repository("---\nname: evil\ndescription: d\n---\n!`touch made` @b.txt", ".claude/skills/evil/SKILL.md")
    world.repository("hidden", "b.txt")
    world.repository("shown", "a.txt")
    async with opened(environ, world.project, Answer(text="ok")) as opening:
        first, *others = await texts(opening, await opening.command("evil", "@a.txt"))
        assert first == "!`touch made` @b.txt\n\n@a.txt"
        assert ("shown" in str(others), "hidden" in str(others)) == (True, False)
        assert not (world.project / "made").exists()


async def test_a_template_of_the_repository_attaches_only_files_in_it(environ, tmp_path):
    world = SettingsWorld(tmp_path, environ)
    (world.paths.home / "key").write_text("secret")
    world.repository('See @"~/key" and @a.txt: $1', ".opencode/command/theirs.md")
    world.repository("inside", "a.txt")
    async with opened(environ, world.project, Answer(text="ok")) as opening:
        session = await opening.command("theirs", "x")
        files = [part.url for part in await opening.parts(session) if isinstance(part, FilePart)]
        assert files == [(world.project / "a.txt").as_uri()]


@pytest.mark.slow
async def test_an_earlier_output_is_recalled_in_full(environ, tmp_path):
    (tmp_path / "a.txt").write_text("the text\n")
    read = Call("read", {"filePath": "a.txt"}, id="call_read")
    answers = [Answer(calls=(read,)), Answer(calls=(Call("recall", {"call_id": "call_read"}),)), Answer(text="ok")]
    async with opened(environ, tmp_path, *answers) as world:
        first, second = await world.calls(await world.prompt("go"))
        assert "1: the text" in first.state.output
        assert second.state.output == first.state.output
