"""Questions to the person, with their answers."""

from typing import Any, cast

from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import answers_of
from opencode_tui.tui.conversation.body import plain_line
from opencode_tui.tui.conversation.render import Line, RenderContext
from opencode_tui.tui.conversation.tools.tool import Opened, ToolRenderer
from opencode_tui.tui.state.items import ToolItem


class AskRenderer(ToolRenderer):
    """Draws questions."""

    def start(self, item: ToolItem) -> Opened:
        """Several answers need lines of their own."""
        state = item.part.state
        return "short" if isinstance(state, ToolStateCompleted) and len(answers_of(state)) > 1 else "folded"

    def body(self, item: ToolItem, page: RenderContext, opened: Opened) -> list[Line]:
        """Return each question with its answer."""
        state = item.part.state
        if opened == "folded" or not isinstance(state, ToolStateCompleted):
            return []
        asked = cast("list[dict[str, Any]]", state.input.get("questions") or [])
        lines: list[Line] = []
        for question, answer in zip(asked, answers_of(state), strict=False):
            text = screen_line(str(question.get("question", "")).partition("\n")[0])
            lines.append(
                plain_line([(text, page.style("muted")), ("  ", page.area()), (answer, page.style("text"))], page)
            )
        return lines
