"""Search for the text that a model wants to replace and does not quote exactly.

Strategies go from strict to loose, and the first with a match decides: one match is the answer, several are an error that
names their lines. No strategy may change text that the model did not quote, but for white space and, in `anchored`, slips in the
middle of a block. Texts here have `\n` line ends only. Source: reference, section 28 (edit), made safe.

Both texts may be large, and a search must not hold the interpreter: every strategy takes time linear in their size. Where matches
overlap so densely that this cannot be, those in addition to a chain of separate ones are left out.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

_INDENT_LIMIT = 200
"""Most characters of an indentation that is put together from others."""


class Reindent(Struct, frozen=True):
    """The mapping of the model's indentations to the file's; `delta` is a prefix that the file's have in addition."""

    known: dict[str, str]
    delta: str | None
    takes: str | None

    @property
    def is_uniform(self) -> bool:
        """Return whether all lines are shifted by the same amount."""
        return self.delta is not None or self.takes is not None

    def apply(self, text: str) -> str | None:
        """Return the text with the file's indentation, or None when a line's indentation has no counterpart."""
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
        pieces: list[str] = []
        rest = indent
        while rest not in self.known:
            if len(rest) > _INDENT_LIMIT:
                return None
            head = next((rest[:size] for size in range(len(rest) - 1, 0, -1) if rest[:size] in self.known), None)
            if head is None:
                return None
            pieces.append(self.known[head])
            rest = rest[len(head) :]
        last = self.known.get(rest)
        return None if last is None else "".join([*pieces, last])


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


_ANCHORED_SIMILARITY = 0.85
_ANCHORED_EQUAL_SHARE = 0.5
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "`": "`", "\\": "\\", "$": "$"}
_DENSITY = 2
"""How often the content may be covered by matches that overlap others."""
_FREE_OVERLAP = 10_000
_COMPARED_PAIRS = 2_000_000_000
"""Most pairs of characters that `anchored` compares."""
_WORD = re.compile(r"[^ \t]+")
_WORD_PAIR = re.compile(r"\w\w")
_ESCAPE = re.compile(r"\\([ntr'\"`\\$])")


class Replacement(Struct, frozen=True):
    """The replacement of characters [start, end) by `text`; `exact` when the model quoted them exactly."""

    start: int
    end: int
    text: str
    exact: bool = True


Strategy = Callable[[str, str, str], list[Replacement]]
"""Returns all matches, in order, for content, old and new text; matches may overlap."""


def find_replacements(content: str, old: str, new: str) -> list[Replacement]:
    """Return all matches of the strictest strategy that has any; empty when none has."""
    for strategy in _STRATEGIES:
        found = strategy(content, old, new)
        if found:
            return found
    return []


def _exact(content: str, old: str, new: str) -> list[Replacement]:
    return [Replacement(start, start + len(old), new) for start in _occurrences(content, old)]


def _trailing_space(content: str, old: str, new: str) -> list[Replacement]:
    return _by_lines(content, old, new, str.rstrip)


def _indented(content: str, old: str, new: str) -> list[Replacement]:
    """Match whole lines that differ only in a common indentation, or in white space at their ends."""
    blocks = list(_blocks(content, old, str.strip))
    if sum(len(block.found) for block in blocks) > _overlap_limit(content.count("\n")):
        return []  # some may have been left out, so that another would look unique
    return [
        block.replacement(text, new)
        for block in blocks
        if (shift := reindent(block.old, block.found)) is not None
        and shift.is_uniform
        and (text := shift.apply(block.new(new))) is not None
    ]


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
        Replacement(start + first, start + last, text, exact=False)
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


