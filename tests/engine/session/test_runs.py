import asyncio
import threading
from contextlib import asynccontextmanager

import pytest

from opencode_tui.bus import Bus
from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.permission.policy import AskPerson
from opencode_tui.engine.session import runs as runs_module
from opencode_tui.engine.session.records.open_records import Publisher
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.runs import Run, RunRegistry, SessionStatuses
from opencode_tui.engine.waits import writing
from opencode_tui.schema.error import BusyError, ProviderError, RunAborted
from opencode_tui.schema.event.event import SessionFailed
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.schema.ids import Identifier
from opencode_tui.schema.session.stored_error import to_stored
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.process_lock import RunLock
from opencode_tui.storage.session_index import SessionIndex
from opencode_tui.storage.storage import Storage
from opencode_tui.tasks import guarded_tasks
from tests.support.sessions.records import assistant
from tests.support.sessions.store import drain, words
from tests.support.world.waiting import PATIENCE_S, until

ANSWER = assistant("done")


@asynccontextmanager
async def registry(paths, files=None):
    bus, locks, storage = Bus(), Locks(paths, files=files), Storage(paths)
    publisher = Publisher(bus=bus)
    statuses = SessionStatuses(publish=publisher.publish)
    store = SessionStore(
        storage=storage, locks=locks, index=SessionIndex(storage), publisher=publisher, identifier=Identifier(lambda: 1)
    )
    async with guarded_tasks() as tasks:
        runs = RunRegistry(tasks=tasks, locks=locks, store=store, statuses=statuses, publisher=publisher)
        yield runs, bus
    await storage.close()


def start(runs, body, session_id="ses_1"):
    return runs.start(session_id, body, policy=AskPerson())


async def test_all_who_wait_get_the_same_answer(paths):
    async with registry(paths) as (runs, _):

        async def body(_run):
            await asyncio.sleep(0.01)
            return ANSWER

        run = start(runs, body)
        assert await asyncio.gather(run.answer(), run.answer()) == [ANSWER, ANSWER]
        assert runs.get("ses_1") is None


async def test_a_run_whose_supervisor_fails_ends_alone(paths, monkeypatch, caplog):
    """Nothing starts a thread for its lock, as in a container at its limit of processes."""
    async with registry(paths) as (runs, bus):
        begun, may_end, events = asyncio.Event(), asyncio.Event(), bus.subscribe()

        async def body(_run):
            begun.set()
            await may_end.wait()
            return ANSWER

        other = start(runs, body, "ses_2")
        await begun.wait()

        def refuse(_lock):
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as scarce:
            scarce.setattr(RunLock, "begin_acquire", refuse)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                await start(runs, body).answer()
        assert runs.get("ses_1") is None
        failed = [event for event in drain(events) if isinstance(event, SessionFailed)]
        assert [(event.session_id, event.error) for event in failed] == [
            ("ses_1", to_stored(RuntimeError("can't start new thread")))
        ]
        may_end.set()
        assert await other.answer() == ANSWER
        assert await start(runs, body).answer() == ANSWER
    assert [one.getMessage() for one in caplog.records if one.levelname == "ERROR"] == ["supervise ses_1 failed"]


async def test_an_abort_ends_a_run_with_idle_after_its_records_are_closed(paths):
    async with registry(paths) as (runs, bus):
        finalized, begun = [], asyncio.Event()

        async def body(run):
            run.finalize = finalize
            begun.set()
            await asyncio.sleep(60)

        async def finalize(error):
            finalized.append(error.name)

        with bus.subscribe() as reader:
            run = start(runs, body)
            await begun.wait()
            run.abort()
            with pytest.raises(RunAborted):
                await run.answer()
            assert finalized == ["MessageAbortedError"]
            assert words(drain(reader)) == ["session.error", "session.status idle", "session.idle"]


async def test_a_failing_run_leaves_the_others_alone(paths):
    async with registry(paths) as (runs, _):

        async def failing(_run):
            raise ProviderError("no", provider_id="p")

        async def slow(_run):
            await asyncio.sleep(0.05)
            return ANSWER

        broken, fine = start(runs, failing, "ses_1"), start(runs, slow, "ses_2")
        with pytest.raises(ProviderError):
            await broken.answer()
        assert await fine.answer() == ANSWER


async def test_an_abort_before_the_body_began_still_ends_it(paths):
    async with registry(paths) as (runs, _):

        async def body(_run):
            await asyncio.sleep(60)

        run = start(runs, body)
        runs.abort("ses_1")
        with pytest.raises(RunAborted):
            await run.answer()


class HeldFiles(FileSystem):
    """Files of which the first that is replaced waits."""

    def __init__(self) -> None:
        self.is_held, self.go_on = threading.Event(), threading.Event()

    def replace(self, source: str, target: str) -> None:
        self.is_held.set()
        self.go_on.wait(PATIENCE_S)
        super().replace(source, target)


async def test_a_run_waits_for_one_that_was_interrupted_while_the_disk_held_its_lock(paths):
    files = HeldFiles()
    async with registry(paths, files) as (runs, _):

        async def body(_run):
            return ANSWER

        first = start(runs, body)
        await until(files.is_held.is_set)
        runs.abort("ses_1")
        with pytest.raises(RunAborted):
            await first.answer()
        second = start(runs, body)
        await asyncio.sleep(0.02)
        assert not second.is_ended
        files.go_on.set()
        assert await second.answer() == ANSWER


