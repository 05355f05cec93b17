"""A model's wrong calls, through the engine: each is answered with the right form, and the turn goes on to the right call."""

import pytest

from opencode_tui.engine.tool.wrong_call import ANSWER_BYTES
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened

pytestmark = pytest.mark.slow


READ = Call("read", {"filePath": "a.txt"})
DONE = Answer(text="Done.")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call("read_file", {"path": "a.txt"}), "call read {filePath: string"),
        (Call("read", {}), "filePath is missing. Write {filePath: string"),
        (Call("multiedit", {"filePath": "a.txt", "edits": "one"}),
         "edits must be a list, not 'one'. Write {filePath: string, edits: [{"),
        (Call("read", '{"filePath": "a.txt"}{"command": "ls"}'), "one tool, one JSON object"),
    ],
)  # fmt: skip
async def test_a_wrong_call_is_answered_with_the_form(environ, tmp_path, call: Call, words: str):
    (tmp_path / "a.txt").write_text("one line\n")
    async with opened(environ, tmp_path, Answer(calls=(call,)), Answer(calls=(READ,)), DONE) as world:
        session = await world.prompt("read it")
        wrong, right = await world.calls(session)
        assert wrong.state.status == "error"
        assert words in wrong.state.error
        assert len(wrong.state.error.encode()) <= ANSWER_BYTES
        assert words in world.sent(1).replace('\\"', '"')
        assert "one line" in right.state.output


async def test_a_relative_path_is_that_of_the_folder(environ, tmp_path):
    (tmp_path / "a.txt").write_text("one line\n")
    edit = Call("edit", {"filePath": "./a.txt", "oldString": "one", "newString": "two"})
    missing = Call("read", {"filePath": "sub/../b.txt"})
    answers = [Answer(calls=(READ,)), Answer(calls=(edit,)), Answer(calls=(missing,)), DONE]
    async with opened(environ, tmp_path, *answers) as world:
        session = await world.prompt("edit it")
        calls = await world.calls(session)
        assert (tmp_path / "a.txt").read_text() == "two line\n"
        assert f"file not found: {tmp_path / 'b.txt'}" in calls[-1].state.error
