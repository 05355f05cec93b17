"""Rows of a diff as strips of a given width: one column, or two side by side where one line is one row."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.style import Style
from textual.strip import Strip

from opencode_tui.schema.diff import FileDiff
from opencode_tui.tui.conversation.code import CodeLine
from opencode_tui.tui.conversation.diff import MAX_LINE, colour_rows
from opencode_tui.tui.diff_rows import DiffRow, read_diff
from opencode_tui.tui.quantity import plural
from opencode_tui.tui.row import Piece, clip, measure, row, strip
from opencode_tui.tui.safe_text import screen_line
from opencode_tui.tui.theme.look import Look

NUMBER = 5
"""Cells of the line's number and the blank behind it."""

MAX_LETTERS = 2_000_000
"""Letters of a file's two states together beyond which only the sizes are told."""


@dataclass(frozen=True, slots=True)
class CodeRow:
    """A row and its code with its colours."""

    row: DiffRow
    code: CodeLine


def code_rows(diff: str, path: str) -> list[CodeRow]:
    """The rows of a unified diff, coloured by what `path` says of the language. Takes long for a large one."""
    rows = read_diff(diff)
    texts = [screen_line(one.text[:MAX_LINE]) for one in rows]
    return [CodeRow(one, code) for one, code in zip(rows, colour_rows(rows, texts, path), strict=True)]


def unified(diff: FileDiff) -> str:
    """The unified diff of a file's two states; empty for one that is too large or not text. Takes long for a large one."""
    if len(diff.before) + len(diff.after) > MAX_LETTERS:
        return ""
    before, after = diff.before.splitlines(), diff.after.splitlines()
    return "\n".join(difflib.unified_diff(before, after, "a", "b", lineterm="", n=3))


def one_column(rows: Sequence[CodeRow], look: Look, width: int, area: str) -> list[Strip]:
    """A strip for each row."""
    return [_cell(one, look, width, area) for one in rows]


def two_columns(rows: Sequence[CodeRow], look: Look, width: int, area: str) -> list[Strip]:
    """Old lines at the left, new ones at the right; where a side has no line, a quiet area."""
    half = (width - 2) // 2
    gap = strip([("  ", look.palette.area(area))])
    quiet = look.palette.area("panel")
    strips: list[Strip] = []
    for left, right in _pairs(rows):
        if left is not None and left.row.kind in ("gap", "file"):
            strips.append(_cell(left, look, width, area))
            continue
        sides = [Strip.blank(half, quiet) if one is None else _cell(one, look, half, area) for one in (left, right)]
        strips.append(Strip.join([sides[0], gap, sides[1]]).adjust_cell_length(width, look.palette.area(area)))
    return strips


def change_starts(rows: Sequence[CodeRow], *, is_split: bool) -> list[int]:
    """The places of the strips at which changes begin."""
    if not is_split:
        kinds = [one.row.kind in "+-" for one in rows]
    else:
        kinds = [(left or right) is not None and _is_change(left, right) for left, right in _pairs(rows)]
    return [at for at, changed in enumerate(kinds) if changed and (at == 0 or not kinds[at - 1])]


def _is_change(left: CodeRow | None, right: CodeRow | None) -> bool:
    return any(one is not None and one.row.kind in ("+", "-") for one in (left, right))


def _pairs(rows: Sequence[CodeRow]) -> list[tuple[CodeRow | None, CodeRow | None]]:
    pairs: list[tuple[CodeRow | None, CodeRow | None]] = []
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
            left = CodeRow(replace(one.row, number=one.row.number - moved), one.code) if is_line else one
            pairs.append((left, one))
    flush()
    return pairs


def _cell(one: CodeRow, look: Look, width: int, area: str) -> Strip:
    palette, glyphs = look.palette, look.glyphs
    kind = one.row.kind
    if kind in ("gap", "file"):
        words = (
            f"{glyphs.ellipsis} {plural(one.row.number, 'line')}"
            if kind == "gap"
            else "".join(text for text, _ in one.code)
        )
        pieces = [(" " * (NUMBER + 2), palette.area(area)), (words, palette.style("muted", area))]
        return row(width, pieces, fill=palette.area(area), mark=glyphs.ellipsis)
    token = {"+": "diff_add", "-": "diff_del"}.get(kind, "text")
    tone = {"+": "diff_add_line", "-": "diff_del_line"}.get(kind, area) if palette.line_tones else area
    sign = {"+": glyphs.plus, "-": glyphs.minus}.get(kind, " ")
    head = [
        (f"{one.row.number:>4} ", palette.style("muted", tone)),
        (f"{sign} ", palette.style(token, tone, bold=kind != " ")),
    ]
    code = _code(one, look, tone, token)
    room = width - measure(head)
    if measure(code) > room:
        code = [*clip(code, room - 1, ""), (glyphs.goes_on, palette.style("muted", tone))]
    pieces = [*head, *code]
    return strip([*pieces, (" " * max(0, width - measure(pieces)), palette.area(tone))], width)


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
    """The pieces, those letters of them that changed in another style."""
    done: list[Piece] = []
    at = 0
    for text, plain in pieces:
        start, end = (min(len(text), max(0, edge - at)) for edge in word)
        done += [(text[:start], plain), (text[start:end], style), (text[end:], plain)]
        at += len(text)
    return [piece for piece in done if piece[0]]
