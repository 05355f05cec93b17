"""Ranks names against what a user types: rows of lists, titles of sessions, paths of files."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, pairwise, repeat
from operator import contains, not_
from typing import NamedTuple

_BREAKS = frozenset(" /_-.:@")
LONG, SLACK = 4, 2
"""Characters of a query from which one that is similar to a name matches, and how many others may be between its own."""

SIMILAR = 80
"""Minimum similarity of a mistyped query in percent: of five characters one may be wrong."""

_BLOCK = 5_000
"""Names that are marked together: all in one text would need several times their memory."""

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

_LONG_IN_STARTS = (_RUN - _AT_WORDS) // _STARTS
"""Characters of a query from which pieces that each begin a word may have more points than one piece."""

_BREAK, _SEPARATOR = "\0", "\n"
_TO_BREAKS = str.maketrans(dict.fromkeys(_BREAKS, _BREAK))


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
    for find in (_contained, _alike):
        found = _found(query, names, range(len(names)), find, is_short_first=is_short_first)
        if found:
            return found
    return []


class _Parts(NamedTuple):
    """Names by how they have the words of a query: each in one piece, all where a word begins or not; or not all in one piece.

    Of the last, which may overlap, some have each word in pieces, or all words as one in pieces.
    """

    begun: Sequence[int]
    within: Sequence[int]
    in_pieces: Sequence[int]
    as_one: Sequence[int]


class _Found(NamedTuple):
    """The words of a query and the names that have them, best first; the parts only of a short query without separators."""

    words: tuple[str, ...]
    names: Sequence[int]
    parts: _Parts | None


class NameFilter:
    """Filters many names, such as the titles of all sessions, by a query that is typed character by character.

    It finds what `ranked` finds when names that match in the same way count as equal. Names and queries are without control
    characters. The results for what the query begins with are kept: they narrow the search, and are there when it gets shorter.
    """

    def __init__(self, count: int, names: Callable[[Sequence[int]], Sequence[str]]) -> None:
        """`names` returns some of as many names, by their indices."""
        self._names = names
        everything = range(count)
        blocks = (everything[start : start + _BLOCK] for start in range(0, count, _BLOCK))
        self._marked = [marked for block in blocks for marked in _mark_words(names(block))]
        self._found: dict[str, _Found] = {"": _Found((), everything, _Parts(everything, (), (), ()))}

    def find(self, query: str) -> Sequence[int]:
        """Return the indices of the matching names, best first; equal ones keep their order."""
        self._found = {typed: found for typed, found in self._found.items() if query.startswith(typed)}
        if query not in self._found:
            before, words = self._found[max(self._found, key=len)], tuple(query.casefold().split())
            self._found[query] = before if words == before.words else self._containing(words, before)
        return self._found[query].names or self._alike(query)

    def _containing(self, words: tuple[str, ...], before: "_Found") -> "_Found":
        """Return those that contain the words. Most are found by searches in their texts, the others one by one."""
        joined, parts = "".join(words), before.parts
        if parts is not None and _BREAKS.isdisjoint(joined) and len(joined) < _LONG_IN_STARTS:
            for at, word in enumerate(words):
                if before.words[at : at + 1] != (word,):
                    parts = self._narrowed(parts, word)
            parts = parts._replace(
                as_one=self._with_starts(joined, parts.as_one) if len(words) > 1 else parts.in_pieces
            )
            groups, as_one = self._by_word_starts(words, parts), parts.as_one
            rest = sorted({*parts.in_pieces, *as_one})
        else:
            groups, parts = dict[int, list[int]](), None
            rest = as_one = self._with_letters(joined, sorted(before.names))
        joined_in = frozenset(as_one) if len(words) > 1 else frozenset[int]()
        for at, name in zip(rest, self._names(rest), strict=True):
            if (points := _points(words, name, may_be_joined=at in joined_in)) is not None:
                groups.setdefault(points // _ALIKE_WITHIN, []).append(at)
        return _Found(words, [at for group in sorted(groups, reverse=True) for at in sorted(groups[group])], parts)

    def _narrowed(self, parts: "_Parts", word: str) -> "_Parts":
        """Return the parts by one more word, or by a longer one in the place of the last."""
        begun, within = self._parted(_BREAK + word, parts.begun)
        within, missing = self._parted(word, [*parts.within, *within])
        missing = self._with_end(word, missing)
        having, without = self._parted(word, parts.in_pieces)
        in_pieces = [*having, *self._with_starts(word, [*self._with_end(word, without), *missing])]
        return _Parts(begun, within, in_pieces, [*parts.as_one, *missing])

    def _by_word_starts(self, words: Sequence[str], parts: "_Parts") -> dict[int, list[int]]:
        """Return those that have each word in one piece, by the hundreds of their points."""
        begun, within = parts.begun, parts.within
        if len(words) > 1:
            more, within = self._parted(_BREAK + "".join(words), within)
            begun = [*begun, *more]
        return {(_RUN + _AT_START) // _ALIKE_WITHIN: [*begun], _RUN // _ALIKE_WITHIN: [*within]}

    def _with_starts(self, word: str, among: Sequence[int]) -> Sequence[int]:
        """Return those that may have a word in pieces that each begin a word, of those that do not have it in one piece."""
        if len(word) == 1:
            return ()
        marked, first = self._marked, _BREAK + word[0]
        following = [(pair, _BREAK + pair[1]) for pair in map("".join, pairwise(word))]
        for pair, start in reversed(following[:-1]):  # nearly all have the last letters
            among = self._having(pair, among, start)
        return [at for at in self._having(first, among) if _in_order(first, following, marked[at])]

    def _with_end(self, word: str, among: Sequence[int]) -> Sequence[int]:
        """Return those that may have a word in pieces by its last letters, of those that do not have it in one piece."""
        if len(word) == 1:
            return ()
        start = _BREAK + word[-1]
        return self._having(start, among) if len(word) == 2 else self._having(word[-2:], among, start)

    def _texts(self, among: Sequence[int]) -> Iterable[str]:
        return self._marked if isinstance(among, range) else map(self._marked.__getitem__, among)

    def _having(self, piece: str, among: Sequence[int], other: str = "") -> Sequence[int]:
        """Return those that have a piece of text, or another one."""
        has = map(contains, self._texts(among), repeat(piece))
        if other:
            has = map(bool.__or__, has, map(contains, self._texts(among), repeat(other)))
        return [*compress(among, has)]

    def _parted(self, piece: str, among: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return those that have a piece of text, and the others."""
        has = [*map(contains, self._texts(among), repeat(piece))]
        having = [*compress(among, has)]
        return having, [*compress(among, map(not_, has))] if len(having) < len(among) else ()

    def _with_letters(self, letters: str, among: Sequence[int]) -> Sequence[int]:
        """Return those that have all the letters somewhere."""
        for letter in sorted(set(letters.translate(_TO_BREAKS))):
            among = self._having(letter, among)
        return among

    def _alike(self, query: str) -> Sequence[int]:
        """Return those that have something similar to the query, where no name contains it."""
        words = query.casefold().split()
        everything = range(len(self._marked))
        apart: Sequence[int] = everything
        for word in words:
            apart = self._with_order(word, apart)
        among = sorted({*apart, *self._with_order("".join(words), everything)})
        names = dict(zip(among, self._names(among), strict=True))
        return [at for at, _ in _found(query, names, among, _alike, is_short_first=False)]

    def _with_order(self, word: str, among: Sequence[int]) -> Sequence[int]:
        """Return those that have as many letters of a word in their order as similar ones need."""
        from rapidfuzz import process  # only for a query that no name has
        from rapidfuzz.distance import LCSseq

        least = len(word) * SIMILAR // 100 if len(word) >= LONG else len(word)
        texts, letters = [self._marked[at] for at in among], word.translate(_TO_BREAKS)
        return [
            among[n] for _, _, n in process.extract_iter(letters, texts, scorer=LCSseq.similarity, score_cutoff=least)
        ]


