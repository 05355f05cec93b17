"""Todo lists: how many are done, and the items."""

from collections.abc import Sequence

from opencode_tui.schema.tool_state import ToolStateCompleted
from opencode_tui.tui.conversation.body import plain_line
from opencode_tui.tui.conversation.page import Line, Page
from opencode_tui.tui.conversation.tool_line import Fact
from opencode_tui.tui.conversation.tools.tool import Opened, ToolRenderer
from opencode_tui.tui.items import ToolItem
from opencode_tui.tui.safe_text import screen_line
from opencode_tui.tui.tool_facts import todos_of

SHOWN = 12


class TodoRenderer(ToolRenderer):
    """Draws todo lists."""

    def facts(self, state: ToolStateCompleted) -> Sequence[Fact]:
        """Return how many of how many are done."""
        items = todos_of(state.metadata)
        done = sum(item.get("status") in ("completed", "cancelled") for item in items)
        return [Fact(f"{done} of {len(items)}", short=f"{done}/{len(items)}")] if items else []

    def start(self, item: ToolItem) -> Opened:
        """The list is open while it is the turn's last call."""
        return "short" if item.is_last else "folded"

    def body(self, item: ToolItem, page: Page, opened: Opened) -> list[Line]:
        """Return the items with their signs."""
        state = item.part.state
        if opened == "folded" or not isinstance(state, ToolStateCompleted):
            return []
        todos = todos_of(state.metadata)
        lines = [_todo(str(todo.get("status")), str(todo.get("content", "")), page) for todo in todos[:SHOWN]]
        if len(todos) > SHOWN:
            left = f"{page.look.glyphs.ellipsis} {len(todos) - SHOWN} more"
            lines.append(plain_line([(left, page.style("muted"))], page))
        return lines


def _todo(status: str, content: str, page: Page) -> Line:
    glyphs = page.look.glyphs
    sign, token = {
        "completed": (glyphs.done, "success"),
        "in_progress": (glyphs.running, "accent"),
        "cancelled": (glyphs.interrupted, "muted"),
    }.get(status, (glyphs.waiting, "muted"))
    is_now = status == "in_progress"
    text = page.style("text" if is_now else "muted", bold=is_now)
    return plain_line([(sign, page.style(token, bold=is_now)), (" ", page.area()), (screen_line(content), text)], page)
