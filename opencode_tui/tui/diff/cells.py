"""Rows of a diff as strips of a given width: one column, or two side by side where one line is one row; truncated or wrapped."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from rich.style import Style
from textual.strip import Strip

from opencode_tui.text import cells
from opencode_tui.text.diff_rows import DiffRow, read_diff
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.conversation.code import CodeLine
from opencode_tui.tui.conversation.line import MAX_LINE, color_rows
from opencode_tui.tui.diff.headings import name_gaps
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.row import Piece, clip, measure, row, strip

HEAD = 7
"""Cells of the line number, the sign, and the blanks after them."""


class CodeRow(Struct, frozen=True):
    """A row, its highlighted code, and the width of the code in cells."""

    row: DiffRow
    code: CodeLine
    cells: int

    @property
    def is_cut(self) -> bool:
        """Return whether the line is longer than the limit."""
        return len(self.row.text) > MAX_LINE


Pair = tuple[CodeRow | None, CodeRow | None]
"""The old and the new line of a row of two columns; None if there is none; a gap is in both."""


def code_rows(diff: str, path: str, *, after: str = "") -> list[CodeRow]:
    """Return the rows of a unified diff, highlighted in the language of `path`. Slow for a large one.

    `after` is the full new text, from which gaps get their headings.
    """
    rows = read_diff(diff)
    if after:
        rows = name_gaps(rows, after, path)
    texts = [screen_line(one.text[:MAX_LINE]) for one in rows]
    colored = zip(rows, texts, color_rows(rows, texts, path), strict=True)
    return [CodeRow(one, code, cells.width(text)) for one, text, code in colored]


def one_column(rows: Sequence[CodeRow], look: Look, width: int, area: str) -> list[Strip]:
    """Return a strip for each row."""
    return [line_strips(one, look, width, area)[0] for one in rows]


def two_columns(rows: Sequence[CodeRow], look: Look, width: int, area: str) -> list[Strip]:
    """Return strips with old lines at the left, new ones at the right; a muted area where a side has no line."""
    return [strip for pair in pairs_of(rows) for strip in pair_strips(pair, look, width, area)]


def pair_strips(pair: Pair, look: Look, width: int, area: str, *, is_wrapped: bool = False) -> list[Strip]:
    """Return two lines side by side, in as many strips as the longer one needs."""
    first = pair[0]
    if first is not None and first.row.kind in ("gap", "file"):
        return line_strips(first, look, width, area)
    half = half_of(width)
    sides = [[] if one is None else line_strips(one, look, half, area, is_wrapped=is_wrapped) for one in pair]
    height = max(map(len, sides))
    tones = [_tone(one, look, area) for one in pair]
    left, right = (
        [*side, *[Strip.blank(half, tone)] * (height - len(side))] for side, tone in zip(sides, tones, strict=True)
    )
    gap, rest = strip([("  ", look.palette.area(area))]), look.palette.area(area)
    return [Strip.join([old, gap, new]).adjust_cell_length(width, rest) for old, new in zip(left, right, strict=True)]


def half_of(width: int) -> int:
    """Return the width of one of two columns in cells."""
    return (width - 2) // 2


def strips_of(one: CodeRow, room: int) -> int:
    """Return the number of strips of a row that is wrapped at a width in cells, including number and sign."""
    room -= HEAD
    if one.row.kind in ("gap", "file") or one.cells + one.is_cut <= room:
        return 1
    text = _text(one)
    return -(-len(text) // room) if text.isascii() else len(cells.hard_breaks(text, room))


def pairs_of(rows: Sequence[CodeRow]) -> list[Pair]:
    """Return the rows side by side: lines that replace each other are in one row."""
    pairs: list[Pair] = []
    removed: list[CodeRow] = []
    added: list[CodeRow] = []

    def flush() -> None:
        for at in range(max(len(removed), len(added))):
            pairs.append((removed[at] if at < len(removed) else None, added[at] if at < len(added) else None))
        removed.clear()
        added.clear()

    moved = 0
    for one in rows:
        if one.row.kind == "-":
            if added:
                flush()
            removed.append(one)
            moved -= 1
        elif one.row.kind == "+":
            added.append(one)
            moved += 1
        else:
            flush()
            is_line = one.row.kind == " "
            left = replace(one, row=replace(one.row, number=one.row.number - moved)) if is_line else one
            pairs.append((left, one))
    flush()
    return pairs


def line_strips(one: CodeRow, look: Look, width: int, area: str, *, is_wrapped: bool = False) -> list[Strip]:
    """Return a row as one truncated strip, or wrapped into several."""
    if one.row.kind in ("gap", "file"):
        return [note_strip(one, look, width, area, indent=HEAD)]
    palette, glyphs = look.palette, look.glyphs
    fill, muted = _tone(one, look, area), palette.style("muted", _area(one, look, area))
    sign = {"+": glyphs.plus, "-": glyphs.minus}.get(one.row.kind, " ")
    signed = palette.style(_token(one), _area(one, look, area), bold=one.row.kind != " ")
    head: list[Piece] = [(f"{one.row.number:>4} ", muted), (f"{sign} ", signed)]
    code = _code(one, look, _area(one, look, area), _token(one))
    mark = (glyphs.goes_on, muted)
    room = width - measure(head)
    if not is_wrapped:
        if measure(code) > room:
            code = [*clip(code, room - 1, ""), mark]
        return [_filled([*head, *code], width, fill)]
    whole = [*code, mark] if one.is_cut else code
    parts = [_part(whole, start, end) for start, end in cells.hard_breaks(_text(one), room)]
    heads = [head, *[[(" " * HEAD, fill)]] * (len(parts) - 1)]
    return [_filled([*before, *part], width, fill) for before, part in zip(heads, parts, strict=True)]


def note_strip(one: CodeRow, look: Look, width: int, area: str, *, indent: int) -> Strip:
    """Return a gap with the heading of the lines after it, or a file's name."""
    palette, glyphs = look.palette, look.glyphs
    name = "".join(text for text, _ in one.code)
    if one.row.kind == "gap":
        name = f"{glyphs.ellipsis} {plural(one.row.number, 'line')}{f', {name}' if name else ''}"
    pieces = [(" " * indent, palette.area(area)), (name, palette.style("muted", area))]
    return row(width, pieces, fill=palette.area(area), mark=glyphs.ellipsis)


