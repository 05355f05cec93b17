"""A table of sessions gives back what was put in, whatever the texts are, also from its stored form."""

import random
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.session_table import ARCHIVED, CHILD, FORK, SessionTable, Texts, newest_first

ODD_TEXTS = ["", "\n", "two\nlines", "\0", "日本", "\udc80 half", "é", "x" * 5_000]


def one(number: int, **fields: object) -> ListedSession:
    plain = ListedSession(f"ses_{999 - number:03d}", f"title {number}", "/place", number, number)
    return replace(plain, **fields)


numbers = st.integers(-(2**40), 2**53)
texts = st.one_of(st.text(max_size=8), st.sampled_from(ODD_TEXTS))
sessions = st.builds(
    ListedSession,
    id=texts,
    title=texts,
    directory=texts,
    created=numbers,
    updated=numbers,
    is_archived=st.booleans(),
    parent_id=texts,
    fork_of=texts,
    fork_before=texts,
    is_pinned=st.booleans(),
    is_shared=st.booleans(),
    is_undone=st.booleans(),
    undone_requests=st.integers(0, 2**53),
    additions=st.integers(0, 2**53),
    deletions=st.integers(0, 2**53),
    has_changes=st.booleans(),
)


@given(st.lists(sessions, max_size=6))
def test_a_table_has_what_was_put_in_and_so_has_its_stored_form(found: list[ListedSession]) -> None:
    table = SessionTable.of(found)
    assert [*table] == found == [*SessionTable.load(iter(table.dump()))]
    for row, info in enumerate(found):
        assert (table.origin_at(row), table.parent_at(row)) == (info.origin, info.parent_id)
        assert table.directory_at(row) == info.directory
        assert bool(table.flags[row] & ARCHIVED) == info.is_archived
        assert bool(table.flags[row] & (CHILD | FORK)) == bool(info.origin)


@given(st.lists(sessions, max_size=6), st.lists(sessions, max_size=6))
def test_an_id_leads_to_its_last_row(before: list[ListedSession], after: list[ListedSession]) -> None:
    table = SessionTable.load(iter(SessionTable.of(before).dump()))
    for info in after:
        table.append(info)
    rows = {info.id: row for row, info in enumerate([*before, *after])}
    assert {name: table.row_of(name) for name in rows} == rows
    assert table.row_of("missing") == -1


def test_of_many_added_rows_each_is_found() -> None:
    table, names = SessionTable(), [f"ses_{number * 7_919 % 10_007}" for number in range(3_000)]
    for number, name in enumerate(names):
        table.append(ListedSession(name, "", "", number, number))
        if number % 500 == 0:
            assert table.row_of(name) == number
    assert [table.row_of(name) for name in names] == [*range(3_000)]
    assert [table.ids[row] for row in table.by_id()] == sorted(names)


def test_a_session_that_differs_only_by_its_times_keeps_its_row() -> None:
    table = SessionTable.of([one(1), one(2)])
    assert not table.put(one(1, updated=50))
    assert table[0] == one(1, updated=50) and len(table) == 2
    assert table.put(one(1, title="another"))
    assert table[table.row_of(one(1).id)].title == "another" and len(table) == 3


@given(
    st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30), unique=True)
)
def test_a_changed_table_is_that_of_all_sessions_then(before: list[int], lost: list[int], added: list[int]) -> None:
    def newest(found: Sequence[ListedSession]) -> list[ListedSession]:
        return sorted(found, key=lambda info: (-info.created, info.id))

    old = {number: one(number, created=number // 3) for number in before}
    new = {number: one(number, created=number // 2, title="new") for number in added}
    table = SessionTable.load(iter(newest_first(old.values()).dump()))
    table.change((one(number).id for number in lost), new.values())
    now = {number: info for number, info in old.items() if number not in lost} | new
    assert [*table] == newest([*now.values()])
    assert all(table[table.row_of(info.id)] == info for info in table)
    again = {number: one(number, created=number // 4, title="again") for number in (*before, *added) if number % 3}
    table.change([one(number).id for number in now if number % 3 == 0], again.values())
    assert [*table] == newest([*again.values()])
    assert all(table[table.row_of(info.id)] == info for info in table)
    assert [table.ids[row] for row in table.by_id()] == sorted(info.id for info in again.values())


def test_texts_of_others_are_added_in_one_piece() -> None:
    chance = random.Random(1)
    for _ in range(50):
        first, second = ([chance.choice(ODD_TEXTS) for _ in range(chance.randrange(5))] for _ in range(2))
        begin = chance.randrange(len(second) + 1)
        end = chance.randrange(begin, len(second) + 1)
        found = Texts.of(first)
        found.extend(Texts.of(second), begin, end)
        assert [*found] == [*first, *second[begin:end]] == found[:] == found.picked(range(len(found)))
        assert [found.is_empty(at) for at in range(len(found))] == [not text for text in found]


def test_a_table_without_all_columns_is_refused() -> None:
    pieces = SessionTable.of([one(1), one(2)]).dump()
    for number, piece in enumerate(pieces):
        with pytest.raises(ValueError, match="columns"):
            SessionTable.load(iter(pieces[:number]))
        if len(piece) >= 8 and number not in (0, 2, 4, 6, 7):  # texts, and the few folders
            with pytest.raises(ValueError, match=r"columns|multiple"):
                SessionTable.load(iter([*pieces[:number], piece[: len(piece) // 2], *pieces[number + 1 :]]))


def test_it_travels_as_a_list() -> None:
    table = SessionTable.of([one(1), one(2, parent_id="ses_9")])
    assert msgspec.json.decode(msgspec.json.encode([*table]), type=list[ListedSession]) == table
