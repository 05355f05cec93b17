"""Keys are read as terminals send them, whatever protocol they use."""

import random

import pytest
from textual.events import Key

from opencode_tui.tui.terminal_input import KeyParser

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
    ("\x1b\r", "alt+enter"),
    ("\x1b\n", "alt+enter"),
    ("\x1b[13;3u", "alt+enter"),
    ("\x1b[27;2;13~", "shift+enter"),
    ("\x1b[27;3;13~", "alt+enter"),
    ("\x1b[27;5;13~", "ctrl+enter"),
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
