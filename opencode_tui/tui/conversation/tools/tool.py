"""How a tool's calls are drawn, unless its own renderer says otherwise: an output that opens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateRunning, kept_lines_of
from opencode_tui.text.tool import count_lines
from opencode_tui.tui.conversation.body import draw_open, is_capped
from opencode_tui.tui.conversation.line import Line, RenderContext
from opencode_tui.tui.state.items import ToolItem

Opened = Literal["folded", "short", "whole"]
"""How much of a body is seen: nothing, what a glance needs, or all that the conversation has room for."""


@dataclass(frozen=True, slots=True)
class FullText:
    """A text that is too long for the conversation, for a view of its own; not yet made safe."""

    title: str
    text: str
    path: str = ""
    """The file with the full output, when the call kept only a part."""
    is_output: bool = False
    """Whether the number of its lines is said."""
    fit: Callable[[int], str] | None = None
    """Returns the text for a width in cells, in place of `text`; for tables, whose lines are not wrapped."""


class ToolRenderer:
    """Draws one tool's calls."""

    def start(self, item: ToolItem) -> Opened:
        """Return how much of a completed call's body is seen before anybody opened or folded it."""
        return "folded"

    def body(self, item: ToolItem, page: RenderContext, opened: Opened) -> list[Line]:
        """Return the lines below a completed call's line."""
        text = self.text(item.part)
        if opened == "folded" or not text.strip():
            return []
        count, is_least = line_count(item.part, text)
        return draw_open(text, page, count=count, is_least=is_least)

    def head(self, part: ToolPart, page: RenderContext) -> list[Line]:
        """Return the lines above the opened body that show what the call's line has no room for."""
        return []

    def is_openable(self, part: ToolPart, page: RenderContext) -> bool:
        """Return whether opening a completed call shows anything."""
        return bool(self.text(part).strip() or self.head(part, page))

    def running(self, state: ToolStateRunning, page: RenderContext) -> list[Line]:
        """Return the lines below a running call's line; their number never shrinks while it runs."""
        return []

    def text(self, part: ToolPart) -> str:
        """Return the whole text that an opened call shows."""
        state = part.state
        return state.output if isinstance(state, ToolStateCompleted) else ""

    def full(self, part: ToolPart) -> FullText | None:
        """Return the text for a view of its own, None when the opened call shows all of it."""
        text = self.text(part)
        state = part.state
        path = str(state.metadata.get("outputPath") or "") if isinstance(state, ToolStateCompleted) else ""
        return FullText(part.tool, text, path) if path or is_capped(text) else None


def line_count(part: ToolPart, text: str) -> tuple[int, bool]:
    """Return how many lines the call's output had; `text` is what is left of it. True: there may be more."""
    state = part.state
    metadata = state.metadata if isinstance(state, ToolStateCompleted) else {}
    if (kept := kept_lines_of(metadata)) is not None:
        return kept.total, False
    return count_lines(text), bool(metadata.get("outputPath"))
