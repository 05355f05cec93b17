"""How many cells a text takes on the screen, as Textual counts them, and how it is cut or wrapped to fit; all texts are safe."""

import re

from rich.cells import cell_len, get_character_cell_size

_WIDE = r"\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe6f\uff00-\uffef"
"""Scripts that are written without blanks: a line may end after each letter."""

_PIECE = re.compile(rf"\s+|[{_WIDE}]|[^\s{_WIDE}]+")
_WIDE_LETTER = re.compile(rf"[{_WIDE}]")


def width(text: str) -> int:
    """Return how many cells a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def take(text: str, room: int) -> int:
    """Return how many letters of a text fit into so many cells, marks on the last letter included."""
    if text.isascii():
        return min(len(text), max(0, room))
    for index, letter in enumerate(text):
        room -= get_character_cell_size(letter)
        if room < 0:
            return index
    return len(text)


def clip(text: str, room: int, mark: str = "…") -> str:
    """Return the text, its end cut off with a mark when it takes more than `room` cells."""
    if len(text) <= room and text.isascii():
        return text
    head = text[: room * 4 + 8]  # combining marks take letters, not cells
    if len(head) == len(text) and width(head) <= room:
        return text
    return head[: take(head, room - width(mark))] + mark if room >= width(mark) else ""


def clip_front(text: str, room: int, mark: str = "…") -> str:
    """Return the text, its beginning cut off, at a slash if one is near, when it takes more than `room` cells."""
    if width(text) <= room:
        return text
    if room < width(mark):
        return ""
    tail = text[::-1]
    kept = tail[: take(tail, room - width(mark))][::-1]
    slash = kept.find("/")
    return mark + (kept[slash:] if 0 <= slash < len(kept) // 2 else kept)


def pad(text: str, room: int, *, is_right: bool = False) -> str:
    """Return the text filled with blanks to `room` cells, aligned to the left or the right."""
    blanks = " " * (room - width(text))
    return blanks + text if is_right else text + blanks


def breaks(text: str, room: int, *, first: int | None = None) -> list[tuple[int, int]]:
    """Return where the lines of a text begin and end when none takes more than `room` cells (`first`: the first one).

    Lines end between words; the blanks between two lines belong to neither. A word that is too long is cut.
    """
    room = max(1, room)
    head = room if first is None else max(1, first)
    if len(text) <= head and text.isascii():
        return [(0, len(text))]
    if text.isascii():
        return _ascii_breaks(text, room, head)
    return _wide_breaks(text, room, head)


def hard_breaks(text: str, room: int) -> list[tuple[int, int]]:
    """Return where the lines of a text begin and end that is cut after `room` cells, wherever that is."""
    room = max(2, room)
    found: list[tuple[int, int]] = []
    start = 0
    while True:
        size = (
            len(text) - start
            if len(text) - start <= room and text.isascii()
            else take(text[start : start + room * 4], room)
        )
        end = start + max(1, size)
        if end >= len(text):
            return [*found, (start, len(text))]
        found.append((start, end))
        start = end


def join_lines(first: str, second: str) -> str:
    """Return two lines of one paragraph as one: with a blank between them, except between letters of a script without."""
    if first and second and _WIDE_LETTER.match(first[-1]) and _WIDE_LETTER.match(second[0]):
        return first + second
    return f"{first} {second}"


def _ascii_breaks(text: str, room: int, head: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    start, size = 0, len(text)
    limit = head
    while size - start > limit:
        end = text.rfind(" ", start, start + limit + 1)
        if end <= start:
            end = start + limit
            found.append((start, end))
        else:
            found.append((start, start + len(text[start:end].rstrip())))
        start = end
        while start < size and text[start] == " ":
            start += 1
        limit = room
    if start < size or not found:
        found.append((start, size))
    return found


def _wide_breaks(text: str, room: int, head: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    start = end = used = 0
    limit = head
    for match in _PIECE.finditer(text):
        piece, at = match.group(), match.start()
        cells = width(piece)
        if piece.isspace():
            used += cells if end > start or not found else 0
            start = match.end() if end <= start and found else start
            continue
        if used + cells > limit and end > start:
            found.append((start, end))
            start, used, limit = at, 0, room
        while cells > limit - used:
            cut = max(1, take(text[at : match.end()], limit - used))
            found.append((start, at + cut))
            at += cut
            start, used, limit = at, 0, room
            cells = width(text[at : match.end()])
        used += cells
        end = match.end()
    if end > start or not found:
        found.append((start, end))
    return found
