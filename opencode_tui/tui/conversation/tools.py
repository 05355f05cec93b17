"""How tool calls and pictures are drawn: the argument and facts of the line, the lines below it, and the table of renderers.

Source: docs/internals/screen.md#tool-lines.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import (
    RECORDING,
    ToolStateCompleted,
    ToolStateError,
    ToolStateRunning,
    kept_lines_of,
)
from opencode_tui.schema.tools import Result, row_of
from opencode_tui.text.cells import breaks, width, wrap
from opencode_tui.text.diagnostics import MOST_ERRORS, errors_of
from opencode_tui.text.diff_rows import DiffRow, read_diff
from opencode_tui.text.quantity import clock, duration, plural, when
from opencode_tui.text.safe_text import output_line, screen_line
from opencode_tui.text.tool import (
    Fact,
    ResultRow,
    agent_session,
    answers_of,
    argument_of,
    count_lines,
    facts_of,
    failure_facts,
    failure_text,
    fit_line,
    is_bad_exit,
    is_interrupted,
    name_of,
    relative,
    result_rows,
    separated,
    time_facts,
    tools_of,
)
from opencode_tui.tui.conversation.line import (
    BODY,
    GUTTER,
    OPEN_LINES,
    TAIL_LINES,
    TEXT,
    Line,
    LineBuilder,
    RenderContext,
    Span,
    draw_diff,
    draw_error,
    draw_excerpt,
    draw_more,
    draw_open,
    draw_output,
    guarded,
    is_capped,
    output_tail,
    plain_line,
)
from opencode_tui.tui.output.hyperlink import linked_file
from opencode_tui.tui.state.message import AnyItem, Item, PictureSource, ThoughtItem, ToolItem
from opencode_tui.tui.theme.look import todo_sign

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


if TYPE_CHECKING:
    from opencode_tui.tui.pictures.forms import Form

PictureForm = Callable[[PictureSource, int, int, Item], "Form | None"]
"""Return the form of an item's picture within these columns and rows; None while it is read, or where none are shown."""

_DATED_WIDTH = 60
"""Columns of the page from which a time has its day."""


@dataclass(slots=True)
class ViewState:
    """The state of the view itself; `redo_key` takes an undo back."""

    now: int = 0
    """Milliseconds since 1970."""

    focus: str = ""
    """The id of the item that the keys act on, empty when none."""

    redo_key: str = "ctrl+x r"
    focus_key: str = ""
    """The key that focuses the conversation."""

    host: str = ""
    """The name of this machine in links to files; empty where the files are on another one."""
    link_form: str = ""
    """The form of their addresses, or the name of an editor; empty for that of files."""

    opened: dict[str, Opened] = field(default_factory=dict[str, Opened])
    """The states of items that were opened or folded individually, by item ID."""

    excerpts: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """The line and the character around which a call's text is shown in the place of its body, by item ID."""

    pictures: PictureForm | None = None
    """What shows pictures; None where they are names only."""

    detailed: set[str] = field(default_factory=set[str])
    """Kinds of items that are open unless one was folded by itself."""

    def time_words(self, moment: int, width: int) -> str:
        """Return the time of a moment in ms since 1970, with its day unless that is today or the columns have no room for it."""
        return when(moment, self.now) if width >= _DATED_WIDTH else clock(moment)

    def is_focused(self, item: Item) -> bool:
        """Return whether the keys act on this item."""
        return bool(self.focus) and item.id == self.focus

    def is_open(self, item: Item) -> bool:
        """Return whether an item that is folded at first was opened."""
        return self.opened.get(item.id, "whole" if item.kind in self.detailed else "folded") != "folded"


SHOWN_DIFF = 12
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
        limit = OPEN if opened == "whole" else SHOWN_DIFF
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


class TaskRenderer(ToolRenderer):
    """Draws tasks."""

    def running(self, state: ToolStateRunning, page: RenderContext) -> list[Line]:
        """Return the agent's last tools."""
        tools = tools_of(state.metadata or {})
        return draw_output([name_of(tool) for tool in tools[-TAIL_LINES:]], page)

    def text(self, part: ToolPart) -> str:
        """Return the agent's report."""
        state = part.state
        if not isinstance(state, ToolStateCompleted):
            return ""
        return state.output.partition("<task_result>\n")[2].removesuffix("\n</task_result>") or state.output


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


SHOWN_LINES = 12
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
        most = OPEN_LINES if opened == "whole" else SHOWN_LINES
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


COLUMNS, ROWS = 48, 12
"""The most cells of a picture between texts; its page shows it larger."""


def picture_rows(
    source: PictureSource, item: Item, page: RenderContext, scene: ViewState, tone: str, *, is_named: bool = True
) -> Iterator[list[Span]]:
    """Yield the rows of a picture, from its first column on; its name alone while it is read."""
    columns = min(COLUMNS, page.right - BODY + 1)
    form = scene.pictures(source, columns, ROWS, item) if scene.pictures is not None else None
    muted = page.style("muted", tone)
    name = screen_line(source.name) if is_named else ""
    facts = [(f"{'  ' if name else ''}{form.facts}", muted)] if form is not None else []
    if name or facts:
        yield [(name, page.style("text", tone)), *facts]
    for row in form.rows if form is not None and not page.is_cut else ():
        yield [(text, style if style is not None else page.area(tone)) for text, style, _ in row]


