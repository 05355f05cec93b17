import asyncio
import errno
import json
from contextlib import suppress
from typing import Any

import pytest

from opencode_tui.engine.session.records import store as store_module
from opencode_tui.engine.session.records.open_records import LiveText, LiveTool
from opencode_tui.engine.session.records.store import MAX_SESSIONS, MIN_SESSIONS
from opencode_tui.schema.error import CorruptRecordError, NotFoundError, StorageError
from opencode_tui.schema.session.history import with_parts
from opencode_tui.schema.session.part import PartTime, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStatePending, fail, start
from tests.support.faults.file_log import LoggedFiles
from tests.support.faults.file_system import FaultyFiles
from tests.support.sessions.records import assistant, call, session_info, text, user
from tests.support.sessions.store import drain, open_store, words, writing
from tests.support.world.waiting import PATIENCE_S


def belonging(message, session_id="ses_1") -> Any:
    info = message.info.changed(session_id=session_id)
    return with_parts(info, [part.changed(session_id=session_id, message_id=info.id) for part in message.parts])


async def put(store, message):
    async with writing(store, message.info.session_id) as writer:
        await writer.update_message(message.info)
        for part in message.parts:
            await writer.update_part(part)


async def test_what_is_published_is_already_on_the_disk(paths):
    async with open_store(paths) as opened:
        with opened.bus.subscribe() as reader:
            message = belonging(user("hello"))
            await opened.store.create(session_info())
            await put(opened.store, message)
            assert words(drain(reader)) == [
                "session.created",
                "session.updated",
                "message.updated",
                "message.part.updated text",
            ]
        data = await opened.storage.read(("part", message.info.id, message.parts[0].id))
        assert json.loads(data)["text"] == "hello"


@pytest.mark.parametrize("late", ["progress", "update", "update that the disk holds"])
async def test_a_call_that_has_ended_runs_no_more(paths, late: str):
    """What carries out a call may still be ending when its interrupted run has ended it: it would run for ever."""
    message = belonging(assistant(call("bash")))
    made = message.parts[0]
    assert isinstance(made, ToolPart)
    running = made.changed(state=start(ToolStatePending(), input={}, now=1))
    async with open_store(paths) as opened, opened.store.locked("ses_1") as writer:
        await opened.store.create(session_info())
        await writer.update_message(message.info)
        await writer.update_part(running)
        live = LiveTool(running)
        writer.progress_part(live)
        updating = asyncio.create_task(writer.update_part(running)) if late.endswith("holds") else None
        await asyncio.sleep(0)  # it is being written
        ended = running.changed(state=fail(running.state, error="interrupted", now=2))
        writer.end_part(ended)
        if updating is not None:
            await updating
        elif late == "update":
            await writer.update_part(running)
        else:
            writer.progress_part(live)
        await opened.store.flush()
        assert opened.store.parts("ses_1", message.info.id) == [ended]
        data = await opened.storage.read(("part", message.info.id, running.id))
        assert json.loads(data)["state"]["status"] == "error"


async def test_a_new_message_is_read_with_all_its_parts_or_not_at_all(paths):
    """A step that read a prompt sent meanwhile without its text would count as its answer."""
    async with open_store(paths) as opened, opened.store.locked("ses_1") as writer:
        message = belonging(user("hello"))
        await opened.store.create(session_info())
        adding = asyncio.create_task(writer.add_message(message.info, message.parts))
        seen: set[int] = set()
        while not adding.done():
            seen |= {len(one.parts) for one in await opened.store.messages("ses_1")}
            await asyncio.sleep(0)
        await adding
        seen |= {len(one.parts) for one in await opened.store.messages("ses_1")}
        assert seen == {1}


