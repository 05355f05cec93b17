"""Every error of the corpus: what the user reads names the cause and a remedy, and its kind decides what happens."""

from collections import Counter
from typing import Any

from opencode_tui.schema.error import AuthError, ContextOverflowError, split_remedy
from opencode_tui.schema.session.stored_error import StoredAuthError, StoredOverflowError, to_stored
from opencode_tui.tui.conversation.drawing import words_of
from tests.support.provider.error_corpus import RETRIED, error_lines, error_of
from tests.support.rows import each

LINES = error_lines()


@each("line", LINES, ids=[f"{line['provider']}-{line['class']}-{n}" for n, line in enumerate(LINES)])
def test_the_sentence_names_the_cause_and_the_remedy(line: dict[str, Any]) -> None:
    error = error_of(line)
    reason, remedy = split_remedy(str(error))
    assert error.failure.kind == line["kind"], reason
    missing = [word for word in line["cause"] if word.lower() not in reason.lower()]
    missing += [word for word in line["remedy"] if word.lower() not in remedy.lower()]
    assert not missing, f"{error}"
    assert error.failure.retryable == line.get("retry", line["kind"] in RETRIED)
    if "wait_ms" in line:
        assert error.failure.retry_after_ms == line["wait_ms"]
    assert isinstance(error, AuthError) == (line["kind"] == "auth")
    assert isinstance(error, ContextOverflowError) == (line["kind"] == "overflow")
    assert "\n" not in str(error) and line["provider"] in reason and "Traceback" not in str(error)


def test_there_are_thirty_of_each_big_provider_and_some_of_others() -> None:
    counts = Counter(line["provider"] for line in LINES)
    assert [count >= 30 for _, count in counts.most_common()].count(True) == 7 < len(counts)
    assert "" not in {line["source"] for line in LINES}


def test_no_body_is_listed_twice() -> None:
    assert len({(line["provider"], line["status"], line["body"]) for line in LINES}) == len(LINES)


def test_the_screen_shows_the_parts_of_an_error_as_it_reads_them_from_an_older_record() -> None:
    """In some older records it does not find the provider's reason."""
    errors = [to_stored(error_of(line)) for line in LINES if line["kind"] in ("auth", "overflow")]
    assert errors
    for error in errors:
        assert isinstance(error, StoredAuthError | StoredOverflowError) and error.data.words is not None
        older = error.changed(data=error.data.changed(words=None))
        shown, read = words_of(error, "p"), words_of(older, "p")
        assert shown == read._replace(detail=shown.detail) and read.detail in ("", shown.detail), error.data.message
