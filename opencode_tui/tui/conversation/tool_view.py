"""Draws a tool call: its line and the body of its renderer. Source: docs/internals/screen.md#tool-lines."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import RECORDING, ToolStateCompleted, ToolStateError, ToolStateRunning
from opencode_tui.schema.tools import row_of
from opencode_tui.text.cells import width
from opencode_tui.text.quantity import duration
from opencode_tui.text.tool import (
    Fact,
    agent_session,
    argument_of,
    facts_of,
    failure_facts,
    failure_text,
    fit_line,
    is_bad_exit,
    is_interrupted,
    name_of,
    separated,
    time_facts,
)
from opencode_tui.tui.conversation.body import draw_error, draw_excerpt
from opencode_tui.tui.conversation.line import BODY, GUTTER, TEXT, Line, LineBuilder, RenderContext, Span
from opencode_tui.tui.conversation.picture import picture_rows
from opencode_tui.tui.conversation.tools.registry import renderer_of
from opencode_tui.tui.conversation.tools.tool import Opened
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.output.hyperlink import linked_file
from opencode_tui.tui.state.items import AnyItem, ThoughtItem, ToolItem

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
