"""The new text of an edit with the file's own text wherever the model changed nothing.

A model that quotes a text inexactly makes the same slip in the new text. What is equal in its old and its new text was not meant to
change, so the file's characters replace it there; only what differs comes from the model.
"""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

_MOST_PAIRS = 16_000_000
"""Pairs of lines or characters up to which two texts are compared; above it only equal ends count as unchanged."""


class Run(Struct, frozen=True):
    """A piece of an old and a new text, as ranges of indexes, that are equal or replace each other."""

    is_equal: bool
    old: range
    new: range


def runs_of(old: Sequence[str], new: Sequence[str]) -> Iterator[Run]:
    """Yield the runs that turn `old` into `new`, in order."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]), shorter - head)
    old_end, new_end = len(old) - tail, len(new) - tail
    yield Run(True, range(head), range(head))
    if (old_end - head) * (new_end - head) > _MOST_PAIRS:
        yield Run(False, range(head, old_end), range(head, new_end))
    else:
        from rapidfuzz.distance import Indel  # not needed for exact matches, which are nearly all

        yield from _joined(
            Run(
                code.tag == "equal",
                range(head + code.src_start, head + code.src_end),
                range(head + code.dest_start, head + code.dest_end),
            )
            for code in Indel.opcodes(old[head:old_end], new[head:new_end])
        )
    yield Run(True, range(old_end, len(old)), range(new_end, len(new)))


def _joined(runs: Iterator[Run]) -> Iterator[Run]:
    """Yield the runs, those that follow each other and differ as one."""
    last: Run | None = None
    for run in runs:
        if last is not None and not last.is_equal and not run.is_equal:
            last = Run(False, range(last.old.start, run.old.stop), range(last.new.start, run.new.stop))
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


def carry_lines(
    found: Sequence[str], old: Sequence[str], new: Sequence[str], adapt: Callable[[list[str]], list[str] | None]
) -> list[str] | None:
    """Return the new lines, each line that equals an old one as `found`, which pairs with `old`; changed runs through `adapt`.

    None when `adapt` returns None for a run.
    """
    lines: list[str] = []
    for run in runs_of(old, new):
        piece = [found[at] for at in run.old] if run.is_equal else adapt([new[at] for at in run.new])
        if piece is None:
            return None
        lines += piece
    return lines
