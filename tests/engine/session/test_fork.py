import asyncio
import json
import threading

import pytest

from opencode_tui.schema.api.request import CreateSession, ForkSession
from opencode_tui.schema.error import BusyError, NoSuchMessageError
from opencode_tui.schema.event.event import SessionCreated
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.session.session import ForkOrigin, fork_origin
from tests.support.provider.model_script import Answer, Call
from tests.support.sessions.records import write_session
from tests.support.sessions.store import drain, words
from tests.support.world.engine import opened, react

TWO_TURNS = (Answer(text="first"), Answer(text="second"))
TODO = Call("todowrite", {"todos": [{"content": "a", "status": "pending", "priority": "high"}]})


def plain(messages):
    """Return what is the same in a fork: everything but the ids."""
    return [json.dumps(_without_ids([one.to_dict() for one in messages]), sort_keys=True)]


def _without_ids(value):
    if isinstance(value, list):
        return [_without_ids(one) for one in value]
    if isinstance(value, dict):
        return {
            name: _without_ids(one)
            for name, one in value.items()
            if name not in ("id", "sessionID", "messageID", "parentID")
        }
    return value


def origin_of(info) -> ForkOrigin:
    origin = fork_origin(info)
    assert origin is not None
    return origin


async def two_turns(world):
    session = await world.prompt("one")
    return await world.prompt("two", session=session)


async def fork(world, session, message_id=None):
    return await world.client.sessions.fork(session.id, ForkSession(message_id=message_id))


@pytest.mark.slow
async def test_a_fork_copies_the_messages_before_each_boundary(environ, tmp_path, paths):
    session_id = write_session(paths, turns=3, directory=str(tmp_path))
    async with opened(environ, tmp_path) as world:
        session = await world.client.sessions.get(session_id)
        messages = await world.messages(session)
        for count, boundary in enumerate([*[message.info.id for message in messages], None]):
            made = await fork(world, session, boundary)
            at_once = await world.messages(made)
            await world.client.sessions.wait_copied(made.id)
            copied = await world.client.messages.list(made.id)
            assert len(at_once) == count and at_once == list(copied)
            assert plain(at_once) == plain(messages[:count])


@pytest.mark.slow
async def test_ids_are_new_and_keep_their_order_and_point_into_the_fork(environ, tmp_path):
    async with opened(environ, tmp_path, *TWO_TURNS) as world:
        session = await two_turns(world)
        made = await fork(world, session)
        old, new = await world.messages(session), await world.messages(made)
        ids = [message.info.id for message in new]
        assert ids == sorted(ids) and not {*ids} & {message.info.id for message in old}
        assert [new[1].info.parent_id, new[3].info.parent_id] == [ids[0], ids[2]]
        assert {part.session_id for message in new for part in message.parts} == {made.id}
        assert all(part.message_id == message.info.id for message in new for part in message.parts)
        assert [one.info.id[:16] for one in new] == [one.info.id[:16] for one in old]


@pytest.mark.slow
async def test_a_fork_is_no_child_and_remembers_where_it_came_from(environ, tmp_path):
    async with opened(environ, tmp_path, *TWO_TURNS) as world:
        session = await two_turns(world)
        boundary = (await world.messages(session))[2].info.id
        made = await fork(world, session, boundary)
        await world.client.sessions.wait_copied(made.id)
        stored = await world.client.sessions.get(made.id)
        assert stored.parent_id is None and not await world.client.sessions.children(session.id)
        assert stored.metadata == {"forkedFrom": {"sessionID": session.id, "messageID": boundary}}
        assert stored.directory == str(tmp_path) and stored.revert is None and stored.share is None


