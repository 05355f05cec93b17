"""The spellings of a command, and how the pattern of a rule is compared with them. Pure.

A rule about commands is read as bash reads it: `rm 'a b'` and `rm "a b"` are one rule, and one command. One that denies or asks
holds where it matches any reading of a command, also without the options of the program itself (`shell/readings.py`). One that
allows must match the command as it is written, and each other text that the command counts as.
"""

import re
from functools import lru_cache

from msgspec import Struct

from opencode_tui.config.permission import compile_letters, compile_wildcard

PERMISSION = "bash"
"""The permission whose patterns are commands."""

_CACHED_PATTERNS = 2_048
_KEPT_IN_QUOTES = frozenset('"\\$`')


class CommandForms(Struct, frozen=True):
    """The spellings of one text of a command.

    `source` is the command as it is written, with which the text goes, or empty. `words` are its words where it consists of words
    only. `readings` count for rules that deny or ask.
    """

    source: str = ""
    words: tuple[str, ...] | None = None
    readings: tuple[str, ...] = ()


NO_FORMS = CommandForms()


def allows(pattern: str, text: str, forms: CommandForms) -> bool:
    """Return whether the pattern of a rule that allows matches a text of a command."""
    if matches(pattern, text):
        return True
    read = read_pattern(pattern)
    if read is None:
        return False
    if read.words is not None and read.words == forms.words:
        return True
    return bool(forms.source) and matches(pattern, forms.source) and read.matches(text)


def limits(pattern: str, text: str, forms: CommandForms) -> bool:
    """Return whether the pattern of a rule that denies or asks matches a text of a command, or another reading of it."""
    texts = (text, *forms.readings)
    if any(matches(pattern, one) for one in texts):
        return True
    read = read_pattern(pattern)
    return read is not None and any(map(read.matches, texts))


def matches(pattern: str, text: str) -> bool:
    """Return whether a wildcard pattern matches the whole text.

    `*` matches any characters, slashes and newlines included, `?` matches one, anything else matches itself. A pattern that ends
    in a space and `*` also matches the text without that ending: `ls *` matches `ls`.
    """
    if compile_wildcard(pattern).fullmatch(text) is not None:
        return True
    return pattern.endswith(" *") and compile_wildcard(pattern[:-2]).fullmatch(text) is not None


_Letter = tuple[str, bool]
"""A letter of a pattern, and whether it is the character itself although it is a wildcard."""


class ReadPattern(Struct, frozen=True):
    """A pattern as bash reads it: expressions for the words joined by blanks, and these words if there is no wildcard."""

    expressions: tuple[re.Pattern[str], ...]
    words: tuple[str, ...] | None

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text."""
        return any(one.fullmatch(text) is not None for one in self.expressions)


@lru_cache(maxsize=_CACHED_PATTERNS)
def read_pattern(pattern: str) -> ReadPattern | None:
    """Return a pattern as bash reads it; None where that is what is written, or where quotes are not closed.

    Wildcards of a rule hold inside quotes, too; one behind a backslash is the character itself.
    """
    words = _split(pattern)
    if words is None:
        return None
    letters: list[_Letter] = []
    for word in words:
        letters += [(" ", True), *word] if letters else word
    if "".join(letter for letter, _ in letters) == pattern:
        return None
    is_plain = ("*", False) not in letters and ("?", False) not in letters
    expressions = [compile_letters(letters)]
    if letters[-2:] == [(" ", True), ("*", False)]:
        expressions.append(compile_letters(letters[:-2]))
    texts = tuple("".join(letter for letter, _ in word) for word in words)
    return ReadPattern(tuple(expressions), texts if is_plain else None)


def _split(pattern: str) -> list[list[_Letter]] | None:
    """Return the words of a pattern; None where quotes are not closed."""
    words: list[list[_Letter]] = []
    word: list[_Letter] | None = None
    quote = ""
    letters = iter(pattern)
    for letter in letters:
        if not quote and letter in " \t\n":
            word = None
            continue
        if word is None:
            word = []
            words.append(word)
        if letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote = letter
        elif letter == "\\" and quote != "'":
            following = next(letters, "\\")
            if quote and following not in _KEPT_IN_QUOTES:
                word.append(("\\", True))
            word.append((following, True))
        else:
            word.append((letter, False))
    return None if quote else words
