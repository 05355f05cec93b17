"""What is known of the folder stays right while it is read anew; the door is scripted, so that a reading can be held up."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.schema.event.event import PermissionAsked, SessionDeleted, SessionUpdated
from opencode_tui.schema.event.screen_event import ScreenEvent
from opencode_tui.schema.session.session import RevertState, SessionTime
from opencode_tui.tui.state.controller import END, SessionController
from tests.support.sessions.records import assistant, user
from tests.support.terminal.conversation import ROOT, SESSION
from tests.support.terminal.scripted_client import Script, ScriptedClient, as_client, session


class Held:
    """Lists of sessions that are read at once and told only when they are let go; one control reads them."""

    def __init__(self, *titles: str) -> None:
        self.script = Script([session(title, id=f"ses_{title}") for title in titles], directory=Path(ROOT))
        self.client = ScriptedClient(self.script)
        self.waiting: list[asyncio.Event] = []
        self.client.sessions.answer(list=self._list)
        self.opened = 0
        door = as_client(self.client)
        self.control = SessionController(
            door, opened=self._open, lagged=lambda _reason: None, requested=self._ignore, clock=lambda: 0.0
        )

    async def _list(self) -> list[Any]:
        read, gate = list(self.script.sessions), asyncio.Event()
        self.waiting.append(gate)
        await gate.wait()
        return read

    def _open(self) -> None:
        self.opened += 1

    def _ignore(self, _event: ScreenEvent) -> None: ...

    async def begin(self) -> "asyncio.Task[None]":
        """Begin to read anew; returns when the list was read and waits to be told."""
        count = len(self.waiting)
        task = asyncio.create_task(self.control.reload())
        for _ in range(5):
            await asyncio.sleep(0)
        assert len(self.waiting) <= count + 1
        return task

    async def finish(self, *tasks: "asyncio.Task[None]") -> None:
        """Let go what waits, the newest first, until these are through."""
        while not all(task.done() for task in tasks):
            for gate in reversed(self.waiting):
                gate.set()
                await asyncio.sleep(0)
        await asyncio.gather(*tasks)

    @property
    def titles(self) -> list[str]:
        return sorted(info.title for info in self.control.folder.sessions.values())


async def test_what_happens_while_sessions_are_read_anew_is_not_lost() -> None:
    held = Held("one", "two", "gone")
    reading = await held.begin()
    held.control.apply(SessionUpdated(info=session("renamed", id="ses_one")))
    held.control.apply(SessionDeleted(info=session("gone", id="ses_gone")))
    await held.finish(reading)
    assert held.titles == ["renamed", "two"]


async def test_a_question_that_comes_while_sessions_are_read_anew_is_put() -> None:
    held = Held("one")
    reading = await held.begin()
    held.control.apply(PermissionAsked(id="per_1", session_id="ses_one", permission="bash", patterns=["ls"]))
    await held.finish(reading)
    assert list(held.control.folder.asking) == ["per_1"]


async def test_of_two_readings_the_later_one_counts() -> None:
    held = Held("old")
    first = await held.begin()
    held.script.sessions = [session("new", id="ses_old")]
    second = await held.begin()
    await held.finish(first, second)
    assert held.titles == ["new"]


async def test_a_shown_session_that_is_gone_is_left() -> None:
    held = Held()
    held.script.sessions = [session("shown", id=SESSION)]
    await held.control.open(SESSION)
    held.script.sessions = []
    await held.finish(await held.begin())
    assert held.control.session_id is None and held.opened == 2


async def test_a_new_list_is_shown_where_no_session_is() -> None:
    held = Held("one")
    await held.finish(await held.begin())
    assert held.opened == 1


async def test_a_long_session_is_read_from_its_end_and_whole_when_asked() -> None:
    held = Held()
    held.script.sessions = [session("long", id=SESSION).changed(time=SessionTime(created=1, updated=1))]
    held.script.messages = [one for _ in range(END) for one in [user("more"), assistant("done", cost=0.01)]]
    held.client.sessions.answer(cost=lambda _id: 0.01 * END)
    control = held.control
    await control.open(SESSION)
    shown = control.transcript
    assert not control.is_whole and len(shown.items) == END
    assert control.knows(held.script.messages[-1].info.id) and not control.knows(held.script.messages[0].info.id)
    await control.add_older_cost()
    assert control.facts is not None and control.facts.cost == pytest.approx(0.01 * END)
    await control.load_whole()
    assert control.is_whole and control.transcript is shown and len(shown.items) == 2 * END
    assert control.knows(held.script.messages[0].info.id) and control.facts.cost == pytest.approx(0.01 * END)


async def test_a_long_session_with_an_older_undo_is_read_whole() -> None:
    held = Held()
    held.script.messages = [one for _ in range(END) for one in [user("more"), assistant("done")]]
    undo = RevertState(message_id=held.script.messages[2].info.id)
    held.script.sessions = [session("long", id=SESSION).changed(revert=undo)]
    await held.control.open(SESSION)
    assert held.control.is_whole
