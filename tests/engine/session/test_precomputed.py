"""Precomputed summaries: used at the limit, discarded when history changes, never delaying a turn."""

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.session.budget import Reservation
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import CompactionPart, TextPart
from opencode_tui.schema.session.session import SessionInfo
from tests.support.provider.model_script import Answer, content_text, failure
from tests.support.provider.model_server import asks_for_summary
from tests.support.provider.token_counter import Window
from tests.support.world.engine import MODEL, World, opened
from tests.support.world.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow


LIMIT = (20_500, 4_000)
LONG = "word " * 5_000
"""About 5,000 tokens: with instructions and tools two such answers pass 0.7 of the context, three fill it."""


_TITLED = CreateSession(title="named")


def prepared_at(share: float | bool) -> dict[str, Any]:
    return {"compaction": {"prepare": share}}


def summary_requests(world: World) -> list[Any]:
    return [one for one in world.server.requests if asks_for_summary(one.body)]


async def cost_of(world: World, session: SessionInfo) -> float:
    info = await world.client.sessions.get(session.id)
    return (info.metadata or {}).get("cost", 0)


async def compactions(world: World, session: SessionInfo) -> list[tuple[CompactionPart, str]]:
    """Return each marker's part with the text of its summary."""
    messages = await world.messages(session)
    texts = {
        one.info.parent_id: "".join(part.text for part in one.parts if isinstance(part, TextPart))
        for one in messages
        if isinstance(one.info, AssistantMessage) and one.info.summary
    }
    return [(part, texts[one.info.id]) for one in messages for part in one.parts if isinstance(part, CompactionPart)]


class Filling:
    """A session that has passed half of its context, with a precomputed summary."""

    def __init__(self, world: World, session: SessionInfo) -> None:
        self.world = world
        self.session = session

    @classmethod
    async def begun(cls, world: World, *, summary: Answer | None = None) -> "Filling":
        """Fill it with two long answers; the third request finds it half full."""
        world.server.summary_answers.append(summary or Answer(text="prepared summary"))
        world.server.script(*(Answer(text=f"answer {n} {LONG}", delta_size=1_000) for n in range(3)))
        session = await world.client.sessions.create(_TITLED)
        for number in range(3):
            await world.prompt(f"request {number}", session=session)
        filling = cls(world, session)
        await until(lambda: bool(summary_requests(world)))
        return filling

    async def go_on(self) -> None:
        """Send the request at which the context is full."""
        self.world.server.script(Answer(text="goes on"))
        await self.world.prompt("request 3", session=self.session)