_SEPARATOR = " · "
_TOKENS = {"added": "diff_add", "removed": "diff_del"}


@dataclass(frozen=True, slots=True)
class State:
    """The look of a call's state: its sign, and the tokens of sign, name and argument."""

    sign: str
    token: str
    name: str = "muted"
    argument: str = "text"
    is_bold: bool = False


@dataclass(frozen=True, slots=True)
class Hint:
    """A key that acts on this line while it has the focus."""

    key: str
    act: str


def draw_tool_line(
    state: State,
    name: str,
    argument: str,
    facts: Sequence[Fact],
    page: RenderContext,
    *,
    is_path: bool = False,
    file: str = "",
    line: int = 0,
    hint: Hint | None = None,
) -> Line:
    """Return the line; a path is cut at its front, all else at its end. With a hint the line has the focus.

    The argument is a link to `file` at a line, if that is not empty.
    """
    tone = "selection" if hint is not None else "background"
    key: list[Span] = []
    if hint is not None and hint.key:
        key = [
            ("   ", page.area(tone)),
            (hint.key, page.style("accent", tone, bold=True)),
            (f" {hint.act}", page.style("text", tone)),
        ]
    column = max(BODY, TEXT + width(name) + 1)
    room = page.right - column + 1 - sum(width(text) for text, _ in key)
    mark = page.look.glyphs.ellipsis
    shown, cut = fit_line(facts, argument, room, is_path=is_path, mark=mark, separator=_SEPARATOR)
    pen = LineBuilder(page, tone=tone, tone_from=GUTTER)
    pen.move(GUTTER).put(state.sign, page.style(state.token, tone, bold=state.is_bold))
    pen.move(TEXT).begin_copy().put(name, page.style(state.name, tone, bold=state.is_bold))
    if cut:
        pen.move(column).put(
            cut, linked_file(page.style(state.argument, tone), file, page.host, line=line, form=page.link_form)
        )
    right = _spans(shown, page, tone)
    taken = sum(width(text) for text, _ in right) + sum(width(text) for text, _ in key)
    return pen.move(max(pen.at, page.right + 1 - taken)).put_all(right).put_all(key).line()


def _spans(facts: Sequence[Fact], page: RenderContext, tone: str) -> list[Span]:
    spans: list[Span] = []
    for before, fact in separated(facts, _SEPARATOR):
        spans.append((before.replace("·", page.look.glyphs.separator), page.style("muted", tone)))
        text = fact.text.replace("−", page.look.glyphs.minus)
        spans.append((text, page.style(_TOKENS.get(fact.token, fact.token), tone, bold=fact.is_bold)))
    return [span for span in spans if span[0]]


