"""What a model meant by two texts that it quoted in a wrong form: the form is undone in both, or in neither.

A form is a slip that a model makes in all of a text: line numbers, marks of a diff, escapes. Where the new text has it in a part
only, no one knows what the rest means, and there is no such reading.
"""

import html
import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from opencode_tui.engine.tool.edit.carry import carry_lines

_NUMBER_ONLY = re.compile(r"[ \t]*(\d{1,7})(?:: |:\Z|→|\t|\|)")
_NUMBER = re.compile(r"[ \t]*(\d{1,7})(?:: |:\Z|→|\t| ?\| ?)")
"""Also with a blank around the bar, which may be the line's own."""
SURE_LINES = 3
"""Numbered lines from which on the numbers may differ from the file's: it changed since it was read."""


class Reading(Struct, frozen=True):
    """The texts without the slip. `adaptation` completes a sentence about the old text.

    `line` is the number that the quoted first line has, of `count` lines; the file's own may be another if these are enough.
    """

    old: str
    new: str
    adaptation: str
    line: int | None = None
    count: int = 0
    is_strict: bool = False
    """Whether the old text must then be in the file with its indentation: the new one has none of the slip, and needs no change."""


def readings(old: str, new: str) -> Iterator[list[Reading]]:
    """Yield the readings of texts whose lines end in `\\n`; those of one list exclude each other."""
    for undo, adaptation in _LINE_FORMS:
        if (reading := undo(old, new)) is not None:
            yield [Reading(*reading, adaptation, is_strict=reading[1] == new)]
    for number in (_NUMBER_ONLY, _NUMBER):
        yield _numbered(old, new, number)
    yield _escaped(old, new)


def _numbered(old: str, new: str, number: re.Pattern[str]) -> list[Reading]:
    lines = _lines_of(old)
    quoted = _without_numbers(lines, number)
    fresh = None if quoted is None else _unnumbered_new(lines, quoted[1], new.split("\n"), number)
    if quoted is None or fresh is None:
        return []
    end = "\n" if len(lines) < old.count("\n") + 1 else ""
    adaptation = "has line numbers, which were removed"
    is_strict = number is _NUMBER_ONLY or fresh == new
    return [Reading("\n".join(quoted[1]) + end, fresh, adaptation, quoted[0], len(lines), is_strict)]


def _lines_of(old: str) -> list[str]:
    lines = old.split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1].strip() else lines


def _without_numbers(lines: Sequence[str], number: re.Pattern[str]) -> tuple[int, list[str]] | None:
    """Return the first number and the lines without their consecutive numbers, None when one has none."""
    matches = [number.match(line) for line in lines]
    numbers = [int(match[1]) for match in matches if match is not None]
    if not numbers or len(numbers) < len(lines) or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    return numbers[0], [line[match.end() :] for line, match in zip(lines, matches, strict=True) if match is not None]


def _unnumbered_new(
    numbered: Sequence[str], bare: Sequence[str], new: Sequence[str], number: re.Pattern[str]
) -> str | None:
    """Return the new text without line numbers: none of its changed lines has one, or all have; else None."""

    def adapt(lines: list[str]) -> list[str] | None:
        matches = [number.match(line) for line in lines]
        if not any(matches):
            return lines
        return (
            [line[match.end() :] for line, match in zip(lines, matches, strict=True) if match] if all(matches) else None
        )

    if not any(line in numbered for line in new) and not all(map(number.match, new)):
        return "\n".join(new)
    lines = carry_lines(bare, numbered, new, adapt)
    return None if lines is None else "\n".join(lines)


def _without_fence(old: str, new: str) -> tuple[str, str] | None:
    """Return texts that are a code block of Markdown each, or the old one alone, without the fences."""
    quoted, written = _FENCED.fullmatch(old), _FENCED.fullmatch(new)
    if quoted is None or (written is None and "```" in new):
        return None
    return quoted[2], new if written is None else written[2]


_FENCED = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(.*?)\n?[ \t]*\1[ \t]*\n?", re.DOTALL)


def _without_diff_marks(old: str, new: str) -> tuple[str, str] | None:
    """Return texts whose lines begin with the marks of a diff without them."""
    return _unmarked(old, new, " -", " +", needs="-+")


def _without_reply_marks(old: str, new: str) -> tuple[str, str] | None:
    """Return texts whose lines begin with `> ` without that."""
    if not all(re.match(">(?: |$)", line) for line in _lines_of(old)):
        return None
    marked = [bool(re.match(">(?: |$)", line)) for line in _lines_of(new)]
    if any(marked) and not all(marked):
        return None
    undo = re.compile("^> ?", re.MULTILINE)
    return undo.sub("", old), undo.sub("", new)


def _unmarked(old: str, new: str, of_old: str, of_new: str, *, needs: str) -> tuple[str, str] | None:
    texts: list[str] = []
    seen: set[str] = set()
    for text, marks in ((old, of_old), (new, of_new)):
        lines = text.split("\n")
        if any(line and line[0] not in marks for line in lines):
            return None
        seen |= {line[0] for line in lines if line}
        texts.append("\n".join(line[1:] for line in lines))
    return (texts[0], texts[1]) if seen.intersection(needs) and "-" in seen else None


