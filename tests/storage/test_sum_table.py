"""The table of sums: every name is found with its value, and no other."""

import pytest

from opencode_tui.storage.sum_table import NO_ROWS, SumTable, TableReader, table_with

NAMES = [f"ses_{number * 7919:08x}" for number in range(500)]


def table(values: dict[str, bytes], old: TableReader | None = None) -> TableReader:
    fields = table_with(old or TableReader(NO_ROWS), values)
    return TableReader(SumTable(*[memoryview(bytes(field)) for field in fields]))


@pytest.mark.parametrize("names", [NAMES, NAMES[::-1], NAMES[::3]], ids=["in order", "backwards", "some"])
def test_every_name_is_found_in_any_order(names: list[str]):
    reader = table({name: name.encode() * 2 for name in NAMES})
    assert [reader.find(name) for name in names] == [name.encode() * 2 for name in names]
    assert [reader.find(f"{name}x") for name in names] == [None] * len(names)


def test_changed_values_replace_the_older_ones_and_all_others_stay():
    old = table({"ses_a": b"1", "ses_b": b"", "ses_c": b"333"})
    new = table({"ses_b": b"22", "ses_d": b"4"}, old)
    assert [new.find(f"ses_{one}") for one in "abcde"] == [b"1", b"22", b"333", b"4", None]
    assert len(new) == 4


def test_rows_of_sessions_that_are_gone_are_left_out_unless_that_is_not_known():
    old = table({"ses_a": b"1", "ses_b": b"2", "ses_c": b"3"})
    changed = {"ses_b": b"22", "ses_d": b"4"}
    fields = table_with(old, changed, present=frozenset(("ses_a", "ses_b")))
    new = TableReader(SumTable(*[memoryview(bytes(field)) for field in fields]))
    assert [new.find(f"ses_{one}") for one in "abcd"] == [b"1", b"22", None, None]
    assert len(new) == 2 and len(table(changed, old)) == 4


def test_a_name_that_is_no_text_is_found():
    names = ["caf\udce9", "café", "a\nb", ""]
    reader = table({name: str(at).encode() for at, name in enumerate(names)})
    assert [reader.find(name) for name in names] == [b"0", b"1", b"2", b"3"]


def test_an_empty_table_has_nothing():
    assert TableReader(NO_ROWS).find("ses_a") is None and table({}).find("ses_a") is None