async def test_the_end_of_a_run_is_shown_although_the_disk_fails_and_written_when_it_works(paths):
    disk = FaultyFiles(error=errno.ENOSPC, lasting=True)
    async with open_store(paths, files=disk) as opened:
        message = belonging(assistant(text("done")))
        await opened.store.create(session_info())
        with opened.bus.subscribe() as reader:
            async with opened.store.locked("ses_1") as writer:
                disk.at = disk.calls + 1
                await writer.close_part(message.parts[0])
                writer.end_message(message.info)
            assert words(drain(reader)) == ["message.part.updated text", "message.updated"]
        assert await opened.store.messages("ses_1") == [message]
        with pytest.raises(StorageError, match="the disk is full; free some space"):
            await opened.store.flush()
        disk.heal()
        await opened.store.flush()
    async with open_store(paths) as opened:
        assert await opened.store.messages("ses_1") == [message]


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE, errno.ENOMEM, errno.ENOSPC, errno.EUCLEAN])
async def test_what_could_not_be_read_for_a_moment_is_not_absent(paths, code):
    """A screen shows what could be read and looks again; with the lock, where answers build on it, it is an error."""
    sent = [belonging(user("a", "b")), belonging(assistant(text("done")))]
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        for message in sent:
            await put(opened.store, message)
    records = {*paths.storage.rglob("msg_*.json"), *paths.storage.rglob("prt_*.json")}
    assert len(records) == 5
    disk = FaultyFiles(error=code)
    async with open_store(paths, files=disk) as opened:
        at, seen = 0, set[int]()
        while at <= disk.calls:
            opened.store.drop("ses_1")
            disk.calls, at = 0, at + 1
            disk.at = at
            with suppress(StorageError):
                seen.add(sum(1 + len(one.parts) for one in await opened.store.messages("ses_1")))
            calls, disk.calls = disk.calls, 0
            disk.heal()
            assert (at, await opened.store.messages("ses_1")) == (at, sent)
            disk.calls = calls
        assert min(seen) < 5
        opened.store.drop("ses_1")
        at = 1
        while True:
            async with opened.store.locked("ses_1"):
                opened.store.drop("ses_1")
                disk.calls, disk.at = 0, at
                try:
                    assert (at, await opened.store.messages("ses_1")) == (at, sent)
                except StorageError:
                    assert disk.calls >= at
                is_over = disk.calls < at
                disk.heal()
                assert (at, await opened.store.messages("ses_1")) == (at, sent)
            if is_over:
                break
            at += 1
    assert {*paths.storage.rglob("msg_*.json"), *paths.storage.rglob("prt_*.json")} == records


async def test_another_process_reads_back_what_was_written(paths):
    messages = [belonging(user("a", "b")), belonging(assistant(call("c1"), text("done")))]
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        for message in messages:
            await put(opened.store, message)
    async with open_store(paths) as opened:
        assert await opened.store.messages("ses_1") == messages
        assert await opened.store.tail("ses_1", 1) == messages[1:]


async def test_a_step_in_an_open_session_reads_no_files(paths):
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, belonging(user("a")))
        await opened.store.messages("ses_1")
        for path in paths.storage.glob("message/*/*.json"):
            path.unlink()
        assert len(await opened.store.messages("ses_1")) == 1


async def fill(opened, numbers):
    for number in numbers:
        await opened.store.create(session_info(f"ses_{number}"))
        await put(opened.store, belonging(user(f"text {number}"), f"ses_{number}"))


def open_sessions(opened, numbers):
    return [number for number in numbers if opened.store.message_ids(f"ses_{number}") is not None]


async def test_only_the_sessions_used_last_stay_in_memory_and_the_others_are_read_again(paths):
    numbers = range(MAX_SESSIONS + 5)
    async with open_store(paths) as opened:
        await fill(opened, range(MAX_SESSIONS))
        await opened.store.messages("ses_0")
        await fill(opened, numbers[MAX_SESSIONS:])
        assert open_sessions(opened, numbers) == [0, *range(6, MAX_SESSIONS + 5)]
        [message] = await opened.store.messages("ses_3")
        assert [part.text for part in message.parts if isinstance(part, TextPart)] == ["text 3"]
        assert len(open_sessions(opened, numbers)) == MAX_SESSIONS


