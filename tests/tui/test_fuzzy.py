"""What a few letters mean."""

from opencode_tui.tui.widgets.fuzzy import match, ranked


def best(query: str, *names: str) -> list[str]:
    return [names[at] for at, _ in ranked(query, names)]


def test_a_piece_at_the_start_of_a_word_beats_one_inside() -> None:
    assert best("com", "Welcome", "Compact the context", "All commands") == [
        "Compact the context",
        "All commands",
        "Welcome",
    ]


def test_scattered_letters_match_after_all_that_match_in_one_piece() -> None:
    assert best("cm", "Choose a model", "cmd") == ["cmd", "Choose a model"]


def test_what_lacks_a_letter_does_not_match() -> None:
    assert match("xyz", "xy") is None


def test_the_places_are_those_of_the_letters() -> None:
    hit = match("com", "All commands")
    assert hit is not None
    assert hit.places == (4, 5, 6)


def test_without_a_query_everything_stays_in_its_order() -> None:
    assert best("", "b", "a") == ["b", "a"]


def test_letters_that_fold_to_two_keep_the_places_right() -> None:
    hit = match("x", "ßx")
    assert hit is not None
    assert hit.places == (1,)
