"""Search for the text that a model wants to replace and does not quote exactly.

Strategies go from strict to loose, and the first with a match decides: one match is the answer, several are an error that
names their lines. No strategy may change text that the model did not quote, but for white space and, in `anchored`, slips in the
middle of a block. Texts here have `\n` line ends only. Source: reference, section 28 (edit), made safe.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

# Conversion of the model's indentation into the file's.


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


_ANCHORED_SIMILARITY = 0.85
_ANCHORED_EQUAL_SHARE = 0.5
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "'": "'", '"': '"', "`": "`", "\\": "\\", "$": "$"}
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
    return [
        block.replacement(text, new)
        for block in _blocks(content, old, str.strip)
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
    joined = r"[ \t]+".join(re.escape(word) for word in words)
    left = r"(?<!\w)" if re.match(r"\w", words[0]) else ""
    right = r"(?!\w)" if re.search(r"\w$", words[-1]) else ""
    pattern, text = re.compile(left + joined + right), _trim_alike(old, new)
    lines = content.split("\n")
    return [
        Replacement(start + match.start(), start + match.end(), text, exact=False)
        for start, line in zip(_line_starts(lines), lines, strict=False)
        if words[0] in line
        for match in pattern.finditer(line)
    ]


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
    text = _trim_alike(old, new)
    return [
        Replacement(start, start + len(core), text, exact=False)
        for start in _occurrences(content, core)
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
    for block in _blocks(content, old, str.strip, only_ends=True):
        lines = [line.strip() for line in block.found[1:-1]]
        equal = sum(1 for mine, theirs in zip(wanted[1:-1], lines, strict=True) if mine and mine == theirs)
        if equal < _ANCHORED_EQUAL_SHARE * len(middle):
            continue
        if Levenshtein.normalized_similarity("\n".join(wanted[1:-1]), "\n".join(lines)) >= _ANCHORED_SIMILARITY:
            blocks.append(block)
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


def _blocks(content: str, old: str, form: Callable[[str], str], *, only_ends: bool = False) -> Iterator[_Block]:
    """Yield the runs of lines that equal the old ones in this form, or whose first and last lines do."""
    wanted = _old_lines(old)
    if not any(line.strip() for line in wanted):
        return
    lines = content.split("\n")
    shown, sought = [form(line) for line in lines], [form(line) for line in wanted]
    starts = _line_starts(lines)
    count, index = len(wanted), 0
    while index <= len(lines) - count:
        last = index + count - 1
        ends_fit = shown[index] == sought[0] and shown[last] == sought[-1]
        if ends_fit and (only_ends or shown[index : last + 1] == sought):
            end = starts[last] + len(lines[last])
            yield _Block(starts[index], end, lines[index : last + 1], wanted, len(wanted) < old.count("\n") + 1)
        index += 1


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
    at = content.find(text)
    while at >= 0:
        yield at
        at = content.find(text, at + 1)


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