async def test_long_sessions_leave_memory_earlier(paths, monkeypatch):
    monkeypatch.setattr(store_module, "MAX_RECORDS", 6)
    async with open_store(paths) as opened:
        await fill(opened, range(5))
        assert open_sessions(opened, range(5)) == [1, 2, 3, 4]  # the last had no record yet when it was opened
        for _ in range(9):
            await put(opened.store, belonging(user("more"), "ses_4"))
        await opened.store.messages("ses_0")
        assert open_sessions(opened, range(5)) == [0, 4]
        assert MIN_SESSIONS == 2


async def test_a_session_that_is_being_changed_stays_in_memory(paths):
    async with open_store(paths) as opened:
        await fill(opened, range(2))
        lock = opened.locks.session_run("ses_0")
        lock.try_acquire()
        try:
            await fill(opened, range(2, MAX_SESSIONS + 3))
        finally:
            lock.release()
        assert open_sessions(opened, range(3)) == [0]


async def test_a_message_of_a_session_that_is_not_open_can_be_changed(paths):
    first, second = belonging(user("first")), belonging(user("second", "more"))
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, first)
        opened.store.drop("ses_1")
        await put(opened.store, second)
        assert await opened.store.messages("ses_1") == [first, second]
        opened.store.drop("ses_1")
        with opened.bus.subscribe() as reader:
            async with opened.store.locked("ses_1") as writer:
                await writer.withdraw(second.info.id)
            assert words(drain(reader)) == ["message.part.removed", "message.part.removed", "message.removed"]
        assert await opened.store.messages("ses_1") == [first]


async def test_a_damaged_message_costs_only_itself(paths):
    kept, broken = belonging(user("kept")), belonging(user("broken"))
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, kept)
        await put(opened.store, broken)
    (paths.storage / "message" / "ses_1" / f"{broken.info.id}.json").write_bytes(b"")
    async with open_store(paths) as opened:
        assert await opened.store.messages("ses_1") == [kept]


async def test_growing_text_is_complete_on_disk_when_the_part_has_ended(paths):
    start = TextPart(id="prt_1", session_id="ses_1", message_id="msg_1", text="", time=PartTime(start=1))
    async with open_store(paths) as opened:
        live = LiveText(start)
        async with opened.store.locked("ses_1") as writer:
            await writer.update_part(live.record())
            for delta in ("one ", "two ", "three "):
                live.append(delta)
                writer.grow_part("msg_1", live, delta)
            await writer.update_part(live.closed(end=2))
        stored = json.loads(await opened.storage.read(("part", "msg_1", "prt_1")))
        assert (stored["text"], stored["time"]) == ("one two three", {"start": 1, "end": 2})


async def test_text_that_still_grows_reaches_the_disk_by_itself(paths):
    start = TextPart(id="prt_1", session_id="ses_1", message_id="msg_1", text="", time=PartTime(start=1))
    async with open_store(paths) as opened, opened.store.locked("ses_1") as writer:
        live = LiveText(start)
        live.append("half")
        writer.grow_part("msg_1", live, "half")
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    if json.loads(await opened.storage.read(("part", "msg_1", "prt_1")))["text"] == "half":
                        break
                except NotFoundError:
                    await asyncio.sleep(0.02)


async def test_who_reads_while_a_text_grows_gets_all_of_it_and_of_a_dropped_one_nothing(paths):
    message = belonging(assistant())
    start = TextPart(id="prt_1", session_id="ses_1", message_id=message.info.id, text="", time=PartTime(start=1))
    async with open_store(paths) as opened, opened.store.locked("ses_1") as writer:
        await opened.store.create(session_info())
        await put(opened.store, message)
        live = LiveText(start)
        await writer.update_part(live.record())
        live.append("so far")
        writer.grow_part(message.info.id, live, "so far")
        growing = await opened.store.messages("ses_1")
        await writer.remove_part(message.info.id, "prt_1")
        dropped = opened.store.parts("ses_1", message.info.id)
    assert growing[0].parts[-1] == start.changed(text="so far")
    assert start.id not in {part.id for part in dropped}


