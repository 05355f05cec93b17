"""Tasks of language servers end with their connection, also before they begin."""

import asyncio
import gc

import pytest

from opencode_tui.engine.lsp.connection import spawn


async def test_work_that_is_canceled_before_it_begins_is_closed() -> None:
    """Python reports work that was never awaited, and pytest makes an error of that."""
    tasks: set[asyncio.Task[None]] = set()
    begun: list[str] = []

    async def work() -> None:
        begun.append("work")

    task = spawn(work(), tasks, name="a server: refresh")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gc.collect()
    assert not begun and not tasks
