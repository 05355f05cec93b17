"""What the commands have to do with the terminal: which signals end them, how they write JSON."""

import json
import signal
from collections.abc import Iterator

import hypothesis.strategies as st
import pytest
from hypothesis import given

from opencode_tui.cli.terminal import ending_signals, json_text
from tests.support.rows import each


@pytest.fixture(autouse=True)
def hang_up() -> Iterator[None]:
    before = signal.getsignal(signal.SIGHUP)
    yield
    signal.signal(signal.SIGHUP, before)


def test_a_hang_up_ends_a_command_unless_nohup_made_it_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    assert ending_signals() == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert ending_signals() == [signal.SIGINT, signal.SIGTERM]


_TEXTS = st.text(st.characters(exclude_categories=()), max_size=5) | st.sampled_from(
    ("{", '"[', "a, b", "\\", "\n", "\x7f")
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
)


@given(value=_JSON, depth=st.integers(0, 3))
def test_json_is_indented_by_two_spaces_and_has_no_control_character(value: object, depth: int) -> None:
    text = json_text(value, depth)
    plain = json.dumps(value, indent=2).replace("\x7f", "\\u007f")
    assert text == plain.replace("\n", "\n" + "  " * depth)
    assert text.isascii() and text.replace("\n", "").isprintable()


@each("text", ["\udcff", "a\udcff.txt", "\ud800", "\ud800\n", "x\ud83d"])
def test_a_name_that_is_not_utf_8_is_written_as_json(text: str) -> None:
    for value in (text, [text], {text: None}, {"file": text}, [{text: [text, "\x7f"]}]):
        assert json.loads(json_text(value)) == value
        assert json_text(value).isascii()


def test_what_json_lacks_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text([float("nan")])
