"""The readings of a command with which rules are compared: with the options of the program itself set aside.

`git -C sub push` is `git push`: which folder, computer, account or verbosity an option before the command names says nothing about
what the command does. The table `global_options.txt` has such options by program. Of an option that is in no list it is unknown
whether the next word is its value, so both count. Readings are strings, words joined by blanks. Pure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from msgspec import Struct

from opencode_tui.engine.permission.shell.words import UNKNOWN, listed, names, rows

READING_LIMIT = 40
"""Maximum number of readings of one command."""

_UNSURE_LIMIT = 4
"""Maximum number of unknown options of one command for which each mixture of both meanings is read."""

_KEPT_LIMIT = 8
"""Maximum number of options of one command that are kept one by one."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*[:?+!]*=.*", re.DOTALL)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?")
_WITH_ASSIGNMENTS = names("make gmake bmake remake")
_WITH_TOOLCHAINS = names("cargo rustc rustdoc clippy-driver cargo-clippy rustfmt")
_THREE_WORDS = listed("three words")


class Readings(Struct, frozen=True, gc=False):
    """How the words of a command, joined in `itself`, may be read: `equal` differ in nothing that matters, `others` count for rules
    that ask or deny."""

    itself: str = ""
    equal: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class _Options(Struct, frozen=True):
    """The options of a program: whether they may be `anywhere`, those with and without a value, and those that are `harmless`."""

    anywhere: bool = False
    valued: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()
    harmless: frozenset[str] = frozenset()


class _Group(Struct, frozen=True):
    """One option among the words of a command: where it is, how many words it has, and its name and value as far as known.

    `is_unsure`: the word after it may be its value.
    """

    start: int
    count: int
    name: str = ""
    value: str | None = None
    is_harmless: bool = False
    is_unsure: bool = False


_NO_OPTIONS = _Options()


def read_command(words: Sequence[str]) -> Readings:
    """Return the readings of a command, its program first; unknown pieces of words are shown as `…`."""
    if not words or UNKNOWN in words[0]:
        return Readings()
    itself = _joined(words)
    equal: dict[str, None] = {}
    others: dict[str, None] = {}
    for variant in _variants(words):
        harmless, found = _set_aside(variant)
        if variant is words and harmless is not None:
            equal[_joined(harmless)] = None
        others |= dict.fromkeys(map(_joined, [variant, *found]))
    equal.pop(itself, None)
    others.pop(itself, None)
    return Readings(itself, tuple(equal), tuple(others)[:READING_LIMIT])


