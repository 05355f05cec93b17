"""Renderers of search, todo and question calls, and the table of all renderers by tool."""

import re
from collections.abc import Mapping
from typing import Any, cast

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.text.safe_text import output_line, screen_line
from opencode_tui.text.tool import answers_of, relative, todos_of
from opencode_tui.tui.conversation.body import OPEN_LINES, count_lines, draw_more, guarded, plain_line
from opencode_tui.tui.conversation.render import Line, RenderContext, Span
from opencode_tui.tui.conversation.tools.bash import BashRenderer
from opencode_tui.tui.conversation.tools.edit import EditRenderer, PatchRenderer, WriteRenderer
from opencode_tui.tui.conversation.tools.task import TaskRenderer
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


class TodoRenderer(ToolRenderer):
    """Draws todo lists."""

    def start(self, item: ToolItem) -> Opened:
        """Return "short" while it is the turn's last call."""
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
        return "\n".join(_todo_text(todo) for todo in todos)


def _todo_text(todo: Mapping[str, object]) -> str:
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


_GENERIC = ToolRenderer()
_RENDERERS: dict[str, ToolRenderer] = {
    "bash": BashRenderer(),
    "edit": EditRenderer(),
    "multiedit": EditRenderer(),
    "write": WriteRenderer(),
    "apply_patch": PatchRenderer(),
    "grep": GrepRenderer(),
    "todowrite": TodoRenderer(),
    "todoread": TodoRenderer(),
    "task": TaskRenderer(),
    "question": AskRenderer(),
}


def renderer_of(tool: str) -> ToolRenderer:
    """Return a tool's renderer; most tools and plugins' tools share the generic one."""
    return _RENDERERS.get(tool, _GENERIC)
