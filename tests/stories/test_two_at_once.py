"""Two requests for one session: in one process they get the same answer, a second process gets an error."""

import asyncio
import time

import pytest

from opencode_tui.client.local import open_client
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.event.event import PartGrowth
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.part import TextPart
from tests.support.world.cli import kill_session
from tests.support.world.in_process import in_process
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


def request(text: str) -> PromptInput:
    return PromptInput(model=ModelRef(provider_id="fake", model_id="fake-model"), parts=[TextInput(text=text)])


async def test_two_prompts_in_one_process_queue_and_get_the_same_answer(line, server, project):
    async with open_client(line.variables(), project.path) as client:
        session = await client.sessions.create(CreateSession())
        with client.events() as events:
            first = asyncio.create_task(client.prompts.prompt(session.id, request("one <<slow 20>> <<words 20>>")))
            async for envelope in events:
                if isinstance(envelope.event, PartGrowth):
                    break
        second = asyncio.create_task(client.prompts.prompt(session.id, request("two")))
        answers = await asyncio.gather(first, second)
        messages = await client.messages.list(session.id)
    assert [message.info.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert [answer.info.id for answer in answers] == [messages[-1].info.id] * 2
    assert [part.text for part in messages[-1].parts if isinstance(part, TextPart)] == ["Echo: two"]


def test_a_second_process_reports_the_process_that_has_the_session(line, server, monkeypatch, capsys):
    here = in_process(line, monkeypatch, capsys)
    session_id = here.turn("begin").session_id
    working = line.start_turn('wait <<tool bash {"command":"sleep 300","description":"wait"}>>', "-s", session_id)
    try:
        while len(server.requests) < 2:
            time.sleep(0.01)
        second = here.turn("me too", "-s", session_id)
    finally:
        working.terminate()
        code = working.wait(PATIENCE_S)
        kill_session(working)
    assert (second.code, second.stdout, code) == (1, "", 130)
    assert session_id in second.stderr and str(working.pid) in second.stderr
