import asyncio
import threading
from pathlib import Path

import pytest

from opencode_tui.schema.api.request import CreateSession, UpdateSession
from opencode_tui.schema.session.session import SessionInfo, is_default_title
from tests.support.provider.model_script import Answer, failure
from tests.support.world.engine import MODEL, World, opened
from tests.support.world.waiting import until


async def titled(world: World, session: SessionInfo) -> SessionInfo:
    """Wait until the session has a title."""
    for _ in range(500):
        info = await world.client.sessions.get(session.id)
        if not is_default_title(info.title):
            return info
        await asyncio.sleep(0.01)
    raise AssertionError("the session has no title")


async def test_a_new_session_is_named_from_its_first_request(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path) as world:
        session = await world.prompt("mend the broken parser soon")
        info = await titled(world, session)
        body = world.server.titles[0].body
    assert info.title == "Title: mend the broken parser"
    assert (len(world.server.titles), len(world.server.requests), "tools" in body) == (1, 1, False)
    assert info.metadata is not None and info.metadata["cost"] > 0


async def test_a_title_delays_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path) as world:
        was_answered = threading.Event()
        world.server.title_answers.append(Answer(text="a slow one", holds=(("one", was_answered),)))
        session = await world.prompt("hello")
        assert is_default_title((await world.client.sessions.get(session.id)).title)
        was_answered.set()
        assert (await titled(world, session)).title == "a slow one"


@pytest.mark.slow
async def test_only_the_first_request_names_a_session(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path) as world:
        world.server.title_answers.append(Answer(text="\n"))
        session = await world.prompt("one")
        await world.prompt("two", session=session)
        assert is_default_title((await world.client.sessions.get(session.id)).title)
    assert len(world.server.titles) == 1


@pytest.mark.parametrize("given", [CreateSession(title="mine"), CreateSession(parent_id="@")])
async def test_named_sessions_and_those_of_agents_are_left_alone(
    environ: dict[str, str], tmp_path: Path, given: CreateSession
) -> None:
    async with opened(environ, tmp_path) as world:
        if given.parent_id:
            given = given.changed(parent_id=(await world.client.sessions.create(CreateSession(title="p"))).id)
        session = await world.client.sessions.create(given)
        await world.prompt("hello", session=session)
        await asyncio.sleep(0.05)
    assert world.server.titles == []


async def test_a_title_that_the_user_sets_meanwhile_is_kept(environ: dict[str, str], tmp_path: Path) -> None:
    async with opened(environ, tmp_path) as world:
        was_named = threading.Event()
        world.server.title_answers.append(Answer(text="late name", holds=(("name", was_named),)))
        session = await world.prompt("hello")
        await world.client.sessions.update(session.id, UpdateSession(title="mine"))
        was_named.set()
        while not (info := await world.client.sessions.get(session.id)).metadata:
            await asyncio.sleep(0.01)
    assert info.title == "mine"


async def test_a_failed_title_is_named_in_the_log_and_harms_nothing(
    environ: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(environ, tmp_path) as world:
        world.server.title_answers.append(failure(401, "no such key"))
        session = await world.prompt("hello")
        assert await world.answer(session) == "Echo: hello"
        await until(lambda: "title of session" in caplog.text)
        assert is_default_title((await world.client.sessions.get(session.id)).title)
    assert f"title of session {session.id} failed" in caplog.text


async def test_the_small_model_of_the_settings_gives_titles(environ: dict[str, str], tmp_path: Path) -> None:
    settings = {"small_model": "fake-anthropic/fake-model"}
    async with opened(environ, tmp_path, settings=settings) as world:
        await titled(world, await world.prompt("hello"))
    assert (world.server.titles[0].api, world.server.requests[0].api) == ("anthropic", "openai")
    assert MODEL.provider_id == "fake"
