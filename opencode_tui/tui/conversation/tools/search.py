"""Searches: the found lines when the call is opened."""

import re

from opencode_tui.text.safe_text import output_line
from opencode_tui.text.tool import relative
from opencode_tui.tui.conversation.body import OPEN_LINES, count_lines, draw_more, guarded
from opencode_tui.tui.conversation.render import Line, RenderContext, Span
from opencode_tui.tui.conversation.tools.tool import Opened, ToolRenderer
from opencode_tui.tui.state.items import ToolItem

_FOUND_LINE = re.compile(r"  Line (\d+): (.*)")


class GrepRenderer(ToolRenderer):
    """Draws matches by file, the matched text in its light."""

    def body(self, item: ToolItem, page: RenderContext, opened: Opened) -> list[Line]:
        """Return the files with their matches."""
        text = self.text(item.part)
        if opened == "folded" or not text:
            return []
        pattern = _pattern(str(item.part.state.input.get("pattern") or ""))
        rows = [row for row in text.split("\n")[1 : OPEN_LINES * 2] if row.strip()][:OPEN_LINES]
        lines = [guarded(_match_spans(row, pattern, page), page) for row in rows]
        more = count_lines(text) - len(text.split("\n")[: OPEN_LINES * 2])
        return [*lines, draw_more(more, page, "read all")] if more > 0 else lines


def _pattern(text: str) -> re.Pattern[str] | None:
    if len(text) > 200:
        return None
    try:
        return re.compile(re.escape(text)) if not re.search(r"[\\^$.|?*+(\[{]", text) else re.compile(text)
    except re.error:
        return None


def _match_spans(row: str, pattern: re.Pattern[str] | None, page: RenderContext) -> list[Span]:
    found = _FOUND_LINE.match(row)
    if found is None:
        return [(output_line(relative(row.rstrip(":"), page.root)), page.style("text"))]
    number, text = found[1], output_line(found[2][:500])
    spans: list[Span] = [(f"{number:>5}  ", page.style("muted"))]
    hit = pattern.search(text) if pattern is not None and len(text) <= 300 else None
    if hit is None:
        return [*spans, (text, page.style("muted"))]
    return [
        *spans,
        (text[: hit.start()], page.style("muted")),
        (hit.group(), page.style("text", bold=True)),
        (text[hit.end() :], page.style("muted")),
    ]
