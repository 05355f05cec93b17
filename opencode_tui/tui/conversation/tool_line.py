"""A tool call in one line: state, name, argument, facts at the right edge. Source: design, visual, sections 2 and 6."""

from collections.abc import Sequence
from dataclasses import dataclass

from opencode_tui.text.cells import width
from opencode_tui.text.tool import Fact, fit_line, separated
from opencode_tui.tui.conversation.render import BODY, GUTTER, TEXT, Line, LineBuilder, RenderContext, Span

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
    hint: Hint | None = None,
) -> Line:
    """Return the line; a path is cut at its front, all else at its end. With a hint the line has the focus."""
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
        pen.move(column).put(cut, page.style(state.argument, tone))
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
