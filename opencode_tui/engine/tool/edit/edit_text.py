"""Replacement of text in a file: unambiguous matches, unchanged line ends, and errors with advice for the model.

Outside of the replaced ranges no character changes, also in files with mixed line ends.
"""

import bisect
import re
from pathlib import Path

from opencode_tui.engine.tool.edit.match import Replacement, find_replacements
from opencode_tui.engine.tool.files.files import TextFile
from opencode_tui.schema.error import ToolError

_SHOWN_LINES = 8
_SHOWN_CHARACTERS = 160
_NEAR_ENOUGH = 50.0
_SLICE_LINES = 2_000
_COMPARED_CHARACTERS = 1_000


def replace_text(path: Path, file: TextFile, old: str, new: str, *, replace_all: bool) -> tuple[str, str]:
    """Return the file's new text and a note for the model when the match was not exact; raises ToolError."""
    plain = file.text.replace("\r\n", "\n")
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old == new:
        raise ToolError(
            "oldString and newString are the same, so there is nothing to change; give the text that shall replace it"
        )
    found = find_replacements(plain, old, new)
    if not found:
        raise ToolError(f"oldString was not found in {path}: {_nearest(plain, old)}")
    if len(found) > 1 and not replace_all:
        raise ToolError(
            f"oldString occurs {len(found)} times in {path} (lines {_line_numbers(plain, found)}); "
            "add lines around it until it is unique, or set replaceAll"
        )
    chosen = _without_overlaps(found)
    return _splice(file, chosen), "" if found[0].exact else _inexact_note(plain, chosen)


def _splice(file: TextFile, replacements: list[Replacement]) -> str:
    """Return the raw text after the replacements, whose offsets do not count carriage returns."""
    text = file.text
    returns = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]
    pieces: list[str] = []
    at = 0
    for item in replacements:
        start = item.start + bisect.bisect_left(returns, item.start)
        end = item.end + bisect.bisect_left(returns, item.end)
        pieces += [text[at:start], _with_line_ends(item.text, text[start:end], file)]
        at = end
    return "".join([*pieces, text[at:]])


def _with_line_ends(new: str, replaced: str, file: TextFile) -> str:
    """Return the new text with the line ends of the replaced text, or of the file where that has none."""
    pairs, all_ends = replaced.count("\r\n"), replaced.count("\n")
    if all_ends:
        return new.replace("\n", "\r\n") if pairs * 2 > all_ends else new
    return file.format.end_lines(new)


def _without_overlaps(found: list[Replacement]) -> list[Replacement]:
    chosen: list[Replacement] = []
    for item in found:
        if not chosen or item.start >= chosen[-1].end:
            chosen.append(item)
    return chosen


def _line_numbers(text: str, found: list[Replacement]) -> str:
    numbers = [str(text.count("\n", 0, item.start) + 1) for item in found[:_SHOWN_LINES]]
    return ", ".join(numbers) + (", …" if len(found) > _SHOWN_LINES else "")


def _inexact_note(text: str, chosen: list[Replacement]) -> str:
    first, last = chosen[0], chosen[-1]
    start, end = text.count("\n", 0, first.start) + 1, text.count("\n", 0, last.end) + 1
    return f"\nNote: oldString was not quoted exactly; it was taken for lines {start} to {end}. Check the result."


def _nearest(text: str, old: str) -> str:
    """Return a hint for the model: the first quoted line that is not in the file, and the most similar line."""
    advice = "read it again and quote it exactly"
    lines = text.split("\n")
    present = {line.strip() for line in lines}
    wanted = next((line.strip() for line in old.split("\n") if line.strip() and line.strip() not in present), None)
    if wanted is None:
        first = next((line.strip() for line in old.split("\n") if line.strip()), "")
        numbers = [str(number) for number, line in enumerate(lines, 1) if first and line.strip() == first][
            :_SHOWN_LINES
        ]
        place = (
            f"its first line is at line {', '.join(numbers)}, but the lines do not follow each other as quoted"
            if numbers
            else "it is blank"
        )
        return f"{place}; {advice}"
    number, likeness = _most_alike(wanted, lines)
    if likeness < _NEAR_ENOUGH:
        return f"no line is like {_shown(wanted)}; {advice}"
    return f"the nearest to {_shown(wanted)} is line {number + 1}, {_shown(lines[number])}; {advice}"


def _most_alike(wanted: str, lines: list[str]) -> tuple[int, float]:
    """Return the index of the line most similar to `wanted`, and the similarity, 0 to 100."""
    from rapidfuzz import fuzz, process  # only for a failed edit

    best = (0, 0.0)
    # In slices, because a call holds the interpreter until it has compared everything.
    for start in range(0, len(lines), _SLICE_LINES):
        piece = [line.strip()[:_COMPARED_CHARACTERS] for line in lines[start : start + _SLICE_LINES]]
        found = process.extractOne(wanted[:_COMPARED_CHARACTERS], piece, scorer=fuzz.ratio, score_cutoff=best[1])
        if found is not None and found[1] > best[1]:
            best = (start + found[2], found[1])
    return best


def _shown(line: str) -> str:
    return repr(line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…")
