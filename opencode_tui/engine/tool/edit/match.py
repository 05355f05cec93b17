"""Search for the text that a model wants to replace and does not quote exactly.

Strategies go from strict to loose, and the first with a match decides: one match is the answer, several are an error that
names their lines. A strategy only proposes: what it finds counts if `check` confirms that nothing else is written than lines of
the file and of the new text, without knowing how it was found. Texts here have `\n` line ends only.
Source: docs/internals/tools.md#edit.

Both texts may be large, and a search must not hold the interpreter: every strategy takes time linear in their size. Where matches
overlap so densely that this cannot be, those in addition to a chain of separate ones are left out.
"""

import bisect
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.tool.edit.carry import carry_lines, runs_of
from opencode_tui.engine.tool.edit.check import Replacement, end_lines, is_meant
from opencode_tui.engine.tool.edit.fold import carry_characters, fold
from opencode_tui.engine.tool.edit.indent import Reindent, reindent, reindent_new
from opencode_tui.engine.tool.edit.readings import SURE_LINES, Reading, readings

_KEPT_SIMILARITY, _DELETED_SIMILARITY = 0.5, 0.9
_ROUNDING = 1e-6
_FEWEST_EQUAL = 2
"""Lines of a block with slips that must be equal and not blank."""
_MOST_PLACES = 50
"""A line that occurs more often says nothing about the place of a block."""
_DENSITY = 2
"""How often the content may be covered by matches that overlap others."""
_FREE_OVERLAP = 10_000
_BESIDE = 2_000
"""Characters next to a match in which lines are looked for."""
_BLANKS = " \t\r\f\v"
_WORD = re.compile(r"[^ \t\r\f\v]+")
_NAME = re.compile(r"\w+")
_SIGN = re.compile(r"[\\\"'`&%$]|[^\x00-\x7f]")
"""What escapes are made of, and characters that others are exchanged with."""
_WORD_PAIR = re.compile(r"\w\w")


class Matches(Struct, frozen=True):
    """All matches of one strategy, in order; they may overlap.

    `adaptation` completes a sentence about the old text: how it differs and what was done; empty for exact matches. `doubtful` are
    those that were refused, as something else may be meant.
    """

    replacements: list[Replacement]
    adaptation: str = ""
    doubtful: list[Replacement] = []


Strategy = Callable[[str, str, str], list[Replacement] | None]
"""Returns all matches, in order, for content, old and new text; they may overlap. None where the old text is in the content and
it is not certain what the new one means there: then no looser strategy decides."""


def find_replacements(content: str, old: str, new: str) -> Matches:
    """Return the matches of the strictest strategy that has any; empty when none has, or something else may be meant."""
    for strategy, adaptation in _STRATEGIES:
        found = strategy(content, old, new)
        if found != []:
            return _confirmed(content, old, new, Matches(found or [], adaptation))
    for excluding in readings(old, new):
        read = [(one, found) for one in excluding if (found := _as_read(content, one)) != []]
        if read:
            (first, found), *others = read
            is_sure = found is not None and all(other == found for _, other in others)
            return _confirmed(
                content, first.old, first.new, Matches(found if found and is_sure else [], first.adaptation)
            )
    for strategy, adaptation in _LOOSE:
        found = strategy(content, old, new)
        if found != []:
            return _confirmed(content, old, new, Matches(found or [], adaptation))
    return Matches([])


def _confirmed(content: str, old: str, new: str, matches: Matches) -> Matches:
    """Return the matches, none where one of them would write what was not meant: without it another would look unique."""
    found = [end_lines(content, item) for item in matches.replacements]
    is_sure = all(is_meant(content, old, new, item) for item in found)
    return Matches(found, matches.adaptation) if is_sure else Matches([], doubtful=found)


def _as_read(content: str, reading: Reading) -> list[Replacement] | None:
    """Return where a text is without the slip of its form; of equal ones those at the quoted line numbers."""
    old, new = reading.old, reading.new
    if not old.strip():
        return []
    strategies = (_exact, _trailing_space) if reading.is_strict else (_exact, _trailing_space, _indented)
    tried = (one(content, old, new) for one in strategies)
    found = next((found for found in tried if found != []), list[Replacement]())
    if reading.line is None or not found:
        return found
    at = [item for item in found if content.count("\n", 0, item.start) + 1 == reading.line]
    return at or (found if reading.count >= SURE_LINES else [])


def _exact(content: str, old: str, new: str) -> list[Replacement]:
    return [Replacement(start, start + len(old), new) for start in _occurrences(content, old)]


def _trailing_space(content: str, old: str, new: str) -> list[Replacement] | None:
    return _by_lines(content, old, new, lambda line: line.rstrip(_BLANKS))


