"""Compaction through the engine: manual, at the limit, after a rejection by a provider; and what it preserves."""

import asyncio
import threading
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.request import CreateSession, ForkSession
from opencode_tui.schema.error import BusyError, OpencodeError, SessionError
from opencode_tui.schema.event.event import SessionCompacted, SessionUpdated
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import CompactionPart, TextPart
from opencode_tui.schema.session.session import SessionInfo
from tests.support.provider.model_script import Answer, Call, content_text, failure
from tests.support.provider.token_counter import Window
from tests.support.world.engine import MODEL, World, opened

TOO_LONG = failure(400, "This model's maximum context length is 9000 tokens", kind="context_length_exceeded")


async def compact(world: World, session: SessionInfo, **wish: Any):
    return await world.client.context.compact(session.id, CompactSession(**wish))


def kinds(messages: list[Any]) -> list[str]:
    """Return a word for each message: a request of the user or the program, an answer of the model."""
    return [_kind(one) for one in messages]


def _kind(message: Any) -> str:
    if isinstance(message.info, AssistantMessage):
        return "summary" if message.info.summary else "answer"
    if any(isinstance(part, CompactionPart) for part in message.parts):
        return "marker"
    return "continue" if all(part.synthetic for part in message.parts if isinstance(part, TextPart)) else "request"


async def test_a_summary_replaces_the_older_messages(environ: dict[str, str], tmp_path: Path) -> None:
    answers = (Answer(text="one"), Answer(text="the summary"), Answer(text="two"))
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("first")
        report = await compact(world, session)
        await world.prompt("second", session=session)
        messages = await world.messages(session)
        sent = [content_text(one["content"]) for one in world.server.bodies[-1]["messages"] if one["role"] != "system"]
    assert kinds(messages) == ["request", "answer", "marker", "summary", "request", "answer"]
    assert sent[0].startswith("What did we do so far?") and sent[1:] == ["the summary", "second"]
    assert (report.messages, report.summary, report.message_id) == (2, "the summary", messages[3].info.id)
    marker, summary = messages[2].info, messages[3].info
    assert (summary.agent, summary.mode, summary.finish, summary.parent_id) == (
        "compaction",
        "compaction",
        "stop",
        marker.id,
    )


async def test_a_request_for_a_summary_has_no_tools_and_names_its_purpose(
    environ: dict[str, str], tmp_path: Path
) -> None:
    answers = (Answer(calls=(Call("read", {"filePath": "a.py"}),)), Answer(text="done"), Answer(text="sum"))
    (tmp_path / "a.py").write_text("NEEDLE = 1\n")
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("look")
        await compact(world, session)
        body = world.server.bodies[-1]
    roles = [one["role"] for one in body["messages"]]
    assert "tools" not in body and roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "summarize the conversation" in content_text(body["messages"][-1]["content"])
    assert "NEEDLE" in content_text(body["messages"][3]["content"])


async def test_compaction_is_published_and_shown_while_it_runs(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path) as world:
        session = await world.client.sessions.create(CreateSession(title="named"))
        await world.prompt("first", session=session)
        seen: list[str] = []
        with world.client.events() as events:
            await compact(world, session)
            while (envelope := events.poll()) is not None:
                match envelope.event:
                    case SessionUpdated(info=info) if info.id == session.id:
                        seen.append("on" if info.time.compacting else "off")
                    case SessionCompacted():
                        seen.append("compacted")
                    case _:
                        pass
    began = seen.index("on")
    assert [word for word, _ in groupby(seen[began:])][:3] == ["on", "off", "compacted"]


