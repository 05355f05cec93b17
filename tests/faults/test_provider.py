"""A provider that stalls, breaks off, sends nonsense or one byte at a time: every wait has a name, a deadline and an end."""

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.provider import http
from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.error import AuthError, ProviderError, RunAborted
from opencode_tui.schema.session.part import RetryPart
from tests.faults.conftest import CANCEL_S, Broken, broken, quickest
from tests.support.faults.proxy import KINDS, Fault, closed_port, never_accepting
from tests.support.provider.model_script import Answer, failure
from tests.support.world.stopwatch import Stopwatch
from tests.support.world.waiting import until

SILENCE_MS = 250
LONG = "one two three four five six seven eight nine ten " * 20

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_retries", "quick_names")]


def name(case: Any) -> str:
    return str(case)


async def new_session(found: Broken) -> Any:
    """Return a session with a title, so that no request for one comes between."""
    return await found.world.client.sessions.create(CreateSession(title="T"))


@pytest.mark.parametrize(("kind", "at"), KINDS, ids=name)
async def test_each_fault_is_retried_visibly_and_the_answer_comes(
    environ: dict[str, str], tmp_path: Path, kind: Any, at: Any
) -> None:
    fault = Fault(kind, at, every_s=0.05)
    async with broken(environ, tmp_path, fault, options={"chunkTimeout": SILENCE_MS}) as found:
        session = await new_session(found)
        turn = found.start(session, LONG)
        await until(lambda: bool(found.retries) or turn.done())
        found.proxy.fault = None
        await turn
        assert await found.world.answer(session) == f"Echo: {LONG.strip()}"
        parts = [part for part in await found.world.parts(session) if isinstance(part, RetryPart)]
        assert len(parts) >= 1
        assert [one.message for one in found.retries if "\n" in one.message] == []
        assert await found.is_idle()


@pytest.mark.parametrize(
    ("kind", "at"), [one for one in KINDS if one[0] not in ("reset", "garbage", "half_close")], ids=name
)
async def test_each_wait_has_a_name_and_ends_at_once_when_it_is_interrupted(
    environ: dict[str, str], tmp_path: Path, kind: Any, at: Any
) -> None:
    async with broken(environ, tmp_path, Fault(kind, at, bytes=900)) as found:
        session = await new_session(found)
        wanted = "more" if at == "middle" else "first_byte"

        async def measure() -> float:
            found.statuses.clear()
            found.grown = ""
            turn = found.start(session, LONG)
            await until(lambda: wanted in found.waits and (at != "middle" or bool(found.grown)))
            watch = Stopwatch()
            await found.world.client.prompts.abort(session.id)
            with pytest.raises(RunAborted):
                await turn
            return watch.seconds

        assert await quickest(measure) < CANCEL_S
        assert await found.is_idle()
        if at == "middle":
            kept = await found.world.answer(session)
            assert kept and f"Echo: {LONG}".startswith(kept), "what arrived is kept, be it one word"


async def test_a_connection_that_is_never_made_has_a_name_and_a_deadline(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "_CONNECT_TIMEOUT_S", 0.3)
    with never_accepting() as address:
        async with broken(environ, tmp_path, None, options={"baseURL": f"{address}/v1"}) as found:
            session = await new_session(found)
            turn = found.start(session)
            await until(lambda: bool(found.retries))
            assert "connection" in found.waits
            assert "no connection within 0.3 s" in found.retries[0].message
            found.statuses.clear()
            await until(lambda: "connection" in found.waits)  # of the next attempt
            await found.world.client.prompts.abort(session.id)
            with pytest.raises(RunAborted):
                await turn
            assert await found.is_idle()


async def test_comments_without_an_event_do_not_keep_a_response_open_for_ever(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.engine.provider.provider.FRUITLESS", 2)
    fault = Fault("comments", every_s=0.02)
    async with broken(environ, tmp_path, fault, options={"chunkTimeout": SILENCE_MS}) as found:
        session = await new_session(found)
        turn = found.start(session)
        words = "nothing of an answer in what came for 0.5 s"  # on a slow machine another attempt may get no response in time
        await until(lambda: any(words in one.message for one in found.retries))
        found.proxy.fault = None
        await turn


async def test_the_limit_for_a_whole_response_holds_whatever_arrives(environ: dict[str, str], tmp_path: Path) -> None:
    async with broken(environ, tmp_path, Fault("drip", "middle", every_s=0.02), options={"timeout": 500}) as found:
        session = await new_session(found)
        turn = found.start(session, LONG)
        await until(lambda: bool(found.retries))
        assert "no complete response within 0.5 s" in found.retries[0].message
        found.proxy.fault = None
        await turn


@pytest.mark.parametrize("kind", ["stall", "drip", "reset", "half_close"])
async def test_the_status_of_an_error_counts_although_its_text_does_not_end(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    monkeypatch.setattr(http, "_ERROR_BODY_S", 0.2)
    async with broken(environ, tmp_path, Fault(kind, "first", every_s=0.05)) as found:
        session = await new_session(found)
        found.server.script(failure(401, "invalid key"))
        with pytest.raises(AuthError, match=r"provider\.fake\.options\.apiKey"):
            await found.start(session)
        assert await found.is_idle()


async def test_a_provider_that_stays_broken_ends_the_turn_with_what_to_do(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.engine.session.retry.RETRY_ATTEMPTS", 2)
    async with broken(environ, tmp_path, Fault("stall"), options={"chunkTimeout": 1000}) as found:
        session = await new_session(found)
        with pytest.raises(ProviderError, match=r"sent nothing for 1 s; still failing after 2 attempts; ") as failed:
            await found.start(session)
        assert "\n" not in str(failed.value)
        assert [part.attempt for part in await found.world.parts(session) if isinstance(part, RetryPart)] == [1]
        assert await found.is_idle()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_port_of_this_machine_where_nothing_listens_is_asked_three_times(
    environ: dict[str, str], tmp_path: Path, host: str
) -> None:
    with closed_port() as port:
        async with broken(environ, tmp_path, None, options={"baseURL": f"http://{host}:{port}/v1"}) as found:
            session = await new_session(found)
            reason = f"fake: cannot reach {host}:{port} (connection refused)"
            words = f"{reason}; still failing after 3 attempts; fix: start the server, or check provider.fake.options.baseURL"
            with pytest.raises(ProviderError, match=f"^{re.escape(words)}$"):
                await found.start(session)
            shown = [(one.attempt, one.attempts, one.message) for one in found.retries]
            assert shown == [(1, 3, reason), (2, 3, reason)]
            assert await found.is_idle()


async def test_waits_of_work_beside_a_turn_are_not_those_of_its_session(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """The title of a session is asked for beside its first turn."""
    async with broken(environ, tmp_path, None) as found:
        stalled = threading.Event()
        found.server.title_answers.append(Answer(text="A title", holds=(("title", stalled),)))
        await found.world.prompt("hello")
        await until(lambda: bool(found.server.titles))
        found.statuses.clear()
        await asyncio.sleep(0.15)
        stalled.set()
        assert found.waits == []
        assert await found.is_idle()
