"""Small diagrams of mermaid as boxes of text: flowcharts without loops, and sequence diagrams of messages.

Whatever is not understood whole, does not fit or could be misread stays as it was written.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opencode_tui.text.cells import width

MOST_NODES, MOST_MESSAGES, MOST_LINES = 16, 24, 80
_LABEL = 28
"""Cells of a label."""

_NORTH, _EAST, _SOUTH, _WEST = 1, 2, 4, 8
_LINES = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"
"""The sign for each sum of directions."""

_HEAD = re.compile(r"(?:graph|flowchart)\s+(TD|TB|LR)$")
_NODE = re.compile(
    r"(?P<id>\w+)(?:\[\[(.+?)\]\]|\[\((.+?)\)\]|\(\[(.+?)\]\)|\(\((.+?)\)\)|\[(.+?)\]|\((.+?)\)|\{\{(.+?)\}\}|\{(.+?)\})?(?::::\w+)?"
)
_LINK = re.compile(r"\s*(?:(?:-->|---|-\.->|==>)(?:\s*\|([^|]+)\|)?|--\s+([^-|>][^|>]*?)\s+-->)\s*")
_IGNORED = re.compile(r"(?:%%|classDef\b|class\b|style\b|linkStyle\b|click\b|autonumber\b|title\b|$)")
_PARTICIPANT = re.compile(r"(?:participant|actor)\s+(\w+)(?:\s+as\s+(.+))?$")
_MESSAGE = re.compile(r"(\w+)\s*(-->>|->>|-->|->|--x|-x|--\)|-\))\s*[+-]?(\w+)\s*:\s*(.*)$")


class _NotUnderstoodError(Exception):
    """The diagram is not one of the small ones."""


def diagram_lines(source: Sequence[str], room: int) -> list[str] | None:
    """Return a diagram in lines of at most `room` cells, without blanks at their ends; None where that cannot be done."""
    lines = [line.strip().rstrip(";") for line in source[: MOST_LINES + 1]]
    lines = [line for line in lines if not _IGNORED.match(line)]
    if not lines or len(lines) > MOST_LINES:
        return None
    try:
        head = _HEAD.match(lines[0])
        drawn = (
            _flowchart(lines[1:], is_down=head[1] != "LR") if head else _sequence(lines) if _is_sequence(lines) else []
        )
    except _NotUnderstoodError:
        return None
    return drawn if drawn and max(map(width, drawn)) <= room else None


def _is_sequence(lines: Sequence[str]) -> bool:
    return lines[0] == "sequenceDiagram"


def _label(text: str) -> str:
    shown = " ".join(re.sub(r"<br\s*/?>", " ", text.strip().strip('"')).split())
    if not shown or width(shown) > _LABEL:
        raise _NotUnderstoodError
    return shown


@dataclass(slots=True, eq=False)
class _Box:
    """A node, or a line that passes a layer (no label); `at` is the first cell on the axis of its layer, `size` its cells."""

    label: str
    layer: int = 0
    at: int = 0
    size: int = 1

    @property
    def middle(self) -> int:
        return self.at + self.size // 2


@dataclass(slots=True)
class _Grid:
    """Cells with lines, by directions, and with texts."""

    lines: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    texts: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])

    def put(self, x: int, y: int, text: str) -> None:
        for letter in text:
            if (x, y) in self.lines or self.texts.get((x, y), letter) != letter:
                raise _NotUnderstoodError
            self.texts[x, y] = letter
            for extra in range(1, width(letter)):
                self.texts[x + extra, y] = ""
            x += max(1, width(letter))

    def mark(self, x: int, y: int, directions: int) -> None:
        if (x, y) in self.texts:
            raise _NotUnderstoodError
        self.lines[x, y] = self.lines.get((x, y), 0) | directions

    def box(self, x: int, y: int, label: str) -> None:
        size = width(label) + 4
        self.put(x, y, "┌" + "─" * (size - 2) + "┐")
        self.put(x, y + 1, f"│ {label} │")
        self.put(x, y + 2, "└" + "─" * (size - 2) + "┘")

    def rows(self) -> list[str]:
        cells = {**{at: _LINES[mask] for at, mask in self.lines.items()}, **self.texts}
        wide, high = max(x for x, _ in cells) + 1, max(y for _, y in cells) + 1
        return ["".join(cells.get((x, y), " ") for x in range(wide)).rstrip() for y in range(high)]


def _flowchart(lines: Sequence[str], *, is_down: bool) -> list[str]:
    boxes, links = _read_flowchart(lines)
    layers, links = _layered(boxes, links)
    for layer in layers:
        at = 0
        for box in layer:
            box.size = 1 if not box.label else width(box.label) + 4 if is_down else 3
            box.at = at
            at += box.size + (3 if is_down else 1)
    whole = max(layer[-1].at + layer[-1].size for layer in layers)
    for layer in layers:
        shift = (whole - layer[-1].at - layer[-1].size) // 2
        for box in layer:
            box.at += shift
    for layer in (*layers[1:], layers[0]):
        near = [
            one.middle for link in links for one in link[:2] if layer[0] in link[:2] and one.layer == layer[0].layer - 1
        ]
        near = near or [after.middle for before, after, _ in links if before is layer[0]]
        if len(layer) == 1 and near:
            layer[0].at += sum(near) // len(near) - layer[0].middle
    first = min(layer[0].at for layer in layers)
    for box in (box for layer in layers for box in layer):
        box.at -= first
    return _draw_flowchart(layers, links, is_down=is_down)


_Link = tuple[_Box, _Box, str]


def _read_flowchart(lines: Sequence[str]) -> tuple[list[_Box], list[_Link]]:
    boxes: dict[str, _Box] = {}
    links: list[_Link] = []

    def node(text: str, at: int) -> tuple[_Box, int]:
        found = _NODE.match(text, at)
        if found is None:
            raise _NotUnderstoodError
        label = next((one for one in found.groups()[1:] if one), None)
        box = boxes.setdefault(found["id"], _Box(_label(found["id"])))
        if label is not None:
            box.label = _label(label)
        return box, found.end()

    for line in (part.strip() for one in lines for part in one.split(";")):
        if not line:
            continue
        before, at = node(line, 0)
        while at < len(line):
            link = _LINK.match(line, at)
            if link is None:
                raise _NotUnderstoodError
            after, at = node(line, link.end())
            label = link[1] or link[2]
            links.append((before, after, _label(label) if label else ""))
            before = after
    if not 1 < len(boxes) <= MOST_NODES or len({(one, other) for one, other, _ in links}) < len(links):
        raise _NotUnderstoodError
    return list(boxes.values()), links


def _layered(boxes: Sequence[_Box], links: Sequence[_Link]) -> tuple[list[list[_Box]], list[_Link]]:
    """Return the boxes by layer, each behind all that lead to it, with lines that pass layers as boxes of their own."""
    for _round in boxes:
        for before, after, _ in links:
            after.layer = max(after.layer, before.layer + 1)
    if any(after.layer >= len(boxes) or after is before for before, after, _ in links):
        raise _NotUnderstoodError  # a loop
    layers: list[list[_Box]] = [[] for _ in range(max(box.layer for box in boxes) + 1)]
    for box in boxes:
        layers[box.layer].append(box)
    short: list[_Link] = []
    for before, after, label in links:
        for layer in range(before.layer + 1, after.layer):
            passing = _Box("", layer)
            layers[layer].append(passing)
            short.append((before, passing, ""))
            before = passing
        short.append((before, after, label))
    for layer, above in zip(layers[1:], layers, strict=False):
        place = {box: at for at, box in enumerate(above)}
        sums = {box: [place[before] for before, after, _ in short if after is box] for box in layer}
        layer.sort(key=lambda box: sum(sums[box]) / len(sums[box]) if sums[box] else 0)
    return layers, short


def _draw_flowchart(layers: Sequence[Sequence[_Box]], links: Sequence[_Link], *, is_down: bool) -> list[str]:
    grid = _Grid()
    deep = 0
    for number, layer in enumerate(layers):
        size = 3 if is_down else max(box.size if not box.label else width(box.label) + 4 for box in layer)
        for box in layer:
            if box.label:
                grid.box(*((box.at, deep) if is_down else (deep, box.at)), box.label)
                own = 3 if is_down else width(box.label) + 4
                for step in range(deep + own, deep + size) if _leads_on(box, links) else ():
                    _along(grid, step, box.middle, is_down=is_down)
            else:
                for step in range(deep, deep + size):
                    _along(grid, step, box.middle, is_down=is_down)
        deep += size
        if number + 1 < len(layers):
            deep = _band(grid, deep, [link for link in links if link[0] in layer], is_down=is_down)
    return grid.rows()


def _leads_on(box: _Box, links: Sequence[_Link]) -> bool:
    return any(before is box for before, _, _ in links)


def _along(grid: _Grid, step: int, middle: int, *, is_down: bool) -> None:
    if is_down:
        grid.mark(middle, step, _NORTH | _SOUTH)
    else:
        grid.mark(step, middle, _EAST | _WEST)


def _band(grid: _Grid, start: int, links: Sequence[_Link], *, is_down: bool) -> int:
    """Draw the links between two layers from `start` on; return where the next layer begins."""
    sources = list(dict.fromkeys(before for before, _, _ in links))
    bent = [one for one in sources if any(after.middle != one.middle for before, after, _ in links if before is one)]
    track = {one: start + 1 + number for number, one in enumerate(bent)}
    _refuse_crossings(links, track)
    labels = [label for _, _, label in links if label]
    tracks = start + 1 + len(bent)
    end = tracks + (bool(labels) + 1 if is_down else max((width(label) + 5 for label in labels), default=1) + 1)
    for before, after, label in links:
        turn = track.get(before, start)
        for step in range(start, end):
            middle = before.middle if step <= turn else after.middle
            if step == turn and before.middle != after.middle:
                _turn(grid, turn, before.middle, after.middle, is_down=is_down)
            elif step < end - 1 or not after.label:
                _along(grid, step, middle, is_down=is_down)
            else:
                grid.put(*((middle, step) if is_down else (step, middle)), "▼" if is_down else "▶")
        if label and is_down:
            grid.put(after.middle + 2, end - 2, label)
        elif label:
            at = end - 4 - width(label)
            for column in range(at, at + width(label) + 2):
                grid.lines.pop((column, after.middle), None)
            grid.put(at, after.middle, f" {label} ")
    return end


def _turn(grid: _Grid, turn: int, one: int, other: int, *, is_down: bool) -> None:
    """Draw a line from the cell below one middle to that above another one."""
    toward, back = (_EAST, _WEST) if is_down else (_SOUTH, _NORTH)
    if other < one:
        toward, back = back, toward
    came, goes = (_NORTH, _SOUTH) if is_down else (_WEST, _EAST)
    low, high = sorted((one, other))
    for cell in range(low, high + 1):
        mask = came | toward if cell == one else goes | back if cell == other else toward | back
        grid.mark(*((cell, turn) if is_down else (turn, cell)), mask)


def _refuse_crossings(links: Sequence[_Link], track: Mapping[_Box, int]) -> None:
    """Raise where two links would share cells, so that one could not tell where each leads."""
    begins, ends = Counter(before for before, _, _ in links), Counter(after for _, after, _ in links)
    for one, other, _ in links:
        if begins[one] > 1 and ends[other] > 1:
            raise _NotUnderstoodError
        for before, after, _ in links:
            if before is one:
                continue
            own, theirs = track.get(one, 0), track.get(before, 0)
            low, high = sorted((one.middle, other.middle))
            if after is not other and after.middle == one.middle and own and (not theirs or theirs < own):
                raise _NotUnderstoodError
            for middle, reaches in ((before.middle, theirs > own), (after.middle, bool(theirs) and theirs < own)):
                if own and low <= middle <= high and reaches and not (after is other and middle == other.middle):
                    raise _NotUnderstoodError
            if not theirs and own and low <= before.middle <= high and after is not other:
                raise _NotUnderstoodError


def _sequence(lines: Sequence[str]) -> list[str]:
    names: dict[str, str] = {}
    messages: list[tuple[str, str, str, str]] = []
    for line in lines[1:]:
        if found := _PARTICIPANT.match(line):
            names[found[1]] = _label(found[2] or found[1])
        elif found := _MESSAGE.match(line):
            for name in (found[1], found[3]):
                names.setdefault(name, _label(name))
            messages.append((found[1], found[3], found[2], _label(found[4])))
        else:
            raise _NotUnderstoodError
    if not 0 < len(messages) <= MOST_MESSAGES or len(names) > MOST_NODES:
        raise _NotUnderstoodError
    return list(_draw_sequence(names, messages))


def _draw_sequence(names: Mapping[str, str], messages: Sequence[tuple[str, str, str, str]]) -> Iterator[str]:
    order = {name: at for at, name in enumerate(names)}
    half = [(width(label) + 4) // 2 for label in names.values()]
    middles = [half[0]]
    for at in range(1, len(half)):
        middles.append(middles[-1] + half[at - 1] + half[at] + 3)
    for one, other, _, label in sorted(messages, key=lambda message: abs(order[message[0]] - order[message[1]])):
        low, high = sorted((order[one], order[other]))
        end = high if high > low else high + 1
        if end < len(middles):
            missing = width(label) + 4 + (4 if low == high else 0) - (middles[end] - middles[low])
            for at in range(end, len(middles)) if missing > 0 else ():
                middles[at] += missing
    grid = _Grid()
    for middle, label, size in zip(middles, names.values(), half, strict=True):
        grid.box(middle - size, 0, label)
    for number, (one, other, arrow, label) in enumerate(messages):
        y, left, right = 3 + 2 * number, middles[order[one]], middles[order[other]]
        low, high = sorted((left, right))
        line = "╌" if arrow.startswith("--") else "─"
        if low == high:
            grid.put(low + 1, y, f"{line * 2}╮ {label}")
            grid.put(low + 1, y + 1, f"◀{line}╯")
            continue
        head = "✗" if arrow.endswith("x") else "▶" if right > left else "◀"
        grid.put(low + 1 + (high - low - 1 - width(label)) // 2, y, label)
        inside = line * (high - low - 2)
        grid.put(low + 1, y + 1, inside + head if right > left else head + inside)
    for middle in middles:
        for y in range(3, 3 + 2 * len(messages)):
            if (middle, y) not in grid.texts:
                grid.mark(middle, y, _NORTH | _SOUTH)
    yield from grid.rows()
