"""Contexts, through either door."""

import pytest

from opencode_tui.schema.compaction import CompactSession
from opencode_tui.schema.error import NoSuchMessageError, NotFoundError, OpencodeError
from tests.support.model_script import Answer, Call

UNKNOWN = "ses_000000000000AAAAAAAAAAAAAA"


async def read_once(door) -> str:
    session = await door.new_session()
    door.model.script(Answer(calls=(Call("read", {"filePath": "a.py"}),)), Answer(text="read"))
    await door.say(session, "read it")
    return session.id


async def test_the_next_request_is_shown_item_by_item_and_whole(door):
    session_id = await read_once(door)
    view, request = await door.client.context.items(session_id), await door.client.context.request(session_id)
    assert [item.kind for item in view.items][-3:] == ["request", "call", "answer"]
    assert view.tokens == sum(item.tokens for item in view.items) and view.context == 200_000
    assert request.url is not None and request.body["messages"][-1]["content"] == "read"
    assert request.headers["authorization"] == "[hidden]"


async def test_a_call_is_pruned_and_restored(door):
    session_id = await read_once(door)
    (call,) = [item for item in (await door.client.context.items(session_id)).items if item.kind == "call"]
    assert (await door.client.context.prune(session_id)).parts == []
    dry = await door.client.context.prune(session_id, [call.part_id], dry_run=True)
    assert dry == await door.client.context.prune(session_id, [call.part_id]) and dry.parts[0].tool == "read"
    states = [item.state for item in (await door.client.context.items(session_id)).items if item.kind == "call"]
    assert states == ["pruned"]
    assert (await door.client.context.restore(session_id)).parts == dry.parts
    assert (await door.client.context.restore(session_id)).parts == []


async def test_what_does_not_exist_is_refused(door):
    session_id = await read_once(door)
    for ask in (door.client.context.items, door.client.context.request, door.client.context.prune):
        with pytest.raises(NotFoundError):
            await ask(UNKNOWN)
    with pytest.raises(OpencodeError, match="no part prt_none") as refused:
        await door.client.context.restore(session_id, ["prt_none"])
    assert isinstance(refused.value, NoSuchMessageError | NotFoundError)


async def test_a_session_is_compacted_and_told_of(door):
    session_id = await read_once(door)
    look = await door.client.context.compact(session_id, CompactSession(dry_run=True))
    door.model.script(Answer(text="the summary"))
    report = await door.client.context.compact(session_id, CompactSession())
    assert look == report.changed(after=None, summary=None, message_id=None, cost=0)
    assert report.summary == "the summary" and report.message_id is not None
    states = {item.state for item in (await door.client.context.items(session_id)).items if item.kind == "call"}
    assert states == {"summarised"}
