"""Budgets: the user is asked before one is passed, and a run without a user ends."""

import asyncio
import json
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.permission.policy import AutoApprove, RefuseQuestions
from opencode_tui.engine.provider.llm import LlmRequest, TextBlock, UserEntry
from opencode_tui.engine.provider.spending import Spending
from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.error import BudgetError
from opencode_tui.schema.event.event import QuestionAsked
from opencode_tui.schema.model import ModelRef
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import World, opened, react
from tests.support.world.waiting import PATIENCE_S

OK = Answer(text="ok")
READ = Answer(calls=(Call("read", {"filePath": "a.txt"}),))


def limits(**cost: float) -> dict[str, Any]:
    return {"limits": {"cost": cost}}


async def ask_with(world: World, answer: str, session: Any = None, model: str = "fake-model") -> Any:
    """Send a prompt while the next question is answered; return the question and the session."""

    async def reply(event: QuestionAsked) -> None:
        await world.client.questions.reply(event.id, [[answer]])

    session = session or await world.new_session()
    waiter = asyncio.create_task(react(world, QuestionAsked, reply))
    await asyncio.sleep(0)
    try:
        ref = ModelRef(provider_id="fake", model_id=model)
        request = PromptInput(model=ref, parts=[TextInput(text="more")])
        await asyncio.wait_for(world.client.prompts.prompt(session.id, request), PATIENCE_S)
    finally:
        event: Any = await asyncio.wait_for(waiter, PATIENCE_S)
    return event.questions[0], session


async def spent_on(world: World, session: Any) -> float:
    return (await world.client.sessions.totals(session.id)).cost


async def test_a_session_asks_before_its_budget_is_passed_and_goes_on_after_a_yes(environ, tmp_path):
    async with opened(environ, tmp_path, OK, settings=limits(session=100)) as world:
        session = await world.prompt("go")
        spent = await spent_on(world, session)
    budget = limits(session=spent + 0.0001)
    async with opened(environ, tmp_path, OK, settings=budget) as world:
        question, _ = await ask_with(world, "Continue", session)
        assert f"The budget of this session, ${spent + 0.0001:.4f}, would be passed" in question["question"]
        assert [one["label"] for one in question["options"]] == ["Continue", "Stop"]
        assert len(world.server.bodies) == 1
    async with opened(environ, tmp_path, OK, settings=budget) as world:
        await asyncio.wait_for(world.prompt("again", session=session), PATIENCE_S)
        assert len(world.server.bodies) == 1, "what was allowed holds after a restart"


@pytest.mark.parametrize("answer", ["Stop", "what?"])
async def test_a_no_ends_the_turn_and_sends_nothing(environ, tmp_path, answer):
    async with opened(environ, tmp_path, OK, OK, settings=limits(session=0.001)) as world:
        with pytest.raises(BudgetError, match=r"raise limits\.cost\.session in the settings"):
            await ask_with(world, answer)
        assert world.server.bodies == []


@pytest.mark.parametrize("policy", [RefuseQuestions(), AutoApprove(RefuseQuestions())])
@pytest.mark.parametrize("scope", ["session", "day"])
async def test_a_run_without_a_user_ends_with_one_line(environ, tmp_path, policy, scope):
    async with opened(environ, tmp_path, OK, settings=limits(**{scope: 0.001}), policy=policy) as world:
        with pytest.raises(BudgetError) as error:
            await world.prompt("go")
        assert "\n" not in str(error.value) and f"raise limits.cost.{scope}" in str(error.value)
        assert world.server.bodies == []


@pytest.mark.slow
async def test_a_day_counts_all_sessions_and_processes(environ, tmp_path):
    async with opened(environ, tmp_path, OK, OK, settings=limits(day=0.012)) as world:
        await world.prompt("one")
    (record,) = (path for path in tmp_path.rglob("spending/*") if path.is_file())
    before = Decimal(sum(Decimal(line) for line in record.read_text().split()))
    assert before > 0
    async with opened(environ, tmp_path, OK, OK, settings=limits(day=float(before) + 0.0001)) as world:
        question, _ = await ask_with(world, "Continue")
        assert question["question"].startswith("The budget of today")


