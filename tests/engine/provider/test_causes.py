"""The table of causes: what it says of providers is true, and its own form is the one that its reader expects."""

import re
from pathlib import Path

from opencode_tui.engine.provider.error import cause
from opencode_tui.engine.provider.error.body import Reported
from opencode_tui.engine.provider.error.cause import ROWS, UNKNOWN, find_row
from opencode_tui.schema.table import read_sections, split_columns
from tests.support.provider.error_corpus import error_lines, error_of

SECTIONS = read_sections(Path(cause.__file__).with_name("causes.txt"))


def test_each_provider_of_a_row_has_an_error_with_its_words() -> None:
    bodies: dict[str, list[str]] = {}
    for line in error_lines():
        reason = str(error_of(line)).partition(": ")[2].partition(" (HTTP ")[0]
        said = f"{reason}\n{line['body']}\n{line.get('headers', {})}".lower()
        bodies.setdefault(line["provider"], []).append(said)
    shared = {name: part for name, part in (split_columns(row, 2) for row in SECTIONS[0].rows)}
    wrong: list[str] = []
    for row in (row for section in SECTIONS[1:] for row in section.rows):
        _field, providers, pattern = split_columns(row, 3)
        for name, part in shared.items():
            pattern = pattern.replace(f"{{{name}}}", part)
        wrong += [
            f"{provider}: {pattern}"
            for provider in providers.split()
            if not any(re.search(pattern, body, re.MULTILINE) for body in bodies.get(provider, ()))
        ]
    assert not wrong


def test_every_word_of_a_section_is_known_and_every_pattern_compiles() -> None:
    words = {word.partition("=")[0] for section in SECTIONS for word in section.words.split()}
    assert words == {"kind", "retry", "status", "never"}
    assert len(ROWS) == len(SECTIONS) - 1 > 30
    for row in ROWS:
        assert row.statuses or row.code or row.text
        re.compile(row.code or "")
        re.compile(row.text or "")


def test_the_first_row_that_fits_decides() -> None:
    both = Reported("acme", status=402, message="image exceeds 5 MB; context_length_exceeded", code="billing")
    assert find_row(both, fallback=UNKNOWN).kind == "quota"
    assert find_row(Reported("acme", message="image exceeds 5 MB"), fallback=UNKNOWN).kind == "media"
    assert find_row(Reported("acme", message="no such words"), fallback=UNKNOWN) is UNKNOWN


def test_words_of_a_kind_do_not_count_with_a_status_that_is_never_its() -> None:
    def kind_with(status: int) -> str:
        return find_row(Reported("anthropic", status=status, code="overloaded_error"), fallback=UNKNOWN).kind

    assert kind_with(503) == kind_with(529) == "overloaded"
    assert "overloaded" not in {kind_with(status) for status in (400, 401, 403, 404, 422)}
