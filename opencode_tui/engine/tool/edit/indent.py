"""How the indentation that a model writes corresponds to the file's.

Deeper stays deeper: a mapping that gives two indentations one counterpart, or a deeper one a shallower counterpart, is none. An
indentation that no quoted line has is computed only where all lines are shifted alike, or scaled from none.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from msgspec import Struct

_INDENT_LIMIT = 200
"""Most characters of an indentation that is computed from others."""

_OPENERS = (":", "{", "(", "[")

Pair = tuple[str, str]
"""An indentation that a model wrote, and the file's."""


class Scale(Struct, frozen=True):
    """Indentations of one character whose lengths in the file are `ratio` times the length of the other `character`."""

    character: str
    counterpart: str
    ratio: Fraction

    def apply(self, indent: str) -> str | None:
        """Return the indentation in the file; blanks behind tabs align and stay. None when it has no counterpart."""
        run = len(indent) - len(indent.lstrip(self.character))
        length, aligned = self.ratio * run, indent[run:]
        if length.denominator != 1 or length > _INDENT_LIMIT or "\t" in aligned:
            return None
        return self.counterpart * int(length) + aligned


class Reindent(Struct, frozen=True):
    """The mapping of the model's indentations to the file's.

    `delta` is a prefix that the file's have in addition, `takes` one that they lack; `scale` computes unknown ones.
    """

    known: Mapping[str, str]
    delta: str | None = None
    takes: str | None = None
    scale: Scale | None = None

    @property
    def is_uniform(self) -> bool:
        """Return whether all lines are shifted by the same amount or ratio."""
        return self.delta is not None or self.takes is not None or self.scale is not None

    def apply(self, text: str) -> str | None:
        """Return the text with the file's indentation, or None when a line's indentation has no counterpart."""
        lines: list[str] = []
        for line in text.split("\n"):
            indent = indent_of(line)
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
        others = {len(indent_of(line)) for line in text.split("\n") if line.strip()} - {len(mine)}
        return bool(others) and all(length * len(theirs) % (2 * len(mine)) == 0 for length in others)

    def _translate(self, indent: str) -> str | None:
        if (self.delta or self.takes) and set(indent) - set("".join([*self.known, *self.known.values()])):
            return None  # tabs and blanks: how wide are the tabs?
        if self.delta is not None:
            return self.delta + indent
        if self.takes is not None:
            return indent.removeprefix(self.takes) if indent.startswith(self.takes) else None
        if indent in self.known:
            return self.known[indent]
        return self.scale.apply(indent) if self.scale is not None else None


AS_WRITTEN = Reindent({}, delta="")
"""The mapping of a text that is indented as the file is."""


def reindent(written: Sequence[str], found: Sequence[str]) -> Reindent | None:
    """Return how the model's lines are indented in the file, pair by pair, or None when that is no mapping.

    Blank lines do not count.
    """
    pairs = [(indent_of(mine), indent_of(theirs)) for mine, theirs in zip(written, found, strict=True) if mine.strip()]
    if not pairs:
        return AS_WRITTEN
    if not is_increasing(pairs):
        return None
    known = dict(pairs)
    added = {theirs.removesuffix(mine) if theirs.endswith(mine) else None for mine, theirs in known.items()}
    taken = {mine.removesuffix(theirs) if mine.endswith(theirs) else None for mine, theirs in known.items()}
    return Reindent(known, _only(added), _only(taken), _scale_of(known))


