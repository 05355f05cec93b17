from collections.abc import Sequence

import pytest

from opencode_tui.engine.tool.builtin.recall import RecallTool, StoredOutput
from opencode_tui.engine.tool.kit import Excerpt
from opencode_tui.schema.error import ToolError
from tests.support.world.tools import Workbench


async def outputs(session_id: str) -> Sequence[StoredOutput]:
    assert session_id == "ses_1"
    return [
        StoredOutput("call:1", "read", "a.py", "line\n" * 5000, is_cleared=True),
        StoredOutput("call_2", "bash", "make", "built", is_cleared=False),
    ]


async def passages(session_id: str, words: str) -> Sequence[Excerpt]:
    assert session_id == "ses_1"
    found = Excerpt("the call read", "PORT = 8123", "msg_1", 0, "call_7")
    return [found] if "PORT" in words else []


@pytest.mark.parametrize("call_id", ["call:1", "call_1"])
async def test_the_whole_output_comes_back_by_its_stored_and_its_sent_id(tmp_path, call_id):
    result = await Workbench(tmp_path).call(RecallTool(read_outputs=outputs, search=passages), call_id=call_id)
    assert (result.title, result.output) == ("a.py", "line\n" * 5000)
    assert result.metadata == {"callID": "call:1", "tool": "read", "truncated": False}


async def test_an_unknown_call_is_answered_with_those_that_were_cleared(tmp_path):
    with pytest.raises(
        ToolError, match=r"no completed call has the ID 'x', and nothing .* cleared calls:\ncall:1: read a"
    ):
        await Workbench(tmp_path).call(RecallTool(read_outputs=outputs, search=passages), call_id="x")


async def test_a_call_without_an_id_lists_what_was_cleared(tmp_path):
    result = await Workbench(tmp_path).call(RecallTool(read_outputs=outputs, search=passages))
    assert result.output == "call:1: read a.py"


async def test_words_give_passages_with_their_message_and_call(tmp_path):
    tool = RecallTool(read_outputs=outputs, search=passages)
    result = await Workbench(tmp_path).call(tool, call_id="PORT  of the server")
    head, text = result.output.splitlines()
    assert head.startswith("[msg_1, 1970-01-01") and head.endswith("the call read, call_id call_7]")
    assert (text, result.title) == ("PORT = 8123", "PORT of the server")