def _mark_words(names: Sequence[str]) -> Sequence[str]:
    """Return the case-folded names with a mark before each word, in place of what is between them."""
    together = _BREAK + f"{_SEPARATOR}{_BREAK}".join(names)
    folded = together.casefold()
    if len(folded) == len(together) and max(map(len, names), default=0) <= _FAR:  # fast, and the usual case
        for letter in _BREAKS:
            folded = folded.replace(letter, _BREAK)  # six times as fast as `translate`
        marked = folded.split(_SEPARATOR)
        if len(marked) == len(names):
            return marked
    return [_BREAK + _folded(name).translate(_TO_BREAKS) for name in names]


def _found(
    query: str,
    names: Mapping[int, str] | Sequence[str],
    among: Iterable[int],
    find: Callable[[str, str], Match | None],
    *,
    is_short_first: bool,
) -> list[tuple[int, Match]]:
    found = [(number, hit) for number in among if (hit := _match(query, names[number], find)) is not None]
    return sorted(found, key=lambda one: -_rank(one[1], names[one[0]], is_short_first=is_short_first))


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


def _rank(hit: Match, name: str, *, is_short_first: bool) -> int:
    return hit.score - len(name[:_FAR]) if is_short_first else hit.score // _ALIKE_WITHIN


def _match(query: str, name: str, find: Callable[[str, str], Match | None]) -> Match | None:
    text = _folded(name)
    words = query.casefold().split()
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


def _in_order(first: str, following: Iterable[tuple[str, str]], text: str) -> bool:
    """Return whether letters may follow each other: from the first at the start of a word, in pairs or at later starts."""
    at = text.find(first) + 1
    for pair, start in following:
        behind, at_start = text.find(pair, at), text.find(start, at)
        at = min(behind, at_start) if behind >= 0 and at_start >= 0 else max(behind, at_start)
        if at < 0:
            return False
        at += 1
    return True


def _points(words: Sequence[str], name: str, *, may_be_joined: bool) -> int | None:
    """Return the score of `_match` with `_contained`, of a name that has the words joined to one or not."""
    text, joined = _folded(name), "".join(words)
    apart = [_contained_points(word, text) for word in words]
    lowest = None if None in apart else min(points for points in apart if points is not None)
    is_less = lowest is not None and joined not in text and _AT_WORDS + _STARTS * len(joined) < lowest
    if len(words) < 2 or not may_be_joined or is_less:
        return lowest
    both = (lowest, _contained_points(joined, text))
    return max((points for points in both if points is not None), default=None)


def _contained_points(wanted: str, text: str) -> int | None:
    """Return the score of `_contained`."""
    if (at := _best_run(wanted, text)) >= 0:
        return _run_points(text, at)
    hit = _in_starts(wanted, text)
    return None if hit is None else hit.score


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
