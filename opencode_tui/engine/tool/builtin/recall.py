"""The recall tool: the model reads the stored output of an earlier call again.

The text comes as this call's own result and the earlier one stays cleared, so that what the provider has cached stays valid.
Source: docs/internals/compaction.md#pruning.
"""

import re
from collections.abc import Sequence

from pydantic import Field

from opencode_tui.engine.tool.kit import ReadOutputs, StoredOutput, ToolKit
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError

_UNSAFE_ID = re.compile(r"[^A-Za-z0-9_-]")
_LISTED = 20
"""Cleared calls that are listed, the newest."""


class RecallParameters(Parameters):
    """The call to recall."""

    call_id: str = Field("", alias="call_id")


class RecallTool:
    """Returns stored outputs."""

    name = "recall"
    parameters = RecallParameters

    def __init__(self, *, read_outputs: ReadOutputs) -> None:
        self.description = read_description(self.name)
        self._read_outputs = read_outputs

    async def run(self, arguments: RecallParameters, context: ToolContext) -> ToolResult:
        """Return the output of the call."""
        stored = await self._read_outputs(context.session_id)
        if not arguments.call_id:
            return ToolResult(title="cleared calls", output=_list_cleared(stored), metadata={"truncated": False})
        wanted = _plain(arguments.call_id)
        found = next((one for one in reversed(stored) if _plain(one.call_id) == wanted), None)
        if found is None:
            known = _list_cleared(stored)
            raise ToolError(
                f"there is no completed call {arguments.call_id!r} in this session; cleared calls:\n{known}"
            )
        return ToolResult(
            title=found.title or found.tool,
            output=found.output,
            metadata={"callID": found.call_id, "tool": found.tool, "truncated": False},
        )


def _plain(call_id: str) -> str:
    """Return an id as requests contain it: providers accept no other characters."""
    return _UNSAFE_ID.sub("_", call_id)[:64]


def _list_cleared(stored: Sequence[StoredOutput]) -> str:
    """Return a line for each of the newest cleared calls, oldest first."""
    cleared = [one for one in stored if one.is_cleared]
    return "\n".join(f"{one.call_id}: {one.tool} {one.title}".rstrip() for one in cleared[-_LISTED:]) or "none"


def make(kit: ToolKit) -> RecallTool:
    """Return the tool."""
    return RecallTool(read_outputs=kit.read_outputs)
