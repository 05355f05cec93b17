"""How much room a text takes in a terminal, and how it is cut to fit; all texts are safe already."""

import unicodedata
from collections.abc import Iterable

_ZERO_WIDTH = frozenset({"Mn", "Me", "Cf"})
_JAMO_TAILS = range(0x1160, 0x1200)
"""Hangul vowels and final consonants, which join the letter before them."""


def width(text: str) -> int:
    """Return how many cells a text takes; joined emoji count one by one, as most terminals draw them."""
    return len(text) if text.isascii() else sum(_cells(letter) for letter in text)


def clip(text: str, room: int, mark: str = "…") -> str:
    """Return the text, its end cut off with a mark when it takes more than `room` cells."""
    if width(text) <= room:
        return text
    return _take(text, room - width(mark)) + mark


def clip_front(text: str, room: int, mark: str = "…") -> str:
    """Return the text, its beginning cut off, at a slash if one is near, when it takes more than `room` cells."""
    if width(text) <= room:
        return text
    kept = _take(reversed(text), room - width(mark))[::-1]
    slash = kept.find("/")
    return mark + (kept[slash:] if 0 <= slash < len(kept) // 2 else kept)


def pad(text: str, room: int, *, is_right: bool = False) -> str:
    """Return the text filled with blanks to `room` cells, aligned to the left or the right."""
    blanks = " " * (room - width(text))
    return blanks + text if is_right else text + blanks


def wrap(text: str, room: int) -> list[str]:
    """Return one line of text as lines of at most `room` cells, broken at blanks where there are some."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if width(joined) <= room:
            line = joined
            continue
        if line:
            lines.append(line)
        while width(word) > room:
            head = _take(word, room) or word[0]
            lines.append(head)
            word = word[len(head) :]
        line = word
    return [*lines, line] if line or not lines else lines


def _cells(letter: str) -> int:
    if unicodedata.category(letter) in _ZERO_WIDTH or ord(letter) in _JAMO_TAILS:
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1


def _take(letters: Iterable[str], room: int) -> str:
    taken: list[str] = []
    for letter in letters:
        room -= _cells(letter)
        if room < 0:
            break
        taken.append(letter)
    return "".join(taken)
