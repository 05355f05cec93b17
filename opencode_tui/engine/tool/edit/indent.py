"""How the indentation that a model writes corresponds to the file's."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

_INDENT_LIMIT = 200
"""Most characters of an indentation that is computed from others."""


class Scale(Struct, frozen=True):
    """Indentations of one character whose lengths in the file are `base + ratio * length` of the other `character`."""

    character: str
    counterpart: str
    base: Fraction
    ratio: Fraction

    def apply(self, indent: str) -> str | None:
        """Return the indentation in the file; blanks behind tabs align and stay. None when it has no counterpart."""
        run = len(indent) - len(indent.lstrip(self.character))
        length, aligned = self.base + self.ratio * run, indent[run:]
        if length.denominator != 1 or not 0 <= length <= _INDENT_LIMIT or "\t" in aligned:
            return None
        return self.counterpart * int(length) + aligned


class Reindent(Struct, frozen=True):
    """The mapping of the model's indentations to the file's.

    `delta` is a prefix that the file's have in addition, `takes` one that they lack; `scale` computes unknown ones.
    """

    known: Mapping[str, str]
    delta: str | None
    takes: str | None
    scale: Scale | None

    @property
    def is_uniform(self) -> bool:
        """Return whether all lines are shifted by the same amount or ratio."""
        return self.delta is not None or self.takes is not None or self.scale is not None

    def apply(self, text: str) -> str | None:
        """Return the text with the file's indentation, or None when a line's indentation has no counterpart."""
        lines: list[str] = []
        for line in text.split("\n"):
            indent = _indent_of(line)
            moved = self._translate(indent) if line else ""
            if moved is None and line != indent:
                return None
            lines.append(line if moved is None else moved + line[len(indent) :])
        return None if self._is_ambiguous(text) else "\n".join(lines)

    def _is_ambiguous(self, text: str) -> bool:
        """Return whether lines have other indentations than the one known, which is twice or half of the file's: shifted or scaled?

        Scaled ones are even; where one would be odd, the known one is shifted.
        """
        if len(self.known) != 1:
            return False
        [(mine, theirs)] = self.known.items()
        if not theirs or set(mine) != set(theirs) or len(mine) not in (2 * len(theirs), len(theirs) / 2):
            return False
        others = {len(_indent_of(line)) for line in text.split("\n") if line.strip()} - {len(mine)}
        return bool(others) and all(length * len(theirs) % (2 * len(mine)) == 0 for length in others)

    def _translate(self, indent: str) -> str | None:
        if self.delta is not None:
            return self.delta + indent
        if self.takes is not None:
            return indent.removeprefix(self.takes) if indent.startswith(self.takes) else None
        if indent in self.known:
            return self.known[indent]
        return self.scale.apply(indent) if self.scale is not None else None


def reindent(written: Sequence[str], found: Sequence[str]) -> Reindent | None:
    """Return how the model's lines are indented in the file, pair by pair, or None when one indentation has two counterparts."""
    known: dict[str, str] = {}
    for mine, theirs in zip(written, found, strict=True):
        if mine.strip() and known.setdefault(_indent_of(mine), _indent_of(theirs)) != _indent_of(theirs):
            return None
    added = {theirs.removesuffix(mine) if theirs.endswith(mine) else None for mine, theirs in known.items()}
    taken = {mine.removesuffix(theirs) if mine.endswith(theirs) else None for mine, theirs in known.items()}
    return Reindent(known, _only(added), _only(taken), _scale_of(known))


def _only(values: set[str | None]) -> str | None:
    return next(iter(values)) if len(values) == 1 else None


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _scale_of(known: Mapping[str, str]) -> Scale | None:
    """Return the scale that all pairs follow. One pair gives one only if the characters differ: then none is none in the file."""
    known = dict(_without_alignment(*pair) for pair in known.items())
    mine, theirs = {sign for one in known for sign in one}, {sign for one in known.values() for sign in one}
    if len(mine) != 1 or len(theirs) > 1:
        return None
    points = {len(one): len(other) for one, other in known.items()}
    if len(points) == 1 and theirs and mine != theirs:
        points[0] = 0
    (first, at_first), *others = sorted(points.items())
    if not others:
        return None
    ratio = Fraction(others[-1][1] - at_first, others[-1][0] - first)
    base = at_first - ratio * first
    if ratio <= 0 or any(base + ratio * length != other for length, other in others):
        return None
    return Scale(mine.pop(), theirs.pop() if theirs else " ", base, ratio)


def _without_alignment(mine: str, theirs: str) -> tuple[str, str]:
    """Return the pair without the blanks behind tabs that both end with."""
    blanks = mine.lstrip("\t")
    is_aligned = blanks != mine and theirs.endswith(blanks)
    return (mine.removesuffix(blanks), theirs.removesuffix(blanks)) if is_aligned else (mine, theirs)