@pytest.mark.slow
async def test_subagents_count_to_their_parent(environ, tmp_path):
    task = Call("task", {"description": "look", "prompt": "look", "subagent_type": "explore"})
    answers = [Answer(calls=(task,)), READ, OK, OK]
    async with opened(environ, tmp_path, *answers, settings=limits(session=100)) as world:
        session = await world.prompt("go")
        whole = (await world.client.sessions.totals(session.id)).cost
        own = sum(one.info.cost for one in await world.messages(session) if one.info.role == "assistant")
        assert whole > own > 0
    async with opened(environ, tmp_path, OK, settings=limits(session=(own + whole) / 2)) as world:
        question, _ = await ask_with(world, "Continue", session)
        assert f"${whole:.4f} is spent" in question["question"]


@pytest.mark.slow
async def test_an_unknown_price_is_said_once_and_not_counted_as_free(environ, tmp_path):
    models = {"other": {"limit": {"context": 100_000, "output": 8_000}}}
    (tmp_path / "opencode.json").write_text(json.dumps({"provider": {"fake": {"models": models}}}))
    async with opened(environ, tmp_path, OK, OK, settings=limits(day=5)) as world:
        question, session = await ask_with(world, "Continue", model="other")
        assert question["question"].startswith("The price of fake/other is unknown")
        request = PromptInput(model=ModelRef(provider_id="fake", model_id="other"), parts=[TextInput(text="go")])
        await asyncio.wait_for(world.client.prompts.prompt(session.id, request), PATIENCE_S)
        with pytest.raises(BudgetError, match=r"set provider\.fake\.models\.other\.cost in the settings"):
            await ask_with(world, "Stop", model="other")
        assert len(world.server.bodies) == 2


def test_the_record_of_a_day_survives_what_a_crash_leaves(tmp_path: Path) -> None:
    spending = Spending(tmp_path / "spending", clock=lambda: 1_760_000_000_000)
    assert spending.today() == (0, 0)
    spending.add(Decimal("0.5"))
    spending.allow(Decimal(2))
    (path,) = (tmp_path / "spending").iterdir()
    path.write_text(path.read_text() + "0.2")
    spending.add(Decimal("0.25"))
    path.write_text(path.read_text() + "nan\n-3\nallow\nallow x\n")
    assert spending.today() == (Decimal("0.95"), Decimal(2))
    spending.add(Decimal(0))
    Spending(tmp_path / "spending", clock=lambda: 1_760_000_000_000 + 40 * 86_400_000).add(Decimal(1))
    assert [one.name for one in (tmp_path / "spending").iterdir()] != [path.name]


@pytest.mark.slow
async def test_parallel_requests_never_pass_a_budget_together(environ, tmp_path):
    settings = limits(session=1, day=100)
    async with opened(environ, tmp_path, settings=settings, policy=RefuseQuestions()) as world:
        session = await world.new_session()
        instance = world.client._instance
        budgets = instance.session._budgets
        model = instance.folder.catalog.resolve(ModelRef(provider_id="fake", model_id="fake-model"))
        entry = UserEntry((TextBlock("word " * 600_000),))
        request = LlmRequest(model=model, system=(), messages=(entry,))
        release, sent = asyncio.Event(), 0

        async def send() -> str:
            nonlocal sent
            try:
                async with budgets.reserved(session.id, request, (), RefuseQuestions()):
                    sent += 1
                    await release.wait()
            except BudgetError as error:
                return str(error)
            return ""

        tasks = [asyncio.create_task(send()) for _ in range(3)]
        while sent + sum(task.done() for task in tasks) < len(tasks):
            await asyncio.sleep(0.01)
        release.set()
        refused = [text for text in await asyncio.gather(*tasks) if text]
        assert (sent, len(refused)) == (1, 2)
        assert all("The budget of this session, $1.00, would be passed" in text for text in refused)
        async with budgets.reserved(session.id, request, (), RefuseQuestions()):
            pass  # nothing is left reserved


