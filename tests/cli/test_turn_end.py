"""The end of a turn of `run` by signals: however many come, nothing but the stop is said."""

import asyncio
import gc
from typing import Any

import pytest

from opencode_tui.cli.run.json_report import JsonReporter
from opencode_tui.cli.run.turn import RunPrompts, answer
from opencode_tui.cli.style import style_of
from opencode_tui.client.policy import AskPerson
from opencode_tui.schema.api.request import PromptInput, TextInput
from opencode_tui.schema.session.part import RetryPart
from tests.support.provider.model_script import failure
from tests.support.world.engine import MODEL, opened
from tests.support.world.waiting import PATIENCE_S


@pytest.mark.parametrize("signals", [1, 2, 3])
async def test_signals_between_two_attempts_leave_no_error_that_nobody_read(environ, tmp_path, capsys, signals):
    unread: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unread.append(context))
    async with opened(environ, tmp_path, *[failure(429, "slow down", retry_after="200")] * 2) as world:
        session = await world.new_session()
        prompts = RunPrompts(None, world.client, style_of(None, environ), AskPerson())
        given = PromptInput(model=MODEL, parts=[TextInput(text="go")])
        work = asyncio.create_task(answer(world.client, session, given, JsonReporter(session.id), prompts))
        async with asyncio.timeout(PATIENCE_S):
            while not any(isinstance(part, RetryPart) for part in await world.parts(session)):
                await asyncio.sleep(0.02)
            for _ in range(signals):
                work.cancel()
                await asyncio.sleep(0)
            with pytest.raises(asyncio.CancelledError):
                await work
            del work
            while session.id in await world.client.prompts.status():
                await asyncio.sleep(0.02)
        await asyncio.sleep(0)
    gc.collect()
    await asyncio.sleep(0)
    assert [str(context.get("message")) for context in unread] == []
    assert "Traceback" not in capsys.readouterr().err
