"""How many cells a text takes on the screen, and how it is cut or wrapped to fit; all texts are safe.

The TUI and the command line use this one rule of width. It equals the rule of the library that draws the screen.
"""

import re
import unicodedata
from functools import cache, lru_cache

_MARKS = frozenset({"Mn", "Me", "Mc"})
"""Categories of characters that are drawn on the character before them."""

_ZERO = (
    "[\u1160-\u11ff\u0897\u0cf3\u0ece\u1acf-\u1add\u1ae0-\u1aeb\u2065\u3164\ud7b0-\ud7ff\uffa0\ufff0-\ufff8"
    "\U00010d69-\U00010d6d\U00010efa-\U00010eff\U00011241\U000113b8-\U000113c0\U000113c2\U000113c5"
    "\U000113c7-\U000113ca\U000113cc-\U000113d0\U000113d2\U000113e1-\U000113e2\U00011b60-\U00011b67"
    "\U00011f00-\U00011f01\U00011f03\U00011f34-\U00011f3a\U00011f3e-\U00011f42\U00011f5a\U00013439-\U00013440"
    "\U00013447-\U00013455\U0001611e-\U0001612f\U0001e08f\U0001e4ec-\U0001e4ef\U0001e5ee-\U0001e5ef\U0001e6e3"
    "\U0001e6e6\U0001e6ee-\U0001e6ef\U0001e6f5]"
)
"""Hangul vowels and final consonants, fillers, and marks that Python's own table does not know yet."""

_DOUBLE = (
    "[\u2630-\u2637\u268a-\u268f\u2ffc-\u2fff\u31e4-\u31e5\u31ef\u4dc0-\u4dff\ufa6e-\ufa6f\ufada-\ufaff"
    "\U00016ff2-\U00016ff6\U000187f8-\U000187ff\U00018cff\U00018d09-\U00018d1e\U00018d80-\U00018df2\U0001b132"
    "\U0001b155\U0001d300-\U0001d356\U0001d360-\U0001d376\U0001f6d8\U0001f6dc\U0001fa75-\U0001fa77"
    "\U0001fa87-\U0001fa8a\U0001fa8e-\U0001fa8f\U0001faad-\U0001faaf\U0001fabb-\U0001fabf\U0001fac6\U0001fac8"
    "\U0001facd-\U0001facf\U0001fada-\U0001fadc\U0001fadf\U0001fae8-\U0001faea\U0001faef\U0001faf7-\U0001faf8]"
)
"""Wide characters that Python's own table does not know yet, or calls narrow."""

_VISIBLE_FORMATS = "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]"
"""Format characters that are drawn in a cell of their own."""

_IDEOGRAPHS = range(0x20000, 0x3FFFE)
"""Planes in which unassigned characters are wide too."""

_LETTERS_END = "\u2000"
"""Where the letters of scripts end that are written with joiners; behind are symbols, which are drawn as one with them."""

_JOINED = re.compile("\u200d.?", re.DOTALL)
"""A joiner and the character after it: both are drawn in the cell of the character before them."""

_WIDE = r"\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe6f\uff00-\uffef"
"""Scripts that are written without blanks: a line may end after each character."""

_CACHED_LENGTH = 512
"""Characters of a text below which its width is kept: signs and labels are measured again and again."""

_MIN_PATH = 12
"""Cells of a path that are left of it at least."""


def width(text: str) -> int:
    """Return how many cells a text takes, by the rule of the library that draws the screen."""
    if text.isascii():
        return len(text)
    return _cached_width(text) if len(text) < _CACHED_LENGTH else _width(text)


def extra_cells(cluster: str) -> int:
    """Return how many more cells than its width a terminal may draw for a character with its marks.

    Many terminals, those by the C library's table among them, draw spacing vowel signs (category Mc) in a cell of their own, and a
    letter or blank behind a joiner too; others draw them with the character before them.
    """
    is_symbol = cluster >= _LETTERS_END and not any(map(_is_spacing, cluster))
    return 0 if cluster.isascii() or is_symbol else max(0, _most_width(cluster) - width(cluster))


def fitting(text: str, room: int) -> int:
    """Return how many characters of a text fit into the cells, marks on the last character included.

    A sign that some terminals draw in a cell of its own counts as one.
    """
    if text.isascii():
        return min(len(text), max(0, room))
    for index, character in enumerate(text):
        room -= _most_cells(character)
        if room < 0:
            return index
    return len(text)


def clip(text: str, room: int, mark: str = "…") -> str:
    """Return the text, its end cut off with a mark when it takes more than `room` cells."""
    if len(text) <= room and text.isascii():
        return text
    head = text[: room * 4 + 8]  # combining marks take characters, not cells
    if len(head) == len(text) and width(head) <= room:
        return text
    return head[: fitting(head, room - width(mark))] + mark if room >= width(mark) else ""


