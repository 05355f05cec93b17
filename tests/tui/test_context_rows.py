"""The rows of the context view."""

from datetime import datetime
from typing import Any

from opencode_tui.engine.agent.families import built_in_families
from opencode_tui.schema.api.context import ContextItem
from opencode_tui.tui.pages.context import ContextRow, context_rows, fold_turns, kind_words, name_words, token_words

NOW = int(datetime(2026, 1, 14, 9, 30).timestamp() * 1000)
DAY = 86_400_000


def item(name: str, tokens: int = 0, **fields: Any) -> ContextItem:
    given: dict[str, Any] = {"kind": "answer", "group": "messages", **fields}
    return ContextItem(name=name, tokens=tokens, **given)


GONE = [item(f"old {n}", state="summarized", was=5_000, message_id=f"msg_{n // 2}") for n in range(6)]


def test_a_prompt_for_a_family_of_models_is_named_in_words() -> None:
    names = {name: name_words(ContextRow("", (item(name, kind="family"),)), NOW) for name in built_in_families()}
    assert names["open-weights"] == "for open-weight models" and names["anthropic"] == "for Claude models"
    assert all(name == words or not words.endswith(f"{name} models") for name, words in names.items())


def test_what_one_summary_stands_for_is_one_row_until_it_is_opened() -> None:
    items = [item("the summary", 900, kind="summary", group="summary"), *GONE, item("now", 10)]
    folded = context_rows(items, ())
    assert [kind_words(row, NOW) for row in folded] == ["Summary", "3 messages", "Response"]
    assert token_words(folded[1]) == "was 30.0 k"
    opened = context_rows(items, (folded[1].id,))
    assert [name_words(row, NOW) for row in opened[2:8]] == [f"old {n}" for n in range(6)]
    assert [row.id for row in opened if not row.is_fold] == [str(number) for number in range(8)]


def test_a_single_summarized_item_stands_for_itself() -> None:
    assert [row.is_fold for row in context_rows(GONE[:1], ())] == [False]


def test_the_row_of_older_messages_stays_beside_those_that_are_folded() -> None:
    older = item("19,000 messages before these", kind="older", state="summarized")
    rows = context_rows([item("the summary", 900, kind="summary"), older, *GONE], ())
    assert [(kind_words(row, NOW), row.is_fold) for row in rows] == [
        ("Summary", False),
        ("Older", False),
        ("3 messages", True),
    ]


def test_a_pruned_output_tells_what_it_was_not_what_stands_in_its_place() -> None:
    (row,) = context_rows([item("large.csv", 20, kind="call", tool="read", state="pruned", was=12_000)], ())
    assert (kind_words(row, NOW), token_words(row)) == ("Read", "was 12.0 k")


def turn(number: int, *, size: int = 10, calls: int = 4, **fields: Any) -> list[ContextItem]:
    start = NOW - DAY + number * 60_000
    request = item(f"request {number}", 10, kind="request", time=start)
    return [
        request,
        *(item(f"call {number}", size, kind="call", tool="read", time=start, **fields) for _ in range(calls)),
    ]


def test_old_turns_are_one_row_until_they_are_opened() -> None:
    items = [item("agent", 50, kind="agent"), *(one for n in range(3) for one in turn(n, size=900))]
    items += [one for n in range(3, 7) for one in turn(n)] + [one for n in range(7, 9) for one in turn(n)]
    rows = context_rows(items, ())
    folded = fold_turns(rows, ())
    (fold,) = [row for row in folded if row.is_fold]
    assert kind_words(fold, NOW) == "4 turns"
    assert name_words(fold, NOW) == "Jan 13 09:33 to 09:36, 20 items"
    assert name_words(fold, NOW - DAY) == "09:33 to 09:36, 20 items"
    assert [kind_words(row, NOW) for row in folded if row.item.kind == "request" and not row.is_fold][:1] == [
        "Jan 13 09:30"
    ]
    assert (token_words(fold), fold.is_sent, fold.begins_turn) == ("200", True, False)
    at = folded.index(fold)
    assert [len(folded[:at]), len(folded[at + 1 :])] == [16, 10]
    opened = fold_turns(rows, (fold.id,))
    assert opened == [*folded[: at + 1], *rows[16:36], *folded[at + 1 :]]


def test_a_turn_with_a_pruned_output_and_the_turns_of_a_short_list_stay() -> None:
    rows = context_rows([one for n in range(9) for one in turn(n, state="pruned" if n == 3 else "sent")], ())
    assert [row.turns for row in fold_turns(rows, ()) if row.is_fold] == [3, 3]
    assert fold_turns(rows[:25], ()) == rows[:25]
