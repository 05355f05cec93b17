"""The rows of the context view."""

from typing import Any

from opencode_tui.schema.api.context import ContextItem
from opencode_tui.tui.screens.context import context_rows, kind_words, name_words, token_words


def item(name: str, tokens: int = 0, **fields: Any) -> ContextItem:
    given: dict[str, Any] = {"kind": "answer", "group": "messages", **fields}
    return ContextItem(name=name, tokens=tokens, **given)


GONE = [item(f"old {n}", state="summarized", was=5_000, message_id=f"msg_{n // 2}") for n in range(6)]


def test_what_one_summary_stands_for_is_one_row_until_it_is_opened() -> None:
    items = [item("the summary", 900, kind="summary", group="summary"), *GONE, item("now", 10)]
    folded = context_rows(items, ())
    assert [kind_words(row) for row in folded] == ["Summary", "3 messages", "Response"]
    assert token_words(folded[1]) == "was 30.0 k"
    opened = context_rows(items, (folded[1].id,))
    assert [name_words(row) for row in opened[2:8]] == [f"old {n}" for n in range(6)]
    assert [row.id for row in opened if not row.is_fold] == [str(number) for number in range(8)]


def test_a_single_summarized_item_stands_for_itself() -> None:
    assert [row.is_fold for row in context_rows(GONE[:1], ())] == [False]


def test_a_pruned_output_tells_what_it_was_not_what_stands_in_its_place() -> None:
    (row,) = context_rows([item("large.csv", 20, kind="call", tool="read", state="pruned", was=12_000)], ())
    assert (kind_words(row), token_words(row)) == ("Read", "was 12.0 k")