def _text(one: CodeRow) -> str:
    """Return the number of characters per wrapped row; the mark at the end of a continued one takes one cell."""
    return "".join(text for text, _ in one.code) + ("x" if one.is_cut else "")


def _part(pieces: Sequence[Piece], start: int, end: int) -> list[Piece]:
    done: list[Piece] = []
    at = 0
    for text, style in pieces:
        part = text[max(0, start - at) : max(0, end - at)]
        at += len(text)
        if part:
            done.append((part, style))
    return done


def _filled(pieces: Sequence[Piece], width: int, fill: Style) -> Strip:
    return strip([*pieces, (" " * max(0, width - measure(pieces)), fill)], width)


def _token(one: CodeRow) -> str:
    return {"+": "diff_add", "-": "diff_del"}.get(one.row.kind, "text")


def _area(one: CodeRow, look: Look, area: str) -> str:
    tone = {"+": "diff_add_line", "-": "diff_del_line"}.get(one.row.kind, area)
    return tone if look.palette.line_tones else area


def _tone(one: CodeRow | None, look: Look, area: str) -> Style:
    """Return the background style of a row; that of an empty area if there is no line."""
    return look.palette.area("panel" if one is None else _area(one, look, area))


def _code(one: CodeRow, look: Look, tone: str, token: str) -> list[Piece]:
    palette = look.palette
    if one.row.kind in "+-" and not palette.line_tones:
        return [(text, palette.style(token, tone)) for text, _ in one.code]
    pieces = [(text, palette.style(name, tone, italic=name == "code_comment")) for text, name in one.code]
    if one.row.word is None or not palette.line_tones:
        return pieces
    word = palette.style("text", tone.replace("_line", "_word"), bold=True)
    return _marked(pieces, one.row.word, word)


def _marked(pieces: Sequence[Piece], word: tuple[int, int], style: Style) -> list[Piece]:
    """Return the pieces, with the changed characters in another style."""
    done: list[Piece] = []
    at = 0
    for text, plain in pieces:
        start, end = (min(len(text), max(0, edge - at)) for edge in word)
        done += [(text[:start], plain), (text[start:end], style), (text[end:], plain)]
        at += len(text)
    return [piece for piece in done if piece[0]]


def change_columns(
    look: Look, additions: int, deletions: int, area: str, *, apart: int = 4, is_quiet: bool = False
) -> list[Piece]:
    """`+18  −1`: additions end `apart` cells before deletions do, muted when `is_quiet`; nothing for no change."""
    if not additions and not deletions:
        return []
    added = f"{look.glyphs.plus}{additions}" if additions else ""
    removed = f"{look.glyphs.minus}{deletions}" if deletions else ""
    gap = " " * (max(apart, len(removed) + 1) - len(removed))
    colors = ("muted", "muted") if is_quiet else ("diff_add", "diff_del")
    return [
        (added, look.palette.style(colors[0], area)),
        (gap, look.palette.area(area)),
        (removed, look.palette.style(colors[1], area)),
    ]
