"""Questions to the person, with their answers."""

from collections.abc import Sequence
from typing import Any, cast

from opencode_tui.schema.tool_state import ToolStateCompleted
from opencode_tui.tui.cells import clip
from opencode_tui.tui.conversation.body import plain_line
from opencode_tui.tui.conversation.page import Line, Page
from opencode_tui.tui.conversation.tool_line import Fact
from opencode_tui.tui.conversation.tools.tool import Opened, ToolRenderer
from opencode_tui.tui.items import ToolItem
from opencode_tui.tui.safe_text import screen_line

_FACT = 24


class AskRenderer(ToolRenderer):
    """Draws questions."""

    def facts(self, state: ToolStateCompleted) -> Sequence[Fact]:
        """Return the answer to the first question."""
        answers = _answers(state)
        return [Fact(clip(answers[0], _FACT), "text")] if len(answers) == 1 and answers[0] else []

    def start(self, item: ToolItem) -> Opened:
        """Several answers need lines of their own."""
        state = item.part.state
        return "short" if isinstance(state, ToolStateCompleted) and len(_answers(state)) > 1 else "folded"

    def body(self, item: ToolItem, page: Page, opened: Opened) -> list[Line]:
        """Return each question with its answer."""
        state = item.part.state
        if opened == "folded" or not isinstance(state, ToolStateCompleted):
            return []
        asked = cast("list[dict[str, Any]]", state.input.get("questions") or [])
        lines: list[Line] = []
        for question, answer in zip(asked, _answers(state), strict=False):
            text = screen_line(str(question.get("question", "")).partition("\n")[0])
            lines.append(
                plain_line([(text, page.style("muted")), ("  ", page.area()), (answer, page.style("text"))], page)
            )
        return lines


def _answers(state: ToolStateCompleted) -> list[str]:
    answers = cast("list[list[str]]", state.metadata.get("answers") or [])
    return [screen_line(", ".join(answer)) for answer in answers]
