"""Estimated against true tokens after ten reported steps, on code, prose, Chinese and JSON, for each tokenizer; and what it costs.

With `TEKKEN`, the file of Mistral's tokenizer (tests/support/provider/token_counter.py), there are four of them.

`request` is the whole next request of steps 11 to 15, `new text` a text of the kind that was never seen; in brackets what
four characters a token would give.
"""

import os
import random
import statistics
import sys
import tempfile
from itertools import chain
from pathlib import Path

from opencode_tui.engine.session.tokens.characters import tokens_by_length
from opencode_tui.engine.session.tokens.estimate import TokenEstimator
from tests.benchmarks.comparison import Figure, median_ms, report
from tests.support.provider.token_counter import BUNDLED, TokenCounter, Vocabulary
from tests.support.sessions.corpus import KINDS, Kind, passage
from tests.support.sessions.growing_session import GrowingSession
from tests.support.sessions.records import MODEL

STEPS, MEASURED, SESSIONS, TEXTS = 10, 5, 6, 8
GOAL = 5.0


def errors(kind: Kind, vocabulary: Vocabulary, seed: int, folder: Path) -> tuple[list[float], list[float], list[float]]:
    """Return the errors in percent of requests, of new texts, and of new texts at four characters a token."""
    counter, chance = TokenCounter(vocabulary), random.Random(seed)
    estimator, session = TokenEstimator(folder=folder), GrowingSession(kind, counter, chance)
    requests: list[float] = []
    for step in range(STEPS + MEASURED):
        request = session.step()
        true = session.count(request)
        if step >= STEPS:
            requests.append(100 * abs(estimator.estimate(request) - true.input) / true.input)
        estimator.learn(request, true)
    texts = [passage(kind, chance, chance.randrange(1_000, 9_000)) for _ in range(TEXTS)]
    counts = [counter.text(text) for text in texts]
    return (
        requests,
        [100 * abs(estimator.estimate_text(one, MODEL) - true) / true for one, true in zip(texts, counts, strict=True)],
        [100 * abs(tokens_by_length(one) - true) / true for one, true in zip(texts, counts, strict=True)],
    )


def main() -> int:
    """Measure and report."""
    figures: list[Figure] = []
    vocabularies: list[Vocabulary] = [*BUNDLED, "tekken"] if os.environ.get("TEKKEN") else [*BUNDLED]
    with tempfile.TemporaryDirectory() as folder:
        for vocabulary in vocabularies:
            for kind in KINDS:
                found = [
                    errors(kind, vocabulary, seed, Path(folder, f"{vocabulary}-{kind}-{seed}"))
                    for seed in range(SESSIONS)
                ]
                asked, seen, coarse = (statistics.median(chain.from_iterable(one)) for one in zip(*found, strict=True))
                figures.append(Figure(f"{vocabulary}, {kind}: request", asked, GOAL, "%"))
                figures.append(
                    Figure(f"{vocabulary}, {kind}: new text (4 characters: {coarse:.0f} %)", seen, GOAL, "%")
                )
        figures += costs(Path(folder, "costs"))
    return report(figures)


def costs(folder: Path) -> list[Figure]:
    """Return what a large request costs: counted for the first time, counted again, learned from."""
    session = GrowingSession("code", TokenCounter(), random.Random(1))
    request = session.step()
    while sum(len(str(message)) for message in session.messages) < 1_000_000:
        request = session.step()
    true, known = session.count(request), TokenEstimator(folder=folder)
    known.learn(request, true)
    fresh, again, learning = median_ms(
        lambda: TokenEstimator(folder=folder).estimate(request),
        lambda: known.estimate(request),
        lambda: known.learn(request, true),
    )
    return [
        Figure("a request of 1,000,000 characters, never seen", fresh, 50),
        Figure("the same again", again, 10),
        Figure("learning from it, with its file", learning, 25),
    ]


if __name__ == "__main__":
    sys.exit(main())
