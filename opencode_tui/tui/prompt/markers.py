"""The markers of attachments in the prompt: where they stand in a line."""

import re
from collections.abc import Container

_MARKER = re.compile(r"\[(?:Pasted|Image) [^\]\n]{1,40}\]")


def marker_at(line: str, column: int) -> str:
    """The marker that a column stands in or touches; empty when there is none."""
    return next((one.group() for one in _MARKER.finditer(line) if one.start() <= column <= one.end()), "")


def marker_before(line: str, column: int) -> str:
    """The marker that ends at a column; empty when none does."""
    return next((one.group() for one in _MARKER.finditer(line) if one.end() == column), "")


def marker_after(line: str, column: int) -> str:
    """The marker that begins at a column; empty when none does."""
    return next((one.group() for one in _MARKER.finditer(line) if one.start() == column), "")


def last_marker(text: str, known: Container[str]) -> str:
    """The last known marker in a text; empty when there is none."""
    found = [one.group() for one in _MARKER.finditer(text) if one.group() in known]
    return found[-1] if found else ""