def clip_front(text: str, room: int, mark: str = "…") -> str:
    """Return the text, its beginning cut off, at a slash if one is near, when it takes more than `room` cells."""
    if width(text) <= room:
        return text
    if room < width(mark):
        return ""
    tail = text[::-1]
    kept = tail[: fitting(tail, room - width(mark))][::-1]
    slash = kept.find("/")
    return mark + (kept[slash:] if 0 <= slash < len(kept) // 2 else kept)


def clip_middle(text: str, room: int, mark: str = "…") -> str:
    """Return the text, cut in its middle when it takes more than `room` cells: first a long path; the last clause is kept."""
    over = width(text) - room
    if over <= 0:
        return text
    longest = max(text.split(" "), key=width)
    if width(longest) - over >= _MIN_PATH:
        return text.replace(longest, clip_front(longest, width(longest) - over, mark), 1)
    at = text.rfind("; ")
    last = text[at + 2 :] if at >= 0 else ""
    if not 0 < width(last) <= room * 3 // 4:
        last = text[len(text) - fitting(text[::-1], room // 2) :]
    head = room - width(last) - width(mark) - 1
    return f"{text[: fitting(text, head)].rstrip()}{mark} {last.lstrip()}" if head > 0 else ""


def pad(text: str, room: int, *, is_right: bool = False) -> str:
    """Return the text filled with blanks to `room` cells, aligned to the left or the right."""
    blanks = " " * (room - width(text))
    return blanks + text if is_right else text + blanks


def breaks(text: str, room: int, *, first: int | None = None) -> list[tuple[int, int]]:
    """Return where the lines of a text start and end when none takes more than `room` cells (`first`: the first one).

    Lines end between words; the blanks between two lines belong to neither. A word that is too long is cut.
    """
    room = max(1, room)
    head = room if first is None else max(1, first)
    if len(text) <= head and text.isascii():
        return [(0, len(text))]
    if text.isascii():
        return _ascii_breaks(text, room, head)
    return _wide_breaks(text, room, head)


def wrap(text: str, room: int, *, first: int | None = None) -> list[str]:
    """Return the lines that `breaks` finds."""
    return [text[start:end] for start, end in breaks(text, room, first=first)]


def hard_breaks(text: str, room: int) -> list[tuple[int, int]]:
    """Return where the lines of a text start and end that is cut after `room` cells, wherever that is."""
    room = max(2, room)
    found: list[tuple[int, int]] = []
    start = 0
    while True:
        size = (
            len(text) - start
            if len(text) - start <= room and text.isascii()
            else fitting(text[start : start + room * 4], room)
        )
        end = start + max(1, size)
        if end >= len(text):
            return [*found, (start, len(text))]
        found.append((start, end))
        start = end


def join_lines(first: str, second: str) -> str:
    """Return two lines of one paragraph as one: with a blank between them, except between characters of a script without."""
    if first and second and _wide_letter().match(first[-1]) and _wide_letter().match(second[0]):
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
    lines = _Lines(text, room, head)
    for match in _pieces().finditer(text):
        if match.group().isspace():
            lines.add_blanks(match.end(), _most_width(match.group()))
        else:
            lines.add_word(match.start(), match.end())
    if lines.has_words or not lines.done:
        lines.done.append((lines.start, lines.end))
    return lines.done


class _Lines:
    """The lines of a text whose words and blanks are added in order."""

    def __init__(self, text: str, room: int, head: int) -> None:
        self.done: list[tuple[int, int]] = []
        """Where the complete lines start and end."""
        self.start = self.end = 0
        """Where the last line starts, and where its last word ends."""
        self._text = text
        self._room = room
        self._limit = head
        """Cells that the last line may have."""
        self._used = 0
        """Cells that it has."""

    @property
    def has_words(self) -> bool:
        """Whether the last line has a word."""
        return self.end > self.start

    def add_blanks(self, end: int, cells: int) -> None:
        """Add blanks up to an index; a line that follows another begins behind them."""
        if self.has_words or not self.done:
            self._used += cells
        else:
            self.start = end

    def add_word(self, at: int, end: int) -> None:
        """Add the word between two indexes, on a line of its own where it is too long, and cut where that is not enough."""
        cells = _most_width(self._text[at:end])
        if self.has_words and self._used + cells > self._limit:
            self._break(self.end, at)
        while cells > self._limit - self._used:
            size = fitting(self._text[at:end], self._limit - self._used)
            if not size and self._used:  # the blanks that the text begins with leave no room for a character
                self._break(self.start, at)
                continue
            at += max(1, size)
            self._break(at, at)
            cells = _most_width(self._text[at:end])
        self._used += cells
        self.end = end

    def _break(self, end: int, start: int) -> None:
        """End the last line at an index, and begin the next one at another."""
        self.done.append((self.start, end))
        self.start, self._used, self._limit = start, 0, self._room


@cache
def _pieces() -> re.Pattern[str]:
    """Return the pattern of a text's words, blanks and wide letters; compiling it takes 3 ms, so not before the first frame."""
    return re.compile(rf"\s+|[{_WIDE}]|[^\s{_WIDE}]+")


@cache
def _wide_letter() -> re.Pattern[str]:
    return re.compile(rf"[{_WIDE}]")  # 3 ms too


def _most_width(text: str) -> int:
    """Return the most cells that a terminal draws for a text."""
    return len(text) if text.isascii() else sum(map(_most_cells, text))


def _most_cells(character: str) -> int:
    return 1 if _is_spacing(character) else _cells(character)


@lru_cache(4096)
def _is_spacing(character: str) -> bool:
    return unicodedata.category(character) == "Mc"


def _width(text: str) -> int:
    if "\u200d" in text:
        text = _JOINED.sub("", text)
    return sum(map(_cells, text))


_cached_width = lru_cache(4096)(_width)


@lru_cache(4096)
def _cells(character: str) -> int:
    category = unicodedata.category(character)
    if category in _MARKS or re.match(_ZERO, character):
        return 0
    if re.match(_DOUBLE, character):
        return 2
    if category == "Cf":
        return 1 if re.match(_VISIBLE_FORMATS, character) else 0
    if category == "Cn":
        return 2 if ord(character) in _IDEOGRAPHS and ord(character) & 0xFFFE != 0xFFFE else 1
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
