"""The recall tool: the model reads the stored output of an earlier call again, or finds words in what was summarized.

The text comes as this call's own result and the earlier one stays cleared, so that what the provider has cached stays valid.
Source: docs/internals/compaction.md#pruning.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from opencode_tui.engine.tool.kit import Excerpt, ReadOutputs, SearchHistory, StoredOutput, ToolKit
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import Field

_UNSAFE_ID = re.compile(r"[^A-Za-z0-9_-]")
_LISTED = 20
"""Cleared calls that are listed, the newest."""


class RecallParameters(Parameters):
    """The call to recall, or words to find: one parameter, since each has a price in every request."""

    call_id: str = Field(default="", alias="call_id")


class RecallTool:
    """Returns stored outputs and passages."""

    name = "recall"
    parameters = RecallParameters

    def __init__(self, *, read_outputs: ReadOutputs, search: SearchHistory) -> None:
        self.description = read_description(self.name)
        self._read_outputs = read_outputs
        self._search = search

    async def run(self, arguments: RecallParameters, context: ToolContext) -> ToolResult:
        """Return the output of the call, or the passages with the words."""
        stored = await self._read_outputs(context.session_id)
        if not arguments.call_id.strip():
            return ToolResult(title="cleared calls", output=_list_cleared(stored), metadata={"truncated": False})
        wanted = _plain(arguments.call_id)
        found = next((one for one in reversed(stored) if _plain(one.call_id) == wanted), None)
        if found is None:
            return await self._find(arguments.call_id, stored, context)
        return ToolResult(
            title=found.title or found.tool,
            output=found.output,
            metadata={"callID": found.call_id, "tool": found.tool, "truncated": False},
        )

    async def _find(self, words: str, stored: Sequence[StoredOutput], context: ToolContext) -> ToolResult:
        """Return the passages with these words. Raises ToolError when there are none."""
        found = await self._search(context.session_id, words)
        if not found:
            raise ToolError(
                f"no completed call has the ID {words!r}, and nothing that you no longer see has these words; "
                f"cleared calls:\n{_list_cleared(stored)}"
            )
        output = "\n\n".join(map(_passage, found))
        return ToolResult(
            title=" ".join(words.split()), output=output, metadata={"matches": len(found), "truncated": False}
        )


def _passage(one: Excerpt) -> str:
    """Return a passage below a line that says whose it is."""
    try:
        moment = datetime.fromtimestamp(one.time / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):  # a foreign record with a time beyond the calendar
        moment = "?"
    call = f", call_id {one.call_id}" if one.call_id else ""
    return f"[{one.message_id}, {moment}, {one.who}{call}]\n{one.text}"


def _plain(call_id: str) -> str:
    """Return an id as requests contain it: providers accept no other characters."""
    return _UNSAFE_ID.sub("_", call_id)[:64]


def _list_cleared(stored: Sequence[StoredOutput]) -> str:
    """Return a line for each of the newest cleared calls, oldest first."""
    cleared = [one for one in stored if one.is_cleared]
    return "\n".join(f"{one.call_id}: {one.tool} {one.title}".rstrip() for one in cleared[-_LISTED:]) or "none"


def make(kit: ToolKit) -> RecallTool:
    """Return the tool."""
    return RecallTool(read_outputs=kit.read_outputs, search=kit.search_history)