async def test_the_estimate_of_a_long_request_does_not_hold_up_the_event_loop(environ, tmp_path):
    async with opened(environ, tmp_path, settings=limits(day=100)) as world:
        session = await world.new_session()
        instance = world.client._instance
        model = instance.folder.catalog.resolve(ModelRef(provider_id="fake", model_id="fake-model"))
        entered, seen = threading.Event(), threading.Event()

        class Watched(str):
            """A text that says when it is counted, and waits there until the event loop has run."""

            def encode(self, *given: Any, **named: Any) -> bytes:
                entered.set()
                assert seen.wait(PATIENCE_S), "the event loop stands still"
                return super().encode(*given, **named)

        request = LlmRequest(model=model, system=(), messages=(UserEntry((TextBlock(Watched("word " * 1_000)),)),))

        async def watch() -> None:
            while not entered.is_set():
                await asyncio.sleep(0.01)
            seen.set()

        watcher = asyncio.create_task(watch())
        async with instance.session._budgets.reserved(session.id, request, (), RefuseQuestions()):
            await watcher


@pytest.mark.slow
async def test_a_compaction_asks_before_a_budget_is_passed(environ, tmp_path):
    async with opened(environ, tmp_path, OK, settings=limits(session=100)) as world:
        session = await world.prompt("word " * 2_000)
        spent = await spent_on(world, session)
    budget = limits(session=spent + 0.0001)
    async with opened(environ, tmp_path, settings=budget, policy=RefuseQuestions()) as world:
        with pytest.raises(BudgetError, match=r"raise limits\.cost\.session in the settings"):
            await world.client.context.compact(session.id, CompactSession())
        assert world.server.bodies == []
    async with opened(environ, tmp_path, Answer(text="What was said: word. " * 20), settings=budget) as world:

        async def reply(event: QuestionAsked) -> None:
            assert world.server.bodies == []
            await world.client.questions.reply(event.id, [["Continue"]])

        waiter = asyncio.create_task(react(world, QuestionAsked, reply))
        await asyncio.sleep(0)
        await asyncio.wait_for(world.client.context.compact(session.id, CompactSession()), PATIENCE_S)
        await asyncio.wait_for(waiter, PATIENCE_S)
        assert len(world.server.bodies) == 1


@pytest.mark.parametrize(("room", "titles"), [(100, 1), (0, 0)])
async def test_no_title_is_asked_for_without_room_in_a_budget(environ, tmp_path, room, titles):
    async with opened(environ, tmp_path, settings=limits(day=room or 0.0000001)) as world:
        instance = world.client._instance
        session = await world.new_session()
        request = PromptInput(model=ModelRef(provider_id="fake", model_id="fake-model"), parts=[TextInput(text="hi")])
        await world.client.prompts.prompt(session.id, request.changed(no_reply=True))
        instance.session._loop.titles.schedule(session, await world.messages(session))
        await instance.folder.background.wait_until_idle()
        assert len(world.server.titles) == titles


async def test_an_answer_that_was_cut_off_is_counted_once(environ, tmp_path, quick_retries):
    usage = {"input_tokens": 4_000, "output_tokens": 1}
    start = {"type": "message_start", "message": {"usage": usage}}
    cut = Answer(chunks=(f"event: message_start\ndata: {json.dumps(start)}\n\n".encode(),))
    async with opened(environ, tmp_path, cut, OK, has_all=True) as world:
        session = await world.prompt("go", model=ModelRef(provider_id="fake-anthropic", model_id="fake-model"))
        spent = await spent_on(world, session)
        assert (len(world.server.bodies), spent > 0.004) == (2, True)
        await world.client._instance.folder.background.wait_until_idle()
        title = (await world.client.sessions.get(session.id)).metadata or {}
        own = sum(one.info.cost for one in await world.messages(session) if one.info.role == "assistant")
    (record,) = (path for path in tmp_path.rglob("spending/*") if path.is_file())
    day = sum(float(line) for line in record.read_text().split())
    assert day == pytest.approx(own + title.get("cost", 0))
