"""Commands: a live tail, the exit code, what a test run says at its end."""

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateRunning
from opencode_tui.text.cells import breaks, width
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.tool import is_bad_exit
from opencode_tui.tui.conversation.body import (
    OPEN_LINES,
    TAIL_LINES,
    count_lines,
    draw_more,
    draw_output,
    output_tail,
    plain_line,
)
from opencode_tui.tui.conversation.render import BODY, Line, RenderContext
from opencode_tui.tui.conversation.tools.tool import Opened, ToolRenderer, is_cut, tail
from opencode_tui.tui.state.items import ToolItem

_SHOWN = 2
"""Lines of a bad end that are shown, next to the one that counts the rest."""

_OWN_SHOWN = 12
"""The same of a command that the user typed: they want to read it."""


class BashRenderer(ToolRenderer):
    """Draws shell commands."""

    def start(self, item: ToolItem) -> Opened:
        """Return "short" for a failed command that is its turn's last call; output of the user's own command is always shown."""
        state = item.part.state
        is_bad = isinstance(state, ToolStateCompleted) and is_bad_exit(state)
        if item.is_own:
            return "short" if is_bad or count_lines(self.text(item.part)) > _OWN_SHOWN + 1 else "whole"
        return "short" if is_bad and item.is_last else "folded"

    def body(self, item: ToolItem, page: RenderContext, opened: Opened) -> list[Line]:
        """Return the output when it is opened; else its end, after a bad exit or of the user's own."""
        if opened != "short":
            lines = super().body(item, page, opened)
            return [*self.head(item.part, page), *lines] if opened == "whole" else lines
        text, state = self.text(item.part), item.part.state
        count, shown = count_lines(text), _OWN_SHOWN if item.is_own else _SHOWN
        is_bad = isinstance(state, ToolStateCompleted) and is_bad_exit(state)
        token, guide = ("text", "warning") if is_bad else ("muted", "guide")
        if count <= shown + 1:
            return draw_output(output_tail(text, count), page, token=token, guide=guide)
        lines = draw_output(output_tail(text, shown), page, token=token, guide=guide)
        more = draw_more(count - shown, page, "open", guide=guide, is_least=is_cut(item.part))
        return [*lines, more]

    def head(self, part: ToolPart, page: RenderContext) -> list[Line]:
        """Return the whole command, unless it is short enough for the call's line next to all facts."""
        lines = str(part.state.input.get("command") or "").strip().split("\n")[:OPEN_LINES]
        room = page.right - BODY + 1
        if len(lines) == 1 and width(lines[0]) <= room // 2:
            return []
        rows = [
            row for line in map(screen_line, lines) for row in (line[start:end] for start, end in breaks(line, room))
        ]
        return [plain_line([(row, page.style("text"))], page) for row in rows]

    def running(self, state: ToolStateRunning, page: RenderContext) -> list[Line]:
        """Return the output's last lines."""
        return tail(output_tail(str((state.metadata or {}).get("output") or ""), TAIL_LINES), page, TAIL_LINES)

    def text(self, part: ToolPart) -> str:
        """Return what the command printed."""
        state = part.state
        if isinstance(state, ToolStateCompleted):
            return str(state.metadata.get("output") or state.output)
        return ""
