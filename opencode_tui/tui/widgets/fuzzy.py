"""Fuzzy matching of names against a typed query."""

from collections.abc import Sequence
from dataclasses import dataclass

_BREAKS = frozenset(" /_-.:@")
_FAR = 400
"""Maximum matched characters of a name."""


@dataclass(frozen=True, slots=True)
class Match:
    """The score (higher is better) and the indices of the matched characters."""

    score: int
    places: tuple[int, ...]


def match(query: str, name: str) -> Match | None:
    """Return how a name contains the characters of a query in order, None if it does not. Case-insensitive."""
    wanted = "".join(query.split()).casefold()
    text = name[:_FAR].casefold()
    if not wanted:
        return Match(0, ())
    if len(text) != len(name[:_FAR]):  # a character that folds to two: places would be wrong
        text = name[:_FAR].lower()
    at = _best_run(wanted, text)
    if at >= 0:
        starts = at == 0 or text[at - 1] in _BREAKS
        return Match(1000 + 200 * starts + 50 * (at == 0) - len(text), tuple(range(at, at + len(wanted))))
    places = _scattered(wanted, text)
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
