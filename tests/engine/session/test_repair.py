from collections.abc import Callable
from pathlib import Path
from typing import Any

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.repair import INTERRUPTED_TOOL, is_unfinished, repair
from opencode_tui.engine.session.step.processor import NewMessages
from opencode_tui.schema.ids import Identifier, system_clock
from opencode_tui.schema.session.history import with_parts
from opencode_tui.schema.session.message import AssistantMessage, MessageTime, UserMessage
from opencode_tui.schema.session.part import PartTime
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED
from tests.engine.session.test_store import belonging, put
from tests.support.sessions.records import assistant, call, session_info, text, user
from tests.support.sessions.store import open_store


def answer_to(request: UserMessage) -> AssistantMessage:
    """Return an answer that has just begun, as the program makes it."""
    made = NewMessages(Identifier(system_clock), lambda: 98, Path("/p"), Path("/p"))
    return made.answer(request, request.model, request.agent)


async def close_left(store: SessionStore, killed: Callable[[UserMessage], AssistantMessage] | None = None) -> int:
    """Repair the session under its lock."""
    async with store.locked("ses_1"):
        return await repair(store, "ses_1", clock=lambda: 99, killed=killed)


async def test_what_a_dead_process_left_open_is_closed(paths):
    asked, growing = belonging(user("x")), text("half an ", time=PartTime(start=5))
    broken = belonging(assistant(growing, call("c1", status="running"), call("c2", status="pending"), finish=None))
    broken = with_parts(broken.info.changed(time=MessageTime(created=1)), broken.parts)
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, asked)
        await put(opened.store, broken)
        assert await close_left(opened.store) == 1
        repaired: Any = (await opened.store.messages("ses_1"))[1]
    assert not is_unfinished(repaired)
    assert (repaired.info.time.completed, repaired.info.error.name) == (99, "MessageAbortedError")
    assert (repaired.parts[0].text, repaired.parts[0].time.end) == ("half an", 99)
    assert [part.state.error for part in repaired.parts[1:]] == [INTERRUPTED_TOOL] * 2


async def test_a_complete_session_is_not_changed(paths):
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, belonging(user("x")))
        await put(opened.store, belonging(assistant("y", call("c1"))))
        before = {path: path.read_bytes() for path in paths.storage.rglob("*.json")}
        assert await close_left(opened.store) == 0
    assert {path: path.read_bytes() for path in paths.storage.rglob("*.json")} == before


async def test_a_turn_that_a_dead_process_left_between_two_steps_says_so_and_one_that_ended_does_not(paths):
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, belonging(user("x")))
        await put(opened.store, belonging(assistant(call("c1"), finish="tool-calls")))
        assert await close_left(opened.store) == 0
        for count in (1, 0):
            assert await close_left(opened.store, answer_to) == count
        found: Any = (await opened.store.messages("ses_1"))[-1].info
        assert (found.error.name, found.error.data.message, found.time.completed) == (
            "MessageAbortedError",
            PROGRAM_ENDED,
            2,
        )
        await put(opened.store, belonging(user("go on")))
        await put(opened.store, belonging(assistant("done")))
        assert await close_left(opened.store, answer_to) == 0


async def test_a_request_that_a_dead_process_left_before_the_first_step_says_so(paths):
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, belonging(user("x")))
        assert await close_left(opened.store) == 0
        for count in (1, 0):
            assert await close_left(opened.store, answer_to) == count
        asked, answered = (one.info for one in await opened.store.messages("ses_1"))
    assert isinstance(answered, AssistantMessage) and answered.error is not None and asked.id == answered.parent_id
    assert (answered.error.name, answered.time.completed) == ("MessageAbortedError", 99)