def reindent_new(written: Sequence[str], found: Sequence[str], new: Sequence[str]) -> Reindent | None:
    """Return the mapping for the lines of a new text that replaces the written ones, None where it is not certain.

    A new text whose first line has the indentation that the file has there, and the quoted line not, is indented as the file is. So
    is one whose quoted text lacks only the indentation of its first line; but where lines of the new text are shallower than all
    other quoted ones, it is relative to its first line.
    """
    pairs = [(indent_of(mine), indent_of(theirs)) for mine, theirs in zip(written, found, strict=True) if mine.strip()]
    if not pairs:
        return AS_WRITTEN
    if all(mine == theirs for mine, theirs in pairs):
        return AS_WRITTEN
    (mine, theirs), others = pairs[0], pairs[1:]
    kept = {line for line in new if line.strip()}.intersection(written)
    heads = [indent_of(line) for line in new if line.strip()]
    lacks_first = bool(others) and not mine and bool(theirs) and all(one == other for one, other in others)
    if set("".join(heads)) - set("".join(one for pair in pairs for one in pair)):
        return None
    if heads and heads[0] == theirs != mine:
        if set("".join(heads)) - set("".join(other for _, other in pairs)):
            return None
        is_other = not lacks_first and any(
            indent_of(line) != indent_of(other) for line, other in zip(written, found, strict=True) if line in kept
        )
        return None if is_other else AS_WRITTEN
    if not lacks_first:
        return None if _is_flattened(pairs, new) else reindent(written, found)
    least = min(len(one) for one, _ in others)
    if heads[:1] in ([], [""]) and all(len(indent) >= max(least, 1) for indent in heads[1:]):
        return Reindent({"": theirs} | {indent: indent for indent in heads[1:]})
    if heads[:1] == [""] and kept <= {next(line for line in new if line.strip())}:
        return Reindent({"": theirs}, delta=theirs)
    return None


def _is_flattened(pairs: Sequence[Pair], new: Sequence[str]) -> bool:
    """Return whether no quoted line is indented as the file's are, and the new text is not indented relative to these either.

    Its blocks have no depth, or its other lines have the file's own.
    """
    if any(mine for mine, _ in pairs) or not all(theirs for _, theirs in pairs):
        return False
    lines = [line for line in new if line.strip()]
    if is_flat(lines):
        return True
    least = min((len(indent_of(line)) for line in lines[1:]), default=0)
    is_alone = len(pairs) == 1 and bool(lines) and not indent_of(lines[0])
    return is_alone and least >= len(pairs[0][1]) and not lines[0].rstrip().endswith(_OPENERS)


def is_flat(lines: Sequence[str]) -> bool:
    """Return whether one of these lines begins a block, and the next is no deeper and does not end it."""
    return any(
        one.rstrip().endswith(_OPENERS)
        and len(indent_of(other)) <= len(indent_of(one))
        and other.strip()[0] not in "})]"
        for one, other in pairwise(lines)
    )


def is_increasing(pairs: Iterable[Pair]) -> bool:
    """Return whether each indentation has one counterpart, and a deeper one a deeper one."""
    known = sorted(set(pairs), key=lambda pair: (_width(pair[0]), _width(pair[1])))
    return all(
        _width(before[0]) < _width(after[0]) and _width(before[1]) < _width(after[1])
        for before, after in pairwise(known)
    )


def _width(indent: str) -> int:
    return len(indent.expandtabs(8))


def _only(values: set[str | None]) -> str | None:
    return next(iter(values)) if len(values) == 1 else None


def indent_of(line: str) -> str:
    """Return the blanks and tabs at the beginning of a line."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def _scale_of(known: Mapping[str, str]) -> Scale | None:
    """Return the scale that all pairs follow, from none for none. One pair gives one only if the characters differ."""
    known = dict(_without_alignment(*pair) for pair in known.items())
    mine, theirs = {sign for one in known for sign in one}, {sign for one in known.values() for sign in one}
    if len(mine) != 1 or len(theirs) != 1:
        return None
    points = {len(one): len(other) for one, other in known.items()}
    if points.pop(0, 0) or (len(points) == 1 and mine == theirs and "" not in known):
        return None
    ratios = {Fraction(other, one) for one, other in points.items()}
    ratio = ratios.pop() if len(ratios) == 1 else 0
    return Scale(mine.pop(), theirs.pop(), Fraction(ratio)) if ratio > 0 else None


def _without_alignment(mine: str, theirs: str) -> Pair:
    """Return the pair without the blanks behind tabs that both end with."""
    blanks = mine.lstrip("\t")
    is_aligned = blanks != mine and theirs.endswith(blanks)
    return (mine.removesuffix(blanks), theirs.removesuffix(blanks)) if is_aligned else (mine, theirs)
