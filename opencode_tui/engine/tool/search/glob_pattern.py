"""File name patterns (`*`, `?`, `[…]`, `{a,b}`, and `**` for any number of folders; `\\` before one of their signs is that sign).

Names with brackets are common, as routes of a web framework are: a pattern with `[…]` also is for names that have these brackets.
A pattern comes from the model. It is compiled to a state machine, so that a match takes linear time for every pattern and path.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from opencode_tui.schema.error import ToolError

PATTERN_LIMIT = 4_096
"""Most characters of a pattern."""
_NESTING_LIMIT = 20
_CACHED_STEPS = 20_000

_SIGNS = "*?[]{},!\\"
_MAGIC = re.compile(r"[*?\[{]")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test for paths relative to a folder, with `/` between their parts. Raises ToolError for a wrong pattern.

    A pattern without `/` is for the name at any depth; one with `/` starts at the folder; a `!` before it inverts it.
    """
    if len(pattern) > PATTERN_LIMIT:
        raise ToolError(f"the file pattern is longer than {PATTERN_LIMIT} characters; use a shorter one")
    is_inverted = (len(pattern) - len(pattern.lstrip("!"))) % 2 == 1
    anchored = pattern.lstrip("!").removeprefix("./")
    if "/" not in anchored:
        anchored = f"**/{anchored}"
    plain = anchored.removeprefix("/")
    readings = [_parse(plain), *([_parse(plain, has_sets=False)] if "[" in plain else [])]
    machine = _Machine([_Choice(readings)] if len(readings) > 1 else readings[0])
    return (lambda path: not machine.matches(path)) if is_inverted else machine.matches


def split_fixed(pattern: str) -> tuple[str, str]:
    """Return an absolute pattern's leading folder without wildcards, and the rest."""
    parts = pattern.split("/")
    fixed = next((index for index, part in enumerate(parts[:-1]) if _MAGIC.search(part)), len(parts) - 1)
    return "/".join(parts[:fixed]) or "/", "/".join(parts[fixed:])


class _Set(Struct, frozen=True):
    """The characters of one position: those in `ranges`, or with `negated` all others but `/`."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    def accepts(self, character: str) -> bool:
        """Return whether a character can stand at the position."""
        is_member = any(low <= character <= high for low, high in self.ranges)
        return not is_member and character != "/" if self.negated else is_member


class _Repeat(Struct, frozen=True):
    """Any number of such characters."""

    of: _Set


class _Folders(Struct, frozen=True):
    """Any number of whole folders, each with its slash."""


class _Choice(Struct, frozen=True):
    """One of several sequences."""

    branches: list["_Sequence"]


_Sequence = list["_Set | _Repeat | _Folders | _Choice"]
_SLASH = _Set((("/", "/"),))
_NO_SLASH = _Set((), negated=True)
_ANYTHING = _Set((("\0", "\U0010ffff"),))
_END = 1
"""The bit of the state after the whole pattern."""


class _Machine:
    """A pattern as a state machine: a set of positions is a number, one bit each. Sets and their successors are cached."""

    def __init__(self, sequence: _Sequence) -> None:
        self._sets: list[_Set | None] = [None]  # bit 0 is the end, where no character fits
        self._next: list[int] = [0]
        self._start = self._add(sequence, _END)
        self._fitting: dict[str, int] = {}
        self._known: dict[int, dict[str, int]] = {}
        self._cached = 0

    def matches(self, path: str) -> bool:
        """Return whether the pattern matches the whole path."""
        states = self._start
        for character in path:
            known = self._known.get(states)
            after = None if known is None else known.get(character)
            states = self._step(states, character) if after is None else after
            if not states:
                return False
        return bool(states & _END)

    def _step(self, states: int, character: str) -> int:
        fitting = self._fitting.get(character)
        if fitting is None:
            numbered = enumerate(self._sets)
            fitting = sum(1 << number for number, one in numbered if one is not None and one.accepts(character))
            self._fitting[character] = fitting
        after, rest = 0, states & fitting
        while rest:
            lowest = rest & -rest
            after |= self._next[lowest.bit_length() - 1]
            rest ^= lowest
        if self._cached >= _CACHED_STEPS:
            self._known.clear()
            self._fitting.clear()
            self._cached = 0
        self._cached += 1
        self._known.setdefault(states, {})[character] = after
        return after

    def _add(self, sequence: _Sequence, after: int) -> int:
        """Add the positions of a sequence that continues at `after`; returns those at which it starts."""
        for item in reversed(sequence):
            match item:
                case _Set():
                    after = self._position(item, after)
                case _Repeat():
                    number = len(self._sets)
                    after = self._position(item.of, after | 1 << number) | after
                case _Folders():
                    slash = self._position(_SLASH, after)
                    name = len(self._sets)
                    self._position(_NO_SLASH, slash | 1 << name)
                    self._next[name - 1] |= 1 << name
                    after |= 1 << name
                case _Choice():
                    starts = [self._add(branch, after) for branch in item.branches]
                    after = 0
                    for start in starts:
                        after |= start
        return after

    def _position(self, accepted: _Set, after: int) -> int:
        self._sets.append(accepted)
        self._next.append(after)
        return 1 << (len(self._sets) - 1)


def _parse(pattern: str, *, has_sets: bool = True) -> _Sequence:
    """Return the pattern's sequence; a group that is not closed ends with the pattern. Without sets a bracket is itself."""
    sequence: _Sequence = []
    outer: list[tuple[_Sequence, _Choice]] = []
    last_brace = pattern.rfind("}")
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        closing = pattern.find("]", at + 2) if sign == "[" and has_sets else -1
        if sign == "\\" and pattern[at + 1 : at + 2] and pattern[at + 1] in _SIGNS:
            at += 1
            sequence.append(_Set(((pattern[at], pattern[at]),)))
        elif pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] in "/{,"):
            if not (sequence and isinstance(sequence[-1], _Folders)):
                sequence.append(_Folders())
            at += 2
        elif pattern.startswith("**", at):
            sequence.append(_Repeat(_ANYTHING))
            at += 1
        elif sign == "*":
            sequence.append(_Repeat(_NO_SLASH))
        elif sign == "?":
            sequence.append(_NO_SLASH)
        elif sign == "{" and at < last_brace:
            if len(outer) == _NESTING_LIMIT:
                raise ToolError(f"the file pattern nests more than {_NESTING_LIMIT} braces; use a simpler one")
            outer.append((sequence, _Choice([[]])))
            sequence = outer[-1][1].branches[0]
        elif sign == "," and outer:
            sequence = []
            outer[-1][1].branches.append(sequence)
        elif sign == "}" and outer:
            sequence, choice = outer.pop()
            sequence.append(choice)
        elif closing > 0:
            sequence.append(_parse_set(pattern[at + 1 : closing]))
            at = closing
        else:
            sequence.append(_Set(((sign, sign),)))
        at += 1
    while outer:
        sequence, choice = outer.pop()
        sequence.append(choice)
    return sequence


def _parse_set(members: str) -> _Set:
    negated = members[:1] in ("!", "^")
    rest = members[1:] if negated else members
    ranges: list[tuple[str, str]] = []
    while rest:
        is_range = len(rest) > 2 and rest[1] == "-"
        low, high = rest[0], rest[2 if is_range else 0]
        if low > high:
            raise ToolError(f"the file pattern has the range [{low}-{high}], whose ends are reversed; swap them")
        ranges.append((low, high))
        rest = rest[3 if is_range else 1 :]
    return _Set(tuple(ranges), negated)
