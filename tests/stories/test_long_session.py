"""Long work in a small context continues without a visible break."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer
from tests.support.provider.token_counter import Window
from tests.support.sessions.long_session import LongSession
from tests.support.world.engine import opened

pytestmark = pytest.mark.slow


SUMMARY = Answer(text="The work of the earlier turns is done as it was asked for. " * 30, is_burst=True)
WINDOW = Window(32_000, counts_output=True)


async def test_long_work_in_a_small_window_meets_no_refusal_and_keeps_what_it_must(
    environ: dict[str, str], tmp_path: Path
) -> None:
    plan = LongSession(turns=6, steps=8, size=1_400, rules=6)
    async with opened(environ, tmp_path, window=WINDOW, limit=(32_000, 8_000)) as world:
        course = await plan.run(world, tmp_path, usable=24_000, summary=SUMMARY)
    assert (course.refused, course.lost) == (0, []) and course.facts >= 50
    assert 2 <= len(course.after) <= course.allowed


async def test_without_precomputation_it_continues_too(environ: dict[str, str], tmp_path: Path) -> None:
    plan = LongSession(turns=4, steps=8, size=1_400, rules=4)
    settings = {"compaction": {"prepare": False}}
    async with opened(environ, tmp_path, window=WINDOW, limit=(32_000, 8_000), settings=settings) as world:
        course = await plan.run(world, tmp_path, usable=24_000, summary=SUMMARY)
    assert (course.refused, course.lost, course.summaries) == (0, [], len(course.after))
    assert 1 <= len(course.after) <= course.allowed
