from typing import Any

from opencode_tui.engine.session.runs import INTERRUPTED_TOOL, is_unfinished, repair
from opencode_tui.schema.session.history import with_parts
from opencode_tui.schema.session.message import MessageTime
from opencode_tui.schema.session.part import PartTime
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED
from tests.engine.session.test_store import belonging, put
from tests.support.sessions.records import assistant, call, session_info, text, user
from tests.support.sessions.store import open_store


async def test_what_a_dead_process_left_open_is_closed(paths):
    growing = text("half an ", time=PartTime(start=5))
    broken = belonging(assistant(growing, call("c1", status="running"), call("c2", status="pending"), finish=None))
    broken = with_parts(broken.info.changed(time=MessageTime(created=1)), broken.parts)
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, belonging(user("x")))
        await put(opened.store, broken)
        assert await repair(opened.store, "ses_1", clock=lambda: 99) == 1
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
        assert await repair(opened.store, "ses_1", clock=lambda: 99) == 0
    assert {path: path.read_bytes() for path in paths.storage.rglob("*.json")} == before


async def test_a_turn_that_a_dead_process_left_between_two_steps_says_so_and_one_that_ended_does_not(paths):
    async with open_store(paths) as opened:
        await opened.store.create(session_info())
        await put(opened.store, belonging(user("x")))
        await put(opened.store, belonging(assistant(call("c1"), finish="tool-calls")))
        assert await repair(opened.store, "ses_1", clock=lambda: 99) == 0
        for count in (1, 0):
            assert await repair(opened.store, "ses_1", clock=lambda: 99, was_killed=True) == count
        found: Any = (await opened.store.messages("ses_1"))[-1].info
        assert (found.error.name, found.error.data.message, found.time.completed) == (
            "MessageAbortedError",
            PROGRAM_ENDED,
            2,
        )
        await put(opened.store, belonging(user("go on")))
        await put(opened.store, belonging(assistant("done")))
        assert await repair(opened.store, "ses_1", clock=lambda: 99, was_killed=True) == 0
