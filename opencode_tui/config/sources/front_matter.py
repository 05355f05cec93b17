"""Front matter of markdown files: YAML between two lines of three dashes, then the text.

`front_matter_yaml.py` reads the YAML; it is loaded with the first file that has any.
Source: docs/internals/settings.md#front-matter.
"""

import re
from typing import Any

from msgspec import Struct, field

MAX_CHARACTERS = 32_768
"""Most characters of front matter; YAML is slow to parse."""

_FENCE = re.compile(r"\A---[ \t]*\r?\n(.*?)(?:^---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE)
_UNCLOSED = re.compile(r"\A---[ \t]*\r?\n[A-Za-z_][\w.-]*[ \t]*:")
_KEY_LINE = re.compile(r"^([A-Za-z_][\w.-]*)[ \t]*:")


class FrontMatterError(Exception):
    """The front matter cannot be read; the message says where."""


class FrontMatter(Struct, frozen=True):
    """`values` from the front matter, `lines` of its keys (from 1 in the file), and the text after it, stripped."""

    body: str
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    lines: dict[str, int] = field(default_factory=dict[str, int])
    repeated: tuple[str, ...] = ()
    """Duplicate keys; the last value is used."""


def split_front_matter(text: str) -> FrontMatter:
    """Return the parts of a markdown text; without front matter, the whole text is the body. Raises FrontMatterError."""
    match = _FENCE.match(text)
    if match is None:
        if _UNCLOSED.match(text):
            raise FrontMatterError("line 1: unterminated front matter; add a line of three dashes after it")
        return FrontMatter(text.strip())
    head = match.group(1)
    if len(head) > MAX_CHARACTERS:
        raise FrontMatterError(f"line 2: the front matter is longer than {MAX_CHARACTERS} characters; make it shorter")
    from opencode_tui.config.sources.front_matter_yaml import load_head  # few starts need its library

    try:
        values = load_head(head)
    except ValueError as error:
        raise FrontMatterError(str(error)) from None
    lines: dict[str, int] = {}
    repeated: list[str] = []
    for number, line in enumerate(head.splitlines(), start=2):
        key = _KEY_LINE.match(line)
        if key:
            if key.group(1) in lines and key.group(1) in values:
                repeated.append(key.group(1))
            lines[key.group(1)] = number
    return FrontMatter(text[match.end() :].strip(), values, lines, tuple(dict.fromkeys(repeated)))
