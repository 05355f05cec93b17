"""Messages change only under the run lock of their session, and the ids of clients are checked before they are used."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from opencode_tui.client.local import LocalClient, open_client
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.repair import repair
from opencode_tui.schema.api.request import CreateSession, PromptInput, PromptPart, TextInput
from opencode_tui.schema.error import BusyError, IdInUseError, ProviderError, SessionError, UnlockedError
from opencode_tui.schema.ids import Identifier, system_clock
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.requests import SessionRequests
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from tests.engine.session.test_store import belonging
from tests.support.provider.model_script import Answer, Call, failure
from tests.support.provider.model_server import provider_config
from tests.support.sessions.records import assistant, session_info, user, write_records
from tests.support.sessions.store import open_store
from tests.support.world.engine import MODEL, World, opened
from tests.support.world.waiting import PATIENCE_S

BEHIND_MS, AHEAD_MS = -600_000, 7_200_000


def request(*texts: str, **fields) -> PromptInput:
    return PromptInput(model=MODEL, parts=[TextInput(text=text) for text in texts], **fields)


async def asked(world: World, session: SessionInfo) -> list[list[str]]:
    """Return the texts of each request of a session."""
    messages = await world.client.messages.list(session.id)
    return [[getattr(part, "text", "") for part in one.parts] for one in messages if isinstance(one.info, UserMessage)]


def sent(world: World, text: str) -> int:
    """Return in how many requests to the model a text was the last one."""
    return sum(text in json.dumps(body["messages"][-1:]) for body in world.server.bodies)


async def until_free(paths: Paths, session_id: str) -> None:
    """Wait for the end of what follows a run."""
    async with asyncio.timeout(PATIENCE_S):
        while Locks(paths).is_running(session_id):
            await asyncio.sleep(0.01)


@asynccontextmanager
async def second_engine(world: World, environ, folder) -> AsyncGenerator[LocalClient]:
    """Open another engine on the same store, with the same model."""
    content = {"provider": provider_config(world.server.base_url), "username": "other"}
    async with open_client({**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(content)}, folder) as client:
        yield client


def test_only_the_writer_has_methods_that_change_messages() -> None:
    verbs = ("add_", "update_m", "update_p", "close_p", "end_", "grow_", "progress_", "remove_", "write_", "keep_")
    assert [name for name in vars(SessionStore) if name.startswith(verbs)] == []


async def test_a_writer_refuses_when_the_lock_is_released_and_records_of_other_sessions(paths) -> None:
    message = belonging(user("hello"))
    async with open_store(paths) as opened_store:
        store = opened_store.store
        await store.create(session_info())
        with pytest.raises(UnlockedError, match="is not locked"):
            store.writer("ses_1")
        async with store.locked("ses_1") as writer:
            assert store.writer("ses_1") is writer
            with pytest.raises(SessionError, match="under the lock of ses_1"):
                await writer.update_message(belonging(user("other"), "ses_2").info)
            await writer.add_message(message.info, message.parts)
        with pytest.raises(UnlockedError, match="not locked any more"):
            await writer.update_message(message.info)
        assert await store.messages("ses_1") == [message]


async def test_a_lock_drops_what_another_process_changed(paths) -> None:
    first, second = belonging(user("first")), belonging(user("second"))
    write_records(paths, session_info(), [first])
    async with open_store(paths) as here, open_store(paths) as there:
        assert await here.store.messages("ses_1") == [first]
        async with there.store.locked("ses_1") as writer:
            await writer.add_message(second.info, second.parts)
        async with here.store.locked("ses_1"):
            assert await here.store.messages("ses_1") == [first, second]
        async with there.store.locked("ses_1"), here.store.locked("ses_2"):
            with pytest.raises(BusyError):
                async with here.store.locked("ses_1"):
                    pass


async def test_whether_a_session_runs_is_known_without_its_lock(paths) -> None:
    here, there = Locks(paths), Locks(paths)
    lock = here.session_run("ses_1")
    assert not there.is_running("ses_1")
    lock.try_acquire()
    assert there.is_running("ses_1") and here.is_running("ses_1")
    lock.release()
    assert not there.is_running("ses_1") and not here.is_running("ses_1")


async def test_a_message_that_is_stored_late_is_where_its_id_sorts(paths) -> None:
    first, second, third = (belonging(user(text)) for text in ("first", "second", "third"))
    async with open_store(paths) as opened_store:
        await opened_store.store.create(session_info())
        async with opened_store.store.locked("ses_1") as writer:
            for one in (first, third, second):
                await writer.add_message(one.info, one.parts)
        now = await opened_store.store.messages("ses_1")
    async with open_store(paths) as opened_store:
        assert now == await opened_store.store.messages("ses_1") == [first, second, third]


async def test_a_canceled_write_is_done_whole_and_is_in_memory_too(paths, monkeypatch) -> None:
    message = belonging(user("one", "two", "three"))
    async with open_store(paths) as opened_store:
        store, storage = opened_store.store, opened_store.storage
        await store.create(session_info())
        real, began = storage.write, asyncio.Event()

        async def slow(*given, **options) -> None:
            began.set()
            await asyncio.sleep(0.03)
            await real(*given, **options)

        monkeypatch.setattr(storage, "write", slow)
        async with store.locked("ses_1") as writer:
            adding = asyncio.create_task(writer.add_message(message.info, message.parts))
            await began.wait()
            adding.cancel()
            await asyncio.wait({adding})
        assert await store.messages("ses_1") == [message]
    async with open_store(paths) as opened_store:
        assert await opened_store.store.messages("ses_1") == [message]


@pytest.mark.parametrize("is_stored_again", [True, False])
async def test_a_kill_while_a_request_is_released_leaves_it_once(paths, is_stored_again: bool) -> None:
    """The record of the release is on the disk; the request under its new id may be there too, and the old one is."""
    old, new = belonging(user("please")), belonging(user("please"))
    old = old.changed(info=old.info.changed(delivery="queue"))
    write_records(paths, session_info(), [old, new] if is_stored_again else [old])
    async with open_store(paths) as opened_store:
        left = SessionRequests(releasing={old.info.id: new.info.id})
        await opened_store.storage.write(("session_requests", "ses_1"), left.to_json())
        expected = [new if is_stored_again else old]
        assert await opened_store.store.messages("ses_1") == expected
        async with opened_store.store.locked("ses_1"):
            pass
        assert await opened_store.store.messages("ses_1") == expected
        assert [key[-1] for key in await opened_store.storage.list(("message", "ses_1"))] == [expected[0].info.id]
        assert await opened_store.storage.list(("session_requests",)) == []


async def test_a_run_recovers_what_a_killed_process_left_in_the_session_as_it_is_on_the_disk(paths) -> None:
    first = belonging(user("first"))
    broken = belonging(assistant("half an ans", parent=first))
    broken = broken.changed(info=broken.info.changed(time=broken.info.time.changed(completed=None)))
    write_records(paths, session_info(), [first])
    async with open_store(paths) as here, open_store(paths) as there:
        await here.store.messages("ses_1")
        async with there.store.locked("ses_1") as writer:
            await writer.add_message(broken.info, broken.parts)
        async with here.store.locked("ses_1"):
            assert await repair(here.store, "ses_1", clock=lambda: 99) == 1


async def test_prompts_that_are_refused_as_busy_are_not_stored(environ, tmp_path, paths) -> None:
    async with opened(environ, tmp_path) as world:
        session = await world.prompt("hello")
        await until_free(paths, session.id)
        async with open_store(paths) as other, other.store.locked(session.id):
            ends = await asyncio.gather(
                *(world.client.prompts.prompt(session.id, request(text)) for text in ("delete it", "publish it")),
                world.client.prompts.prompt(session.id, request("and this", delivery="queue")),
                return_exceptions=True,
            )
        assert [type(one) for one in ends] == [BusyError] * 3
        await world.prompt("what is the time", session=session)
        assert await asked(world, session) == [["hello"], ["what is the time"]]


async def test_a_request_that_is_sent_again_with_its_id_gets_the_answer_to_the_first(environ, tmp_path) -> None:
    name = Identifier(system_clock).ascending("msg")
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        again = request("once please", message_id=name)
        first = await world.client.prompts.prompt(session.id, again, refuses_ids=True)
        both = await asyncio.gather(
            *(world.client.prompts.prompt(session.id, again, refuses_ids=True) for _ in range(2))
        )
        assert [one.info.id for one in both] == [first.info.id] * 2
        assert await asked(world, session) == [["once please"]] and sent(world, "once please") == 1
    async with opened(environ, tmp_path) as world:
        assert (await world.client.prompts.prompt(session.id, again)).info.id == first.info.id
        assert world.server.bodies == []


async def test_an_id_that_is_in_use_is_refused_and_changes_no_other_message(environ, tmp_path) -> None:
    async with opened(environ, tmp_path) as world:
        session, other = await world.prompt("first"), await world.new_session()
        name = (await world.messages(session))[0].info.id
        for target in (session, other):
            with pytest.raises(IdInUseError, match=name):
                await world.client.prompts.prompt(target.id, request("third", message_id=name), refuses_ids=True)
        assert await asked(world, other) == [] and await asked(world, session) == [["first"]]
        await world.client.prompts.prompt(session.id, request("third", message_id=name))  # gets an id of ours
        await world.client.prompts.prompt(other.id, request("fourth", message_id=name))
        assert await asked(world, session) == [["first"], ["third"]]
        await world.client.sessions.remove(other.id)
    async with opened(environ, tmp_path) as world:
        assert await asked(world, session) == [["first"], ["third"]]


async def test_two_parts_with_one_id_are_refused_or_both_kept_in_order(environ, tmp_path) -> None:
    parts: list[PromptPart] = [TextInput(text="a", id="prt_1"), TextInput(text="b", id="prt_1")]
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        twice = PromptInput(model=MODEL, parts=parts)
        with pytest.raises(IdInUseError, match="prt_1"):
            await world.client.prompts.prompt(session.id, twice, refuses_ids=True)
        await world.client.prompts.prompt(session.id, twice)
        assert await asked(world, session) == [["a", "b"]]
    async with opened(environ, tmp_path) as world:
        assert await asked(world, session) == [["a", "b"]]


@pytest.mark.parametrize("skew_ms", [BEHIND_MS, AHEAD_MS])
async def test_a_request_of_a_client_whose_clock_is_wrong_comes_last_and_is_found_by_its_id(
    environ, tmp_path, skew_ms: int
) -> None:
    name = Identifier(lambda: system_clock() + skew_ms).ascending("msg")
    async with opened(environ, tmp_path) as world:
        session = await world.prompt("one")
        await world.prompt("two", session=session)
        await world.client.prompts.prompt(session.id, request("three", message_id=name), refuses_ids=True)
        await world.prompt("four", session=session)
        now = await asked(world, session)
        again = await world.client.prompts.prompt(session.id, request("three", message_id=name), refuses_ids=True)
    async with opened(environ, tmp_path) as world:
        assert now == await asked(world, session) == [["one"], ["two"], ["three"], ["four"]]
        found = await world.client.messages.get(session.id, name)
        assert [getattr(part, "text", "") for part in found.parts] == ["three"]
        assert getattr(again.info, "parent_id", "") == found.info.id
        report = await world.client.undo.revert(session.id, name)
        assert report.scope is not None and report.scope.requests == 2


async def test_a_queue_goes_on_after_a_turn_that_failed_and_each_caller_gets_its_own_end(environ, tmp_path) -> None:
    hold = Answer(
        calls=(Call("bash", json.dumps({"command": "until test -e go; do sleep 0.02; done", "description": "x"})),)
    )
    failed, done = failure(400, "your account has a problem"), Answer(text="fine")
    async with opened(environ, tmp_path, hold, failed, failed, done, settings={"permission": "allow"}) as world:
        session = await world.client.sessions.create(CreateSession(title="queue"))
        ends = []
        for text, delivery in (("first", None), ("second", "queue"), ("third", "queue")):
            stored = asyncio.Event()
            ends.append(
                asyncio.create_task(
                    world.client.prompts.prompt(
                        session.id, request(text, delivery=delivery), stored=lambda _id, stored=stored: stored.set()
                    )
                )
            )
            await stored.wait()
        (tmp_path / "go").touch()
        first, second, third = await asyncio.gather(*ends, return_exceptions=True)
        assert isinstance(first, ProviderError) and isinstance(second, ProviderError)
        assert not isinstance(third, BaseException) and sent(world, "third") == 1
        assert [[text] for text in ("first", "second", "third")] == await asked(world, session)


async def test_a_request_that_was_withdrawn_in_another_process_is_never_sent(environ, tmp_path) -> None:
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        stored: asyncio.Queue[str] = asyncio.Queue()
        first = asyncio.create_task(
            world.client.prompts.prompt(session.id, request("<<slow 20>> <<words 60>> first"), stored=stored.put_nowait)
        )
        await stored.get()
        async with second_engine(world, environ, tmp_path) as other:
            waiting = asyncio.create_task(
                world.client.prompts.prompt(
                    session.id, request("delete it", delivery="queue"), stored=stored.put_nowait
                )
            )
            name = await stored.get()
            assert await other.prompts.withdraw(session.id, name)
            assert name not in {one.info.id for one in await other.messages.list(session.id)}
            assert not await other.prompts.withdraw(session.id, name)
            await asyncio.gather(first, waiting)
        assert sent(world, "delete it") == 0
        assert name not in {one.info.id for one in await world.client.messages.list(session.id)}


async def test_an_undo_beside_a_request_that_waits_undoes_the_last_turn_and_keeps_the_request(
    environ, tmp_path
) -> None:
    async with opened(environ, tmp_path) as world:
        session = await world.prompt("one")
        stored: asyncio.Queue[str] = asyncio.Queue()
        slow = asyncio.create_task(
            world.client.prompts.prompt(session.id, request("<<slow 60>> <<words 80>> two"), stored=stored.put_nowait)
        )
        await stored.get()
        waiting = asyncio.create_task(
            world.client.prompts.prompt(session.id, request("three", delivery="queue"), stored=stored.put_nowait)
        )
        name = await stored.get()
        await world.client.prompts.abort(session.id)
        await asyncio.gather(slow, waiting, return_exceptions=True)
        report = await world.client.undo.revert(session.id)
        assert report.scope is not None and report.scope.requests == 1 and name not in report.scope.messages
        await world.client.undo.commit(session.id)
        assert await asked(world, session) == [["one"], ["three"]]