@pytest.mark.slow
async def test_a_full_context_is_compacted_within_the_turn(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    answers = (
        Answer(calls=(Call("read", {"filePath": "a.py"}),), usage=(95_000, 500, 0)),
        Answer(text="the summary"),
        Answer(text="all done"),
    )
    async with opened(environ, tmp_path, *answers, limit=(100_000, 8_000)) as world:
        session = await world.prompt("do the work")
        messages = await world.messages(session)
        assert await world.answer(session) == "all done"
    assert kinds(messages) == ["request", "answer", "marker", "summary", "continue", "answer"]
    assert messages[2].parts[0].auto and "do the work" in messages[2].parts[1].text
    assert (messages[4].info.agent, messages[4].info.model) == (messages[0].info.agent, messages[0].info.model)


@pytest.mark.slow
async def test_a_new_request_that_finds_the_context_full_is_sent_in_full_after_the_summary(
    environ: dict[str, str], tmp_path: Path
) -> None:
    answers = (Answer(text="one", usage=(95_000, 500, 0)), Answer(text="the summary"), Answer(text="two"))
    async with opened(environ, tmp_path, *answers, limit=(100_000, 8_000)) as world:
        session = await world.prompt("first")
        await world.prompt("second", session=session)
        messages = await world.messages(session)
    assert kinds(messages) == ["request", "answer", "request", "marker", "summary", "continue", "answer"]
    assert messages[3].parts[0].tail_id == messages[2].info.id
    assert world.sent().startswith("second")


@pytest.mark.parametrize("variables", [{"OPENCODE_DISABLE_AUTOCOMPACT": "1"}, {}])
async def test_nothing_is_compacted_by_itself_when_it_is_switched_off(
    environ: dict[str, str], tmp_path: Path, variables: dict[str, str]
) -> None:
    answers = (Answer(text="one", usage=(95_000, 500, 0)), Answer(text="two"))
    settings = {} if variables else {"compaction": {"auto": False}}
    limit = (100_000, 8_000)
    async with opened({**environ, **variables}, tmp_path, *answers, settings=settings, limit=limit) as world:
        session = await world.prompt("first")
        await world.prompt("second", session=session)
        assert kinds(await world.messages(session)) == ["request", "answer", "request", "answer"]


async def test_a_provider_that_refuses_the_length_is_asked_again_after_compacting(
    environ: dict[str, str], tmp_path: Path
) -> None:
    answers = (Answer(text="word " * 30_000), TOO_LONG, Answer(text="the summary"), Answer(text="two"))
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("first")
        await world.prompt("second", session=session)
        messages = await world.messages(session)
    assert kinds(messages) == ["request", "answer", "request", "marker", "summary", "continue", "answer"]
    assert all(one.info.error is None for one in messages if isinstance(one.info, AssistantMessage))


@pytest.mark.slow
async def test_an_interrupted_compaction_leaves_the_history_as_it_was(environ: dict[str, str], tmp_path: Path) -> None:
    answers = (Answer(text="one"), Answer(text="slow " * 50, delay_ms=50), Answer(text="two"))
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("first")
        work = asyncio.create_task(compact(world, session))
        while len(world.server.requests) < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        await world.client.prompts.abort(session.id)
        with pytest.raises(OpencodeError):
            await work
        summary = (await world.messages(session))[-1].info
        assert (await world.client.sessions.get(session.id)).time.compacting is None
        await world.prompt("second", session=session)
        sent = [content_text(one["content"]) for one in world.server.bodies[-1]["messages"] if one["role"] != "system"]
    assert (summary.summary, summary.error.name) == (True, "MessageAbortedError")
    assert sent == ["first", "one", "second"]


async def test_a_failed_summary_ends_the_turn_with_its_cause(environ: dict[str, str], tmp_path: Path) -> None:
    answers = (Answer(text="one"), failure(401, "bad key"))
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("first")
        with pytest.raises(OpencodeError, match="could not be summarized"):
            await compact(world, session)
        assert (await world.client.sessions.get(session.id)).time.compacting is None


async def test_an_empty_summary_is_tried_once_more_then_named(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path, Answer(text="one"), Answer(text=" "), Answer(text="\n")) as world:
        session = await world.prompt("first")
        with pytest.raises(OpencodeError, match=r"agent\.compaction\.model"):
            await compact(world, session)
    assert len(world.server.requests) == 3


async def test_nothing_to_summarize_is_an_error(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        with pytest.raises(SessionError, match="nothing to summarize"):
            await compact(world, session)
        await world.prompt("first", session=session)
        await compact(world, session)
        with pytest.raises(SessionError, match="since its last compaction"):
            await compact(world, session)


async def test_a_session_that_is_worked_on_is_not_compacted_by_hand(environ: dict[str, str], tmp_path: Path) -> None:
    was_refused = threading.Event()
    async with opened(environ, tmp_path, Answer(text="begun ended", holds=(("ended", was_refused),))) as world:
        session = await world.new_session()
        turn = asyncio.create_task(world.prompt("first", session=session))
        while not await world.client.prompts.status():
            await asyncio.sleep(0.01)
        with pytest.raises(BusyError):
            await compact(world, session)
        was_refused.set()
        await turn


async def test_a_look_changes_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path) as world:
        session = await world.prompt("always say please")
        before = [one.parts for one in await world.messages(session)]
        report = await compact(world, session, dry_run=True)
        assert [one.parts for one in await world.messages(session)] == before
    assert (report.messages, report.after, report.summary, len(world.server.requests)) == (2, None, None, 1)
    assert "always say please" in report.kept


@pytest.mark.slow
async def test_another_model_can_write_the_summary_and_the_conversation_keeps_its_own(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with opened(environ, tmp_path) as world:
        session = await world.prompt("first")
        other = MODEL.changed(provider_id="fake-anthropic")
        await compact(world, session, model=other)
        messages = await world.messages(session)
    assert world.server.requests[-1].api == "anthropic"
    assert (messages[3].info.provider_id, messages[2].info.model) == ("fake-anthropic", MODEL)


@pytest.mark.slow
async def test_a_request_to_continue_is_answered_after_the_summary(environ: dict[str, str], tmp_path: Path) -> None:
    answers = (Answer(text="one"), Answer(text="the summary"), Answer(text="going on"))
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("first")
        await compact(world, session, auto=True)
        assert kinds(await world.messages(session))[2:] == ["marker", "summary", "continue", "answer"]
        assert await world.answer(session) == "going on"


@pytest.mark.slow
async def test_a_request_that_comes_while_the_summary_is_written_is_answered_after_it(
    environ: dict[str, str], tmp_path: Path
) -> None:
    answers = (Answer(text="one"), Answer(text="slow summary", delay_ms=100), Answer(text="two"))
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("first")
        work = asyncio.create_task(compact(world, session))
        while len(world.server.requests) < 2:
            await asyncio.sleep(0.01)
        await world.prompt("second", session=session)
        await work
        assert await world.answer(session) == "two"
        sent = [content_text(one["content"]) for one in world.server.bodies[-1]["messages"] if one["role"] != "system"]
    assert sent[1:] == ["slow summary", "second"]


async def test_the_settings_can_name_who_summarizes(environ: dict[str, str], tmp_path: Path) -> None:
    settings = {"agent": {"compaction": {"model": "fake-anthropic/fake-model", "prompt": "Sum it up my way."}}}
    async with opened(environ, tmp_path, settings=settings) as world:
        session = await world.prompt("first")
        await compact(world, session)
        assert world.server.requests[-1].api == "anthropic"
        assert "Sum it up my way." in str(world.server.bodies[-1]["system"])


@pytest.mark.slow
async def test_calls_that_a_summarizing_model_makes_are_not_run(environ: dict[str, str], tmp_path: Path) -> None:
    call = Call("bash", {"command": "touch ran"})
    answers = (Answer(text="one"), Answer(text="the summary", calls=(call,)), Answer(text="two"))
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("first")
        await compact(world, session)
        summary = (await world.messages(session))[-1]
        await world.prompt("second", session=session)
    assert not (tmp_path / "ran").exists()
    assert (summary.info.finish, [part.type for part in summary.parts]) == (
        "stop",
        ["step-start", "text", "step-finish"],
    )


@pytest.mark.slow
@pytest.mark.parametrize("limit", [(32_000, 32_000), (34_000, 34_000)])
async def test_without_space_for_a_full_answer_the_answer_is_limited_to_what_is_left(
    environ: dict[str, str], tmp_path: Path, limit: tuple[int, int]
) -> None:
    answers = [Answer(text="word " * 4_000)] * 4
    window = Window(limit[0], counts_output=True)
    async with opened(environ, tmp_path, *answers, window=window, limit=limit) as world:
        session = await world.client.sessions.create(CreateSession(title="named"))
        for _ in range(4):
            await world.prompt("hi", session=session)
        asked = [body["max_tokens"] for body in world.server.bodies]
        assert kinds(await world.messages(session)) == ["request", "answer"] * 4
    assert world.server.refused == 0 and asked == sorted(asked, reverse=True) and asked[-1] < asked[0] - 8_000


@pytest.mark.slow
async def test_a_session_and_its_fork_are_compacted_apart(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path, *(Answer(text=text) for text in ("one", "of both", "in the fork"))) as world:
        session = await world.prompt("first")
        fork = await world.client.sessions.fork(session.id, ForkSession())
        assert (await compact(world, session)).summary == "of both"
        assert (await compact(world, fork)).summary == "in the fork"
        source, copy = await world.messages(session), await world.messages(fork)
    assert kinds(source) == kinds(copy) == ["request", "answer", "marker", "summary"]
