"""Replacement of text in a file: unambiguous matches, unchanged line ends, and errors with advice for the model.

Outside of the replaced ranges no character changes, also in files with mixed line ends.
"""

import bisect
import re
from itertools import accumulate
from pathlib import Path

from opencode_tui.engine.tool.edit.check import Replacement
from opencode_tui.engine.tool.edit.match import find_replacements, find_sequences
from opencode_tui.engine.tool.edit.nearest import explain_missing
from opencode_tui.engine.tool.edit.placeholder import refuse_placeholders
from opencode_tui.engine.tool.files.files import TextFile
from opencode_tui.schema.error import ToolError

_SHOWN_LINES = 8
_FEWEST_LINES = 2
"""Lines of a new text that say where they are: a single one may be anywhere."""
_TELLING_CHARACTERS = 10


def replace_text(path: Path, file: TextFile, old: str, new: str, *, replace_all: bool) -> tuple[str, str]:
    """Return the file's new text, and a sentence for the model on what was adapted, empty for an exact quote; raises ToolError."""
    plain = file.format.plain_lines(file.text)
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old == new:
        raise ToolError(
            "oldString and newString are the same, so there is nothing to change", "give the text that shall replace it"
        )
    refuse_placeholders(path, new, old)
    matches = find_replacements(plain, old, new)
    found = matches.replacements
    near = found or matches.doubtful
    if (not found or matches.adaptation) and not replace_all and (line := _find_made(plain, new, near)) is not None:
        raise ToolError(
            f"oldString is not in {path} as quoted, but newString is, at line {line}",
            "the edit may have been made before: read the file again",
        )
    if not found:
        raise explain_missing(f"oldString was not found in {path}", plain, old)
    if len(found) > 1 and not replace_all:
        like = "has text like oldString" if matches.adaptation else "has oldString"
        raise ToolError(
            f"{path} {like} {len(found)} times (lines {_line_numbers(plain, found)})",
            "add lines around it until it is unique, or set replaceAll",
        )
    if matches.adaptation and len({plain[item.start : item.end] for item in found}) > 1:
        raise ToolError(
            f"{path} has different texts like oldString (lines {_line_numbers(plain, found)})",
            "quote each of them exactly",
        )
    chosen = _without_overlaps(found)
    text = _splice(file, chosen)
    if text == file.text:
        raise ToolError(
            f"newString is already in {path}, at line {_line_numbers(plain, chosen)}", "there is nothing to change"
        )
    return text, _describe_adaptation(plain, chosen, matches.adaptation)


def refuse_empty_quote(path: Path, file: TextFile) -> None:
    """Raise ToolError when a file has a text, which an edit that quotes nothing would replace."""
    if file.text:
        raise ToolError(
            f"oldString is empty, but {path} exists and is not",
            "quote the text to replace; to append, quote the last lines",
        )


def _find_made(text: str, new: str, found: list[Replacement]) -> int | None:
    """Return the number of the line at which the new text of several lines already is, None where only matches have it.

    White space at the ends of lines does not count. Where nothing was found, short lines may be there by chance. A match inside of
    the new text that has fewer lines than it is what the edit left of the old text: to replace it would add the rest again.
    """
    wanted = [line.strip() for line in new.strip().split("\n")]
    if len(wanted) < _FEWEST_LINES or (not found and max(map(len, wanted)) < _TELLING_CHARACTERS):
        return None
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    for index in find_sequences([line.strip() for line in lines], wanted):
        start, end = starts[index], starts[index + len(wanted)]
        beside = [item for item in found if item.start < end - 1 and start < item.end]
        if all(start <= item.start and _is_part(text[item.start : item.end], wanted) for item in beside):
            return index + 1
    return None


def _is_part(text: str, wanted: list[str]) -> bool:
    """Return whether a text has the first or last of the wanted lines, and not all."""
    lines = [line.strip() for line in text.strip().split("\n")]
    return len(lines) < len(wanted) and lines in (wanted[: len(lines)], wanted[-len(lines) :])


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
    if all_ends and file.format.newline != "\r":
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


def _describe_adaptation(text: str, chosen: list[Replacement], adaptation: str) -> str:
    if not adaptation:
        return ""
    first, last = chosen[0], chosen[-1]
    start, end = text.count("\n", 0, first.start) + 1, text.count("\n", 0, max(last.end - 1, last.start)) + 1
    lines = f"line {start}" if start == end else f"lines {start} to {end}"
    return f"oldString {adaptation}; it was matched with {lines}."
