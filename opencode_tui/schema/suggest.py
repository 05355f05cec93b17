"""Names that a mistyped one may stand for, and the question about them."""

from collections import Counter
from collections.abc import Iterable, Sequence

SIMILAR = 0.6
"""From which similarity on two names are alike, of 0 to 1."""


def nearest(word: str, known: Iterable[str], count: int = 1, *, similarity: float = SIMILAR) -> list[str]:
    """Return at most `count` of the known names that are like a word, best first; case does not count."""
    letters = Counter(word.casefold())
    folded = {
        name: name.casefold()
        for name in sorted(set(known))
        if _may_be_similar(letters, Counter(name.casefold()), similarity)
    }
    if not folded:
        return []
    from rapidfuzz import (
        fuzz,
        process,
    )  # only for a mistake: variables and providers of others are asked for at each start

    found = process.extract(word.casefold(), folded, scorer=fuzz.ratio, score_cutoff=similarity * 100, limit=count)
    return [name for _, _, name in found]


def _may_be_similar(word: Counter[str], name: Counter[str], similarity: float) -> bool:
    """Return False if the letters alone, in any order, show that two names are less similar than that."""
    total = word.total() + name.total()
    return total > 0 and 2 * (word & name).total() >= similarity * total


def did_you_mean(names: Sequence[str]) -> str:
    """Return the question whether one of these names was meant; empty without any."""
    return f"did you mean {' or '.join(names)}?" if names else ""


def suggest(word: str, known: Iterable[str]) -> str:
    """Return the question with the nearest name, to follow a sentence; empty without one."""
    near = nearest(word, known)
    return f", {did_you_mean([repr(near[0])])}" if near else ""
