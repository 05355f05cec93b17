"""What programs need that the sandbox does not give, and what they discard: the table `needs.txt`, read once."""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Literal, cast

from msgspec import Struct

from opencode_tui.engine.permission.shell.words import names, rows

Kind = Literal["network", "install", "remote", "container", "root", "service", "signal", "path", "config", "discard"]

NETWORK_KINDS = frozenset({"network", "install", "remote", "container"})

_VERSION = re.compile(r"-?\d+(?:\.\d+)*$")
CACHED_NAMES = 1_024
"""Number of programs whose lines in the tables stay known."""

_ALL = frozenset({".", "./", ":/", "*", ":", ":(top)", "./*", "**"})


class Reason(Struct, frozen=True):
    """Why a command needs the outside, or what it discards: `words` are one sentence, `command` is the source of the command.

    `path` and `host` are what the command reaches outside, if that is known.
    """

    kind: Kind
    words: str
    command: str = ""
    path: str = ""
    host: str = ""


class Need(Struct, frozen=True):
    """One line of the table; `words` is one sentence, `{program}` in it the name.

    `commands` are the first words after the program, `-` stands for none.
    """

    kind: Kind
    words: str
    commands: frozenset[str]
    conditions: tuple[tuple[str, str], ...]

    def applies(self, words: Sequence[str]) -> bool:
        """Return whether a program's arguments are those that the line describes."""
        return all(_holds(key, values, words) for key, values in self.conditions) and (
            not self.commands or any(_matches(command, self.commands) for command in _commands(words))
        )


def _holds(key: str, values: str, words: Sequence[str]) -> bool:
    if key in ("with", "unless"):
        return any(_matches(word, values.split(",")) for word in words) == (key == "with")
    found = given(words, values.replace(",", " "))
    found = found or ("ALL" in values and names_all(words)) or ("NONE" in values and not operands_of(words))
    return found == (key == "given")


def versionless(name: str) -> str:
    """Return the name of a program without a version at its end (`python3.12`)."""
    return _VERSION.sub("", name)


@lru_cache(maxsize=CACHED_NAMES)
def find_needs(name: str) -> list[Need]:
    """Return the lines of the table about a program; a version in its name is ignored."""
    table = _table()
    return table.get(name) or table.get(versionless(name)) or table.get(name.partition(".")[0] + ".*") or []


def _matches(word: str, patterns: Sequence[str] | frozenset[str]) -> bool:
    return any(fnmatch.fnmatchcase(word, pattern) for pattern in patterns)


def _commands(words: Sequence[str]) -> list[str]:
    """Return what may be the command among a program's arguments, alone and with the word after it; `-` where there is none.

    A word after an option may be the option's value; then the next one may be the command as well.
    """
    plain = [index for index, word in enumerate(words) if word[:1] not in ("-", "+")]
    if not plain:
        return ["-"]
    found: list[str] = []
    for index in plain[:2]:
        found.append(words[index])
        following = next((words[other] for other in plain if other > index), "")
        found.append(f"{words[index]}.{following}")
        if not index or words[index - 1][:1] != "-" or "=" in words[index - 1]:
            break
    return found


def need_found(finding: str) -> Need:
    """Return the line about what an analyzer finds out, by its name in the table."""
    return _table()[f"{_FOUND}={finding}"][0]


_FOUND = "found"


@cache
def _table() -> Mapping[str, list[Need]]:
    """Return the lines by program, and those about findings by their condition."""
    table: dict[str, list[Need]] = {}
    for kind, programs, commands, conditions, words in rows("needs.txt", 5):
        pairs = tuple(cast("tuple[str, str]", tuple(one.split("=", 1))) for one in conditions.split())
        need = Need(cast("Kind", kind), words, names(commands), pairs)
        for key in [conditions] if conditions.startswith(f"{_FOUND}=") else programs.split():
            table.setdefault(key, []).append(need)
    return table


def given(texts: Sequence[str], options: str) -> bool:
    """Return whether one of the options is given: also abbreviated, with a value attached, or in a cluster of short options."""
    short, long = _parsed(options)
    for text in texts:
        if text[:1] != "-":
            continue
        if text == "--":
            return False
        if text.startswith("--"):
            name = text.partition("=")[0]
            if len(name) > 3 and any(option.startswith(name) for option in long):
                return True
        elif text[1:2].isalpha() and not short.isdisjoint(text[1:]):
            return True
    return False


@cache
def _parsed(options: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the letters of the short options and the long options."""
    words = [word for word in options.split() if word[:1] == "-"]
    long = tuple(word for word in words if word.startswith("--"))
    return frozenset(word[1] for word in words if word not in long), long


def operands_of(texts: Sequence[str]) -> list[str]:
    """Return the words that are no options."""
    count = list(texts).index("--") if "--" in texts else len(texts)
    return [*(text for text in texts[:count] if not text.startswith("-")), *texts[count + 1 :]]


def names_all(texts: Sequence[str]) -> bool:
    """Return whether a path among the arguments is the whole tree."""
    return any(text in _ALL or text.startswith((":!", ":^", ":(exclude)")) for text in operands_of(texts))