def _variants(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the words, without the folder of the program, without those that may be empty, and what `python -m` runs."""
    yield words
    program = words[0].rpartition("/")[2]
    named = [program, *words[1:]] if program != words[0] and program else words
    if named is not words:
        yield named
    if any(word == UNKNOWN for word in words):
        yield [word for word in named if word != UNKNOWN]
    if _PYTHON.fullmatch(program) and "-m" in words:
        module = words[words.index("-m") + 1 :]
        if module and UNKNOWN not in module[0]:
            yield module


def _joined(words: Sequence[str]) -> str:
    return " ".join(word for word in words if word).replace(UNKNOWN, "…")


def _set_aside(words: Sequence[str]) -> tuple[list[str] | None, list[list[str]]]:
    """Return the words without harmless options (None where there are none), and those without some or all options."""
    program = words[0]
    options = _table().get(program, _NO_OPTIONS)
    groups = _groups(words, options)
    found: list[list[str]] = []
    harmless: list[str] | None = None
    if groups:
        if any(group.is_harmless for group in groups):
            harmless = _without(words, [group for group in groups if group.is_harmless])
        found += _read(words, groups, options)
        found += [expanded for text in found if (expanded := _aliased(text, groups)) is not None]
    for text in [list(words), *found]:
        found += _second_level(text)
    return harmless, [text for text in found if len(text) > 1]


def _read(words: Sequence[str], groups: Sequence[_Group], options: _Options) -> list[list[str]]:
    """Return the words without all options, then with one of them kept: before the command, and after it if it may be there."""
    bare = _mixtures(words, groups)
    found = list(bare)
    for group in groups[:_KEPT_LIMIT]:
        spellings = [list(words[group.start : group.start + group.count])]
        if group.value is not None and group.name.startswith("-"):
            spellings += [[group.name, group.value], [f"{group.name}={group.value}"]]
        for text in bare[:2]:
            for kept in spellings:
                found.append([text[0], *kept, *text[1:]])
                if options.anywhere and len(text) > 1:
                    found.append([*text[:2], *kept, *text[2:]])
    return found


def _mixtures(words: Sequence[str], groups: Sequence[_Group]) -> list[list[str]]:
    """Return the words without the options, once for each reading of the options that may or may not have a value."""
    unsure = [group for group in groups if group.is_unsure]
    sure = [group for group in groups if not group.is_unsure]
    sizes = (
        product((1, 2), repeat=len(unsure))
        if len(unsure) <= _UNSURE_LIMIT
        else [(1,) * len(unsure), (2,) * len(unsure)]
    )
    found: list[list[str]] = []
    for chosen in sizes:
        text = _without(words, [*sure, *(_Group(one.start, size) for one, size in zip(unsure, chosen, strict=True))])
        while len(text) > 1 and unsure and text[1].startswith("-") and text[1] != "--":
            text.pop(1)  # an option that stood where a value could be
        if text not in found and (len(text) > 1 or not unsure):
            found.append(text)
    return found


def _without(words: Sequence[str], groups: Sequence[_Group]) -> list[str]:
    left_out = {index for group in groups for index in range(group.start, group.start + group.count)}
    return [word for index, word in enumerate(words) if index not in left_out]


def _aliased(text: list[str], groups: Sequence[_Group]) -> list[str] | None:
    """Return what an alias stands for that an option of the same call of git defines."""
    for group in groups:
        name, equals, value = (group.value or "").partition("=")
        if group.name == "-c" and equals and len(text) > 1 and name.lower() == f"alias.{text[1].lower()}":
            return [text[0], *value.split(), *text[2:]]
    return None


def _second_level(text: list[str]) -> list[list[str]]:
    """Return the words without the options between two words that name a command together, as `docker compose -f x up`."""
    key = ".".join(text[:2])
    options = _table().get(key)
    if len(text) < 3 or (options is None and key not in _THREE_WORDS):
        return []
    known = options or _NO_OPTIONS
    groups = _groups(text[1:], known)
    return [[text[0], *found] for found in _read(text[1:], groups, known)] if groups else []


def _groups(words: Sequence[str], options: _Options) -> list[_Group]:
    """Return the options of a program among its words: those of the table, and all that come before the first other word."""
    program, place = words[0], 1
    found: list[_Group] = []
    is_before = True
    while place < len(words):
        word = words[place]
        if word == "--":
            if is_before:
                found.append(_Group(place, 1))
            break
        group = _group(words, place, options, is_before=is_before, program=program)
        if group is not None:
            found.append(group)
            place += group.count
        elif options.anywhere or is_before:
            is_before = is_before and word.startswith("-")
            place += 1
        if group is None and not options.anywhere:
            break
    return found


def _group(words: Sequence[str], place: int, options: _Options, *, is_before: bool, program: str) -> _Group | None:
    """Return the option that begins at a word; None where that is no option of the program itself."""
    word = words[place]
    if program in _WITH_ASSIGNMENTS and _ASSIGNMENT.fullmatch(word):
        return _Group(place, 1)
    if place == 1 and program in _WITH_TOOLCHAINS and word.startswith("+"):
        return _Group(place, 1)
    if len(word) < 2 or not word.startswith("-"):
        return None
    name, equals, value = word.partition("=")
    is_harmless = name in options.harmless
    if name in options.valued:
        if equals:
            return _Group(place, 1, name, value, is_harmless)
        following = words[place + 1] if place + 1 < len(words) else None
        return _Group(place, 1 if following is None else 2, name, following, is_harmless)
    if program in _WITH_ASSIGNMENTS and name in ("-j", "--jobs") and "".join(words[place + 1 : place + 2]).isdigit():
        return _Group(place, 2)
    if name in options.plain:
        return _Group(place, 1, name, None, is_harmless)
    if not word.startswith("--") and len(word) > 2:
        if word[:2] in options.valued:
            return _Group(place, 1, word[:2], word[2:].removeprefix("="), word[:2] in options.harmless)
        if all(f"-{letter}" in options.plain for letter in word[1:]) or word[:2] == "-j":
            return _Group(place, 1, word)
    if not is_before:
        return None
    return _Group(place, 1, name, value if equals else None, is_unsure=not equals)


@cache
def _table() -> Mapping[str, _Options]:
    table: dict[str, _Options] = {}
    for programs, where, valued, plain, harmless in rows("global_options.txt", 5):
        safe = {name.rstrip("=") for name in harmless.split()}
        with_value = {name.rstrip("=") for name in harmless.split() if name.endswith("=")}
        options = _Options(
            where == "anywhere", names(valued) | with_value, names(plain) | (safe - with_value), frozenset(safe)
        )
        table.update(dict.fromkeys(programs.split(), options))
    return table
