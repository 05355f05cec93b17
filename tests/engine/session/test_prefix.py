"""Every request of a session starts with the whole one before: in each format, over many steps, and whatever changes beside it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.provider.decode import anthropic_request
from opencode_tui.engine.provider.llm import AssistantEntry, LlmRequest, TextBlock, UserEntry
from opencode_tui.engine.session.request import builder
from opencode_tui.engine.session.request.builder import environment
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import ForkSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.session import SessionInfo
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.wire_prefix import FORMATS, share
from tests.support.sessions.records import MODEL as SENT
from tests.support.world.engine import World, opened
from tests.support.world.repo import make_repo

READ = Answer(calls=(Call("read", {"filePath": "a.txt"}),))
OK = Answer(text="ok")
CONVERSATION_LAST = ("responses", "gemini")
"""The formats whose encoders write the conversation as the last field, so that the bytes themselves repeat."""

CLOSING = 8
"""Most bytes that close the conversation and the body."""

IN_2035 = 2_051_265_600_000


def step(number: int) -> Answer:
    return Answer(
        reasoning=f"now {number}",
        text=f"step {number}",
        calls=(Call("read", {"filePath": "a.txt", "offset": number}),),
    )


def shares(world: World, name: str = "openai", start: int = 0) -> list[float]:
    """Return the share of each request that the next one starts with."""
    return [round(share(name, one, two), 4) for one, two in pairwise(world.server.bodies[start:])]


async def ask(world: World, session: SessionInfo, text: str = "go on", *, model: str = "fake", **fields: Any) -> None:
    ref = ModelRef(provider_id=model, model_id="fake-model")
    await world.client.prompts.prompt(session.id, PromptInput(model=ref, parts=[TextInput(text=text)], **fields))


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
async def test_many_steps_repeat_each_other_in_every_format(environ, tmp_path, name):
    provider = FORMATS[name]
    (tmp_path / "a.txt").write_text("\n".join(f"line {number} of it" for number in range(120)))
    count = 50 if name == "openai" else 25
    answers = [*map(step, range(1, count)), OK]
    async with opened(environ, tmp_path, *answers, limit=(2_000_000, 8_000), has_all=True) as world:
        await ask(world, await world.new_session(), "run the steps", model=provider)
        assert len(world.server.bodies) == count
        assert shares(world, name) == [1.0] * (count - 1)
        if name in CONVERSATION_LAST:
            bodies = [json.dumps(body, ensure_ascii=False, separators=(",", ":")) for body in world.server.bodies]
            repeated = [later.startswith(earlier[:-CLOSING]) for earlier, later in pairwise(bodies)]
            assert repeated == [True] * (count - 1)


async def edit_rules(world: World, session: SessionInfo, folder: Path) -> None:
    (folder / "AGENTS.md").write_text("Say please.\nNever say sorry.\n")
    await ask(world, session)


async def add_rules(world: World, session: SessionInfo, folder: Path) -> None:
    (folder / "AGENTS.md").unlink()
    await ask(world, session)
    (folder / "AGENTS.md").write_text("Be brief.\n")
    await ask(world, session)


async def switch_agent(world: World, session: SessionInfo, folder: Path) -> None:
    await ask(world, session, "plan it", agent="plan")
    await ask(world, session, "and this", agent="plan")
    await ask(world, session, "do it", agent="build")
    await ask(world, session, "more", agent="build")


async def deny_a_tool(world: World, session: SessionInfo, folder: Path) -> None:
    await ask(world, session, tools={"bash": False, "webfetch": False})
    await ask(world, session)


async def last_step(world: World, session: SessionInfo, folder: Path) -> None:
    world.server.script(READ, OK)
    await ask(world, session, agent="short")
    await ask(world, session, agent="short")


async def unknown_end(world: World, session: SessionInfo, folder: Path) -> None:
    world.server.script(Answer(text="well", finish="because"), OK)
    await ask(world, session)


async def message_in_a_turn(world: World, session: SessionInfo, folder: Path) -> None:
    wait = Answer(calls=(Call("bash", {"command": "sleep 0.4", "description": "wait"}),))
    world.server.script(wait, READ, READ, OK)
    before = len(world.server.bodies)
    turn = asyncio.create_task(ask(world, session, "first"))
    while len(world.server.bodies) == before:
        await asyncio.sleep(0.01)
    await ask(world, session, "and this too")
    await turn
    assert "The user sent the following message:" in json.dumps(world.server.bodies[-1])


SCENARIOS: dict[str, Callable[[World, SessionInfo, Path], Awaitable[None]]] = {
    "AGENTS.md is edited": edit_rules,
    "AGENTS.md goes and comes": add_rules,
    "plan and build": switch_agent,
    "a tool is denied": deny_a_tool,
    "the last step of an agent": last_step,
    "an answer without an end": unknown_end,
    "a message in a turn": message_in_a_turn,
}


CASES = [
    (scenario, name)
    for scenario in SCENARIOS
    for name in FORMATS
    if name not in CONVERSATION_LAST or scenario == "a message in a turn"  # the only one that a format can do otherwise
]


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "name"), CASES)
async def test_what_changes_joins_at_the_end(environ, tmp_path, scenario, name, monkeypatch):
    (tmp_path / "AGENTS.md").write_text("Say please.\n")
    (tmp_path / "a.txt").write_text("text")
    settings = {
        "permission": {"bash": "allow"},
        "agent": {"short": {"mode": "primary", "steps": 2}},
        "model": f"{FORMATS[name]}/fake-model",
    }
    monkeypatch.setitem(ask.__kwdefaults__, "model", FORMATS[name])
    async with opened(environ, tmp_path, READ, OK, settings=settings, has_all=True) as world:
        session = await world.new_session()
        await ask(world, session, "start", agent="short" if scenario == "the last step of an agent" else "build")
        before = len(world.server.bodies)
        await SCENARIOS[scenario](world, session, tmp_path)
        assert len(world.server.bodies) > before
        assert set(shares(world, name)) == {1.0}


async def test_a_change_is_announced_once_and_what_it_says_is_whole(environ, tmp_path):
    rules = tmp_path / "AGENTS.md"
    rules.write_text("\n".join(f"Rule {n}: do the thing number {n} well." for n in range(30)))
    async with opened(environ, tmp_path, OK, OK, OK, OK, OK) as world:
        session = await world.prompt("go")
        rules.write_text(rules.read_text().replace("thing number 7 well", "thing number 7 twice"))
        await world.prompt("one", session=session)
        assert "+Rule 7: do the thing number 7 twice." in world.sent()
        assert len(world.sent()) < len(rules.read_text())
        await world.prompt("two", session=session)
        assert world.sent() == "two"
        rules.write_text("All new.")
        await world.prompt("three", session=session)
        assert f"Instructions from: {rules}\nAll new." in world.sent()
        rules.unlink()
        await world.prompt("four", session=session)
        assert f"The instructions from {rules} no longer apply." in world.sent()
        assert set(shares(world)) == {1.0}


def in_2035(**given: Any) -> str:
    given["now"] = IN_2035
    return environment(**given)


@pytest.mark.slow
async def test_a_new_day_is_announced(environ, tmp_path, monkeypatch):
    async with opened(environ, tmp_path, OK, OK, OK) as world:
        session = await world.prompt("go")
        monkeypatch.setattr(builder, "environment", in_2035)
        await world.prompt("again", session=session)
        assert "The environment:\n  Today's date: Mon Jan 01 2035" in world.sent()
        await world.prompt("again", session=session)
        assert world.sent() == "again"
        assert set(shares(world)) == {1.0}


@pytest.mark.slow
async def test_the_way_back_to_a_model_gives_its_old_bytes(environ, tmp_path):
    rules = tmp_path / "AGENTS.md"
    rules.write_text("Say please.\n")
    async with opened(environ, tmp_path, *[OK] * 6) as world:
        session = await world.prompt("go")
        rules.write_text("Say thanks.\n")
        await ask(world, session, model="fake-anthropic")
        rules.write_text("Say hello.\n")
        await ask(world, session, model="fake-anthropic")
        await ask(world, session)
        first, other, another, last = world.server.bodies
        assert share("openai", first, last) == share("anthropic", other, another) == 1.0
        assert "Say please." in json.dumps(other["system"]), "the rules are the same for all models"
        assert "Say hello." in json.dumps(another["messages"][-1]) and "Say hello." in json.dumps(last["messages"])
        assert len((await world.client.context.items(session.id)).items) > 3


@pytest.mark.slow
async def test_an_agent_with_its_own_prompt_breaks_the_system_text_and_the_way_back_gives_the_old_bytes(
    environ, tmp_path
):
    settings = {"agent": {"poet": {"mode": "primary", "prompt": "You are a poet."}}}
    async with opened(environ, tmp_path, *[OK] * 3, settings=settings) as world:
        session = await world.prompt("go")
        await ask(world, session, agent="poet")
        await ask(world, session, agent="build")
        first, poet, last = world.server.bodies
        assert share("openai", first, last) == 1.0
        assert 0.5 < share("openai", first, poet) < 1.0, "it has no plan_exit, one of the last tools"


@pytest.mark.fast_cases("restart")
@pytest.mark.parametrize("way", ["restart", "fork", "trash"])
async def test_the_start_survives(environ, tmp_path, way):
    rules = tmp_path / "AGENTS.md"
    rules.write_text("Say please.\n")
    async with opened(environ, tmp_path, OK) as world:
        session = await world.prompt("go")
        first = world.server.bodies[0]
        if way == "trash":
            await world.client.sessions.remove(session.id)
            await world.client.trash.restore(session.id)
        if way == "fork":
            session = await world.client.sessions.fork(session.id, ForkSession())
    rules.write_text("Say thanks.\n")
    async with opened(environ, tmp_path, OK, OK) as world:
        await world.prompt("again", session=session)
        assert share("openai", first, world.server.bodies[0]) == 1.0
        assert "Say thanks." in world.sent()
        await world.prompt("again", session=session)
        assert world.sent() == "again"


@pytest.mark.slow
async def test_a_fork_in_another_folder_names_its_own_folder(environ, tmp_path):
    repo = make_repo(tmp_path / "repo")
    repo.commit("one")
    folder = repo.path
    async with opened(environ, folder, OK) as world:
        session = await world.prompt("go")
        fork = await world.client.sessions.fork(session.id, ForkSession(worktree=True))
    async with opened(environ, Path(fork.directory), OK) as world:
        await world.prompt("again", session=fork)
        assert fork.directory in world.system() and f"directory: {folder}\n" not in world.system()


@pytest.mark.slow
async def test_a_subagent_has_a_start_of_its_own(environ, tmp_path):
    task = Call("task", {"description": "look", "prompt": "look", "subagent_type": "explore"})
    async with opened(environ, tmp_path, Answer(calls=(task,)), READ, OK, OK) as world:
        session = await world.prompt("go")
        first, sub, later, last = world.server.bodies
        assert share("openai", first, last) == share("openai", sub, later) == 1.0
        kept = sorted(path.stem for path in tmp_path.rglob("session_prefix/*.json"))
        assert len(kept) == 2 and session.id in kept


@pytest.mark.slow
async def test_an_undo_keeps_the_system_text_and_what_was_announced_is_announced_again(environ, tmp_path):
    rules = tmp_path / "AGENTS.md"
    rules.write_text("Say please.\n")
    async with opened(environ, tmp_path, *[OK] * 3) as world:
        session = await world.prompt("go")
        rules.write_text("Say thanks.\n")
        await world.prompt("wrong", session=session)
        messages = await world.messages(session)
        await world.client.undo.revert(session.id, messages[2].info.id)
        await world.prompt("right", session=session)
        first, _, last = world.server.bodies
        assert share("openai", first, last) == 1.0
        assert "Say thanks." in world.sent() and "wrong" not in json.dumps(last)


async def test_pruning_keeps_all_before_the_first_pruned_output(environ, tmp_path):
    (tmp_path / "a.txt").write_text("text " * 20)
    async with opened(environ, tmp_path, READ, OK, OK) as world:
        session = await world.prompt("go")
        (read,) = await world.calls(session)
        await world.client.context.prune(session.id, [read.id])
        await world.prompt("again", session=session)
        _, before, after = world.server.bodies
        same = next(i for i, (a, b) in enumerate(zip(before["messages"], after["messages"], strict=False)) if a != b)
        assert before["messages"][same]["role"] == "tool"
        assert before["tools"] == after["tools"]


@pytest.mark.slow
async def test_a_compaction_freezes_anew(environ, tmp_path):
    rules = tmp_path / "AGENTS.md"
    rules.write_text("Say please.\n")
    async with opened(environ, tmp_path, *[OK] * 6) as world:
        session = await world.prompt("go")
        rules.write_text("Say thanks.\n")
        await world.prompt("again", session=session)
        await world.client.context.compact(session.id, CompactSession())
        world.server.requests.clear()
        await world.prompt("after", session=session)
        assert "Say thanks." in world.system() and "Say please." not in world.system()
        assert world.sent() == "after"
        await world.prompt("more", session=session)
        assert shares(world) == [1.0]


async def test_a_tool_that_comes_back_is_added_at_the_end(environ, tmp_path):
    async with opened(environ, tmp_path, *[OK] * 3) as world:
        session = await world.new_session()
        await ask(world, session, tools={"bash": False})
        await ask(world, session, tools={"bash": True})
        await ask(world, session)
        first, second, third = ([tool["function"]["name"] for tool in body["tools"]] for body in world.server.bodies)
        assert "bash" not in first and second == [*first, "bash", "bash_output"] == third


@pytest.mark.slow
async def test_a_damaged_record_costs_one_break_and_nothing_else(environ, tmp_path):
    async with opened(environ, tmp_path, OK) as world:
        session = await world.prompt("go")
    (record,) = tmp_path.rglob("session_prefix/*.json")
    record.write_text("{")
    async with opened(environ, tmp_path, OK, OK) as world:
        await world.prompt("again", session=session)
        assert json.loads(record.read_text())["frozen"]
        await world.prompt("again", session=session)
        assert shares(world) == [1.0]


async def test_a_break_is_reported_with_its_cause_and_its_cost(environ, tmp_path):
    rules = tmp_path / "AGENTS.md"
    rules.write_text("Say please.\n")
    (tmp_path / "a.txt").write_text("text " * 20)
    async with opened(environ, tmp_path, READ, OK, *[OK] * 3) as world:
        session = await world.prompt("go")
        (read,) = await world.calls(session)
        before = (await world.client.context.items(session.id)).prefix
        assert (before.requests, before.breaks, before.pending, before.since is None) == (2, [], [], False)
        rules.write_text("Say thanks.\n")
        (change,) = (await world.client.context.items(session.id)).prefix.pending
        assert "Say thanks." in change.text
        await world.client.context.prune(session.id, [read.id])
        await world.prompt("again", session=session)
    async with opened(environ, tmp_path, *[OK] * 3) as world:
        await world.prompt("after a restart", session=session)
        await ask(world, session, tools={"bash": True}, agent="build")
        await ask(world, session, model="fake-anthropic")
        view = (await world.client.context.items(session.id)).prefix
        assert [one.cause for one in view.breaks] == [
            "an output was pruned",
            "the model changed from fake/fake-model to fake-anthropic/fake-model",
        ]
        pruned, switched = view.breaks
        assert (pruned.place, switched.place) == ("message 3 (result)", "the system text")
        assert 0 < pruned.lost < pruned.kept and 0 < pruned.tokens and pruned.cost
        assert switched.lost > pruned.lost
        assert view.lost_cost == pytest.approx(sum(one.cost or 0 for one in view.breaks))
        assert (view.requests, view.pending) == (6, [])


def test_the_marks_for_caching_are_at_the_system_text_and_at_the_end() -> None:
    user = UserEntry((TextBlock(text="a"),))
    answer = AssistantEntry((TextBlock(text="b"),))
    for count in range(1, 6):
        history = (user, answer) * count + (user,)
        body = anthropic_request.build(LlmRequest(model=SENT, system=("You code.", "Here."), messages=history))
        blocks = [*body["system"], *(block for message in body["messages"] for block in message["content"])]
        assert ["cache_control" in one for one in blocks] == [True] * 2 + [False] * (2 * count - 1) + [True] * 2
