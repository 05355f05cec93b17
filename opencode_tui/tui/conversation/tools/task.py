"""Work that was handed to an agent: what it runs now, how many tools it took; its session opens."""

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateRunning
from opencode_tui.text.tool import name_of, tools_of
from opencode_tui.tui.conversation.body import TAIL_LINES, draw_output
from opencode_tui.tui.conversation.line import Line, RenderContext
from opencode_tui.tui.conversation.tools.tool import ToolRenderer


class TaskRenderer(ToolRenderer):
    """Draws tasks."""

    def running(self, state: ToolStateRunning, page: RenderContext) -> list[Line]:
        """Return the agent's last tools."""
        tools = tools_of(state.metadata or {})
        return draw_output([name_of(tool) for tool in tools[-TAIL_LINES:]], page)

    def text(self, part: ToolPart) -> str:
        """Return the agent's report."""
        state = part.state
        if not isinstance(state, ToolStateCompleted):
            return ""
        return state.output.partition("<task_result>\n")[2].removesuffix("\n</task_result>") or state.output
