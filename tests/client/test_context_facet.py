"""Contexts, through either api."""

import pytest

from opencode_tui.schema.api.context import CompactSession
from opencode_tui.schema.api.side_question import SideExchange, SideQuestion
from opencode_tui.schema.error import NoSuchMessageError, NotFoundError, OpencodeError
from tests.support.provider.model_script import Answer, Call

UNKNOWN = "ses_000000000000AAAAAAAAAAAAAA"


async def read_once(api) -> str:
    session = await api.new_session()
    api.model.script(Answer(calls=(Call("read", {"filePath": "a.py"}),)), Answer(text="read"))
    await api.say(session, "read it")
    return session.id


async def test_the_next_request_is_shown_item_by_item_and_whole(api):
    session_id = await read_once(api)
    view, request = await api.client.context.items(session_id), await api.client.context.request(session_id)
    assert [item.kind for item in view.items][-3:] == ["request", "call", "answer"]
    assert view.tokens == sum(item.tokens for item in view.items) and view.context == 200_000
    assert request.url is not None and request.body["messages"][-1]["content"] == "read"
    assert request.headers["authorization"] == "[hidden]"


async def test_a_call_is_pruned_and_restored(api):
    session_id = await read_once(api)
    (call,) = [item for item in (await api.client.context.items(session_id)).items if item.kind == "call"]
    assert (await api.client.context.prune(session_id)).parts == []
    dry = await api.client.context.prune(session_id, [call.part_id], dry_run=True)
    assert dry == await api.client.context.prune(session_id, [call.part_id]) and dry.parts[0].tool == "read"
    states = [item.state for item in (await api.client.context.items(session_id)).items if item.kind == "call"]
    assert states == ["pruned"]
    assert (await api.client.context.restore(session_id)).parts == dry.parts
    assert (await api.client.context.restore(session_id)).parts == []


async def test_a_side_question_repeats_the_next_request_and_leaves_the_messages(api):
    session_id = await read_once(api)
    before, following = await api.client.messages.list(session_id), await api.client.context.request(session_id)
    api.model.script(Answer(calls=(Call("write", {"filePath": "b.py", "content": ""}),)), Answer(text="because"))
    earlier = [SideExchange(question="what?", answer="rows")]
    answer = await api.client.context.ask(session_id, SideQuestion(text="why?", earlier=earlier))
    assert answer.text == "because" and answer.input > 0
    first, second = (one.body for one in api.model.requests[-2:])
    kept = len(following.body["messages"])
    assert first["messages"][:kept] == following.body["messages"] and first["tools"] == following.body["tools"]
    asked = first["messages"][kept:]
    assert [one["role"] for one in asked] == ["user", "assistant", "user"] and "why?" in str(asked[-1])
    assert second["messages"] == first["messages"] and second["tool_choice"] == "none"
    assert await api.client.messages.list(session_id) == before


async def test_what_does_not_exist_is_refused(api):
    session_id = await read_once(api)
    for ask in (api.client.context.items, api.client.context.request, api.client.context.prune):
        with pytest.raises(NotFoundError):
            await ask(UNKNOWN)
    with pytest.raises(OpencodeError, match="no part prt_none") as refused:
        await api.client.context.restore(session_id, ["prt_none"])
    assert isinstance(refused.value, NoSuchMessageError | NotFoundError)


async def test_a_session_is_compacted_and_told_of(api):
    session_id = await read_once(api)
    look = await api.client.context.compact(session_id, CompactSession(dry_run=True))
    api.model.script(Answer(text="the summary"))
    report = await api.client.context.compact(session_id, CompactSession())
    assert look == report.changed(after=None, summary=None, message_id=None, cost=0)
    assert report.summary == "the summary" and report.message_id is not None
    states = {item.state for item in (await api.client.context.items(session_id)).items if item.kind == "call"}
    assert states == {"summarized"}
