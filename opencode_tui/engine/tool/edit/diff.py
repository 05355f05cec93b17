"""The changes between two texts, as a unified diff and as counts. Blocks: call it in a thread for large texts."""

import difflib
from collections.abc import Iterator, Sequence

from msgspec import Struct

from opencode_tui.engine.tool.files.text_format import presentable

_CONTEXT = 3
_COMPARED_LINES = 4_000
"""Above this many differing lines (both texts together) they form one block, because the comparison is quadratic."""


class TextDiff(Struct, frozen=True):
    """A unified diff with an `Index:` header, and the numbers of added and removed lines; empty when nothing changed."""

    text: str
    additions: int
    deletions: int


class _Block(Struct, frozen=True):
    """Old lines [old_start, old_end) became new lines [new_start, new_end)."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def compare(path: str, before: str, after: str) -> TextDiff:
    """Return the difference of two texts; different line ends do not count."""
    old, new = _lines(before), _lines(after)
    blocks = _blocks(old, new)
    if not blocks:
        return TextDiff("", 0, 0)
    parts = [f"Index: {path}\n{'=' * 67}\n--- {path}\n+++ {path}\n"]
    for group in _grouped(blocks):
        parts.extend(_hunk(group, old, new))
    additions = sum(block.new_end - block.new_start for block in blocks)
    deletions = sum(block.old_end - block.old_start for block in blocks)
    return TextDiff("".join(parts), additions, deletions)


def _lines(text: str) -> list[str]:
    pieces = presentable(text).replace("\r\n", "\n").split("\n")
    ended = [piece + "\n" for piece in pieces[:-1]]
    return [*ended, pieces[-1]] if pieces[-1] else ended


def _blocks(old: Sequence[str], new: Sequence[str]) -> list[_Block]:
    shorter = min(len(old), len(new))
    head = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    limit = shorter - head
    tail = next((index for index in range(limit) if old[-1 - index] != new[-1 - index]), limit)
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if not old_middle and not new_middle:
        return []
    if len(old_middle) + len(new_middle) > _COMPARED_LINES or not old_middle or not new_middle:
        return [_Block(head, len(old) - tail, head, len(new) - tail)]
    matcher = difflib.SequenceMatcher(None, old_middle, new_middle)
    return [
        _Block(head + old_start, head + old_end, head + new_start, head + new_end)
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _grouped(blocks: Sequence[_Block]) -> Iterator[list[_Block]]:
    """Yield groups of blocks whose context lines touch."""
    group: list[_Block] = []
    for block in blocks:
        if group and block.old_start - group[-1].old_end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(block)
    yield group


def _hunk(group: Sequence[_Block], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    first, last = group[0], group[-1]
    lead = min(_CONTEXT, first.old_start)
    trail = min(_CONTEXT, len(old) - last.old_end)
    old_start, old_end = first.old_start - lead, last.old_end + trail
    new_start, new_end = first.new_start - lead, last.new_end + trail
    yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@\n"
    at = old_start
    for block in group:
        yield from _marked(" ", old[at : block.old_start])
        yield from _marked("-", old[block.old_start : block.old_end])
        yield from _marked("+", new[block.new_start : block.new_end])
        at = block.old_end
    yield from _marked(" ", old[at:old_end])


def _range(start: int, end: int) -> str:
    return f"{start + 1 if end > start else start},{end - start}"


def _marked(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
