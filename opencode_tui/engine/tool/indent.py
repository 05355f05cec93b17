"""Carries the indentation of a file over to a text that a model wrote with another one."""

from collections.abc import Sequence

from msgspec import Struct


class Reindent(Struct, frozen=True):
    """From the model's indentations to the file's; `delta` when the file's are the model's with a constant prefix."""

    known: dict[str, str]
    delta: str | None
    takes: str | None

    @property
    def is_uniform(self) -> bool:
        """Tell whether all lines are shifted alike."""
        return self.delta is not None or self.takes is not None

    def apply(self, text: str) -> str | None:
        """Return the text with the file's indentation, or None when a line's has no counterpart."""
        lines: list[str] = []
        for line in text.split("\n"):
            body = line.lstrip(" \t")
            indent = self._translate(line[: len(line) - len(body)]) if body else ""
            if indent is None:
                return None
            lines.append(indent + body)
        return "\n".join(lines)

    def _translate(self, indent: str) -> str | None:
        if self.delta is not None:
            return self.delta + indent
        if self.takes is not None:
            return indent.removeprefix(self.takes) if indent.startswith(self.takes) else None
        if indent in self.known:
            return self.known[indent]
        heads = [head for head in self.known if head and indent.startswith(head)]
        if not heads:
            return None
        head = max(heads, key=len)
        rest = self._translate(indent[len(head) :])
        return None if rest is None else self.known[head] + rest


def reindent(written: Sequence[str], found: Sequence[str]) -> Reindent | None:
    """Return how the model's lines are indented in the file, pair by pair, or None when one indentation has two counterparts."""
    known: dict[str, str] = {}
    for mine, theirs in zip(written, found, strict=True):
        if mine.strip() and known.setdefault(_indent_of(mine), _indent_of(theirs)) != _indent_of(theirs):
            return None
    added = {theirs.removesuffix(mine) if theirs.endswith(mine) else None for mine, theirs in known.items()}
    taken = {mine.removesuffix(theirs) if mine.endswith(theirs) else None for mine, theirs in known.items()}
    return Reindent(known, _only(added), _only(taken))


def _only(values: set[str | None]) -> str | None:
    return next(iter(values)) if len(values) == 1 else None


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
