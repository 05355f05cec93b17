"""Todo lists: how many are done, and the items."""

from collections.abc import Mapping

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import todos_of
from opencode_tui.tui.conversation.body import OPEN_LINES, plain_line
from opencode_tui.tui.conversation.render import Line, RenderContext
from opencode_tui.tui.conversation.tools.tool import Opened, ToolRenderer
from opencode_tui.tui.state.items import ToolItem

SHOWN = 12
"""Items before the call is opened."""


class TodoRenderer(ToolRenderer):
    """Draws todo lists."""

    def start(self, item: ToolItem) -> Opened:
        """The list is open while it is the turn's last call."""
        return "short" if item.is_last else "folded"

    def body(self, item: ToolItem, page: RenderContext, opened: Opened) -> list[Line]:
        """Return the items with their signs."""
        state = item.part.state
        if opened == "folded" or not isinstance(state, ToolStateCompleted):
            return []
        todos = todos_of(state.metadata)
        most = OPEN_LINES if opened == "whole" else SHOWN
        lines = [_todo(str(todo.get("status")), str(todo.get("content", "")), page) for todo in todos[:most]]
        if len(todos) > most:
            left = f"{page.look.glyphs.ellipsis} {len(todos) - most} more"
            lines.append(plain_line([(left, page.style("muted"))], page))
        return lines

    def text(self, part: ToolPart) -> str:
        """Return the items, a line each, for a list that is longer than the conversation shows."""
        state = part.state
        todos = todos_of(state.metadata) if isinstance(state, ToolStateCompleted) else []
        return "\n".join(_line(todo) for todo in todos)


def _line(todo: Mapping[str, object]) -> str:
    content = " ".join(str(todo.get("content", "")).split())
    return f"[{'x' if todo.get('status') == 'completed' else ' '}] {content}"


def _todo(status: str, content: str, page: RenderContext) -> Line:
    glyphs = page.look.glyphs
    sign, token = {
        "completed": (glyphs.done, "success"),
        "in_progress": (glyphs.running, "accent"),
        "cancelled": (glyphs.interrupted, "muted"),
    }.get(status, (glyphs.waiting, "muted"))
    is_now = status == "in_progress"
    text = page.style("text" if is_now else "muted", bold=is_now)
    return plain_line([(sign, page.style(token, bold=is_now)), (" ", page.area()), (screen_line(content), text)], page)
