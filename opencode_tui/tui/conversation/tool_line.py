"""A tool call in one line: state, name, argument, facts at the right edge. Source: design, visual, sections 2 and 6."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from opencode_tui.tui.cells import clip, clip_front, width
from opencode_tui.tui.conversation.page import BODY, GUTTER, TEXT, Line, Page, Pen, Span

GAP = 2
MIN_ARGUMENT = 16
NAME = 6


@dataclass(frozen=True, slots=True)
class Fact:
    """A few words and their look: `short` is left of them in a narrow line, `before` parts them from the ones before."""

    text: str
    token: str = "muted"
    short: str = ""
    before: str = " · "
    is_time: bool = False
    is_bold: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """How a call stands: its sign, and the tokens of sign, name and argument."""

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
    page: Page,
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
    shown, cut = _arrange(facts, argument, room, page, is_path=is_path)
    pen = Pen(page, tone=tone, tone_from=GUTTER)
    pen.move(GUTTER).put(state.sign, page.style(state.token, tone, bold=state.is_bold))
    pen.move(TEXT).begin_copy().put(name, page.style(state.name, tone, bold=state.is_bold))
    if cut:
        pen.move(column).put(cut, page.style(state.argument, tone))
    right = _spans(shown, page, tone)
    taken = sum(width(text) for text, _ in right) + sum(width(text) for text, _ in key)
    return pen.move(max(pen.at, page.right + 1 - taken)).put_all(right).put_all(key).line()


def _arrange(
    facts: Sequence[Fact], argument: str, room: int, page: Page, *, is_path: bool
) -> tuple[Sequence[Fact], str]:
    """Return the facts that fit beside the argument, and the argument cut to what they leave."""
    wanted = min(width(argument[:MIN_ARGUMENT]), MIN_ARGUMENT)
    shown = next((some for some in _shorter(facts) if room - _taken(some) >= wanted), ())
    cut = clip_front if is_path else clip
    return shown, cut(argument, max(1, room - _taken(shown)), page.look.glyphs.ellipsis)


def _shorter(facts: Sequence[Fact]) -> Iterator[Sequence[Fact]]:
    """Yield the facts with less and less: words of counts go first, then the time, then the counts."""
    yield facts
    short = [fact if fact.is_time else replace(fact, text=fact.short) for fact in facts if fact.is_time or fact.short]
    yield short
    yield [fact for fact in short if not fact.is_time]


def _taken(facts: Sequence[Fact]) -> int:
    return sum(len(before) + width(fact.text) for before, fact in _parted(facts)) + GAP if facts else 0


def _parted(facts: Sequence[Fact]) -> Iterator[tuple[str, Fact]]:
    for number, fact in enumerate(facts):
        yield "" if not number else "  " if fact.is_time else fact.before, fact


def _spans(facts: Sequence[Fact], page: Page, tone: str) -> list[Span]:
    spans: list[Span] = []
    for before, fact in _parted(facts):
        separator = page.look.glyphs.separator
        spans.append((before.replace("·", separator), page.style("muted", tone)))
        text = fact.text.replace("−", page.look.glyphs.minus)
        spans.append((text, page.style(fact.token, tone, bold=fact.is_bold)))
    return [span for span in spans if span[0]]
