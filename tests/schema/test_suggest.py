import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz, process

import opencode_tui.schema.suggest as suggest_module
from opencode_tui.schema.suggest import did_you_mean, nearest, suggest

WORDS = st.text("abcS_ß", max_size=7)
COMMANDS = ("run", "session", "sessions", "models", "Mcp")


@pytest.mark.parametrize(
    ("word", "count", "found"),
    [
        ("sesion", 1, ["session"]),
        ("sesion", 3, ["session", "sessions"]),
        ("MODELS", 1, ["models"]),
        ("mcp", 1, ["Mcp"]),
        ("quit", 3, []),
        ("", 3, []),
    ],
)
def test_the_names_that_are_like_a_word_come_best_first(word: str, count: int, found: list[str]) -> None:
    assert nearest(word, COMMANDS, count) == found
    assert nearest(word, reversed(COMMANDS), count) == found


def test_a_name_must_be_as_similar_as_wanted() -> None:
    assert [nearest("sesion", COMMANDS, similarity=one) for one in (0.9, 0.95)] == [["session"], []]


@given(WORDS, st.lists(WORDS, max_size=5), st.sampled_from([0.4, 0.6, 0.93]))
def test_names_that_are_left_out_by_their_letters_are_not_similar(word: str, known: list[str], least: float) -> None:
    cased = {name: name.casefold() for name in sorted(set(known))}
    found = process.extract(word.casefold(), cased, scorer=fuzz.ratio, score_cutoff=least * 100, limit=3)
    assert nearest(word, known, 3, similarity=least) == [name for _, _, name in found if word or name]


def test_the_question_has_the_same_words_everywhere() -> None:
    assert did_you_mean(["a", "b"]) == "did you mean a or b?"
    assert suggest("sesion", COMMANDS) == ", did you mean 'session'?"
    assert (did_you_mean([]), suggest("quit", COMMANDS)) == ("", "")


def test_the_library_is_loaded_for_a_mistake_only() -> None:
    program = """import sys
import opencode_tui.schema.suggest as suggest
before = "rapidfuzz" in sys.modules
suggest.nearest("OPENCODE_PROFILE", ["OPENCODE_CONFIG", "OPENCODE_PERMISSION"], similarity=0.93)
unlike = "rapidfuzz" in sys.modules
suggest.nearest("OPENCODE_CONFG", ["OPENCODE_CONFIG", "OPENCODE_PERMISSION"], similarity=0.93)
print(before, unlike, "rapidfuzz" in sys.modules)"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


@pytest.mark.slow
def test_no_other_module_asks_whether_a_name_was_meant() -> None:
    package = Path(suggest_module.__file__).parents[1]
    words = re.compile(r"did you mean|get_close_matches", re.IGNORECASE)
    found = [str(file.relative_to(package)) for file in package.rglob("*.py") if words.search(file.read_text())]
    assert found == ["schema/suggest.py"]
