"""Ranks names against what a user types: rows of lists, titles of sessions, paths of files."""

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

_BREAKS = frozenset(" /_-.:@")
LONG, SLACK = 4, 2
"""Characters of a query from which one that is similar to a name matches, and how many others may be between its own."""

SIMILAR = 80
"""Minimum similarity of a mistyped query in percent: of five characters one may be wrong."""

SLICE = 1_000
"""Paths that are compared at a time: a caller can do other work in between."""

_FAR = 400
"""Maximum matched characters of a name."""

_ALIKE_WITHIN = 100
"""Points of a score within which names match in the same way: by a piece at the start of a word, or within one."""


_RUN, _AT_START, _FIRST = 1000, 200, 50
"""Points of a query in one piece, and what the start of a word and that of the name add."""

_AT_WORDS, _STARTS = 300, 40
"""Points of a query in pieces that each begin a word, and those of each such word."""


class Match(NamedTuple):
    """The score (higher is better) and the indices of the matched characters."""

    score: int
    places: tuple[int, ...]


def ranked(query: str, names: Sequence[str], *, is_short_first: bool = True) -> list[tuple[int, Match]]:
    """Return the indices of the matching names, best first; equal ones keep their order. Case-insensitive.

    Of names that match in the same way the short ones come first, and those that begin with the query; or they count as equal.

    A name contains all of the query, or each of its words: the characters in one piece, or in pieces that each begin a word. Only
    where no name does, those are found that have something similar after the start of a word, of a query from `LONG` characters on.
    """
    if not query.strip():
        return [(number, Match(0, ())) for number in range(len(names))]
    words, texts = query.casefold().split(), [*map(_folded, names)]
    patterns = [*map(_letters, words)]
    among = [
        at for at, text in enumerate(texts) if all(one.match(text) for one in patterns)
    ]  # most have not even these
    found = _found(words, [texts[at] for at in among], _contained, is_short_first=is_short_first)
    if found:
        return [(among[at], hit) for at, hit in found]
    return _found(words, texts, _alike, is_short_first=is_short_first)


def _found(
    words: Sequence[str], texts: Sequence[str], find: Callable[[str, str], Match | None], *, is_short_first: bool
) -> list[tuple[int, Match]]:
    found = [(number, hit) for number, text in enumerate(texts) if (hit := _match(words, text, find)) is not None]
    return sorted(found, key=lambda one: -_rank(one[1], texts[one[0]], is_short_first=is_short_first))


def _letters(word: str) -> re.Pattern[str]:
    """Return an expression for the texts that have the letters of a word in their order."""
    return re.compile("".join(f"[^{(one := re.escape(letter))}]*+{one}" for letter in word))


def ranked_paths(query: str, folded: Sequence[str], limit: int) -> Iterator[Sequence[int]]:
    """Yield the indices of the matching paths so far, best first and at most `limit`, after each `SLICE` paths.

    `folded` are the case-folded paths, in which folders end with a slash. What contains the query comes first: where the last
    name begins with it, then has it, then the whole path. If these are few, paths follow with its characters in their order; if
    there are none at all, those that are similar to it. Hidden files come after others, deep and long paths after others.
    """
    wanted = query.strip().casefold()
    best: list[tuple[tuple[int, bool, int, int], int]] = []
    for find in (_with_piece, _with_order, _with_similar):
        if len(best) >= limit or (find is _with_similar and best):
            return
        best = []
        for start in range(0, len(folded), SLICE):
            part = folded[start : start + SLICE]
            scored = [(_path_rank(wanted, part[at]), start + at) for at in find(wanted, part)]
            best = heapq.nsmallest(limit, [*best, *scored])
            yield [at for _, at in best]


def _with_piece(wanted: str, paths: Sequence[str]) -> Iterable[int]:
    return (at for at, path in enumerate(paths) if wanted in path)


def _with_order(wanted: str, paths: Sequence[str]) -> Iterable[int]:
    from rapidfuzz import process  # only for a query that few paths have
    from rapidfuzz.distance import LCSseq

    letters = "".join(wanted.split())
    found = process.extract_iter(letters, paths, scorer=LCSseq.similarity, score_cutoff=len(letters))
    return (at for _, _, at in found)


def _with_similar(wanted: str, paths: Sequence[str]) -> Iterable[int]:
    from rapidfuzz import fuzz, process  # only for a query that no path has

    letters = "".join(wanted.split())
    found = process.extract_iter(letters, paths, scorer=fuzz.partial_ratio, score_cutoff=SIMILAR)
    return (at for path, _, at in found if len(path) >= len(letters))


