"""Draws a table: columns as wide as their cells need, narrowed and wrapped when the window is too small."""

from collections.abc import Callable, Sequence

from opencode_tui.text.cells import breaks, width
from opencode_tui.tui.conversation.inline import inline_spans
from opencode_tui.tui.conversation.line import Line, LineBuilder, RenderContext, Span, slice_spans
from opencode_tui.tui.conversation.markdown import Table

GAP = 2
MIN_COLUMN = 6


def draw_table(table: Table, page: RenderContext, begin: Callable[[], LineBuilder]) -> list[Line]:
    """Return the table's lines; `begin` starts a line at the table's left edge."""
    sources = [split_cells(line) for line in table.lines]
    count = max((len(row) for row in sources), default=0)
    has_head = table.above is None
    rows = [_cells(row, count, page, is_head=has_head and not number) for number, row in enumerate(sources)]
    above = [] if table.above is None else [_cells(split_cells(line), count, page) for line in table.above.lines]
    natural = [max((_width(row[column]) for row in (*above, *rows)), default=1) for column in range(count)]
    widths = fit_columns(natural, page.room - table.indent - 2 * table.quote - GAP * (count - 1))
    aligns = _aligns(table.delimiter)
    return [line for row in rows for line in _row(row, widths, aligns, begin)]


def fit_columns(natural: Sequence[int], room: int) -> list[int]:
    """Return the columns' widths: as they are when they fit, else the wide ones share what the narrow ones leave."""
    widths = list(natural)
    while sum(widths) > room and max(widths) > MIN_COLUMN:
        widest = max(widths)
        second = max((one for one in widths if one < widest), default=MIN_COLUMN)
        many = widths.count(widest)
        excess = sum(widths) - room
        target = max(MIN_COLUMN, second, widest - -(-excess // many))
        widths = [target if one == widest else one for one in widths]
    return widths


def _cells(row: list[str], count: int, page: RenderContext, *, is_head: bool = False) -> list[list[Span]]:
    cells = [inline_spans(cell, page, bold=is_head) if cell else [] for cell in row[:count]]
    return [*cells, *([[]] * (count - len(cells)))]


def _width(cell: list[Span]) -> int:
    return sum(width(text) for text, _ in cell)


def _row(row: list[list[Span]], widths: list[int], aligns: list[str], begin: Callable[[], LineBuilder]) -> list[Line]:
    wrapped: list[list[list[Span]]] = []
    for cell, room in zip(row, widths, strict=True):
        plain = "".join(text for text, _ in cell)
        wrapped.append(slice_spans(cell, breaks(plain, room)) if plain else [[]])
    height = max((len(cell) for cell in wrapped), default=0)
    lines: list[Line] = []
    for number in range(height):
        pen = begin()
        column = pen.at
        for index, (cell, room) in enumerate(zip(wrapped, widths, strict=True)):
            spans = cell[number] if number < len(cell) else []
            pen.move(column + _offset(spans, room, aligns[index] if index < len(aligns) else "<")).put_all(spans)
            column += room + GAP
        lines.append(pen.line())
    return lines


def _offset(spans: list[Span], room: int, align: str) -> int:
    free = max(0, room - _width(spans))
    return free if align == ">" else free // 2 if align == "^" else 0


def split_cells(line: str) -> list[str]:
    """Return the cells of a table's line; a bar after a backslash, or in code, is text."""
    if "`" not in line and "\\" not in line:
        text = line.strip(" ")
        text = text[text.startswith("|") : len(text) - (len(text) > 1 and text.endswith("|"))]
        return [cell.strip() for cell in text.split("|")]
    cells: list[str] = []
    cell: list[str] = []
    is_code = False
    for index, letter in enumerate(line.strip(" ")):
        if letter == "`":
            is_code = not is_code
        if letter == "|" and not is_code and (index == 0 or line[index - 1] != "\\"):
            cells.append("".join(cell).strip())
            cell = []
            continue
        cell.append(letter)
    cells.append("".join(cell).strip())
    if cells and not cells[0] and line.startswith("|"):
        cells = cells[1:]
    if len(cells) > 1 and not cells[-1] and line.rstrip().endswith("|"):
        cells = cells[:-1]
    return [cell.replace("\\|", "|") for cell in cells]


def _aligns(line: str) -> list[str]:
    marks = {(True, True): "^", (False, True): ">"}
    return [marks.get((cell.startswith(":"), cell.endswith(":")), "<") for cell in split_cells(line)]
