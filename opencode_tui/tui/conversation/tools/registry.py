"""Renderers of command, search, todo and question calls, and the table of all renderers."""

import re
from collections.abc import Mapping
from typing import Any, cast

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateRunning
from opencode_tui.schema.tools import Result, row_of
from opencode_tui.text.cells import breaks, width, wrap
from opencode_tui.text.safe_text import output_line, screen_line
from opencode_tui.text.tool import ResultRow, answers_of, count_lines, is_bad_exit, relative, result_rows
from opencode_tui.tui.conversation.body import (
    OPEN_LINES,
    TAIL_LINES,
    draw_more,
    draw_output,
    guarded,
    output_tail,
    plain_line,
)
from opencode_tui.tui.conversation.line import BODY, Line, RenderContext, Span
from opencode_tui.tui.conversation.tools.edit import EditRenderer, PatchRenderer, WriteRenderer
from opencode_tui.tui.conversation.tools.task import TaskRenderer
from opencode_tui.tui.conversation.tools.tool import Opened, ToolRenderer, line_count
from opencode_tui.tui.state.items import ToolItem
from opencode_tui.tui.theme.glyphs import todo_sign

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
        whole, is_least = line_count(item.part, text)
        return [*lines, draw_more(whole - shown, page, "open", guide=guide, is_least=is_least)]

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
        return draw_output(output_tail(str((state.metadata or {}).get("output") or ""), TAIL_LINES), page)

    def text(self, part: ToolPart) -> str:
        """Return what the command printed."""
        state = part.state
        if isinstance(state, ToolStateCompleted):
            return str(state.metadata.get("output") or state.output)
        return ""


_FOUND_LINE = re.compile(r"  Line (\d+)[:-] (.*)")


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


_MOST_BRANCHES = 4


def _pattern(text: str) -> re.Pattern[str] | None:
    """Return the model's expression, None where it could take long on the screen: ripgrep needs no backtracking, Python does."""
    repeats = len(re.findall(r"[*+?{]", text.replace("(?:", "(")))
    if len(text) > 200 or repeats > 1 or text.count("|") > _MOST_BRANCHES or re.search(r"\)[*+?{]", text):
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


SHOWN = 12
"""Items before the call is opened."""


class RowsRenderer(ToolRenderer):
    """Draws todo lists, and results that are rows."""

    def start(self, item: ToolItem) -> Opened:
        """Return "short" while it is the turn's last call."""
        return "short" if item.is_last else "folded"

    def body(self, item: ToolItem, page: RenderContext, opened: Opened) -> list[Line]:
        """Return the items with their signs."""
        state = item.part.state
        if opened == "folded" or not isinstance(state, ToolStateCompleted):
            return []
        rows = result_rows(item.part.tool, state.metadata)
        most = OPEN_LINES if opened == "whole" else SHOWN
        lines = [_row(one, page) for one in rows[:most]]
        if len(rows) > most:
            left = f"{page.look.glyphs.ellipsis} {len(rows) - most} more"
            lines.append(plain_line([(left, page.style("muted"))], page))
        return lines

    def text(self, part: ToolPart) -> str:
        """Return the items, a line each, for a list that is longer than the conversation shows."""
        state = part.state
        rows = result_rows(part.tool, state.metadata) if isinstance(state, ToolStateCompleted) else []
        return "\n".join(map(_row_text, rows))


def _row_text(row: ResultRow) -> str:
    mark = f"[{'x' if row.status == 'completed' else ' '}] " if row.status else ""
    return mark + " ".join(f"{row.text} {row.detail}".split())


def _row(row: ResultRow, page: RenderContext) -> Line:
    is_now = row.status in ("", "in_progress")
    text = page.style("text" if is_now else "muted", bold=row.status == "in_progress")
    spans: list[Span] = [(screen_line(row.text), text)]
    if row.status:
        sign, token = todo_sign(row.status, page.look.glyphs)
        spans = [(sign, page.style(token, bold=is_now)), (" ", page.area()), *spans]
    if row.detail:
        spans += [("  ", page.area()), (screen_line(row.detail), page.style("muted"))]
    return plain_line(spans, page)


class AskRenderer(ToolRenderer):
    """Draws questions with what the user decided, both in full."""

    def start(self, item: ToolItem) -> Opened:
        """The call's line holds one short question with a short answer; others need lines of their own."""
        state = item.part.state
        if not isinstance(state, ToolStateCompleted):
            return "folded"
        rows = _answered(state)
        is_short = all(width(question) + width(answer) <= _SHORT_QUESTION for question, answer in rows)
        return "folded" if len(rows) <= 1 and is_short else "short"

    def body(self, item: ToolItem, page: RenderContext, opened: Opened) -> list[Line]:
        """Return each question with its answer."""
        state = item.part.state
        if opened == "folded" or not isinstance(state, ToolStateCompleted):
            return []
        room = page.right - BODY + 1
        lines: list[Line] = []
        for question, answer in _answered(state):
            asked, said = (question, page.style("muted")), (answer, page.style("text"))
            if width(question) + 2 + width(answer) <= room:
                lines.append(plain_line([asked, ("  ", page.area()), said], page))
                continue
            for text, style in (asked, said):
                lines += [plain_line([(row, style)], page) for row in wrap(text, room)]
        return lines


_SHORT_QUESTION = 48
"""Cells of a question with its answer that the call's line shows whole on a screen of 80 columns."""


def _answered(state: ToolStateCompleted) -> list[tuple[str, str]]:
    """Return the questions of a call with their answers."""
    asked = cast("list[dict[str, Any]]", state.input.get("questions") or [])
    questions = [screen_line(" ".join(str(one.get("question", "")).split())) for one in asked]
    return list(zip(questions, answers_of(state), strict=False))


_GENERIC = ToolRenderer()
_RENDERERS: Mapping[Result, ToolRenderer] = {
    "command": BashRenderer(),
    "diff": EditRenderer(),
    "file": WriteRenderer(),
    "patch": PatchRenderer(),
    "matches": GrepRenderer(),
    "todos": RowsRenderer(),
    "kept_todos": RowsRenderer(),
    "rows": RowsRenderer(),
    "agent": TaskRenderer(),
    "answers": AskRenderer(),
}


def renderer_of(tool: str) -> ToolRenderer:
    """Return a tool's renderer; most tools and plugins' tools share the generic one."""
    return _RENDERERS.get(row_of(tool).result, _GENERIC)