async def test_a_prepared_summary_is_used_at_the_limit_with_what_came_since(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with opened(environ, tmp_path, window=Window(), limit=LIMIT, settings=prepared_at(0.7)) as world:
        filling = await Filling.begun(world)
        await asyncio.sleep(0.1)
        await filling.go_on()
        [(part, text)] = await compactions(world, filling.session)
        messages = await world.messages(filling.session)
        sent = [content_text(one["content"]) for one in world.server.bodies[-1]["messages"]]
    assert (text, len(summary_requests(world))) == ("prepared summary", 1)
    assert part.tail_id == messages[4].info.id
    assert sent[2].startswith("prepared summary") and sent[3] == "request 2" and sent[4].startswith("answer 2")
    assert sent[5].startswith("request 3")


async def test_no_turn_waits_for_the_precomputation(environ: dict[str, str], tmp_path: Path) -> None:
    slow = Answer(text="prepared " * 20, delay_ms=100)
    async with opened(environ, tmp_path, window=Window(), limit=LIMIT, settings=prepared_at(0.7)) as world:
        filling = await Filling.begun(world, summary=slow)
        [asked] = summary_requests(world)
        assert asked not in world.server.answered
        await filling.go_on()
        assert world.server.answered[-2:] == [asked, world.server.requests[-1]]
        [(_, text)] = await compactions(world, filling.session)
    assert text.startswith("prepared")


@pytest.mark.parametrize("change", ["revert", "edit", "model"])
async def test_a_summary_of_another_history_is_thrown_away_and_its_cost_counted(
    environ: dict[str, str], tmp_path: Path, change: str
) -> None:
    async with opened(environ, tmp_path, window=Window(), limit=LIMIT, settings=prepared_at(0.7)) as world:
        filling = await Filling.begun(world)
        await asyncio.sleep(0.1)
        session, messages = filling.session, await world.messages(filling.session)
        model = MODEL
        match change:
            case "revert":
                await world.client.undo.revert(session.id, messages[2].info.id)
            case "edit":
                part = next(part for part in messages[1].parts if isinstance(part, TextPart))
                await world.client.messages.update_part(part.changed(text="other words " + LONG))
            case _:
                model = MODEL.changed(provider_id="fake-anthropic")
        world.server.summary_answers.append(Answer(text="made on demand"))
        world.server.script(*(Answer(text=f"later {LONG}", delta_size=1_000) for _ in range(3)))
        for number in range(3):
            request = PromptInput(model=model, parts=[TextInput(text=f"new {number}")])
            await world.client.prompts.prompt(session.id, request)
        texts = [text for _, text in await compactions(world, session)]
        assert await cost_of(world, session) > 0
    assert texts and texts[0] == "made on demand"


async def test_without_preparation_the_summary_is_made_at_the_limit(environ: dict[str, str], tmp_path: Path) -> None:
    answers = [Answer(text=f"answer {LONG}", delta_size=1_000)] * 3
    async with opened(environ, tmp_path, *answers, window=Window(), limit=LIMIT, settings=prepared_at(False)) as world:
        world.server.summary_answers.append(Answer(text="made on demand"))
        session = await world.client.sessions.create(_TITLED)
        for number in range(3):
            await world.prompt(f"request {number}", session=session)
        assert summary_requests(world) == []
        world.server.script(Answer(text="goes on"))
        await world.prompt("request 3", session=session)
        [(part, text)] = await compactions(world, session)
        messages = await world.messages(session)
    assert (text, part.tail_id) == ("made on demand", messages[6].info.id)


async def test_a_preparation_that_fails_is_made_up_for_at_the_limit(
    environ: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(environ, tmp_path, window=Window(), limit=LIMIT, settings=prepared_at(0.7)) as world:
        filling = await Filling.begun(world, summary=failure(500, "down"))
        await until(lambda: "precomputing a summary" in caplog.text)
        world.server.summary_answers.append(Answer(text="made on demand"))
        await filling.go_on()
        [(_, text)] = await compactions(world, filling.session)
    assert text == "made on demand"


async def test_an_interruption_ends_the_preparation(environ: dict[str, str], tmp_path: Path) -> None:
    slow = Answer(text="prepared " * 100, delay_ms=100)
    async with opened(environ, tmp_path, window=Window(), limit=LIMIT, settings=prepared_at(0.7)) as world:
        filling = await Filling.begun(world, summary=slow)
        await world.client.prompts.abort(filling.session.id)
        assert await asyncio.to_thread(world.server.disconnects.acquire, timeout=PATIENCE_S)


async def test_a_summary_that_was_never_used_is_paid_for_in_the_books(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path, window=Window(), limit=LIMIT, settings=prepared_at(0.7)) as world:
        filling = await Filling.begun(world)
        await asyncio.sleep(0.1)
    async with opened(environ, tmp_path) as world:
        totals = await world.client.sessions.totals(filling.session.id)
        messages = await world.messages(filling.session)
        shown = sum(one.info.cost for one in messages if isinstance(one.info, AssistantMessage))
        assert totals.cost == pytest.approx(shown + await cost_of(world, filling.session))
        assert await cost_of(world, filling.session) > 0.01


async def test_no_summary_is_precomputed_without_room_in_a_budget(environ, tmp_path):
    settings = {**prepared_at(0.7), "limits": {"cost": {"session": 100}}}
    async with opened(environ, tmp_path, settings=settings, limit=LIMIT, window=Window()) as world:
        budgets, filling = world.client._instance.session._budgets, await Filling.begun(world)
        prepared = world.client._instance.session._prepared_summaries.get()
        await prepared.discard(filling.session.id)
        asked = len(summary_requests(world))
        history = await world.messages(filling.session)
        model = world.client._instance.folder.catalog.resolve(MODEL)
        root = await world.client.sessions.get(filling.session.id)
        (use,) = await budgets.uses(root.id)
        left = await budgets._reserve(root, Decimal("99.9999") - Decimal(str(use.spent)))
        assert isinstance(left, Reservation)
        with budgets._held(root, left):
            prepared.begin(filling.session.id, history[:2], model)
            await world.client._instance.folder.background.wait_until_idle()
            assert len(summary_requests(world)) == asked
            await prepared.discard(filling.session.id)
        prepared.begin(filling.session.id, history[:2], model)
        await world.client._instance.folder.background.wait_until_idle()
        assert len(summary_requests(world)) == asked + 1
