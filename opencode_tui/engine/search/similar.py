"""Similar words for a query without a result."""

from collections.abc import Sequence

from rapidfuzz import process
from rapidfuzz.distance import DamerauLevenshtein

from opencode_tui.engine.search import words
from opencode_tui.engine.search.query import Query

SHORTEST = 4
"""Characters from which a word is corrected."""


def similar_query(text: str, query: Query, vocabulary: Sequence[str]) -> str | None:
    """Return the query with words that the index does not have replaced by the most similar ones; None without such a word."""
    known = frozenset(vocabulary)
    changed = text
    for term in query.terms:
        word = words.fold(term.text)
        if term.is_path or not word.isalpha() or len(word) < SHORTEST or word in known:
            continue
        most = 1 if len(word) < 8 else 2
        candidates = [one for one in vocabulary if abs(len(one) - len(word)) <= most]
        best = process.extractOne(word, candidates, scorer=DamerauLevenshtein.distance, score_cutoff=most)
        if best is None:
            return None
        changed = changed.replace(term.text, best[0])
    return changed if changed != text else None
