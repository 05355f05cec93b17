from dataclasses import field, replace
from typing import Any

import pytest

from opencode_tui.schema.value import immutable


@immutable
class Place:
    """Where something is."""

    row: int
    column: int = 0
    notes: list[str] = field(default_factory=list[str])
    seen: bool = field(default=False, compare=False, repr=False)


@immutable
class Corner(Place):
    """A place with a name."""

    name: str = "top"


@immutable
class Pair:
    """Two things."""

    number: int
    letter: str


def test_values_are_made_by_place_or_name_with_a_list_of_their_own():
    one, other = Place(1), Place(row=1, column=2, notes=["x"])
    assert (one.row, one.column, one.notes, other.column, other.notes) == (1, 0, [], 2, ["x"])
    assert one.notes is not Place(1).notes and not hasattr(one, "__dict__")
    assert replace(other, column=3) == Place(1, 3, ["x"])


@pytest.mark.parametrize("given", [{}, {"row": 1, "rows": 2}])
def test_missing_and_unknown_fields_are_refused(given: dict[str, Any]):
    for _ in range(2):
        with pytest.raises(TypeError, match="row"):
            Place(**given)


def test_equal_content_is_equal_and_hashes_alike():
    first, second = (1, "a"), (1, "a")
    assert Pair(*first) == Pair(*second) and len({Pair(*first), Pair(*second)}) == 1
    assert Pair(1, "a") != Pair(1, "b") and Pair(1, "a") != (1, "a")
    assert Place(1, seen=True) == Place(1) != Corner(1)
    assert repr(Corner(2)) == "Corner(row=2, column=0, notes=[], name='top')"


def test_a_class_keeps_the_methods_that_it_has_itself():
    @immutable
    class Secret:
        text: str

        def __repr__(self) -> str:
            return "***"

    assert repr(Secret("x")) == "***" and Secret("x") == Secret("x")