def _path_rank(wanted: str, path: str) -> tuple[int, bool, int, int]:
    base = path.rstrip("/").rpartition("/")[2]
    if base.startswith(wanted):
        kind = 0
    elif wanted in base:
        kind = 1
    elif wanted in path:
        kind = 2
    else:
        kind = 3
    return kind, is_hidden(path), path.count("/"), len(path)


def is_hidden(path: str) -> bool:
    """Return whether a file or one of its folders is hidden."""
    return path.startswith(".") or "/." in path


def _rank(hit: Match, text: str, *, is_short_first: bool) -> int:
    return hit.score - len(text) if is_short_first else hit.score // _ALIKE_WITHIN


def _match(words: Sequence[str], text: str, find: Callable[[str, str], Match | None]) -> Match | None:
    if len(words) < 2:
        return find("".join(words), text)
    hits: list[Match | None] = []
    for word in words:
        hits.append(find(word, text))
        if hits[-1] is None:
            break
    joined = "".join(words)
    if None in hits:
        return find(joined, text)
    found = [hit for hit in hits if hit is not None]
    places = sorted({place for hit in found for place in hit.places})
    apart = Match(min(hit.score for hit in found), tuple(places))
    if joined not in text and find is _contained and _AT_WORDS + _STARTS * len(joined) < apart.score:
        return apart
    whole = find(joined, text)
    return apart if whole is None else max(whole, apart)


def _folded(name: str) -> str:
    text = name[:_FAR].casefold()
    if len(text) != len(name[:_FAR]):  # a character that folds to two: places would be wrong
        text = name[:_FAR].lower()
    return text


def _run_points(text: str, at: int) -> int:
    return _RUN + _AT_START * _begins_word(text, at) + _FIRST * (at == 0)


def _contained(wanted: str, text: str) -> Match | None:
    at = _best_run(wanted, text)
    if at >= 0:
        return Match(_run_points(text, at), tuple(range(at, at + len(wanted))))
    return _in_starts(wanted, text)


def _in_starts(wanted: str, text: str) -> Match | None:
    """Return the query in pieces that each begin a word, None if it is not there."""
    places = _at_words(wanted, text)
    if places is None:
        return None
    starts = sum(_begins_word(text, place) for place in places)
    return Match(_AT_WORDS + _STARTS * starts - 4 * (places[-1] - places[0]), places)


def _alike(wanted: str, text: str) -> Match | None:
    return _contained(wanted, text) or (_similar(wanted, text) if len(wanted) >= LONG else None)


def _begins_word(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in _BREAKS


def _best_run(wanted: str, text: str) -> int:
    """Return the position of the contiguous query, preferably at the start of a word; -1 if there is none."""
    at = first = text.find(wanted)
    while at >= 0:
        if _begins_word(text, at):
            return at
        at = text.find(wanted, at + 1)
    return first


def _at_words(wanted: str, text: str) -> tuple[int, ...] | None:
    """Return places where each character starts a word or follows the one before it, None if there are none."""
    ends: dict[int, tuple[int, ...]] = {-2: ()}
    for letter in wanted:
        following: dict[int, tuple[int, ...]] = {}
        at = text.find(letter)
        while at >= 0:
            before = ends.get(at - 1)
            if before is None and _begins_word(text, at):
                before = next((places for end, places in ends.items() if end < at), None)
            if before is not None:
                following[at] = (*before, at)
            at = text.find(letter, at + 1)
        ends = following
        if not ends:
            return None
    return next(iter(ends.values()), None)


def _similar(wanted: str, text: str) -> Match | None:
    """Return the most similar piece that starts with a word, None if none is similar enough."""
    from rapidfuzz import fuzz, process  # only for a query that no name has
    from rapidfuzz.distance import LCSseq

    if not LCSseq.similarity(wanted, text, score_cutoff=len(wanted) * SIMILAR // 100):
        return None
    starts = [at for at in range(len(text)) if _begins_word(text, at)]
    lengths = range(len(wanted), len(wanted) + SLACK + 1)
    pieces = [text[at : at + length] for at in starts for length in lengths]
    found = process.extractOne(wanted, pieces, scorer=fuzz.ratio, score_cutoff=SIMILAR)
    if found is None:
        return None
    piece, score, number = found
    start = starts[number // len(lengths)]
    blocks = LCSseq.opcodes(wanted, piece).as_matching_blocks()
    places = tuple(start + block.b + step for block in blocks for step in range(block.size))
    return Match(round(10 * score), places)
