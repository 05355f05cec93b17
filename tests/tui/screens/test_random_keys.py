"""Random keys while a turn streams: none is lost, none is reordered, none answers a question that it was not meant for."""

import random
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer
from tests.support.terminal.random_keys import stress
from tests.support.terminal.random_pages import PageStress
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


async def test_random_keys_while_a_turn_streams(environ: dict[str, str], folder: Path) -> None:
    async with stress(environ, folder, seed=3) as keys:
        faults = [fault for number in range(3) for fault in await keys.round(number)]
    assert faults == []


async def test_random_keys_over_pages_lists_and_panels(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder, Answer(text="Well.")) as page:
        await page.send("begin")
        await page.sees("✓ Done")
        keys = PageStress(page, folder, random.Random(5))
        faults = [fault for number in range(12) for fault in await keys.round(number)]
    assert faults == []
