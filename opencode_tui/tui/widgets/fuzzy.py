"""Fuzzy matching of names against a typed query."""

from collections.abc import Sequence
from dataclasses import dataclass

_BREAKS = frozenset(" /_-.:@")
LONG, SLACK = 4, 2
"""Characters of a query from which some others may be between its own, and how many."""

_FAR = 400
"""Maximum matched characters of a name."""


@dataclass(frozen=True, slots=True)
class Match:
    """The score (higher is better) and the indices of the matched characters."""

    score: int
    places: tuple[int, ...]


def match(query: str, name: str) -> Match | None:
    """Return how a name contains a query, None if it does not. Case-insensitive.

    It contains all of the query, or each of its words. The characters are in one piece, or in pieces that each begin a word.
    From `LONG` characters on they may also be close together, as with a character left out.
    """
    words = query.split()
    whole = _match_word("".join(words), name)
    if whole is not None or len(words) < 2:
        return whole
    hits = [hit for word in words if (hit := _match_word(word, name)) is not None]
    if len(hits) < len(words):
        return None
    return Match(min(hit.score for hit in hits), tuple(sorted({place for hit in hits for place in hit.places})))


def _match_word(query: str, name: str) -> Match | None:
    wanted = query.casefold()
    text = name[:_FAR].casefold()
    if not wanted:
        return Match(0, ())
    if len(text) != len(name[:_FAR]):  # a character that folds to two: places would be wrong
        text = name[:_FAR].lower()
    at = _best_run(wanted, text)
    if at >= 0:
        starts = at == 0 or text[at - 1] in _BREAKS
        return Match(1000 + 200 * starts + 50 * (at == 0) - len(text), tuple(range(at, at + len(wanted))))
    places = _at_words(wanted, text)
    if places is None and len(wanted) >= LONG:
        places = _scattered(wanted, text)
        if places is not None and places[-1] - places[0] >= len(wanted) + SLACK:
            places = None
    if places is None:
        return None
    starts = sum(place == 0 or text[place - 1] in _BREAKS for place in places)
    spread = places[-1] - places[0]
    return Match(300 + 40 * starts - 4 * spread - len(text), places)


def ranked(query: str, names: Sequence[str]) -> list[tuple[int, Match]]:
    """Return the indexes of the matching names, best first; equal ones keep their order."""
    found = [(number, hit) for number, name in enumerate(names) if (hit := match(query, name)) is not None]
    return sorted(found, key=lambda one: -one[1].score) if query.strip() else found


def _best_run(wanted: str, text: str) -> int:
    """Return the position of the contiguous query, preferably at the start of a word; -1 if there is none."""
    at = first = text.find(wanted)
    while at >= 0:
        if at == 0 or text[at - 1] in _BREAKS:
            return at
        at = text.find(wanted, at + 1)
    return first


def _at_words(wanted: str, text: str) -> tuple[int, ...] | None:
    """Return places where each character starts a word or follows the one before it, None if there are none."""
    ends: dict[int, tuple[int, ...]] = {-2: ()}
    for letter in wanted:
        following: dict[int, tuple[int, ...]] = {}
        for at, found in enumerate(text):
            if found != letter:
                continue
            before = ends.get(at - 1)
            if before is None and (at == 0 or text[at - 1] in _BREAKS):
                before = next((places for end, places in ends.items() if end < at), None)
            if before is not None:
                following[at] = (*before, at)
        ends = following
    return next(iter(ends.values()), None)


def _scattered(wanted: str, text: str) -> tuple[int, ...] | None:
    places: list[int] = []
    at = 0
    for letter in wanted:
        at = text.find(letter, at)
        if at < 0:
            return None
        places.append(at)
        at += 1
    return tuple(places)
