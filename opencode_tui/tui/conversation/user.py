"""Draws what the user asked: a bar and a tone, when, how long the answer took, what it cost."""

from opencode_tui.text.cells import breaks, width
from opencode_tui.text.quantity import duration, money
from opencode_tui.text.safe_text import screen_lines
from opencode_tui.tui.conversation.line import GUTTER, PROSE_WIDTH, TEXT, Line, LineBuilder, RenderContext, Span, joints
from opencode_tui.tui.conversation.picture import picture_rows
from opencode_tui.tui.conversation.view_state import ViewState
from opencode_tui.tui.state.items import UserItem

MAX_ROWS = 12
"""Rows of a long request that are seen before it is opened."""

MAX_LETTERS = 20_000

MIN_HINT_ROOM = 60


def draw_user(item: UserItem, page: RenderContext, scene: ViewState) -> list[Line]:
    """Return the request's lines."""
    facts = "queued" if item.is_queued else _facts(item, page, scene)
    is_focused = scene.is_focused(item)
    hints = _hints(page) if is_focused and not item.is_queued else []
    keys = sum(width(text) for text, _ in hints)
    room = min(PROSE_WIDTH, page.room - width(facts) - keys - 2)
    rows = _rows(item, room, scene.is_open(item) or is_focused)
    is_dim = item.is_queued or not item.is_typed
    tone = "background" if item.is_queued else "selection" if is_focused else "background" if is_dim else "surface"
    lines: list[Line] = []
    bar = "guide" if is_dim else "user"
    for number, (text, joint) in enumerate(rows):
        pen = LineBuilder(page, tone=tone, tone_from=GUTTER)
        if not page.is_cut:
            pen.move(GUTTER).put(page.look.glyphs.user_bar, page.style(bar, tone))
        pen.move(TEXT).begin_copy().put(text, page.style("muted" if is_dim else "text", tone))
        if not number:
            pen.move(page.right + 1 - width(facts) - keys).put(facts, page.style("muted", tone)).put_all(hints)
        lines.append(pen.line(joint=joint))
    for source in item.pictures if item.pictures and scene.pictures is not None else ():
        for spans in picture_rows(source, item, page, scene, tone):
            pen = LineBuilder(page, tone=tone, tone_from=GUTTER)
            if not page.is_cut:
                pen.move(GUTTER).put(page.look.glyphs.user_bar, page.style(bar, tone))
            pen.move(TEXT).put_all(spans).begin_copy()
            lines.append(pen.line())
    return lines


def _facts(item: UserItem, page: RenderContext, scene: ViewState) -> str:
    """Return when, how long, how much; the last goes first where there is little room."""
    turn = item.turn
    facts = [scene.time_words(turn.started, page.width)]
    if turn.ended is not None:
        seconds = (turn.ended - (turn.begun or turn.started)) / 1000
        facts += [duration(seconds)] if seconds >= 1 else []
        facts += [money(turn.cost)] if turn.cost > 0 else []
    separator = f" {page.look.glyphs.separator} "
    while len(facts) > 1 and width(separator.join(facts)) > page.room // 3:
        facts.pop()
    return separator.join(facts)


def _hints(page: RenderContext) -> list[Span]:
    """Return the keys that act on a request, where there is room for them."""
    if page.room < MIN_HINT_ROOM:
        return []
    key, act = page.style("accent", "selection", bold=True), page.style("text", "selection")
    gap = ("   ", page.area("selection"))
    return [gap, ("u", key), (" undo", act), gap, ("f", key), (" fork", act)]


def _rows(item: UserItem, room: int, is_open: bool) -> list[tuple[str, str]]:
    """Return the rows of the text and what parts them from the next; a long one is cut until it is opened."""
    rows: list[tuple[str, str]] = []
    for line in screen_lines(item.text[:MAX_LETTERS]) if item.text else []:
        cuts = breaks(line, room)
        rows += [(line[start:end], joint) for (start, end), joint in zip(cuts, joints(line, cuts), strict=True)]
    if not is_open and len(rows) > MAX_ROWS + 1:
        rows = [*rows[:MAX_ROWS], (f"… {len(rows) - MAX_ROWS} lines", "\n")]
    elif len(item.text) > MAX_LETTERS:
        rows.append((f"… {len(item.text) - MAX_LETTERS} characters", "\n"))
    return rows + [(f"[{screen_lines(name)[0]}]", "\n") for name in item.attachments]
