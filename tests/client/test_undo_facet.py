"""Undo through the client: the same in the process and over HTTP."""

import asyncio

import pytest

from opencode_tui.schema.error import BusyError, NoSuchMessageError, NotFoundError, NothingToRevertError
from opencode_tui.storage.locks import Locks
from tests.support.provider.model_script import Answer, Call
from tests.support.world.waiting import PATIENCE_S

UNKNOWN = "ses_000000000000doesnotexist00"


async def test_a_turn_is_looked_at_undone_and_brought_back(api):
    made = api.project.path / "new.txt"
    api.model.script(Answer(calls=(Call("write", {"filePath": str(made), "content": "x\n"}),)), Answer(text="done"))
    session = await api.new_session()
    await api.say(session, "make it")
    preview = await api.client.undo.preview(session.id)
    assert [(file.path, file.additions) for file in preview.deleted] == [(str(made), 1)] and made.exists()
    report = await api.client.undo.revert(session.id)
    assert (report.deleted, report.scope) == (preview.deleted, preview.scope) and not made.exists()
    assert [file.path for file in (await api.client.undo.preview_unrevert(session.id)).restored] == [str(made)]
    await api.client.undo.unrevert(session.id)
    assert made.read_text() == "x\n" and (await api.client.sessions.get(session.id)).revert is None
    assert [diff.file for diff in await api.client.sessions.diff(session.id)] == ["new.txt"]


@pytest.mark.slow
async def test_undos_and_previews_at_once_wait_for_one_another(api):
    made = api.project.path / "new.txt"
    session = await api.new_session()
    for number in range(3):
        call = Call("write", {"filePath": str(made), "content": f"{number}\n"})
        api.model.script(Answer(calls=(call,)), Answer(text="done"))
        await api.say(session, "write it")
    look, revert = api.client.undo.preview, api.client.undo.revert
    _, one, _, other = await asyncio.gather(  # in any order
        look(session.id), revert(session.id), look(session.id), revert(session.id)
    )
    assert sorted(len(report.scope.messages) for report in (one, other)) == [3, 6]
    assert made.read_text() == "0\n"


@pytest.mark.slow
async def test_a_prompt_that_comes_during_a_preview_waits_for_it(api):
    session = await api.new_session()
    await api.say(session, "begin")
    for at in range(8):
        looking = asyncio.ensure_future(api.client.undo.preview(session.id))
        await asyncio.sleep(at * 0.003)
        await api.say(session, "go on")
        await asyncio.wait({looking})
        assert looking.exception() is None or "is running" in str(looking.exception())


@pytest.mark.slow
async def test_a_preview_that_was_left_is_in_the_way_of_nothing(api):
    """As on the timeline, where each row that is passed begins a preview."""
    made = api.project.path / "new.txt"
    api.model.script(Answer(calls=(Call("write", {"filePath": str(made), "content": "x\n"}),)), Answer(text="done"))
    session = await api.new_session()
    await api.say(session, "write it")
    whole = await api.client.undo.preview(session.id)
    for at in range(30):
        left = asyncio.ensure_future(api.client.undo.preview(session.id))
        await asyncio.sleep(at * 0.002)
        left.cancel()
        assert await api.client.undo.preview(session.id) == whole
        await asyncio.wait({left})


@pytest.mark.slow
async def test_files_or_the_conversation_can_be_undone_alone_and_the_model_reads_which_files(api):
    made = api.project.path / "new.txt"
    api.model.script(Answer(calls=(Call("write", {"filePath": str(made), "content": "x\n"}),)), Answer(text="done"))
    session = await api.new_session()
    await api.say(session, "make it")
    report = await api.client.undo.revert(session.id, only="conversation")
    assert report.scope is not None and report.scope.only == "conversation" and made.exists()
    await api.client.undo.unrevert(session.id)
    assert (await api.client.undo.preview(session.id, only="files")).deleted and made.exists()
    await api.client.undo.revert(session.id, only="files")
    assert not made.exists()
    await api.say(session, "go on")
    [*_, reminder, _prompt, _answer] = await api.client.messages.list(session.id)
    assert str(made) in reminder.parts[0].text
    sent = [str(message["content"]) for message in api.model.requests[-1].body["messages"]]
    assert any("<system-reminder>" in text and str(made) in text and "undid" in text for text in sent)
    with pytest.raises(NothingToRevertError):
        await api.client.undo.unrevert(session.id)