def _indented(content: str, old: str, new: str) -> list[Replacement] | None:
    """Match whole lines that differ only in a common indentation, or in white space at their ends."""
    blocks = list(_blocks(content, old, lambda line: line.strip(_BLANKS)))
    if sum(len(block.found) for block in blocks) > _overlap_limit(content.count("\n")):
        return []  # some may have been left out, so that another would look unique
    return _fill([block for block in blocks if (shift := block.shift()) is not None and shift.is_uniform], new)


def _line_trimmed(content: str, old: str, new: str) -> list[Replacement] | None:
    return _by_lines(content, old, new, lambda line: line.strip(_BLANKS))


def _whitespace_normalized(content: str, old: str, new: str) -> list[Replacement] | None:
    """Match whole lines, or a part of one line, that differ only in runs of white space.

    A line before quoted blank ones was forgotten, as in `_trimmed_boundary`.
    """
    found = _by_lines(content, old, new, lambda line: " ".join(_words(line)))
    words = _words(old)
    if found != [] or "\n" in old.strip() or not words:
        return found
    text = _trim_alike(old, new)
    lines = content.split("\n")
    parts = [
        Replacement(start + first, start + last, text)
        for start, line in zip(_line_starts(lines), lines, strict=False)
        if words[0] in line
        for first, last in _find_words(line, words)
    ]
    return None if any(_lacks_line(content, old, item) for item in parts) else parts


def _words(text: str) -> list[str]:
    """Return what is between blanks, tabs and line ends; other white space is a character that may be meant."""
    return _WORD.findall(text.replace("\n", " "))


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


def _folded(content: str, old: str, new: str) -> list[Replacement] | None:
    """Match text that differs only in characters that look alike, and in bytes that are no text."""
    theirs, wanted = fold(content), fold(old).text
    if not wanted.strip() or (wanted == old and theirs.text == content):
        return []
    found: list[Replacement] = []
    for at in _occurrences(theirs.text, wanted):
        start, end = theirs.origin(at), theirs.origin(at + len(wanted))
        if start is None or end is None or unicodedata.combining(theirs.text[at + len(wanted) :][:1] or " "):
            continue
        carried = carry_characters(content[start:end], old, new)
        if not carried.is_certain:
            return None
        found.append(Replacement(start, end, carried.text))
    return found


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


def _trimmed_boundary(content: str, old: str, new: str) -> list[Replacement] | None:
    """Match text that the model quoted with additional white space around it; the same is removed from the new text.

    It is not certain what is meant where the quoted blank lines are in the file, but with another line before the last of them: it
    was forgotten.
    """
    core = old.strip()
    if not core or core == old:
        return []
    indent = old[: old.index(core)].rpartition("\n")[2] if "\n" in core else ""
    text, starts = _trim_alike(old, new), list(_occurrences(content, core))
    if len(starts) * len(core) > _overlap_limit(len(content)):
        return []  # some may have been left out, so that another would look unique
    found = [
        Replacement(start, start + len(core), text)
        for start in starts
        if not _is_inside_word(content, start, start + len(core))
        and content[:start].endswith(indent)  # the indentation of the other lines depends on that of the first
    ]
    return None if any(_lacks_line(content, old, item) for item in found) else found


def _lacks_line(content: str, old: str, item: Replacement) -> bool:
    """Return whether a line of the file is before the last of the blank lines that the old text quotes next to a match."""
    above, below = old[: len(old) - len(old.lstrip())].count("\n"), old[len(old.rstrip()) :].count("\n")
    before = content[max(0, item.start - _BESIDE) : item.start].split("\n")[::-1]
    after = content[item.end : item.end + _BESIDE].split("\n")[:-1]  # the text ends behind its last line end
    return _is_behind_line(before, above) or _is_behind_line(after, below - 1)


def _is_behind_line(lines: Sequence[str], blank: int) -> bool:
    """Return whether as many blank lines follow the first one, whose end is quoted, but for one more that is before the last."""
    beside = [not line.strip() for line in lines[1 : blank + 2]]
    return blank > 0 and beside.count(True) == blank and beside[-1] and not all(beside)


