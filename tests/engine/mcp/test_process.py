"""The process of a local server ends with all that it holds, also where its end is interrupted."""

import asyncio
import os
from pathlib import Path

import pytest

from opencode_tui.engine.mcp.process import ServerProcess
from tests.support.world.waiting import until

STAYS = "trap '' TERM; echo ready; while :; do sleep 0.01; done"
"""A program that SIGTERM does not end."""


@pytest.mark.parametrize("cancellations", [0, 1, 2])
async def test_an_end_that_is_canceled_leaves_no_process_and_no_pipe(tmp_path: Path, cancellations: int) -> None:
    process = await ServerProcess.start(["sh", "-c", STAYS], tmp_path, os.environ)
    assert await anext(process.lines()) == b"ready"
    end = asyncio.create_task(process.stop())
    for _ in range(cancellations):
        await asyncio.sleep(0)
        end.cancel()
    [failure] = await asyncio.gather(end, return_exceptions=True)
    assert isinstance(failure, asyncio.CancelledError) == (cancellations > 0)
    assert process._process._transport.is_closing()  # pyright: ignore[reportAttributeAccessIssue] - asyncio has no public name
    await until(lambda: process._process.returncode is not None)
