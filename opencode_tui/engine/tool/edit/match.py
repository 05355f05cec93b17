"""Search for the text that a model wants to replace and does not quote exactly.

Strategies go from strict to loose, and the first with a match decides: one match is the answer, several are an error that
names their lines. No strategy may change text that the model did not quote: lines that are equal in its old and its new text stay
as they are in the file. Texts here have `\n` line ends only. Source: docs/internals/tools.md#edit.

Both texts may be large, and a search must not hold the interpreter: every strategy takes time linear in their size. Where matches
overlap so densely that this cannot be, those in addition to a chain of separate ones are left out.
"""

import bisect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from opencode_tui.engine.tool.edit.carry import carry_characters, carry_lines, runs_of
from opencode_tui.engine.tool.edit.indent import Reindent, reindent
from opencode_tui.engine.tool.files.text_format import BROKEN_BYTES

_KEPT_SIMILARITY, _DELETED_SIMILARITY = 0.5, 0.9
_ROUNDING = 1e-6
_FEWEST_EQUAL = 2
"""Lines of a block with slips that must be equal and not blank."""
_MOST_PLACES = 50
"""A line that occurs more often says nothing about the place of a block."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "`": "`", "\\": "\\", "$": "$"}
_DENSITY = 2
"""How often the content may be covered by matches that overlap others."""
_FREE_OVERLAP = 10_000
_WORD = re.compile(r"[^ \t]+")
_WORD_PAIR = re.compile(r"\w\w")
_NUMBER = re.compile(r"[ \t]*(\d{1,7})(?:: |:\Z|→|\t|\| ?)")
_SURE_LINES = 3
"""Numbered lines from which on the numbers may differ from the file's: it changed since it was read."""
PLAIN_CHARACTERS = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
        **dict.fromkeys(map(chr, BROKEN_BYTES), "\ufffd"),
    }
)
"""Typographic characters and the plain ones that models exchange them with, one for one, and bytes that are shown as U+FFFD."""
_ESCAPE = re.compile(r"\\([ntr'\"`\\$])")


class Replacement(Struct, frozen=True):
    """The replacement of characters [start, end) by `text`."""

    start: int
    end: int
    text: str


class Matches(Struct, frozen=True):
    """All matches of one strategy, in order; they may overlap.

    `adaptation` completes a sentence about the old text: how it differs and what was done; empty for exact matches.
    """

    replacements: list[Replacement]
    adaptation: str = ""


Strategy = Callable[[str, str, str], list[Replacement]]
"""Returns all matches, in order, for content, old and new text; matches may overlap."""


def find_replacements(content: str, old: str, new: str) -> Matches:
    """Return the matches of the strictest strategy that has any; empty when none has."""
    for strategy, adaptation in _STRATEGIES:
        found = strategy(content, old, new)
        if found:
            return Matches(found, adaptation)
    return Matches([])


def _exact(content: str, old: str, new: str) -> list[Replacement]:
    return [Replacement(start, start + len(old), new) for start in _occurrences(content, old)]


def _trailing_space(content: str, old: str, new: str) -> list[Replacement]:
    return _by_lines(content, old, new, str.rstrip)


def _indented(content: str, old: str, new: str) -> list[Replacement]:
    """Match whole lines that differ only in a common indentation, or in white space at their ends."""
    blocks = list(_blocks(content, old, str.strip))
    if sum(len(block.found) for block in blocks) > _overlap_limit(content.count("\n")):
        return []  # some may have been left out, so that another would look unique
    return _fill([block for block in blocks if (shift := block.shift()) is not None and shift.is_uniform], new)


def _line_trimmed(content: str, old: str, new: str) -> list[Replacement]:
    return _by_lines(content, old, new, str.strip)


def _whitespace_normalized(content: str, old: str, new: str) -> list[Replacement]:
    """Match whole lines, or a part of one line, that differ only in runs of white space."""
    found = _by_lines(content, old, new, lambda line: " ".join(line.split()))
    words = old.split()
    if found or "\n" in old.strip() or not words:
        return found
    text = _trim_alike(old, new)
    lines = content.split("\n")
    return [
        Replacement(start + first, start + last, text)
        for start, line in zip(_line_starts(lines), lines, strict=False)
        if words[0] in line
        for first, last in _find_words(line, words)
    ]