def _undone(
    has: re.Pattern[str], undo: Callable[[str], str], plain: re.Pattern[str] | None = None
) -> Callable[[str, str], tuple[str, str] | None]:
    """Return what undoes a slip in both texts: the new one may lack it, but not have it in a part only.

    `plain` finds a place that lacks it.
    """

    def read(old: str, new: str) -> tuple[str, str] | None:
        if not has.search(old) or (plain is not None and plain.search(old)):
            return None
        if not has.search(new):
            return undo(old), new
        return None if plain is not None and plain.search(new) else (undo(old), undo(new))

    return read


_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#34|#x27|#x22|#x2F|nbsp);")
_NO_ENTITY = re.compile(r"<|&(?!\w+;|#\w+;)")
_CODE_POINT = re.compile(r"\\u([0-9a-fA-F]{4})")
_TAB = re.compile(r"^((?:\\t)+)", re.MULTILINE)


def _characters(text: str) -> str:
    plain = _CODE_POINT.sub(lambda match: chr(int(match[1], 16)), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


_LINE_FORMS: tuple[tuple[Callable[[str, str], tuple[str, str] | None], str], ...] = (
    (_without_fence, "is in a code block, whose fences were removed"),
    (_without_diff_marks, "has the marks of a diff, which were removed"),
    (_without_reply_marks, "has > before its lines, which was removed"),
    (
        _undone(_TAB, lambda text: _TAB.sub(lambda match: "\t" * (len(match[1]) // 2), text), re.compile("^[\t ]", re.M)),
        "has \\t for tabs, which were read as such",
    ),
    (
        _undone(_ENTITY, lambda text: _ENTITY.sub(lambda match: html.unescape(match[0]), text), _NO_ENTITY),
        "has entities of HTML, which were read as characters",
    ),
    (
        _undone(_CODE_POINT, _characters, re.compile(r"[^\x00-\x7f]|\\u00[0-7]")),
        "has \\u escapes, which were read as characters",
    ),
)  # fmt: skip


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "`": "`", "\\": "\\", "$": "$"}
_ESCAPE = re.compile(r"\\([ntr'\"`\\$])")
_LINE_ESCAPE = re.compile(r"\\[ntr]")
_ADAPTATION = "is escaped once too often, so both texts were unescaped"


def _escaped(old: str, new: str) -> list[Reading]:
    """Return the readings of texts that are escaped once too often: all of their escapes, or those of a quotation mark.

    All, only when the new text uses no escape that the old one does not: else it is not certain that it is escaped as well.
    """
    found: list[Reading] = []
    for marks in _escaped_marks(old):
        undo = re.compile(rf"\\([{marks}])")
        bare = re.compile(rf"(?<!\\)[{marks}]")
        has = undo.search(new) is not None
        is_one_line = "\n" not in old + new
        if (has and bare.search(new)) or (is_one_line and _LINE_ESCAPE.search(new) and not _LINE_ESCAPE.search(old)):
            continue
        written = undo.sub(r"\1", new) if has else new
        if has and "\\\\" in new and "\\\\" not in old and written != _unescape(new):
            continue  # are backslashes escaped as well?
        found.append(Reading(undo.sub(r"\1", old), written, _ADAPTATION, is_strict=not has))
    used, fresh = set(_ESCAPE.findall(old)), set(_ESCAPE.findall(new))
    is_mixed = any(
        re.search(rf"(?<!\\){mark}", new) for marks in _escaped_marks(old) for mark in fresh.intersection(marks)
    )
    if not used or not fresh <= used or is_mixed:
        return found
    quoted, written = _unescape(old), _unescape(new)
    if not used.isdisjoint("ntr") and "\n" in old + new:
        return found
    if "n" in fresh and _splits_line(quoted, written):
        return found
    return [*found, Reading(quoted, written, _ADAPTATION)]


def _escaped_marks(old: str) -> Iterator[str]:
    """Yield the quotation marks that are always escaped, together."""
    marks = [mark for mark in "\"'`" if f"\\{mark}" in old and not re.search(rf"(?<!\\){mark}", old)]
    if marks:
        yield "".join(marks)


def _splits_line(old: str, new: str) -> bool:
    """Return whether a line of the new text ends, or begins, where no line does: one of its escapes was meant as it is written.

    It ends inside of a string, or in blanks.
    """
    fresh = set(new.split("\n")) - set(old.split("\n"))
    return any(_has_open_string(line) or (line.strip() and line[-1] in " \t") for line in fresh)


def _has_open_string(line: str) -> bool:
    plain = re.sub(r"\\.|'''|\"\"\"|(?<=\w)'(?=\w)", "", line)
    return any(plain.count(mark) % 2 for mark in "\"'`")


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES[match.group(1)], text)
