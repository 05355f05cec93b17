from collections.abc import Sequence

import pytest

from opencode_tui.engine.tool.builtin.recall import RecallTool, StoredOutput
from opencode_tui.schema.error import ToolError
from tests.support.world.tools import Workbench


async def outputs(session_id: str) -> Sequence[StoredOutput]:
    assert session_id == "ses_1"
    return [
        StoredOutput("call:1", "read", "a.py", "line\n" * 5000, is_cleared=True),
        StoredOutput("call_2", "bash", "make", "built", is_cleared=False),
    ]


@pytest.mark.parametrize("call_id", ["call:1", "call_1"])
async def test_the_whole_output_comes_back_by_its_stored_and_its_sent_id(tmp_path, call_id):
    result = await Workbench(tmp_path).call(RecallTool(read_outputs=outputs), call_id=call_id)
    assert (result.title, result.output) == ("a.py", "line\n" * 5000)
    assert result.metadata == {"callID": "call:1", "tool": "read", "truncated": False}


async def test_an_unknown_call_is_answered_with_those_that_were_cleared(tmp_path):
    with pytest.raises(ToolError, match="no completed call 'x' in this session; cleared calls:\ncall:1: read a"):
        await Workbench(tmp_path).call(RecallTool(read_outputs=outputs), call_id="x")


async def test_a_call_without_an_id_lists_what_was_cleared(tmp_path):
    result = await Workbench(tmp_path).call(RecallTool(read_outputs=outputs))
    assert result.output == "call:1: read a.py"