def _slipped(content: str, old: str, new: str) -> list[Replacement] | None:
    """Match a block with slips in lines that the edit leaves as they are, or deletes: the file keeps its own lines there.

    At most a quarter of the lines differ, or one, by half; a deleted one by a tenth and as the only one. Lines that the edit
    changes are right. A line that is elsewhere in the file, or is as much like another line of it, is no slip: another block may
    be meant. It is not certain what is meant where the slip may be in lines that the edit adds, too.
    """
    old_lines, new_lines = _old_lines(old), new.split("\n")
    wanted = [line.strip() for line in old_lines]
    if len(wanted) < SURE_LINES:
        return []
    lines = content.split("\n")
    shown, likeness = [line.strip() for line in lines], _least_likeness(old_lines, new_lines)
    present = set(wanted).intersection(shown)
    likeness = {at: least for at, least in likeness.items() if wanted[at] not in present}
    indexes = [index for index in _likely_starts(shown, wanted) if _has_slips_only(shown, index, wanted, likeness)]
    distinct = list(set(shown))
    if not all(_is_nearest(wanted[at], shown[index + at], distinct) for index in indexes for at in range(len(wanted))):
        return []
    if any(
        _is_cut_and_deleted(at, shown[index + at], wanted, likeness) for index in indexes for at in range(len(wanted))
    ):
        return None
    added = [new_lines[at] for run in runs_of(old_lines, new_lines) if not run.is_equal for at in run.new]
    if any(_may_be_repeated(wanted[at], shown[index + at], added) for index in indexes for at in range(len(wanted))):
        return None
    return _fill(list(_cut_blocks(lines, indexes, old)), new)


def _is_cut_and_deleted(at: int, found: str, wanted: Sequence[str], likeness: Mapping[int, float]) -> bool:
    """Return whether a line is deleted that is quoted without its beginning, or its end: no one said what becomes of that."""
    quoted = wanted[at]
    is_cut = quoted != found and (found.startswith(quoted) or found.endswith(quoted))
    return is_cut and likeness.get(at) == _DELETED_SIMILARITY


def _may_be_repeated(quoted: str, found: str, added: Sequence[str]) -> bool:
    """Return whether a slip in a line may be in added lines, too: a word of it is there, or signs by which text is escaped."""
    if "".join(quoted.split()) == "".join(found.split()):
        return False
    fresh = "\n".join(added)
    if Counter(_SIGN.findall(quoted)) != Counter(_SIGN.findall(found)):
        return bool(fresh.strip())
    return not (set(_NAME.findall(quoted)) - set(_NAME.findall(found))).isdisjoint(_NAME.findall(fresh))


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
    written = {line.strip() for line in new}  # a line that is only moved is written again, with its slip
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
    (_folded, "has other quotation marks, dashes, blanks or forms of characters; the file keeps its own"),
)
"""For texts as they are written."""

_LOOSE: tuple[tuple[Strategy, str], ...] = (
    (_escaped_lines, "has \\n for line ends, which were read as such"),
    (_slipped, "differs in lines that newString keeps; the file keeps its own"),
)
"""After all readings of the texts."""


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
        """Return how the old lines are indented in the file, None when that is no mapping."""
        return reindent(*self._same())

    def _same(self) -> tuple[list[str], list[str]]:
        """Return the quoted lines that differ from the file's in white space only, and those."""
        same = [at for at, line in enumerate(self.old) if _words(line) == _words(self.found[at])]
        return [self.old[at] for at in same], [self.found[at] for at in same]

    def _blank_ends(self) -> Literal["", "some", "all"]:
        """Return how many of the quoted lines end in blanks that the file's have not."""
        pairs = [(mine, theirs) for mine, theirs in zip(self.old, self.found, strict=True) if mine.strip()]
        slips = [mine != mine.rstrip(_BLANKS) and theirs == theirs.rstrip(_BLANKS) for mine, theirs in pairs]
        return "all" if all(slips) else "some" if any(slips) else ""

    def fill(self, text: str) -> str | None:
        """Return the new text: lines that the model left unchanged as in the file, the others with the file's indentation.

        None when that is not certain.
        """
        new = self.new(text).split("\n")
        shift = reindent_new(*self._same(), new)
        blank_ends = self._blank_ends()

        def adapt(lines: list[str]) -> list[str] | None:
            ended = [line.rstrip(_BLANKS) for line in lines] if blank_ends else lines
            if blank_ends == "some" and ended != lines:
                return None
            lines = ended
            moved = None if shift is None else shift.apply("\n".join(lines)) if lines else ""
            return None if moved is None else moved.split("\n") if lines else []

        lines = carry_lines(self.found, self.old, new, adapt)
        return None if lines is None else "\n".join(lines)

    def replacement(self, text: str, new: str) -> Replacement:
        """Return the replacement by `text`; where whole lines are deleted, the last line end is deleted too."""
        return Replacement(self.start, self.end + (1 if self.drops_end and not new else 0), text)


def _by_lines(content: str, old: str, new: str, form: Callable[[str], str]) -> list[Replacement] | None:
    return _fill(list(_blocks(content, old, form)), new)


def _fill(blocks: list[_Block], new: str) -> list[Replacement] | None:
    """Return the replacements of these blocks by the new text, indented as they are; None when one of them is ambiguous.

    Passing over such a one would make another look unique.
    """
    filled: list[Replacement] = []
    for block in blocks:
        text = block.fill(new)
        if text is None:
            return None
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
