"""Draws edits and patches: line counts, the errors that they brought, and the diff."""

from functools import lru_cache

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.text.diagnostics import MOST_ERRORS, errors_of
from opencode_tui.text.diff_rows import DiffRow, read_diff
from opencode_tui.text.quantity import plural
from opencode_tui.text.tool import relative
from opencode_tui.tui.conversation.body import guarded, plain_line
from opencode_tui.tui.conversation.diff import draw_diff
from opencode_tui.tui.conversation.line import Line, RenderContext
from opencode_tui.tui.conversation.tools.tool import FullText, Opened, ToolRenderer
from opencode_tui.tui.state.items import ToolItem

SHOWN = 12
OPEN = 400


class EditRenderer(ToolRenderer):
    """Draws edits of one file."""

    def start(self, item: ToolItem) -> Opened:
        """Return "short": an edit shows the start of its diff."""
        return "short"

    def body(self, item: ToolItem, page: RenderContext, opened: Opened) -> list[Line]:
        """Return the errors and the whole diff when it was opened by hand, else the beginning of the diff."""
        rows = _rows(self.text(item.part))
        if opened == "folded":
            return []
        errors = _draw_errors(item.part, page) if opened == "whole" else []
        if not rows:
            return errors
        limit = OPEN if opened == "whole" else SHOWN
        shown = rows if len(rows) <= limit + 1 else rows[:limit]  # a line that counts one line would take its place
        lines = draw_diff(shown, self.path(item.part), page)
        if len(shown) < len(rows):
            left = f"{page.look.glyphs.ellipsis} {plural(len(rows) - len(shown), 'line')}"
            lines.append(plain_line([(left, page.style("muted"))], page))
        return [*errors, *lines]

    def path(self, part: ToolPart) -> str:
        """Return the file's name, for its language."""
        return str(part.state.input.get("filePath") or "")

    def text(self, part: ToolPart) -> str:
        """Return the diff."""
        state = part.state
        return str(state.metadata.get("diff") or "") if isinstance(state, ToolStateCompleted) else ""

    def full(self, part: ToolPart) -> FullText | None:
        """Return the diff when it is longer than the conversation shows."""
        text = self.text(part)
        return FullText(self.path(part), text) if len(_rows(text)) > OPEN + 1 else None


class WriteRenderer(EditRenderer):
    """Draws files that were written whole: folded, with line counts."""

    def start(self, item: ToolItem) -> Opened:
        """Return "folded"."""
        return "folded"


class PatchRenderer(EditRenderer):
    """Draws patches of several files."""

    def path(self, part: ToolPart) -> str:
        """Return the first file's name."""
        state = part.state
        files: list[dict[str, str]] = (
            (state.metadata.get("files") or []) if isinstance(state, ToolStateCompleted) else []
        )
        return files[0].get("relativePath", "") if files else ""


def _draw_errors(part: ToolPart, page: RenderContext) -> list[Line]:
    """Return a line for each error that the edit brought; the rest is counted."""
    state = part.state
    found = errors_of(state.metadata) if isinstance(state, ToolStateCompleted) else []
    has_many = len({one.path for one in found}) > 1
    lines: list[Line] = []
    for one in found[:MOST_ERRORS]:
        name = f"{relative(one.path, page.root)}:" if has_many else ""
        spans = [(f"{name}{one.line}:{one.character}  ", page.style("muted")), (one.message, page.style("error"))]
        lines.append(guarded(spans, page, guide="error"))
    if len(found) > MOST_ERRORS:
        left = f"{page.look.glyphs.ellipsis} {plural(len(found) - MOST_ERRORS, 'more error')}"
        lines.append(guarded([(left, page.style("muted"))], page, guide="error"))
    return lines


@lru_cache(64)
def _rows(diff: str) -> list[DiffRow]:
    return read_diff(diff)
