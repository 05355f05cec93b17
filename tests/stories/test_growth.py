"""A growing answer reaches its file a few times a second, and a step that is not the first reads no record again."""

from pathlib import Path

import pytest

from opencode_tui.client.local import LocalClient
from opencode_tui.engine.engine import open_engine
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.part import TextPart
from tests.support.faults.file_log import LoggedFiles, most_in_a_second
from tests.support.provider.model_script import Answer
from tests.support.world.cli import CommandLine

pytestmark = pytest.mark.slow


TEXT = "abc " * 8_000


async def answer_of(line: CommandLine, files: LoggedFiles, message: str = "hello") -> TextPart:
    """Run a turn in this process and return the text of its last answer."""
    request = PromptInput(model=ModelRef(provider_id="fake", model_id="fake-model"), parts=[TextInput(text=message)])
    async with open_engine(line.variables(), files=files) as engine:
        client = LocalClient(engine, await engine.instance(Path(line.folder)))
        session = await client.sessions.create(CreateSession(title="named"))
        answer = await client.prompts.prompt(session.id, request)
    return next(part for part in answer.parts if isinstance(part, TextPart))


async def test_a_slow_answer_is_written_at_most_five_times_a_second(line, server):
    server.script(Answer(text=TEXT[:1600], delta_size=4, delay_ms=4))
    files = LoggedFiles()
    part = await answer_of(line, files)
    times = files.times("write", f"{part.id}.json")
    assert part.text == TEXT[:1600].rstrip()
    assert 4 <= len(times) and most_in_a_second(times) <= 5


async def test_a_fast_answer_of_8000_deltas_is_written_at_most_twenty_times(line, server):
    server.script(Answer(text=TEXT, delta_size=4, is_burst=True))
    files = LoggedFiles()
    part = await answer_of(line, files)
    assert part.text == TEXT.rstrip()
    assert 2 <= len(files.times("write", f"{part.id}.json")) <= 20


async def test_between_the_first_request_and_the_last_only_the_session_is_read_again(line, server):
    """The session's record has the mode of approvals, which another process may change at any time."""
    files = LoggedFiles()
    await answer_of(line, files, 'look <<tool read {"filePath":"a.py"}>> <<tool list {}>>')
    begun, last = server.requests[0].time, server.requests[-1].time
    assert len(server.requests) == 3
    read = [call for call in files.calls if call.act in ("read", "list") and begun <= call.time <= last]
    assert {Path(call.path).parts[-3] for call in read} <= {"session"}
    assert len(read) <= 2  # one for each call that needs a permission
