"""A table as one test runs every row, and reports all that failed."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.rows import each, short_id


def failure_of(test: Callable[[], None]) -> str:
    with pytest.raises(pytest.fail.Exception) as failure:
        test()
    return str(failure.value)


def test_every_row_runs_and_all_failures_are_shown_with_their_rows() -> None:
    seen: list[int] = []

    @each("value, half", [(2, 1), (4, 3), pytest.param(6, 3, id="six"), (8, 5)])
    def halves(value: int, half: int) -> None:
        seen.append(value)
        assert value == 2 * half, "not half"

    text = failure_of(halves)
    assert seen == [2, 4, 6, 8]
    assert "2 of 4 rows failed" in text
    assert [line[:9] for line in text.splitlines() if line.startswith("[")] == ["[1: 4-3] ", "[3: 8-5] "]
    assert text.count("AssertionError: not half") == 2


def test_a_row_without_a_failure_passes() -> None:
    @each("letter", "abc")
    def letters(letter: str) -> None:
        assert letter in "abc"

    letters()


def test_an_error_and_a_failure_of_a_nested_table_are_failures_of_the_row() -> None:
    @each("divisor", [1, 0], ids=["one", "none"])
    @each("number", [1, 2])
    def divides(number: int, divisor: int) -> None:
        assert number // divisor

    text = failure_of(divides)
    assert "1 of 2 rows failed" in text
    assert "[none]" in text
    assert text.count("ZeroDivisionError") == 2


@each("number", [1, 2, 3])
def test_fixtures_are_shared_by_all_rows(number: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert number < 4
    assert tmp_path_factory.getbasetemp().is_dir()


@each("number", [1, 2, 3])
@each("letter", "ab")
async def test_each_row_has_an_empty_folder(row_path: Path, number: int, letter: str) -> None:
    await asyncio.sleep(0)
    assert list(row_path.iterdir()) == []
    (row_path / f"{letter}{number}").touch()


async def test_failures_of_rows_that_wait_are_collected_too() -> None:
    @each("number", [1, 2, 3])
    async def odd(number: int) -> None:
        await asyncio.sleep(0)
        assert number % 2

    with pytest.raises(pytest.fail.Exception, match="1 of 3 rows failed"):
        await odd()


def test_an_empty_table_claims_nothing() -> None:
    with pytest.raises(ValueError, match="no rows of name"):
        each("name", [])


@each("value", ["plain", "a \N{EM DASH} b", "tab\tand\nline", "x" * 200, "[id]", "\x1b[31m"])
def test_an_id_is_short_printable_ascii(value: str) -> None:
    found = short_id(value)
    assert found.isascii()
    assert found.isprintable()
    assert 0 < len(found) <= 30


def test_a_name_stays_as_it_is_for_pictures_and_files_have_it() -> None:
    name = "failed-edit-bad-exit-and-refused-key-in-60-columns"
    assert short_id(name) == name
