"""What a query asks for, and how the index is asked for it."""

from datetime import UTC, datetime

from opencode_tui.engine.search import words
from opencode_tui.engine.search.query import parse_query

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_filter_with_a_minus_leaves_out_what_has_it() -> None:
    tag = f'"{words.tag("r", "user")}"'
    assert tag in parse_query("apple role:user", now=NOW).expression(None)
    assert f" NOT {tag}" not in parse_query("apple role:user", now=NOW).expression(None)
    assert parse_query("apple -role:user", now=NOW).expression(None).endswith(f" NOT {tag}")


def test_a_word_with_a_minus_is_left_out() -> None:
    query = parse_query("apple -pear", now=NOW)
    assert query.expression(None) == f"({query.terms[0].expression()}) NOT {query.without[0].expression()}"