async def test_updates_of_two_processes_are_both_kept(paths):
    async with open_store(paths) as one, open_store(paths) as two:
        await one.store.create(session_info())
        await two.store.update("ses_1", lambda info: info.changed(title="renamed"), touch=False)
        changed = await one.store.update("ses_1", lambda info: info.changed(metadata={"a": 1}))
        assert (changed.title, changed.metadata, changed.time.updated) == ("renamed", {"a": 1}, 1_000)


async def test_removing_a_session_leaves_no_record(paths):
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await opened.store.create(session_info("ses_2", parent_id="ses_1"))
        await put(opened.store, belonging(user("a")))
        await put(opened.store, belonging(user("b"), "ses_2"))
        await opened.storage.write(("todo", "ses_1"), b"[]")
        with opened.bus.subscribe() as reader:
            await opened.store.remove("ses_1")
            gone: Any = drain(reader)
            assert [event.info.id for event in gone] == ["ses_2", "ses_1"]
    assert [path for path in paths.storage.rglob("*.json") if path.name != "migration.json"] == []


async def test_an_unknown_session_is_named_in_the_error(paths):
    async with open_store(paths) as opened:
        with pytest.raises(NotFoundError, match="ses_none"):
            await opened.store.get("ses_none")


async def test_a_damaged_session_record_is_distinct_from_a_missing_one(paths):
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        (paths.storage / "session" / "global" / "ses_1.json").write_bytes(b"{}")
        with pytest.raises(CorruptRecordError, match=r"ses_1\.json"):
            await opened.store.get("ses_1")


async def test_messages_across_a_wrap_of_the_ids_are_ordered_by_time(paths):
    old, new = belonging(user("old")), belonging(user("new"))
    old = with_parts(old.info.changed(id="msg_fffffffff00100000000000000", time=old.info.time.changed(created=1)), [])
    new = with_parts(new.info.changed(id="msg_00000000100100000000000000", time=new.info.time.changed(created=2)), [])
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, new)
        await put(opened.store, old)
    async with open_store(paths) as opened:
        assert await opened.store.messages("ses_1") == [old, new]
        assert await opened.store.tail("ses_1", 1) == [new]


async def test_a_record_that_names_no_folder_or_another_project_continues_where_it_is(paths):
    fields = {"id": "ses_old", "title": "t", "version": "0.5", "time": {"created": 1, "updated": 2}}
    async with open_store(paths) as opened:
        await opened.storage.write(("project", "p"), b'{"worktree": "/old/place"}')
        for given in ({}, {"projectID": "x", "directory": ""}):
            await opened.storage.write(("session", "p", "ses_old"), json.dumps({**fields, **given}).encode())
            await opened.store.update("ses_old", lambda info: info.changed(title="continued"))
            stored = json.loads(await opened.storage.read(("session", "p", "ses_old")))
            assert (stored["projectID"], stored["directory"], stored["title"]) == ("p", "/old/place", "continued")
            assert (await opened.store.get("ses_old")).project_id == "p"
            message = belonging(user("hello"), "ses_old")
            await put(opened.store, message)
            assert (await opened.store.messages("ses_old"))[-1] == message


async def test_a_session_is_found_without_listing_the_others(paths):
    async with open_store(paths) as opened:
        for project in ("one", "two"):
            await opened.store.create(session_info(f"ses_{project}", project_id=project))
    files = LoggedFiles()
    async with open_store(paths, files=files) as opened:
        assert (await opened.store.get("ses_two")).project_id == "two"
        for unknown in ("ses_three", "../session/one/ses_one", ""):
            with pytest.raises(NotFoundError):
                await opened.store.get(unknown)
    assert {call.path for call in files.calls if call.act == "list"} == {str(paths.storage / "session")}
