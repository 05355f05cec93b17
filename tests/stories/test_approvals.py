"""The mode of approvals of a session: kept with it, followed by its run, inherited by agents."""

import asyncio

import pytest

from opencode_tui.engine.permission.policy import AskPerson
from opencode_tui.schema.api.request import CreateSession
from opencode_tui.schema.error import NotFoundError
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import World, opened

pytestmark = pytest.mark.slow


WRITE = Call("write", {"filePath": "new.txt", "content": "n"})
DELEGATE = Call("task", {"description": "d", "prompt": "p", "subagent_type": "general"})
DONE = Answer(text="Done.")


async def _asked(world: World) -> list[str]:
    """Return the permissions that are asked for, once there is one."""
    while not (pending := await world.client.permissions.pending()):
        await asyncio.sleep(0.01)
    return [one.permission for one in pending]


async def _allow(world: World) -> None:
    for one in await world.client.permissions.pending():
        await world.client.permissions.reply(one.id, "once")


async def test_the_mode_is_that_of_the_settings_until_it_is_changed_and_is_kept(environ, tmp_path):
    async with opened(environ, tmp_path, settings={"experimental": {"approvals": "ask"}}) as world:
        permissions = world.client.permissions
        session = await world.new_session()
        other = await world.new_session()
        assert await permissions.approvals(session.id) == "ask"
        await permissions.set_approvals(session.id, "auto")
    async with opened(environ, tmp_path) as world:
        permissions = world.client.permissions
        assert (await permissions.approvals(session.id), await permissions.approvals(other.id)) == ("auto", "normal")
        assert ((await world.client.sessions.get(session.id)).metadata or {})["approvals"] == "auto"
        with pytest.raises(NotFoundError):
            await permissions.approvals("ses_ffffffffffffffffffffffffff")


async def test_in_the_mode_ask_every_edit_asks_and_in_the_others_none(environ, tmp_path):
    answers = [Answer(calls=(WRITE,)), DONE] * 2
    async with opened(environ, tmp_path, *answers, policy=AskPerson()) as world:
        session = await world.prompt("write")
        assert (tmp_path / "new.txt").exists()
        await world.client.permissions.set_approvals(session.id, "ask")
        turn = asyncio.create_task(world.prompt("write", session=session))
        assert await _asked(world) == ["edit"]
        await _allow(world)
        await turn


async def test_an_agents_session_has_the_mode_of_the_session_that_started_it(environ, tmp_path):
    answers = [Answer(calls=(DELEGATE,)), Answer(calls=(WRITE,)), DONE, DONE]
    async with opened(environ, tmp_path, *answers, policy=AskPerson()) as world:
        session = await world.client.sessions.create(CreateSession())
        await world.client.permissions.set_approvals(session.id, "ask")
        turn = asyncio.create_task(world.prompt("delegate", session=session))
        assert await _asked(world) == ["edit"]
        [asked] = await world.client.permissions.pending()
        assert asked.session_id != session.id
        await _allow(world)
        await turn


async def test_in_the_mode_auto_a_question_of_a_rule_is_answered_yes(environ, tmp_path):
    settings = {"permission": {"edit": "ask"}}
    async with opened(environ, tmp_path, Answer(calls=(WRITE,)), DONE, policy=AskPerson(), settings=settings) as world:
        session = await world.client.sessions.create(CreateSession())
        await world.client.permissions.set_approvals(session.id, "auto")
        await world.prompt("write", session=session)
        assert (tmp_path / "new.txt").exists()