async def test_titles_count_on(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        session = await world.client.sessions.create(CreateSession(title="X"))
        first = await fork(world, session)
        assert first.title == "X (fork #1)"
        assert (await fork(world, first)).title == "X (fork #2)"


@pytest.mark.slow
async def test_rules_and_todos_are_carried(environ, tmp_path):
    rules = [Rule(permission="bash", pattern="rm *", action="deny")]
    async with opened(environ, tmp_path, Answer(calls=(TODO,)), Answer(text="noted")) as world:
        session = await world.client.sessions.create(CreateSession(permission=rules))
        await world.prompt("plan", session=session)
        made = await fork(world, session)
        assert made.permission == rules
        assert await world.client.sessions.todos(made.id) == await world.client.sessions.todos(session.id) != []


async def test_only_the_fork_itself_is_published(environ, tmp_path, paths):
    session_id = write_session(paths, turns=3, directory=str(tmp_path))
    async with opened(environ, tmp_path) as world:
        session = await world.client.sessions.get(session_id)
        with world.client.events() as events:
            made = await fork(world, session)
            await world.client.sessions.wait_copied(made.id)
            published = words(drain(events))
        assert published == ["session.created", "session.updated"]


@pytest.mark.slow
async def test_the_fork_and_its_source_continue_independently(environ, tmp_path):
    answers = [Answer(text="first"), Answer(text="in the fork"), Answer(text="in the source")]
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("one")
        made = await fork(world, session)
        await world.prompt("two", session=made)
        await world.prompt("other", session=session)
        sent = [message["content"] for message in world.server.bodies[1]["messages"] if message["role"] != "system"]
        assert len(sent) == 3 and len(await world.messages(made)) == len(await world.messages(session)) == 4
        assert (await world.answer(made), await world.answer(session)) == ("in the fork", "in the source")


@pytest.mark.slow
async def test_what_the_source_gains_later_is_not_in_the_fork(environ, tmp_path, paths):
    session_id = write_session(paths, turns=30, directory=str(tmp_path))
    async with opened(environ, tmp_path, *TWO_TURNS) as world:
        session = await world.client.sessions.get(session_id)
        made = await fork(world, session)
        assert origin_of(made).copying is None
        await world.prompt("two", session=session)
        assert len(await world.messages(made)) == 60 and len(await world.messages(session)) == 62


async def test_an_unknown_boundary_is_refused(environ, tmp_path):
    async with opened(environ, tmp_path, *TWO_TURNS) as world:
        session = await two_turns(world)
        for wrong in ("msg_000000000000doesnotexist00", "nonsense", "../../x"):
            with pytest.raises(NoSuchMessageError, match="has no message"):
                await fork(world, session, wrong)
        assert len(await world.client.sessions.list()) == 1


@pytest.mark.slow
async def test_a_session_at_work_is_forked_before_its_present_turn_only(environ, tmp_path):
    was_forked = threading.Event()
    answer = Answer(text="begun ended", holds=(("ended", was_forked),))
    async with opened(environ, tmp_path, Answer(text="one"), answer) as world:
        session = await world.prompt("first")
        turn = asyncio.create_task(world.prompt("second", session=session))
        while len(messages := await world.messages(session)) < 4:
            await asyncio.sleep(0.01)
        with pytest.raises(BusyError, match="before the current turn"):
            await fork(world, session)
        made = await fork(world, session, messages[2].info.id)
        was_forked.set()
        await turn
        assert len(await world.messages(made)) == 2


@pytest.mark.slow
async def test_the_agents_of_the_source_are_referred_to(environ, tmp_path):
    task = Call("task", {"description": "find", "prompt": "look", "subagent_type": "explore"})
    async with opened(environ, tmp_path, Answer(calls=(task,)), Answer(text="x"), Answer(text="done")) as world:
        session = await world.prompt("where?")
        made = await fork(world, session)
        (child,) = await world.client.sessions.children(session.id)
        (call,) = await world.calls(made)
        assert call.state.metadata["sessionId"] == child.id and not await world.client.sessions.children(made.id)


async def test_the_event_of_the_fork_has_its_complete_record(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(text="one")) as world:
        session = await world.prompt("first")
        seen = []

        async def note(event):
            seen.append(event.info)

        waiter = asyncio.create_task(react(world, SessionCreated, note))
        await asyncio.sleep(0)
        made = await fork(world, session)
        await waiter
        assert [info.id for info in seen] == [made.id] and origin_of(seen[0]).session_id == session.id


@pytest.mark.slow
async def test_a_request_that_waits_is_not_copied(environ, tmp_path, paths):
    session_id = write_session(paths, turns=2, directory=str(tmp_path))
    waiting = sorted((paths.storage / "message" / session_id).glob("*.json"))[2]
    waiting.write_text(json.dumps({**json.loads(waiting.read_text()), "delivery": "queue"}))
    async with opened(environ, tmp_path) as world:
        made = await world.client.sessions.fork(session_id, ForkSession())
        assert [one.info.role for one in await world.messages(made)] == ["user", "assistant", "assistant"]
