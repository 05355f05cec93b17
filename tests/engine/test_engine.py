"""Claims about the engine as a process has it."""

import asyncio

from opencode_tui.engine import engine as engine_module
from opencode_tui.schema.ids import Identifier, system_clock
from opencode_tui.storage.paths import find_paths
from tests.support.world.engine import opened
from tests.support.world.waiting import PATIENCE_S

EIGHT_DAYS_MS = 8 * 24 * 3_600_000


async def test_full_texts_of_tools_that_are_too_old_are_removed_while_it_works(environ, tmp_path, monkeypatch):
    monkeypatch.setattr(engine_module, "FIRST_CLEANING_S", 0.01)
    folder = find_paths(environ).tool_output
    folder.mkdir(parents=True)
    old = folder / Identifier(lambda: system_clock() - EIGHT_DAYS_MS).ascending("tool")
    young = folder / Identifier().ascending("tool")
    for path in (old, young):
        path.write_text("x")
    async with opened(environ, tmp_path), asyncio.timeout(PATIENCE_S):
        while old.exists():
            await asyncio.sleep(0.01)
    assert young.exists()
