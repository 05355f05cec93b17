"""Whether a replacement writes only what was meant, however it was found.

Every line of the result is a line of the file or of the new text, up to one shift of indentation. A quote that begins, or ends,
with a line end begins, or ends, where a line does. What surrounds the quote in its line is not written twice.
"""

import re
from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.tool.edit.fold import fold
from opencode_tui.engine.tool.edit.indent import Pair, indent_of, is_flat, is_increasing

_IN_WORD = re.compile(r"\w\0\w")
_LONGEST_NEIGHBOR = 2_000
_SURE_AROUND = 3
"""Characters around a quote that are no chance when the new text has them as well."""


class Replacement(Struct, frozen=True):
    """The replacement of characters [start, end) by `text`."""

    start: int
    end: int
    text: str


def end_lines(content: str, item: Replacement) -> Replacement:
    """Return the replacement with the line ends at both ends of what it replaces, so that it joins no lines.

    A text whose first line has the whole indentation of the file's, for a quote that begins after a part of it, begins that line.
    """
    found, text = content[item.start : item.end], item.text
    is_inside = item.start > 0 and content[item.start - 1] != "\n"
    has_rest = item.end < len(content)
    if not text:
        joins = is_inside and has_rest and found.startswith("\n") and found.endswith("\n")
        return replace(item, text="\n") if joins else item
    if is_inside and found.startswith("\n") and not text.startswith("\n"):
        text = f"\n{text}"
    if found.endswith("\n") and not text.endswith("\n") and (has_rest or found != f"{text}\n"):
        text += "\n"
    before = content[content.rfind("\n", 0, item.start) + 1 : item.start]
    indent, whole = indent_of(text), before + indent_of(found)
    is_after_blanks = bool(before) and not before.strip()
    if is_after_blanks and indent.startswith(whole) and (indent != whole or found.strip() != text.strip()):
        text = text.removeprefix(before)
    return replace(item, text=text)


def is_meant(content: str, old: str, new: str, item: Replacement) -> bool:
    """Return whether the replacement of the quote `old`, which asks for `new`, writes only what was meant."""
    before = content[content.rfind("\n", 0, item.start) + 1 : item.start]
    line_end = content.find("\n", item.end)
    is_ended = item.end > item.start and content[item.end - 1] == "\n"
    after = "" if is_ended else content[item.end : line_end if line_end >= 0 else len(content)]
    if (old.lstrip(" \t").startswith("\n") and before.strip() and content[item.start : item.start + 1] != "\n") or (
        old.rstrip(" \t").endswith("\n") and after.strip()
    ):
        return False
    if _is_twice(before, old, new, after):
        return False
    if content[item.start : item.end] == old:
        return not (before and not before.strip() and _is_indented_otherwise(old, new))
    if _repeats_neighbor(content, old, new, item):
        return False
    found = (before + content[item.start : item.end] + after).split("\n")
    result, written = ((before + text + after).split("\n") for text in (item.text, new))
    return are_lines_meant(old.split("\n"), written, found, result)


def are_lines_meant(old: Sequence[str], new: Sequence[str], found: Sequence[str], result: Sequence[str]) -> bool:
    """Return whether each line of a result is a found one or the new one in its place, all of these shifted alike.

    `found` are the lines of the file that are quoted as `old`.
    """
    made, written = _trimmed(result), _trimmed(new)
    if len(made) != len(written):
        return False
    known = [
        (indent_of(mine), indent_of(theirs))
        for mine, theirs in zip(_trimmed(old), _trimmed(found), strict=False)
        if mine.strip() and _core(mine) == _core(theirs)
    ]
    kept = set(found)
    pairs: list[Pair] = []
    for mine, theirs in zip(written, made, strict=True):
        is_same = _core(mine) == _core(theirs)
        if not is_same and theirs not in kept:
            return False
        if is_same and theirs.strip():
            pairs.append((indent_of(mine), indent_of(theirs)))
    return _is_one_shift(pairs, known)


def _is_twice(before: str, old: str, new: str, after: str) -> bool:
    """Return whether the new text repeats what is around the quote in its line: then it is for the whole line."""
    head, tail = before.lstrip(), after.rstrip()
    if _IN_WORD.search(f"{head}\0{old}") and new.lstrip().startswith(head):
        return True
    return (_is_long_enough(head) and new.lstrip().startswith(head) and not old.lstrip().startswith(head)) or (
        (_is_long_enough(tail) or tail.endswith((";", "{")))
        and new.rstrip().endswith(tail)
        and not old.rstrip().endswith(tail)
    )


def _is_indented_otherwise(old: str, new: str) -> bool:
    """Return whether new lines may have another indentation than the file, as the first quoted line has.

    It lacks indentation, a part or all, and no other quoted line has any: then no one knows what the indentation of new lines
    stands for, or that they have none.
    """
    quoted, written = ([line for line in text.split("\n") if line.strip()] for text in (old, new))
    if len(quoted) < 2 or any(indent_of(line) for line in quoted[1:]):
        return False
    if indent_of(old):
        return any(indent_of(line) for line in written if line not in quoted)
    return is_flat(written)


def _repeats_neighbor(content: str, old: str, new: str, item: Replacement) -> bool:
    """Return whether the new text begins, or ends, with the line of the file around the quote, unlike the old one."""
    quoted, written = ([line.strip() for line in text.strip().split("\n")] for text in (old, new))
    before = content[max(0, item.start - _LONGEST_NEIGHBOR) : item.start].rstrip().rpartition("\n")[2].strip()
    after = content[item.end : item.end + _LONGEST_NEIGHBOR].lstrip().partition("\n")[0].strip()
    is_longer = len(written) > 1 and bool(written[0])
    return is_longer and (written[0] == before != quoted[0] or written[-1] == after != quoted[-1])


def _is_long_enough(text: str) -> bool:
    size = len(text.strip())
    return size >= _SURE_AROUND * 2 or (size >= _SURE_AROUND and re.search(r"\w", text) is not None)


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Return the lines from the first to the last that is not blank."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return list(lines[filled[0] : filled[-1] + 1]) if filled else []


def _core(line: str) -> str:
    return " ".join(fold(line).text.split())


def _is_one_shift(pairs: Sequence[Pair], known: Sequence[Pair]) -> bool:
    """Return whether lines are shifted alike: as written, all by one amount or ratio, or each as the quoted line so indented.

    Only the first one may be shifted alone, as only the first quoted line was.
    """
    if all(mine == theirs for mine, theirs in pairs):
        return True
    if all(mine == theirs for mine, theirs in [*pairs[1:], *known[1:]]) and pairs[0] in known:
        return True
    moved = [pair for pair in pairs if any(pair)]
    return is_increasing(pairs) and (
        all(pair in known for pair in pairs)
        or any(
            len(amounts := {amount(*pair) for pair in moved}) == 1 and None not in amounts
            for amount in (_added, _removed, _ratio)
        )
    )


def _added(mine: str, theirs: str) -> str | None:
    return theirs.removesuffix(mine) if theirs.endswith(mine) else None


def _removed(mine: str, theirs: str) -> str | None:
    return mine.removesuffix(theirs) if mine.endswith(theirs) else None


def _ratio(mine: str, theirs: str) -> Fraction | None:
    return Fraction(len(theirs.expandtabs(1)), len(mine)) if mine else None
