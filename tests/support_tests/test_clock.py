"""The clock without waits: an hour passes at once, and none passes while a thread works."""

import asyncio
import threading
import time

import pytest

from tests.support.terminal.clock import jump_over_waits


def test_an_hour_passes_at_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    jump_over_waits(monkeypatch)
    ended: list[float] = []

    async def wait(seconds: float) -> None:
        begin = time.monotonic()
        await asyncio.sleep(seconds)
        ended.append(time.monotonic() - begin)

    async def all_of_them() -> None:
        await asyncio.gather(wait(3600), wait(60))

    asyncio.run(all_of_them())
    assert ended == [pytest.approx(60), pytest.approx(3600)]


def test_no_time_passes_while_a_thread_works(monkeypatch: pytest.MonkeyPatch) -> None:
    jump_over_waits(monkeypatch)
    gate = threading.Event()

    async def passed() -> float:
        begin = time.monotonic()
        work = asyncio.create_task(asyncio.to_thread(gate.wait, 60))
        timer = asyncio.create_task(asyncio.sleep(5))
        threading.Timer(0.05, gate.set).start()
        await work
        spent = time.monotonic() - begin
        await timer
        return spent

    assert asyncio.run(passed()) == 0
