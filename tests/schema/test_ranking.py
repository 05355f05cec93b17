"""What a few letters mean."""

import random

import pytest

from opencode_tui.schema.ranking import LONG, Match, ranked, ranked_paths


def best(query: str, *names: str) -> list[str]:
    return [names[at] for at, _ in ranked(query, names)]


def match(query: str, name: str) -> Match | None:
    return next((hit for _, hit in ranked(query, [name])), None)


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


def test_a_mistyped_query_finds_what_is_meant_where_no_name_has_it() -> None:
    names = ("Sessions of this folder", "Set the session's title", "Undo the last turn")
    assert best("sesions", *names)[0] == names[0]
    assert best("udno", *names) == []
    assert best("sessoins of", *names)[0] == names[0]
    assert best("sesion", "Sesion by hand", *names) == ["Sesion by hand"]
    hit = match("sesions", names[0])
    assert hit is not None and hit.places == (0, 1, 2, 4, 5, 6, 7)


def paths(query: str, *names: str, limit: int = 9) -> list[str]:
    found = list(ranked_paths(query, [name.casefold() for name in names], limit))
    return [names[at] for at in found[-1]] if found else []


def test_paths_come_by_their_last_name_then_by_the_whole_path() -> None:
    names = ("api/readme.md", "docs/an-api.md", "src/deep/api.py", "src/api.py", ".ci/api.py")
    assert paths("API", *names) == ["src/api.py", "src/deep/api.py", ".ci/api.py", "docs/an-api.md", "api/readme.md"]


def test_characters_in_their_order_follow_where_few_paths_have_the_query() -> None:
    assert paths("tsta", "src/task.py", "tests/data.json", "ats.py") == ["tests/data.json"]
    assert paths("sta", "src/stack.py", "src/tea.py", limit=1) == ["src/stack.py"]


def test_similar_paths_are_found_only_where_nothing_else_is() -> None:
    assert paths("confiugration", "configuration.py", "src/other.py") == ["configuration.py"]
    assert paths("configs", "configs.py", "config.py") == ["configs.py"]


LETTERS = (
    "abc d-e_f ",
    "ab ",
    "aß日 .",
    "login fix",
    "abcdefghijklmnopqrstuvwxyz  ",
    "aA bB/:",
    "ste 012 ",
    "[]^-\\ a",
)


@pytest.mark.parametrize("letters", [LETTERS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in LETTERS[1:])])
def test_one_name_matches_among_many_as_it_does_alone(letters: str) -> None:
    chance = random.Random(letters)
    names = ["".join(chance.choices(letters, k=chance.randrange(0, 30))) for _ in range(150)]
    for _ in range(150):
        query = "".join(chance.choices(letters, k=chance.choice([1, 1, 2, 2, 3, 4, 5, 7, 12, 24])))
        if len("".join(query.split())) in range(1, LONG):  # of a longer one similar names are found, too
            alone = {at: hit for at, name in enumerate(names) for _, hit in ranked(query, [name])}
            assert dict(ranked(query, names)) == alone, query


@pytest.mark.slow
def test_a_text_that_no_name_has_takes_no_time_that_grows_with_its_possible_places() -> None:
    names = ["a " * 190] * 50
    assert ranked("a" * 40 + "b", names) == []
