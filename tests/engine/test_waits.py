"""Waits that last are reported to the run that waits, with what is waited for, since when and how long."""

import asyncio

import pytest

from opencode_tui.engine import waits
from opencode_tui.engine.waits import reporting, waiting
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.session.session import Wait
from opencode_tui.text.wait import wait_time, wait_words
from tests.support.world.waiting import PATIENCE_S

SOON_S = 0.02


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "NAMED_AFTER_S", SOON_S)


async def reported(reports: list[Wait | None], count: int) -> None:
    """Wait until so many reports came."""
    async with asyncio.timeout(PATIENCE_S):
        while len(reports) < count:
            await asyncio.sleep(0.005)


async def test_a_wait_that_lasts_is_reported_and_so_are_what_comes_next_and_its_end() -> None:
    reports: list[Wait | None] = []
    with reporting(reports.append, []):
        with waiting("first_byte", "fake", limit_s=300) as wait:
            await reported(reports, 1)
            wait.restart("more")
            await reported(reports, 3)
        first, between, second, end = reports
    assert first is not None and second is not None and between is end is None
    assert (first.on, first.name, first.limit, second.on) == ("first_byte", "fake", 300_000, "more")
    assert first.since <= second.since <= system_clock()


async def test_a_short_wait_and_one_of_another_task_are_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[Wait | None] = []

    async def wait_elsewhere() -> None:
        with waiting("process", "litellm", limit_s=None):
            await asyncio.sleep(3 * SOON_S)

    with reporting(reports.append, []):
        await asyncio.create_task(wait_elsewhere())
        monkeypatch.setattr(waits, "NAMED_AFTER_S", 60)
        with waiting("connection", "fake", limit_s=15):
            await asyncio.sleep(0)
    with waiting("connection", "fake", limit_s=15):
        await asyncio.sleep(3 * SOON_S)
    assert reports == []


def test_a_wait_has_words_with_its_seconds_and_its_deadline() -> None:
    wait = Wait(on="first_byte", name="anthropic", since=1_000, limit=300_000)
    assert wait_words(wait) == "Waiting for the first byte of anthropic"
    assert wait_time(wait, 32_500) == "31 s, at most 5 m"
    assert wait_time(wait.changed(limit=None), 32_500) == "31 s"
