"""Pure: what was typed behind a command, put into its template.

`$1`, `$2`, … stand for words, the highest number in the template for all that are left; `$ARGUMENTS` for everything as typed;
without any of them it is appended. A shell snippet is one only when the template itself says so: what was typed never becomes one.
Source: reference, section 29.
"""

import re

from msgspec import Struct

_PLACEHOLDER = re.compile(r"\$(?:(\d+)|ARGUMENTS)")
_SNIPPET = re.compile(r"!`([^`\n]+)`")
_WORD = re.compile(r"""\[Image\s+\d+\]|(?:"[^"]*"|'[^']*'|[^\s"'])+|["']""")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")


class Prose(Struct, frozen=True):
    """Text of a filled template."""

    text: str


class Snippet(Struct, frozen=True):
    """A shell command whose output is to stand here."""

    command: str


Piece = Prose | Snippet


def fill(template: str, arguments: str, *, has_snippets: bool = True) -> list[Piece]:
    """Return the template with the arguments in place, cut at its shell snippets, in order.

    Without `has_snippets` what looks like one is text.
    """
    numbers = [int(match[1]) for match in _PLACEHOLDER.finditer(template) if match[1]]
    words, highest = split_words(arguments), max(numbers, default=0)

    def value(match: "re.Match[str]") -> str:
        if match[1] is None:
            return arguments
        number = int(match[1])
        chosen = words[number - 1 :] if number == highest else words[number - 1 : number]
        return " ".join(chosen) if number else ""

    pieces: list[Piece] = []
    end = 0
    for match in _SNIPPET.finditer(template) if has_snippets else ():
        pieces += [
            Prose(_PLACEHOLDER.sub(value, template[end : match.start()])),
            Snippet(_PLACEHOLDER.sub(value, match[1])),
        ]
        end = match.end()
    pieces.append(Prose(_PLACEHOLDER.sub(value, template[end:])))
    if _PLACEHOLDER.search(template) is None and arguments.strip():
        pieces.append(Prose(f"\n\n{arguments}"))
    return [piece for piece in pieces if not isinstance(piece, Prose) or piece.text]


def split_words(arguments: str) -> list[str]:
    """Return the words of what was typed; quotes group and are dropped, `[Image 1]` is one word."""
    return [_QUOTED.sub(lambda match: match[1] or match[2] or "", word) for word in _WORD.findall(arguments)]


def hints(template: str) -> list[str]:
    """Return the placeholders of a template: the numbered ones in order, then `$ARGUMENTS`."""
    numbers = sorted({int(match[1]) for match in _PLACEHOLDER.finditer(template) if match[1]})
    return [*(f"${number}" for number in numbers), *(["$ARGUMENTS"] if "$ARGUMENTS" in template else [])]
