"""Texts that steer a terminal, where a name, an answer or an output should stand."""

import re

HOSTILE = [
    "\x1b]52;c;c2VjcmV0\x07",
    "\x1b[2J\x1b[1;1Hgone",
    "\x1b]0;title\x1b\\",
    "\x9b31mC1",
    "\x1bP+q\x1b\\",
    "over\rwritten",
    "bell\x07",
    "back\x08\x08space",
    "right\u202eleft",
    "line\u2028end",
    "del\x7f",
]

_STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_OURS = re.compile(r"\x1b\[[0-9;]*m")


def steering(text: str) -> list[str]:
    """Return what of a text would steer a terminal, our own colours apart."""
    return _STEERS.findall(_OURS.sub("", text))