def _find_words(line: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the separate ranges of a line with these words: the first may end a longer one, the last begin one, at a boundary."""
    if len(words) == 1:
        candidates = ((start, start + len(words[0])) for start in _occurrences(line, words[0]))
    else:
        candidates = _find_phrases(line, words)
    end = 0
    for first, last in candidates:
        if first >= end and not _is_inside_word(line, first, last):
            end = last
            yield first, last


def _find_phrases(line: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    spans = [match.span() for match in _WORD.finditer(line)]
    inner = words[1:-1]
    starts = find_sequences([line[start:end] for start, end in spans], inner) if inner else range(1, len(spans))
    for index in starts:
        if not 0 < index < len(spans) - len(inner):
            continue
        first, last = spans[index - 1][1] - len(words[0]), spans[index + len(inner)][0]
        is_first = first >= spans[index - 1][0] and line.startswith(words[0], first)
        if is_first and line.startswith(words[-1], last):
            yield first, last + len(words[-1])


def _numbered(content: str, old: str, new: str) -> list[Replacement]:
    """Match text that was quoted with the line numbers of a listing; the lines with these numbers win over equal ones elsewhere."""
    quoted = _without_numbers(_old_lines(old))
    if quoted is None:
        return []
    first, lines = quoted
    written = new.split("\n")
    fresh = _unnumbered_new(_old_lines(old), lines, written)
    if fresh is None:
        return []
    end = "\n" if len(_old_lines(old)) < old.count("\n") + 1 else ""
    bare = "\n".join(lines) + end
    found = _exact(content, bare, fresh) or _trailing_space(content, bare, fresh) or _indented(content, bare, fresh)
    at = [item for item in found if content.count("\n", 0, item.start) + 1 == first]
    if len(lines) < _SURE_LINES and not at:
        return []
    return at or found


def _without_numbers(lines: Sequence[str]) -> tuple[int, list[str]] | None:
    """Return the first number and the lines without their consecutive numbers, None when one has none."""
    matches = [_NUMBER.match(line) for line in lines]
    numbers = [int(match[1]) for match in matches if match is not None]
    if not numbers or len(numbers) < len(lines) or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    return numbers[0], [line[match.end() :] for line, match in zip(lines, matches, strict=True) if match is not None]


def _unnumbered_new(numbered: Sequence[str], bare: Sequence[str], new: Sequence[str]) -> str | None:
    """Return the new text without line numbers: none of its changed lines has one, or all have; else None."""

    def adapt(lines: list[str]) -> list[str] | None:
        matches = [_NUMBER.match(line) for line in lines]
        if not any(matches):
            return lines
        return (
            [line[match.end() :] for line, match in zip(lines, matches, strict=True) if match] if all(matches) else None
        )

    if not any(line in numbered for line in new) and not all(map(_NUMBER.match, new)):
        return "\n".join(new)
    lines = carry_lines(bare, numbered, new, adapt)
    return None if lines is None else "\n".join(lines)


def _folded(content: str, old: str, new: str) -> list[Replacement]:
    """Match text that differs only in typographic characters (quotation marks, dashes, blanks), and in bytes that are no text."""
    return [
        Replacement(
            start, start + len(old), carry_characters(content[start : start + len(old)], old, new, PLAIN_CHARACTERS)
        )
        for start in _occurrences(content.translate(PLAIN_CHARACTERS), old.translate(PLAIN_CHARACTERS))
    ]


def _escaped_lines(content: str, old: str, new: str) -> list[Replacement]:
    """Match text whose line ends the model wrote as two characters, and a new text with real ones, or with none of either.

    The text itself may hold such characters: the content is compared in its escaped form.
    """
    if "\n" in old or "\\n" not in old or ("\\n" in new and "\n" not in new):
        return []
    lines = content.split("\n")
    starts = [start + number for number, start in enumerate(_line_starts(lines))]
    found: list[Replacement] = []
    for start in _occurrences(content.replace("\n", "\\n"), old):
        edges = [_unescaped_offset(edge, starts, lines) for edge in (start, start + len(old))]
        if edges[0] is not None and edges[1] is not None:
            found.append(Replacement(edges[0], edges[1], new))
    return found


def _unescaped_offset(at: int, starts: Sequence[int], lines: Sequence[str]) -> int | None:
    """Return the offset in a text for one in its escaped form, None inside an escape."""
    number = bisect.bisect_right(starts, at) - 1
    return None if number >= len(lines) or at - starts[number] > len(lines[number]) else at - number


def _escape_normalized(content: str, old: str, new: str) -> list[Replacement]:
    """Match text that the model escaped once too often. Both texts are unescaped, else the new one would be stored escaped.

    Only when the old text has no real line end, and the new text uses no escape that the old one does not: else it is not certain
    that the new text is escaped too often as well.
    """
    used, fresh = set(_ESCAPE.findall(old)), set(_ESCAPE.findall(new))
    if not used or not fresh <= used or "\n" in old or "\n" in new:
        return []
    quoted, written = _unescape(old), _unescape(new)
    if "n" in fresh and any(map(_has_open_string, set(written.split("\n")) - set(quoted.split("\n")))):
        return []  # a line end inside of a string: one of the escapes was meant as it is written
    return _exact(content, quoted, written)


def _has_open_string(line: str) -> bool:
    return line.replace('"""', "").replace('\\"', "").count('"') % 2 == 1


def _trimmed_boundary(content: str, old: str, new: str) -> list[Replacement]:
    """Match text that the model quoted with additional white space around it; the same is removed from the new text."""
    core = old.strip()
    if not core or core == old:
        return []
    indent = old[: old.index(core)].rpartition("\n")[2] if "\n" in core else ""
    text, starts = _trim_alike(old, new), list(_occurrences(content, core))
    if len(starts) * len(core) > _overlap_limit(len(content)):
        return []  # some may have been left out, so that another would look unique
    return [
        Replacement(start, start + len(core), text)
        for start in starts
        if not _is_inside_word(content, start, start + len(core))
        and content[:start].endswith(indent)  # the indentation of the other lines depends on that of the first
    ]


def _slipped(content: str, old: str, new: str) -> list[Replacement]:
    """Match a block with slips in lines that the edit leaves as they are, or deletes: the file keeps its own lines there.

    At most a quarter of the lines differ, or one, by half; a deleted one by a tenth and as the only one. Lines that the edit
    changes are right. A line that is elsewhere in the file, or is as much like another line of it, is no slip: another block may
    be meant.
    """
    wanted = [line.strip() for line in _old_lines(old)]
    if len(wanted) < _SURE_LINES:
        return []
    lines = content.split("\n")
    shown, likeness = [line.strip() for line in lines], _least_likeness(_old_lines(old), new.split("\n"))
    present = set(wanted).intersection(shown)
    likeness = {at: least for at, least in likeness.items() if wanted[at] not in present}
    indexes = [index for index in _likely_starts(shown, wanted) if _has_slips_only(shown, index, wanted, likeness)]
    distinct = list(set(shown))
    if not all(_is_nearest(wanted[at], shown[index + at], distinct) for index in indexes for at in range(len(wanted))):
        return []
    return _fill(list(_cut_blocks(lines, indexes, old)), new)


def _likely_starts(shown: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return where a run of as many lines begins with enough of the wanted ones at their positions, in order."""
    last = len(shown) - len(wanted)
    return sorted(
        start for start, count in vote_starts(shown, wanted).items() if count >= _FEWEST_EQUAL and 0 <= start <= last
    )


def vote_starts(shown: Sequence[str], wanted: Sequence[str]) -> Counter[int]:
    """Return where a run begins in which any of the wanted lines are at their positions, with their number.

    A run may reach beyond both ends. Blank lines do not count, nor do those that occur often.
    """
    places: dict[str, list[int]] = {line: [] for line in wanted if line}
    for number, line in enumerate(shown):
        if (known := places.get(line)) is not None and len(known) <= _MOST_PLACES:
            known.append(number)
    return Counter(
        place - at
        for at, line in enumerate(wanted)
        if line and len(places[line]) <= _MOST_PLACES
        for place in places[line]
    )


def _least_likeness(old: Sequence[str], new: Sequence[str]) -> dict[int, float]:
    """Return the old lines, by index, in which a slip does no harm, with the similarity that the file's line must have."""
    written = {line.strip() for line in new}  # a line that is only moved is written anew, with its slip
    return {
        at: _KEPT_SIMILARITY if run.is_equal else _DELETED_SIMILARITY
        for run in runs_of(old, new)
        if run.is_equal or not run.new
        for at in run.old
        if run.is_equal or old[at].strip() not in written
    }


def _has_slips_only(shown: Sequence[str], start: int, wanted: Sequence[str], likeness: Mapping[int, float]) -> bool:
    """Return whether the run of lines equals the wanted one but for harmless slips."""
    from rapidfuzz.distance import Indel  # not needed for exact matches, which are nearly all

    slips = [at for at, line in enumerate(wanted) if shown[start + at] != line]
    most = 1 if any(likeness.get(at) == _DELETED_SIMILARITY for at in slips) else max(1, len(wanted) // 4)
    return len(slips) <= most and all(
        at in likeness and Indel.normalized_similarity(wanted[at], shown[start + at]) >= likeness[at] for at in slips
    )


def _is_nearest(wanted: str, found: str, distinct: Sequence[str]) -> bool:
    """Return whether a line equals the wanted one, or no other of the file's lines is as much like it."""
    if wanted == found:
        return True
    from rapidfuzz import process  # only for a block with slips
    from rapidfuzz.distance import Indel

    least = Indel.normalized_similarity(wanted, found) - _ROUNDING
    alike = process.extract(wanted, distinct, scorer=Indel.normalized_similarity, score_cutoff=least, limit=2)
    return [line for line, *_ in alike] == [found]


_STRATEGIES: tuple[tuple[Strategy, str], ...] = (
    (_exact, ""),
    (_trailing_space, "has other blanks at line ends"),
    (_indented, "is indented differently, so newString was indented like the file"),
    (_line_trimmed, "is indented differently, so newString was indented like the file"),
    (_whitespace_normalized, "has other white space"),
    (_trimmed_boundary, "has white space around it that is not in the file, which was ignored"),
    (_folded, "has other quotation marks, dashes, blanks or bytes that are no text; the file keeps its own"),
    (_numbered, "has line numbers, which were removed"),
    (_escape_normalized, "is escaped once too often, so both texts were unescaped"),
    (_escaped_lines, "has \\n for line ends, which were read as such"),
    (_slipped, "differs in lines that newString keeps; the file keeps its own"),
)


class _Block(Struct, frozen=True):
    """A run of whole lines of the content that matches the lines of the old text, without the last line's end."""

    start: int
    end: int
    found: list[str]
    old: list[str]
    drops_end: bool

    def new(self, text: str) -> str:
        """Return the new text without its last line end when the old one had one: the block has none."""
        head, separator, tail = text.rpartition("\n")
        return head if self.drops_end and separator and not tail.strip() else text

    def shift(self) -> Reindent | None:
        """Return how the old lines are indented in the file, None when one indentation has two counterparts."""
        same = [at for at, line in enumerate(self.old) if line.split() == self.found[at].split()]
        return reindent([self.old[at] for at in same], [self.found[at] for at in same])

    def fill(self, shift: Reindent, text: str) -> str | None:
        """Return the new text: lines that the model left unchanged as in the file, the others with the file's indentation."""

        def adapt(lines: list[str]) -> list[str] | None:
            moved = shift.apply("\n".join(lines)) if lines else ""
            return None if moved is None else moved.split("\n") if lines else []

        lines = carry_lines(self.found, self.old, self.new(text).split("\n"), adapt)
        return None if lines is None else "\n".join(lines)

    def replacement(self, text: str, new: str) -> Replacement:
        """Return the replacement by `text`; where whole lines are deleted, the last line end is deleted too."""
        return Replacement(self.start, self.end + (1 if self.drops_end and not new else 0), text)


def _by_lines(content: str, old: str, new: str, form: Callable[[str], str]) -> list[Replacement]:
    return _fill(list(_blocks(content, old, form)), new)


def _fill(blocks: list[_Block], new: str) -> list[Replacement]:
    """Return the replacements of these blocks by the new text, indented as they are; none when one of them is ambiguous.

    Passing over such a one would make another look unique.
    """
    filled: list[Replacement] = []
    for block in blocks:
        shift = block.shift()
        text = block.fill(shift, new) if shift else None
        if text is None:
            return []
        filled.append(block.replacement(text, new))
    return filled


def _blocks(content: str, old: str, form: Callable[[str], str]) -> Iterator[_Block]:
    """Yield the runs of lines that equal the old ones in this form."""
    wanted = _old_lines(old)
    if any(line.strip() for line in wanted):
        lines = content.split("\n")
        found = find_sequences([form(line) for line in lines], [form(line) for line in wanted])
        yield from _cut_blocks(lines, found, old)


def _cut_blocks(lines: list[str], indexes: Iterable[int], old: str) -> Iterator[_Block]:
    wanted, starts = _old_lines(old), _line_starts(lines)
    drops_end = len(wanted) < old.count("\n") + 1
    for index in indexes:
        last = index + len(wanted) - 1
        end = starts[last] + len(lines[last])
        yield _Block(starts[index], end, lines[index : last + 1], wanted, drops_end)


def find_sequences(items: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    """Yield the indexes at which a sequence occurs, by the algorithm of Knuth, Morris and Pratt; overlapping ones within limits."""
    borders = [0] * len(wanted)
    length = 0
    for index in range(1, len(wanted)):
        while length and wanted[index] != wanted[length]:
            length = borders[length - 1]
        length += wanted[index] == wanted[length]
        borders[index] = length
    limit = _overlap_limit(len(items))
    matched = chain_end = 0
    for index, item in enumerate(items):
        while matched and item != wanted[matched]:
            matched = borders[matched - 1]
        matched += item == wanted[matched]
        if matched == len(wanted):
            matched = borders[-1]
            start = index + 1 - len(wanted)
            if start >= chain_end:
                chain_end = index + 1
            else:
                limit -= len(wanted)
                if limit < 0:
                    continue
            yield start


def _old_lines(old: str) -> list[str]:
    lines = old.split("\n")
    return lines[:-1] if len(lines) > 1 and not lines[-1].strip() else lines


def _line_starts(lines: list[str]) -> list[int]:
    starts, at = [0], 0
    for line in lines:
        at += len(line) + 1
        starts.append(at)
    return starts


def _occurrences(content: str, text: str) -> Iterator[int]:
    """Yield where a text occurs; overlapping ones within limits."""
    limit, chain_end = _overlap_limit(len(content)), 0
    at = content.find(text)
    while at >= 0:
        yield at
        if at >= chain_end:
            chain_end = at + len(text)
        else:
            limit -= len(text)
        at = content.find(text, at + 1 if limit >= 0 else max(chain_end, at + 1))


def _overlap_limit(size: int) -> int:
    return max(_DENSITY * size, _FREE_OVERLAP)


def _is_inside_word(content: str, start: int, end: int) -> bool:
    return any(_WORD_PAIR.fullmatch(content[max(edge - 1, 0) : edge + 1]) for edge in (start, end))


def _trim_alike(old: str, new: str) -> str:
    """Return the new text without the white space that the old one has at its ends, too."""
    if not new.strip():
        return ""
    lead = old[: len(old) - len(old.lstrip())]
    return new.removeprefix(lead).removesuffix(old[len(old.rstrip()) :])


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES[match.group(1)], text)
