"""What programs need that the sandbox does not give, and what they discard: the table `needs.txt`, read once."""

import fnmatch
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, cast

from msgspec import Struct

from opencode_tui.engine.permission.shell.words import Word

Kind = Literal["network", "install", "remote", "container", "root", "service", "signal", "path", "config", "discard"]

_VERSION = re.compile(r"-?\d+(?:\.\d+)*$")
_CACHED_NAMES = 1_024


class Reason(Struct, frozen=True):
    """Why a command needs the outside, or what it discards: `words` are one sentence, `command` is the source of the command.

    `path` and `host` are what the command reaches outside, if that is known.
    """

    kind: Kind
    words: str
    command: str = ""
    path: str = ""
    host: str = ""


class _Need(Struct, frozen=True):
    """One line of the table; `commands` are the first words after the program, `-` stands for none."""

    kind: Kind
    words: str
    commands: frozenset[str]
    given: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    def applies(self, words: Sequence[str]) -> bool:
        """Return whether a program's arguments are those that the line describes."""
        if any(_matches(word, self.unless) for word in words):
            return False
        if self.given and not any(_matches(word, self.given) for word in words):
            return False
        return not self.commands or any(_matches(command, tuple(self.commands)) for command in _commands(words))


def find_needs(name: str, arguments: Sequence[Word]) -> list[tuple[Kind, str]]:
    """Return the kinds and the sentences of what a program needs with these arguments."""
    needs = _needs(name)
    words = [word.text for word in arguments] if needs else []
    return [(need.kind, need.words.replace("{program}", name)) for need in needs if need.applies(words)]


@lru_cache(maxsize=_CACHED_NAMES)
def _needs(name: str) -> list[_Need]:
    if needs := _table().get(name) or _table().get(_VERSION.sub("", name)):
        return needs
    return [need for pattern, needs in _globs().items() if fnmatch.fnmatchcase(name, pattern) for need in needs]


def _matches(word: str, patterns: tuple[str, ...]) -> bool:
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


@cache
def _globs() -> Mapping[str, list[_Need]]:
    return {name: needs for name, needs in _table().items() if "*" in name}


@cache
def _table() -> Mapping[str, list[_Need]]:
    text = files("opencode_tui.engine.permission.shell").joinpath("needs.txt").read_text(encoding="utf-8")
    table: dict[str, list[_Need]] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            kind, names, commands, conditions, words = (column.strip() for column in line.split("|"))
            given = dict(condition.split("=", 1) for condition in conditions.split())
            need = _Need(
                kind=cast("Kind", kind),
                words=words,
                commands=frozenset(commands.split()),
                given=tuple(given["with"].split(",")) if "with" in given else (),
                unless=tuple(given["unless"].split(",")) if "unless" in given else (),
            )
            for name in names.split():
                table.setdefault(name, []).append(need)
    return table
