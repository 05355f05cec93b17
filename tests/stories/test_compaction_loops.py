"""Contexts that cannot be compacted: each ends with a message that says what to do, after at most two attempts."""

import base64
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.session.request.history import filter_compacted
from opencode_tui.schema.api.request import CreateSession, FileInput
from opencode_tui.schema.error import ContextOverflowError, OpencodeError, ProviderError
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.session import SessionInfo
from tests.support.provider.model_script import Answer, Call, failure
from tests.support.provider.model_server import asks_for_summary
from tests.support.provider.token_counter import Window
from tests.support.world.engine import World, opened

pytestmark = pytest.mark.slow


TOO_LONG = failure(400, "prompt is too long: 250000 tokens > 200000 maximum", kind="invalid_request_error")
REMEDY = r"context is full.*new session.*larger context.*provider\.fake\.models\.fake-model\.limit"


async def named(world: World) -> SessionInfo:
    return await world.client.sessions.create(CreateSession(title="named"))


def summaries(world: World) -> int:
    return sum(asks_for_summary(body) for body in world.server.bodies)


async def test_limits_of_40_k_and_32_k_give_work_or_a_clear_end_and_few_summaries(
    environ: dict[str, str], tmp_path: Path
) -> None:
    window = Window(40_000, counts_output=True)
    async with opened(environ, tmp_path, window=window, limit=(40_000, 32_000)) as world:
        session, ends = await named(world), []
        for number in range(6):
            world.server.script(Answer(text=f"answer {number} " + "word " * 700))
            try:
                await world.prompt("hi", session=session)
                ends.append("answered")
            except ContextOverflowError as error:
                ends.append(str(error))
        calls = [body for body in world.server.bodies if not asks_for_summary(body)]
    assert world.server.refused == 0 and summaries(world) <= len(calls) <= 6
    assert len(ends) == 6 and "answered" in ends
    assert all(end == "answered" or "context is full" in end for end in ends)


async def test_hi_in_a_context_that_instructions_fill_ends_at_once(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Mind the gap. " * 8_000)
    async with opened(environ, tmp_path, limit=(32_000, 8_000)) as world:
        session = await named(world)
        with pytest.raises(ContextOverflowError, match=REMEDY):
            await world.prompt("hi", session=session)
        last = (await world.messages(session))[-1].info
    assert world.server.requests == []
    assert isinstance(last, AssistantMessage) and last.error is not None and last.error.name == "ContextOverflowError"


async def test_hi_after_an_overflow_compacts_once_then_ends_at_once(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Mind the gap. " * 3_500)
    answers = [Answer(text="first " + "word " * 6_000), Answer(text="a long summary " * 130), Answer(text="on")]
    async with opened(environ, tmp_path, *answers, window=Window(), limit=(28_000, 8_000)) as world:
        session = await named(world)
        await world.prompt("begin", session=session)
        await world.prompt("hi", session=session)
        for _ in range(2):
            world.server.script(Answer(text="more " + "word " * 2_500))
            try:
                await world.prompt("hi", session=session)
            except ContextOverflowError:
                break
    assert summaries(world) <= 2


async def test_a_summary_longer_than_its_messages_is_rejected_twice_and_reported(
    environ: dict[str, str], tmp_path: Path
) -> None:
    endless = Answer(text="and then " * 6_000, is_burst=True)
    answers = [Answer(text="word " * 5_000, usage=(95_000, 500, 0)), endless, endless]
    async with opened(environ, tmp_path, *answers, limit=(100_000, 8_000)) as world:
        session = await named(world)
        await world.prompt("begin", session=session)
        with pytest.raises(ProviderError, match=r"longer than the summarized messages.*agent\.compaction\.model"):
            await world.prompt("go on", session=session)
        messages = await world.messages(session)
    assert summaries(world) == 2
    assert [one.info.role for one in filter_compacted(messages)] == ["user", "assistant", "user"]


async def test_an_image_that_no_request_can_carry_ends_the_turn_clearly(
    environ: dict[str, str], tmp_path: Path
) -> None:
    picture = base64.b64encode(b"\x89PNG" + bytes(200_000)).decode()
    image = FileInput(mime="image/png", filename="huge.png", url=f"data:image/png;base64,{picture}")
    answers = [Answer(text="word " * 8_000), TOO_LONG, Answer(text="the summary"), TOO_LONG, Answer(text="never")]
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("begin", session=await named(world))
        with pytest.raises(ContextOverflowError, match="context is full"):
            await world.prompt("look at this", image, session=session)
        calls = len(world.server.requests)
        last = (await world.messages(session))[-1].info
    assert (calls, summaries(world)) == (4, 1)
    assert last.error is not None and last.error.name == "ContextOverflowError"


async def test_a_provider_that_refuses_even_the_summary_is_asked_twice(environ: dict[str, str], tmp_path: Path) -> None:
    answers: list[Any] = [Answer(text="word " * 8_000), *[TOO_LONG] * 5]
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("begin", session=await named(world))
        with pytest.raises(ContextOverflowError, match=r"rejects even the shortened conversation.*new session"):
            await world.prompt("go on", session=session)
    assert (len(world.server.requests), summaries(world)) == (4, 2)


async def test_with_automatic_compaction_off_the_error_says_how_to_compact(
    environ: dict[str, str], tmp_path: Path
) -> None:
    settings = {"compaction": {"auto": False}}
    async with opened(environ, tmp_path, Answer(text="one"), TOO_LONG, settings=settings) as world:
        session = await world.prompt("begin", session=await named(world))
        with pytest.raises(OpencodeError, match=f"opencode-tui session compact {session.id}"):
            await world.prompt("go on", session=session)


async def test_a_history_too_large_to_be_summarized_at_once_is_shortened_first(
    environ: dict[str, str], tmp_path: Path
) -> None:
    for number in range(4):
        lines = (f"line {row} of file {number}, with some words in it" for row in range(1_000))
        (tmp_path / f"{number}.txt").write_text("\n".join(lines))
    reads = tuple(Call("read", {"filePath": str(tmp_path / f"{number}.txt")}) for number in range(4))
    answers = [Answer(calls=reads), Answer(text="the summary"), Answer(text="all read")]
    window = Window(32_000, counts_output=True)
    async with opened(environ, tmp_path, *answers, window=window, limit=(32_000, 8_000)) as world:
        session = await world.prompt("read all four", session=await named(world))
        assert await world.answer(session) == "all read"
        shortened = next(one for one in world.server.requests if asks_for_summary(one.body))
    assert (world.server.refused, summaries(world)) == (0, 1)
    assert "characters left out" in str(shortened.body["messages"]) and "line 999 of file 3" in str(shortened.body)
