"""Cancels of work that has to be done, and of blocking work that can be given up."""

import asyncio
import threading

import pytest

from opencode_tui import cancellation
from opencode_tui.cancellation import Threads, limit_threads, on_thread_for, run_to_completion, to_cancellable_thread
from opencode_tui.storage.writer import WriterThread


async def _cancelled(task: "asyncio.Task[object]", *, times: int) -> asyncio.CancelledError:
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    return caught.value


async def _until(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(0.001)


async def test_work_is_done_however_often_its_caller_is_cancelled() -> None:
    begun, may_end, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await may_end.wait()
        done.set()

    task = asyncio.create_task(run_to_completion(work()))
    await begun.wait()
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    await _cancelled(task, times=0)
    assert done.is_set()


async def test_a_cancel_sets_the_stop_flag_and_names_the_error_of_the_work() -> None:
    stop, begun = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        stop.wait()
        raise ValueError("stopped")

    task = asyncio.create_task(run_to_completion(asyncio.to_thread(work), stop=stop))
    await _until(begun)
    error = await _cancelled(task, times=1)
    assert isinstance(error.__cause__, ValueError)


async def test_a_cancel_does_not_wait_for_a_cancellable_thread() -> None:
    begun, may_end, stops = threading.Event(), threading.Event(), list[threading.Event]()

    def work(stop: threading.Event) -> None:
        stops.append(stop)
        begun.set()
        may_end.wait()

    task = asyncio.create_task(to_cancellable_thread(work))
    await _until(begun)
    await _cancelled(task, times=1)
    assert [stop.is_set() for stop in stops] == [True]
    may_end.set()


async def test_a_write_whose_caller_was_cancelled_is_done_and_its_failure_logged(caplog) -> None:
    writer, begun, may_end = WriterThread("test"), threading.Event(), threading.Event()

    def write() -> None:
        begun.set()
        may_end.wait()
        raise OSError("disk full")

    task = asyncio.create_task(writer.run(write))
    await _until(begun)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    await _cancelled(task, times=1)
    writer.stop()
    assert "a write failed after its caller was canceled" in caplog.text


async def test_work_on_a_thread_is_waited_for_only_so_long_and_then_goes_on() -> None:
    may_end, done = threading.Event(), threading.Event()

    def work() -> None:
        may_end.wait()
        done.set()

    await on_thread_for(work, 0.01)
    assert not done.is_set()
    may_end.set()
    await _until(done)


async def test_work_on_a_thread_that_fails_in_time_raises_its_error() -> None:
    def work() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await on_thread_for(work, 60)


def test_a_loop_and_its_process_do_not_wait_for_a_thread_that_never_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cancellation, "THREADS_S", 0.05)
    begun, may_end = threading.Event(), threading.Event()
    held: list[threading.Thread] = []

    def block() -> bool:
        held.append(threading.current_thread())
        begun.set()
        return may_end.wait()

    async def main() -> str:
        limit_threads()
        asyncio.get_running_loop().run_in_executor(None, block)
        await asyncio.to_thread(begun.wait)
        return "ended"

    assert asyncio.run(main()) == "ended"
    assert [(one.daemon, one.is_alive()) for one in held] == [(True, True)]
    may_end.set()
    held[0].join()


async def test_threads_give_results_errors_and_are_used_again() -> None:
    limit_threads()
    assert await asyncio.gather(*(asyncio.to_thread(pow, 2, at) for at in range(100))) == [2**at for at in range(100)]
    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(divmod, 1, 0)
    names = {await asyncio.to_thread(lambda: threading.current_thread().name) for _ in range(20)}
    assert len(names) <= cancellation.MOST_THREADS
    await asyncio.get_running_loop().shutdown_default_executor()
    with pytest.raises(RuntimeError):
        await asyncio.to_thread(pow, 2, 2)


class _Scarce:
    """Lets the system have no more threads while `is_on`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_on, self.refused = True, 0
        start = threading.Thread.start

        def refuse(thread: threading.Thread) -> None:
            if self.is_on:
                self.refused += 1
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", refuse)


def test_threads_that_could_not_be_started_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    threads, scarce = Threads(most=2), _Scarce(monkeypatch)
    done: list[str] = []
    for _ in range(5):
        with pytest.raises(RuntimeError, match="can't start new thread"):
            threads.submit(lambda: done.append("refused"))
    scarce.is_on = False
    assert [threads.submit(lambda at: at, at).result(60) for at in range(3)] == [0, 1, 2]
    threads.shutdown()
    assert (done, scarce.refused) == ([], 5)


def test_calls_wait_for_the_threads_there_are_when_the_system_has_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    threads, may_end, scarce = Threads(most=3), threading.Event(), _Scarce(monkeypatch)
    scarce.is_on = False
    first = threads.submit(may_end.wait)
    scarce.is_on = True
    waiting = [threads.submit(lambda at: at, at) for at in range(10)]
    assert scarce.refused == 10
    may_end.set()
    assert (first.result(60), [one.result(60) for one in waiting]) == (True, list(range(10)))
    threads.shutdown()


def test_a_call_that_waits_gets_the_next_thread_that_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    threads, may_end, scarce = Threads(most=3), threading.Event(), _Scarce(monkeypatch)
    scarce.is_on = False
    first = threads.submit(may_end.wait)
    scarce.is_on = True
    waiting = threads.submit(lambda: "waited")
    scarce.is_on = False
    assert threads.submit(lambda: "new").result(60) == "new"
    assert waiting.result(60) == "waited"
    may_end.set()
    assert first.result(60)
    threads.shutdown()
