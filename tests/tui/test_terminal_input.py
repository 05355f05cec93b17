"""A paste is text, however it is cut into pieces; what is typed passes at once."""

import random

import pytest
from textual.events import Key

from opencode_tui.tui.terminal_input import PASTE_BEGINS, PASTE_ENDS, KeyParser, PasteFilter

HOSTILE = "a\x1b[13u\x1b\r\x03b\tc\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_no_control_character_of_a_paste_passes(size: int) -> None:
    pastes = PasteFilter()
    written = f"x{PASTE_BEGINS}{HOSTILE}{PASTE_ENDS}y\x1b[A{PASTE_BEGINS}é{PASTE_ENDS}"
    passed = "".join(pastes.feed(written[at : at + size]) for at in range(0, len(written), size))
    assert passed == f"x{PASTE_BEGINS}a[13u\rb\tc\n{PASTE_ENDS}y\x1b[A{PASTE_BEGINS}é{PASTE_ENDS}"


def test_an_escape_that_is_typed_passes_at_once() -> None:
    pastes = PasteFilter()
    assert pastes.feed("\x1b") == "\x1b"
    assert pastes.feed("[") == "["
    assert pastes.feed("200~\x1b") == "200~"


def test_what_looks_like_the_end_of_a_paste_and_is_not_is_kept_without_its_escape() -> None:
    pastes = PasteFilter()
    assert pastes.feed(PASTE_BEGINS + "a\x1b[20") == PASTE_BEGINS + "a"
    assert pastes.feed("2~b" + PASTE_ENDS) == "[202~b" + PASTE_ENDS


KEYS = (
    ("\x1b[97u", "a"),
    ("\x1b[97;5u", "ctrl+a"),
    ("\x1b[97:65;2u", "shift+a"),
    ("\x1b[1089::99;5u", "ctrl+с"),
    ("\x1b[97;5:1u", "ctrl+a"),
    ("\x1b[97;5:2u", "ctrl+a"),
    ("\x1b[97;1:1;97u", "a"),
    ("\x1b[97;;97u", "a"),
    ("\x1b[13;2:1u", "shift+enter"),
    ("\x1b[1;5:1A", "ctrl+up"),
    ("\x1b[3;5:2~", "ctrl+delete"),
    ("\x1b[A", "up"),
    ("\x1b[R", "f3"),
)
"""What a terminal sends for a key that is pressed or held, and its name."""

NO_KEYS = (
    "\x1b[97;1:3u",
    "\x1b[97;5:3u",
    "\x1b[1089::99;5:3u",
    "\x1b[1;1:3A",
    "\x1b[1;:3A",
    "\x1b[3;1:3~",
    "\x1b[57441;2:3u",
    "\x1b[1114112u",
    "\x1b[1114112:1114112;5:1u",
    "\x1b[99999999999999999999u",
    "\x1b[99999999999999999999A",
    "\x1b[97;1;1114112u",
    "\x1b[55296u",
    "\x1b[57343;5u",
    "\x1b[97;;55296u",
)
"""Releases of keys, and codes that are no characters."""


@pytest.mark.parametrize(("sequence", "key"), KEYS)
def test_a_key_is_read_with_alternate_codes_and_kinds_of_events(sequence: str, key: str) -> None:
    assert names(sequence + "x") == [key, "x"]


@pytest.mark.parametrize("sequence", NO_KEYS)
def test_a_sequence_that_is_no_key_does_nothing_and_the_next_key_counts(sequence: str) -> None:
    assert names(sequence + "x") == ["x"]


def test_no_sequence_ends_the_reading() -> None:
    """Random sequences of the pieces that keys, mouse events and replies are made of."""
    pieces = list("[]O<>?;:0159u~MmtR$yaAHéP\\E")
    pieces += ["57", "1089", "1114112", "55296", "2026", "200~", "201~"]
    chosen = random.Random(1)
    for _ in range(5_000):
        sequence = "\x1b" + chosen.choice("[O]") + "".join(chosen.choice(pieces) for _ in range(chosen.randrange(1, 9)))
        assert "\ud800" not in "".join(names(sequence)), ascii(sequence)


def names(typed: str) -> list[str]:
    """Return the keys that the program reads from what a terminal sends."""
    parser = KeyParser()
    return [event.key for event in (*parser.feed(typed), *parser.tick()) if isinstance(event, Key)]
