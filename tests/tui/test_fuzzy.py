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


def test_characters_inside_of_words_do_not_match_by_chance() -> None:
    assert best("un", "Undo the last turn", "Go through the conversation by keys", "Run") == [
        "Undo the last turn",
        "Run",
    ]
    assert best("dff", "Delete this session, if it is off") == []


def test_the_starts_of_words_match_also_where_an_earlier_word_has_the_character() -> None:
    hit = match("lcm", "List call of models, Choose a model")
    assert hit is not None and hit.places == (0, 5, 13)
    assert best("fconv", "Focus the conversation", "Find in the conversation") == [
        "Focus the conversation",
        "Find in the conversation",
    ]


def test_a_long_query_may_lack_a_character_of_a_word() -> None:
    assert best("sonet", "claude-sonnet-4", "so many things are elsewhere") == ["claude-sonnet-4"]


def test_each_word_of_a_query_may_be_anywhere() -> None:
    assert best("by w63", "Model by provider-xw63", "Model by another") == ["Model by provider-xw63"]
    assert best("model choose", "Choose a model", "Choose a theme") == ["Choose a model"]
