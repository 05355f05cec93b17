"""Cleans text for the editor: only text, tabs and line feeds remain."""

import re

_STEERING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufe0e\ufe0f\ufeff\ud800-\udfff\U000e0000-\U000e0fff]"
)


def clean(text: str) -> str:
    """Return the text with line feeds only, tabs kept, without characters that do something else than being seen."""
    return _STEERING.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