def _escape_normalized(content: str, old: str, new: str) -> list[Replacement]:
    """Match text that the model escaped once too often. Both texts are unescaped, else the new one would be stored escaped.

    Only when the old text has no real line end, and the new text uses no escape that the old one does not: else it is not certain
    that the new text is escaped too often as well.
    """
    used, fresh = set(_ESCAPE.findall(old)), set(_ESCAPE.findall(new))
    if not used or not fresh <= used or "\n" in old or "\n" in new:
        return []
    return [
        Replacement(item.start, item.end, item.text, exact=False)
        for item in _exact(content, _unescape(old), _unescape(new))
    ]


def _trimmed_boundary(content: str, old: str, new: str) -> list[Replacement]:
    """Match text that the model quoted with additional white space around it; the same is removed from the new text."""
    core = old.strip()
    if not core or core == old:
        return []
    text, starts = _trim_alike(old, new), list(_occurrences(content, core))
    if len(starts) * len(core) > _overlap_limit(len(content)):
        return []  # some may have been left out, so that another would look unique
    return [
        Replacement(start, start + len(core), text, exact=False)
        for start in starts
        if not _is_inside_word(content, start, start + len(core))
    ]


def _anchored(content: str, old: str, new: str) -> list[Replacement]:
    """Match a block with equal first and last lines and errors in between: as many lines, half equal, 85 % similar."""
    from rapidfuzz.distance import Levenshtein  # not needed for exact matches, which are nearly all

    wanted = [line.strip() for line in _old_lines(old)]
    middle = [line for line in wanted[1:-1] if line]
    if len(wanted) < 3 or not middle or not wanted[0] or not wanted[-1]:
        return []
    blocks: list[_Block] = []
    lines_left, pairs_left = _overlap_limit(content.count("\n")), _COMPARED_PAIRS
    for block in _framed(content, old):
        lines = [line.strip() for line in block.found[1:-1]]
        lines_left -= len(lines)
        equal = sum(1 for mine, theirs in zip(wanted[1:-1], lines, strict=True) if mine and mine == theirs)
        if equal >= _ANCHORED_EQUAL_SHARE * len(middle):
            mine, theirs = "\n".join(wanted[1:-1]), "\n".join(lines)
            pairs_left -= len(mine) * len(theirs)
            if pairs_left >= 0 and Levenshtein.normalized_similarity(mine, theirs) >= _ANCHORED_SIMILARITY:
                blocks.append(block)
        if lines_left < 0 or pairs_left < 0:
            return []  # one that was not compared may be meant as well
    return _fill(blocks, new)


_STRATEGIES: tuple[Strategy, ...] = (
    _exact,
    _trailing_space,
    _indented,
    _line_trimmed,
    _whitespace_normalized,
    _trimmed_boundary,
    _escape_normalized,
    _anchored,
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

    def replacement(self, text: str, new: str) -> Replacement:
        """Return the replacement by `text`; where whole lines are deleted, the last line end is deleted too."""
        return Replacement(self.start, self.end + (1 if self.drops_end and not new else 0), text, exact=False)


def _by_lines(content: str, old: str, new: str, form: Callable[[str], str]) -> list[Replacement]:
    return _fill(list(_blocks(content, old, form)), new)


def _fill(blocks: list[_Block], new: str) -> list[Replacement]:
    """Return the replacements of these blocks by the new text, indented as they are; none when one of them is ambiguous.

    Passing over such a one would make another look unique.
    """
    filled: list[Replacement] = []
    for block in blocks:
        shift = reindent(block.old, block.found)
        text = shift.apply(block.new(new)) if shift else None
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


def _framed(content: str, old: str) -> Iterator[_Block]:
    """Yield the runs of as many lines whose first and last lines equal the old ones, but for white space around them."""
    wanted, lines = _old_lines(old), content.split("\n")
    shown, last = [line.strip() for line in lines], len(wanted) - 1
    ends = zip(shown, shown[last:], strict=False)
    frame = (wanted[0].strip(), wanted[-1].strip())
    yield from _cut_blocks(lines, (index for index, pair in enumerate(ends) if pair == frame), old)


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