async def test_a_session_that_another_process_works_on_is_refused_by_name(paths):
    other = Locks(paths).session_run("ses_1")
    other.try_acquire()
    async with registry(paths) as (runs, _):

        async def body(_run):
            return ANSWER

        with pytest.raises(BusyError, match="ses_1"):
            await start(runs, body).answer()
    other.release()


async def test_closing_ends_every_run(paths):
    async with registry(paths) as (runs, _):

        async def body(_run):
            await asyncio.sleep(60)

        started = [start(runs, body, f"ses_{n}") for n in range(5)]
        await asyncio.sleep(0.01)
        await runs.close()
        for run in started:
            with pytest.raises(RunAborted):
                await run.answer()


async def test_closing_answers_and_closes_the_records_of_a_run_that_does_not_end(paths):
    async with registry(paths) as (runs, _):
        begun, gate, finalized = asyncio.Event(), asyncio.Event(), []

        async def finalize(error):
            finalized.append(error.name)

        async def body(run):
            run.finalize = finalize
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                await gate.wait()

        run = start(runs, body)
        await begun.wait()
        await runs.close(limit_ms=10)
        assert finalized == ["MessageAbortedError"]
        with pytest.raises(RunAborted):
            await run.answer()
        gate.set()


async def test_the_body_of_a_run_ends_before_its_records_are_closed_when_the_engine_is_canceled(paths):
    order, begun = [], asyncio.Event()

    async def body(run):
        run.finalize = finalize
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)  # as a step does that stores what it has
            order.append("body ended")

    async def finalize(error):
        order.append(f"records closed: {error.name}")

    async def engine():
        async with registry(paths) as (runs, _):
            await start(runs, body).answer()

    running = asyncio.create_task(engine())
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert order == ["body ended", "records closed: MessageAbortedError"]


async def test_a_run_that_never_began_is_answered_as_interrupted():
    run = Run("ses_1", AskPerson())
    run.resolve()
    with pytest.raises(RunAborted):
        await run.answer()


async def test_the_next_run_can_start_as_soon_as_an_answer_is_there(paths):
    async with registry(paths) as (runs, _):

        async def body(_run):
            return ANSWER

        for _ in range(20):
            assert runs.get("ses_1") is None
            await start(runs, body).answer()


def concluding(events, *, waits_for=None):
    """Return a body with work after the run that records its start and end."""

    async def conclude():
        events.append("begun")
        if waits_for is not None:
            await waits_for.wait()
        events.append("ended")

    async def body(run):
        run.after_run = conclude
        return ANSWER

    return body


async def test_quick_work_after_a_run_is_done_when_the_answer_is_returned(paths):
    async with registry(paths) as (runs, _):
        events = []
        await start(runs, concluding(events)).answer()
        assert events == ["begun", "ended"]


async def test_a_slow_conclusion_holds_no_answer_up_and_is_still_brought_to_its_end(paths):
    async with registry(paths) as (runs, _):
        events, gate = [], asyncio.Event()
        await start(runs, concluding(events, waits_for=gate)).answer()
        assert (events, runs.get("ses_1")) == (["begun"], None)
        gate.set()
        await runs.wait_released("ses_1")
        assert events == ["begun", "ended"]


async def test_changes_wait_for_one_another_and_for_a_limited_time(paths):
    async with registry(paths) as (runs, _):
        slot, order = runs.slot("ses_1"), []

        async def change(name):
            async with slot.changing():
                order.append(name)

        async with slot.changing(limit_s=0.05), runs.slot("ses_2").changing():
            with pytest.raises(BusyError, match=r"session ses_1 is still being changed after 0\.05 s"):
                await change("too early")
        async with slot.changing(limit_s=PATIENCE_S):
            later = [asyncio.create_task(change(name)) for name in ("second", "third")]
            await asyncio.sleep(0.01)
            order.append("first")
        await asyncio.gather(*later)
        assert order == ["first", "second", "third"]
        assert not slot.changes()


async def test_what_has_no_limit_is_waited_for_before_the_session_is_released(paths):
    async with registry(paths) as (runs, _):
        order = []

        async def wait():
            await runs.wait_released("ses_1")
            order.append("released")

        async with runs.slot("ses_1").changing(limit_s=None):
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0.01)
            order.append("changed")
        await waiting
        assert order == ["changed", "released"]


async def test_a_run_that_waits_for_a_change_can_be_interrupted(paths):
    async with registry(paths) as (runs, _), runs.slot("ses_1").changing():
        run = start(runs, never)
        await asyncio.sleep(0)
        run.abort()
        with pytest.raises(RunAborted):
            await run.answer()
        assert runs.get("ses_1") is None


async def test_an_interrupted_run_that_a_file_holds_ends_for_its_callers_and_the_next_one_waits(paths, monkeypatch):
    monkeypatch.setattr(runs_module, "STOP_S", 0.05)
    async with registry(paths) as (runs, bus):
        begun, gate, events = asyncio.Event(), asyncio.Event(), bus.subscribe()

        async def body(_run):
            with writing("/work/held.txt"):
                begun.set()
                await run_to_completion(gate.wait())

        async def next_body(_run):
            return ANSWER

        first = start(runs, body)
        await begun.wait()
        first.abort()
        with pytest.raises(RunAborted):
            await first.answer()
        [line] = [event.message for event in drain(events) if isinstance(event, ScreenToastShown)]
        assert line == (
            "Interrupted. Still writing /work/held.txt: the disk is not responding. It will be saved when the disk recovers"
        )
        second = start(runs, next_body)
        await asyncio.sleep(0.02)
        assert not second.is_ended
        gate.set()
        assert await second.answer() == ANSWER


async def never(_run):
    raise AssertionError("the body must not begin")
