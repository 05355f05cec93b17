"""However a model misquotes, the file has what was meant afterwards, or the edit is refused: it is never wrong."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

import opencode_tui
from tests.support.source import edit_slips
from tests.support.source.edit_cases import Case, Hunk, outcome_of, own_hunks, sample_hunks
from tests.support.source.edit_slips import SLIPS

REFUSED = {
    *(
        "line forgotten",
        "line doubled",
        "lines exchanged",
        "lines merged",
        "line split",
        "other case",
        "other case, both",
    ),
    *("dots for lines", "dots for lines, both", "placeholder, both", "placeholder in the new text"),
    *("last line cut, with its end", "quote cut at both ends, old only", "no indentation", "changed line misquoted"),
}
"""Slips after which nobody knows what was meant, or seldom."""
HARD = {"tabs as blanks, old only", "typographic file", "marks of a diff", "full-width forms", "half the indentation"}
"""Slips that are refused often: what the model added has the slip, or not."""


def recorded_hunks() -> Iterator[Hunk]:
    """Yield edits that models made, with the words exchanged for others."""
    file = Path(edit_slips.__file__).with_name("recorded_edits.jsonl")
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()):
        yield Hunk(f"recorded/{number}", **json.loads(line))


def cases(hunks: Iterator[Hunk], seed: int) -> Iterator[Case]:
    for hunk in hunks:
        for slip in SLIPS:
            if (case := slip.case(hunk, random.Random(seed))) is not None:
                yield case


def counts(made: Iterator[Case]) -> Counter[tuple[str, str]]:
    outcomes = [(case, outcome_of(case)) for case in made]
    assert [(case.kind, case.name) for case, outcome in outcomes if outcome == "wrong"] == []
    return Counter((case.kind, outcome) for case, outcome in outcomes)


@pytest.mark.parametrize("number", range(2))
def test_no_slip_in_an_edit_is_wrong(number: int) -> None:
    assert counts(cases(islice(recorded_hunks(), number, number + 1), 1)).total() > len(SLIPS) // 2


@pytest.mark.slow
def test_slips_in_edits_of_models_and_of_other_languages_are_corrected_or_refused() -> None:
    found = counts(cases((hunk for hunks in (recorded_hunks(), sample_hunks()) for hunk in hunks), 1))
    assert {kind for kind, _ in found} >= {slip.name for slip in SLIPS} - {"backslashes halved"}
    for kind in {kind for kind, _ in found} - REFUSED - HARD:
        assert found[kind, "refused"] * 3 <= found[kind, "right"] + 3, kind


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_slips_in_edits_of_our_own_modules_are_corrected_or_refused(seed: int) -> None:
    hunks = [*own_hunks(Path(opencode_tui.__file__).parent, seed)]
    found = counts(cases(iter(random.Random(seed).sample(hunks, 25)), seed))
    right = sum(count for (kind, outcome), count in found.items() if outcome == "right" and kind not in REFUSED)
    refused = sum(count for (kind, outcome), count in found.items() if outcome == "refused" and kind not in REFUSED)
    assert refused * 10 < right