def draw_tool(item: ToolItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the call's lines."""
    state, facts = _appearance(item, page, scene)
    line = draw_tool_line(
        state,
        "Shell" if item.is_own else name_of(item.part.tool),
        argument_of(item.part, page.root),
        facts,
        page,
        is_path=row_of(item.part.tool).is_by_path,
        file=_file_of(item, page.root) if page.host else "",
        line=_line_of(item) if page.link_form else 0,
        hint=_hint(item, page, scene) if scene.is_focused(item) else None,
    )
    body = _body(item, replace(page, is_focused=True) if scene.is_focused(item) else page, scene)
    return [line, *body, *_pictures(item, page, scene)]


def _pictures(item: ToolItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the pictures that the call read or wrote, unless it was folded."""
    if scene.pictures is None or scene.opened.get(item.id) == "folded" or is_pruned(item):
        return []
    return [
        LineBuilder(page).move(BODY).put_all(spans).begin_copy().line()
        for source in item.pictures
        for spans in picture_rows(
            source, item, page, scene, "background", is_named=len(item.pictures) > 1 or bool(item.made)
        )
    ]


def _file_of(item: ToolItem, root: str) -> str:
    """Return the file or folder that a call names, absolute; empty for a call about something else."""
    given = item.part.state.input
    named = (given.get("filePath") or given.get("path")) if row_of(item.part.tool).is_by_path else None
    return os.path.join(root, named) if isinstance(named, str) and root else ""


def _line_of(item: ToolItem) -> int:
    """Return the line that a call read or changed first, 0 for none."""
    state = item.part.state
    offset = state.input.get("offset")
    diff = state.metadata.get("diff") if isinstance(state, ToolStateCompleted) else None
    if isinstance(diff, str):
        from opencode_tui.text.file_references import first_changed_line  # only with an editor for links

        return first_changed_line(diff)
    return offset if isinstance(offset, int) and offset > 0 else 0


def opened_of(item: ToolItem, scene: ViewState) -> Opened:
    """Return how much of the call's body is seen."""
    start = "short" if isinstance(item.part.state, ToolStateError) and not is_interrupted(item.part.state) else "folded"
    if isinstance(item.part.state, ToolStateCompleted) and not is_pruned(item):
        start = "whole" if item.kind in scene.detailed else renderer_of(item.part.tool).start(item)
    return scene.opened.get(item.id, start)


def is_pruned(item: ToolItem) -> bool:
    """Return whether the output is no longer sent to the model."""
    state = item.part.state
    return isinstance(state, ToolStateCompleted) and state.time.compacted is not None


def is_ticking(item: AnyItem) -> bool:
    """Return whether the item's line shows a time that runs."""
    if isinstance(item, ThoughtItem):
        return not item.is_closed
    if not isinstance(item, ToolItem) or item.wait or row_of(item.part.tool).asks_user:
        return False
    return isinstance(item.part.state, ToolStateRunning)


def _appearance(item: ToolItem, page: RenderContext, scene: ViewState) -> tuple[State, Sequence[Fact]]:
    glyphs, state = page.look.glyphs, item.part.state
    if isinstance(state, ToolStateCompleted):
        return _completed(item, state, page)
    if isinstance(state, ToolStateError):
        if is_interrupted(state):
            return State(glyphs.interrupted, "muted", argument="muted"), failure_facts(state)
        if state.stop_reason is not None:  # the user or a rule decided so: nothing went wrong
            return State(glyphs.interrupted, "warning", argument="muted"), failure_facts(state)
        return State(glyphs.failed, "error", "error", is_bold=True), failure_facts(state)
    if item.wait == "asks":
        return State(glyphs.asks, "warning", "warning", is_bold=True), [Fact("needs approval", "warning", "approval")]
    if item.wait == "waits" or not isinstance(state, ToolStateRunning):
        return State(glyphs.waiting, "muted", argument="muted"), [Fact("queued", short="queued")]
    if row_of(item.part.tool).asks_user:
        return State(glyphs.asks, "warning", "warning", is_bold=True), [Fact("needs your answer", "warning", "answer")]
    seconds = state.time.worked(scene.now) // 1000
    is_recording = bool((state.metadata or {}).get(RECORDING))  # for undo, before or after the call itself
    facts = [
        Fact("recording files" if is_recording else "running", "accent", "recording" if is_recording else "running")
    ]
    if seconds >= 1:
        facts.append(Fact(duration(seconds), "accent", is_time=True, is_bold=True))
    return State(glyphs.running, "accent", "text", is_bold=True), facts


def _completed(item: ToolItem, state: ToolStateCompleted, page: RenderContext) -> tuple[State, Sequence[Fact]]:
    glyphs = page.look.glyphs
    if is_pruned(item):
        pruned = Fact("pruned, not sent", short="pruned")  # the context view has the tokens
        return State(glyphs.pruned, "muted", argument="muted"), [pruned]
    facts = [*facts_of(item.part.tool, state), *time_facts(state.time)]
    return State(glyphs.failed, "warning") if is_bad_exit(state) else State(glyphs.done, "success"), facts


def _hint(item: ToolItem, page: RenderContext, scene: ViewState) -> Hint:
    if is_pruned(item):
        return Hint("r", "restore")
    if agent_session(item.part):
        return Hint("enter", "open")
    opened = opened_of(item, scene)
    if isinstance(item.part.state, ToolStateRunning) or item.part.state.status == "pending":
        return Hint("", "")
    if opened == "whole":
        is_long = isinstance(item.part.state, ToolStateCompleted) and renderer_of(item.part.tool).full(item.part)
        return Hint("enter", "read all" if is_long else "fold")
    if isinstance(item.part.state, ToolStateCompleted) and not renderer_of(item.part.tool).is_openable(item.part, page):
        return Hint("", "")
    return Hint("enter", "open")


def text_of_call(part: ToolPart, root: str) -> str:
    """Return the whole text that a call has below its line."""
    state = part.state
    return failure_text(part, state, root) if isinstance(state, ToolStateError) else renderer_of(part.tool).text(part)


def _body(item: ToolItem, page: RenderContext, scene: ViewState) -> list[Line]:
    state = item.part.state
    opened = opened_of(item, scene)
    excerpt = scene.excerpts.get(item.id)
    if excerpt is not None and opened != "folded":
        return draw_excerpt(text_of_call(item.part, page.root), *excerpt, page)
    if isinstance(state, ToolStateCompleted):
        return renderer_of(item.part.tool).body(item, page, opened)
    if isinstance(state, ToolStateRunning) and not item.wait:
        return renderer_of(item.part.tool).running(state, page)
    if isinstance(state, ToolStateError) and opened != "folded":
        head = renderer_of(item.part.tool).head(item.part, page) if opened == "whole" else []
        text, guide = failure_text(item.part, state, page.root), "warning" if state.stop_reason else "error"
        return [*head, *draw_error(text, page, limit=None if opened == "whole" else 6, guide=guide)]
    return []