async def test_a_message_or_a_part_can_be_named(api):
    session = await api.new_session()
    for text in ("one", "two"):
        await api.say(session, text)
    messages = await api.client.messages.list(session.id)
    report = await api.client.undo.revert(session.id, messages[0].info.id)
    assert report.scope is not None and len(report.scope.messages) == 4
    with pytest.raises(NoSuchMessageError):
        await api.client.undo.revert(session.id, messages[0].info.id, "prt_0000000000000000")
    with pytest.raises(NoSuchMessageError):
        await api.client.undo.preview(session.id, "msg_0000000000000000")


@pytest.mark.slow
async def test_the_changes_of_an_undo_are_those_of_all_its_turns(api):
    made, other = api.project.path / "new.txt", api.project.path / "other.txt"
    first = Call("write", {"filePath": str(made), "content": "x\n"})
    second = Call("write", {"filePath": str(made), "content": "y\n"})
    api.model.script(Answer(calls=(first,)), Answer(text="done"))
    session = await api.new_session()
    await api.say(session, "make it")
    third = Call("write", {"filePath": str(other), "content": "z\n"})
    api.model.script(Answer(text="so", calls=(second,)), Answer(text="and", calls=(third,)), Answer(text="done"))
    await api.say(session, "change it")
    messages = await api.client.messages.list(session.id)
    users = [one.info.id for one in messages if one.info.role == "user"]
    whole, last = [
        [(diff.file, diff.before, diff.after) for diff in await api.client.undo.changes(session.id, user)]
        for user in users
    ]
    assert whole == [("new.txt", "", "y\n"), ("other.txt", "", "z\n")]
    assert last == [("new.txt", "x\n", "y\n"), ("other.txt", "", "z\n")]
    answer = next(one for one in messages if one.info.role == "assistant" and one.parts and "so" in str(one.parts))
    [call] = [part.id for part in answer.parts if part.type == "tool"]
    part = await api.client.undo.changes(session.id, answer.info.id, call)
    assert [diff.file for diff in part] == ["new.txt", "other.txt"]
    with pytest.raises(NoSuchMessageError):
        await api.client.undo.changes(session.id, "msg_0000000000000000")


async def test_what_cannot_be_undone_is_said_by_its_class(api, paths):
    session = await api.new_session()
    with pytest.raises(NothingToRevertError):
        await api.client.undo.revert(session.id)
    with pytest.raises(NothingToRevertError):
        await api.client.undo.unrevert(session.id)
    with pytest.raises(NotFoundError):
        await api.client.undo.preview(UNKNOWN)
    lock = Locks(paths).session_run(session.id)
    lock.try_acquire()
    with pytest.raises(BusyError):
        await api.client.undo.revert(session.id)
    lock.release()


async def test_nothing_is_to_mend_in_a_whole_session_and_nobody_mends_where_another_works(api, paths):
    session = await api.new_session()
    await api.say(session, "one")
    async with asyncio.timeout(PATIENCE_S):
        while not (before := await api.client.messages.list(session.id))[
            0
        ].info.summary:  # it may come after the answer
            await asyncio.sleep(0.01)
    await api.client.undo.recover(session.id)
    assert await api.client.messages.list(session.id) == before
    lock = Locks(paths).session_run(session.id)
    lock.try_acquire()
    with pytest.raises(BusyError):
        await api.client.undo.recover(session.id)
    lock.release()
