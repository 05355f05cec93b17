"""Snippets: the place of a text where the words of a query are, in one line, with the positions of the words."""

import re
from collections.abc import Sequence

import msgspec

from opencode_tui.engine.search import words
from opencode_tui.engine.search.query import Term

WIDTH = 160
"""Characters of a snippet at most, about."""

BEFORE = 40
"""Characters before the first match."""

SHORTEST_INSIDE = 3
"""Characters from which a word is also marked inside of others, such as in camelCase."""

_LOOKED = 60
"""Matches of a text that are compared for the best place."""

_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
CUT = "…"


class Snippet(msgspec.Struct, frozen=True):
    """One line of a text and the matches in it as offsets."""

    text: str
    marks: list[tuple[int, int]]


class Marker:
    """Finds the words of a query in texts."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self._patterns = [re.compile(_pattern(term)) for term in terms]
        self._loose = [re.compile(_pattern(term, is_loose=len(term.text) >= SHORTEST_INSIDE)) for term in terms]
        self._needles = [max(_runs(term), key=len, default="") for term in terms]

    def marks(self, text: str) -> list[tuple[int, int]]:
        """Return the matches, in order and apart from each other."""
        folded = words.fold(text)
        spans: list[tuple[int, int]] = []
        for strict, loose in zip(self._patterns, self._loose, strict=True):
            found = [one.span() for one in strict.finditer(folded)] or [one.span() for one in loose.finditer(folded)]
            spans += found[:_LOOKED]
        spans.sort()
        apart: list[tuple[int, int]] = []
        for start, end in spans:
            if apart and start < apart[-1][1]:
                apart[-1] = (apart[-1][0], max(end, apart[-1][1]))
            elif end > start:
                apart.append((start, end))
        return apart

    def has_all(self, text: str) -> bool:
        """Return whether a text has every word."""
        folded = words.fold(text)
        return all(needle in folded for needle in self._needles) and all(
            strict.search(folded) or loose.search(folded)
            for strict, loose in zip(self._patterns, self._loose, strict=True)
        )

    def snippet(self, texts: Sequence[str]) -> Snippet:
        """Return the snippet of the first text that has a match, else the beginning of the first text."""
        for text in texts:
            start = self._best(text)
            if start is not None:
                return self._cut(text, start)
        return self._cut(next((text for text in texts if text.strip()), ""), 0)

    def _best(self, text: str) -> int | None:
        """Return where the most different words are close together."""
        folded = words.fold(text)
        places: list[tuple[int, int]] = []
        for number, (strict, loose) in enumerate(zip(self._patterns, self._loose, strict=True)):
            found = [one.start() for _, one in zip(range(_LOOKED), strict.finditer(folded), strict=False)]
            if not found:
                found = [one.start() for _, one in zip(range(_LOOKED), loose.finditer(folded), strict=False)]
            places += [(at, number) for at in found]
        if not places:
            return None
        places.sort()

        def near(start: int) -> int:
            return len({number for at, number in places if start <= at < start + WIDTH - BEFORE})

        return max((at for at, _ in places), key=lambda at: (near(at), -at))

    def _cut(self, text: str, start: int) -> Snippet:
        begin = max(0, start - BEFORE)
        if begin:
            space = _SPACE.search(text, begin, start)
            begin = space.end() if space else begin
        end = min(len(text), start + 4 * WIDTH)
        line = _SPACE.sub(" ", text[begin:end]).strip()
        is_cut = len(line) > WIDTH or end < len(text)
        if len(line) > WIDTH:
            line = line[:WIDTH].rsplit(" ", 1)[0] if " " in line[WIDTH // 2 : WIDTH] else line[:WIDTH]
        line = f"{CUT if begin else ''}{line}{CUT if is_cut else ''}"
        return Snippet(line, self.marks(line))


def _pattern(term: Term, *, is_loose: bool = False) -> str:
    """Return an expression for folded text; a loose one also finds words inside of others, such as in camelCase."""
    runs = _runs(term)
    inside = r"[\W_]+".join(map(re.escape, runs))
    if not runs:
        return "(?!)"
    if is_loose or words.queried(term.text).strip() != words.clean(term.text).strip():
        return inside
    return rf"(?<![^\W_]){inside}" + ("" if term.is_prefix else r"(?![^\W_])")


def _runs(term: Term) -> list[str]:
    """Return the words of a term as they are in folded text."""
    return re.findall(r"[^\W_]+", words.fold(words.clean(term.text)))
