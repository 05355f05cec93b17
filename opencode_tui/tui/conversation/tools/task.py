"""Work that was handed to an agent: what it runs now, how many tools it took; its session opens."""

from collections.abc import Sequence
from typing import Any, cast

from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted, ToolStateRunning
from opencode_tui.tui.conversation.body import TAIL_LINES
from opencode_tui.tui.conversation.page import Line, Page
from opencode_tui.tui.conversation.tool_line import Fact
from opencode_tui.tui.conversation.tools.tool import ToolRenderer, tail
from opencode_tui.tui.quantity import plural
from opencode_tui.tui.tool_words import name_of


class TaskRenderer(ToolRenderer):
    """Draws tasks."""

    def facts(self, state: ToolStateCompleted) -> Sequence[Fact]:
        """Return how many tools the agent ran."""
        count = len(_tools(state.metadata))
        return [Fact(plural(count, "tool"), short=str(count))] if count else []

    def running(self, state: ToolStateRunning, page: Page) -> list[Line]:
        """Return the agent's last tools."""
        tools = _tools(state.metadata or {})
        names = [name_of(tool) for tool in tools[-TAIL_LINES:]]
        return tail(names, page, TAIL_LINES)

    def text(self, part: ToolPart) -> str:
        """Return the agent's report."""
        state = part.state
        if not isinstance(state, ToolStateCompleted):
            return ""
        return state.output.partition("<task_result>\n")[2].removesuffix("\n</task_result>") or state.output


def session_of(part: ToolPart) -> str:
    """Return the id of the session in which a task's agent works, empty when there is none."""
    metadata: dict[str, Any] = getattr(part.state, "metadata", None) or {}
    return str(metadata.get("sessionId") or "") if part.tool == "task" else ""


def _tools(metadata: dict[str, Any]) -> list[str]:
    tools = metadata.get("tools")
    return [str(tool) for tool in cast("list[object]", tools)] if isinstance(tools, list) else []
