"""Texts compared without what looks alike: typographic characters, width and form of characters, characters that no reader sees.

A folded text is not as long as its original, so it knows where each of its positions is there.
"""

import bisect
import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.tool.edit.carry import runs_of
from opencode_tui.engine.tool.files.text_format import BROKEN_BYTES

_FAMILIES = {
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212",
    "'": "\u2018\u2019\u201a\u201b",
    '"': "\u201c\u201d\u201e\u201f",
    " ": "\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
    "\ufffd": "".join(map(chr, BROKEN_BYTES)),
}
_PLAIN = {one: plain for plain, typographic in _FAMILIES.items() for one in typographic}
"""Typographic characters and the plain ones that models exchange them with, and bytes that are shown as U+FFFD."""
_FORMS: tuple[Literal["NFC", "NFD"], ...] = ("NFC", "NFD")
_CLOSING = "\u2019\u201d"
_UNSEEN = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_HANGUL = range(0xAC00, 0xD7A4)


class Folded(Struct, frozen=True):
    """A text without its differences in looks. Each character whose fold is not one character has its index in `uneven`.

    `begins` and `ends` are where the folds of these are.
    """

    text: str
    uneven: list[int]
    begins: list[int]
    ends: list[int]

    def at(self, index: int) -> int:
        """Return the position in the folded text for one in the original."""
        before = bisect.bisect_left(self.uneven, index)
        return index if before == 0 else self.ends[before - 1] + index - self.uneven[before - 1] - 1

    def origin(self, position: int) -> int | None:
        """Return the first position in the original for one in the folded text, None inside of a character."""
        before = bisect.bisect_right(self.ends, position)
        while before and self.begins[before - 1] == position:
            before -= 1
        if before < len(self.begins) and self.begins[before] < position < self.ends[before]:
            return None
        if before == 0:
            return position
        return self.uneven[before - 1] + 1 + position - self.ends[before - 1]


def fold(text: str) -> Folded:
    """Return a text with plain characters for those that look like them."""
    if text.isascii():
        return Folded(text, [], [], [])
    table = {one: plain for one in set(text) if one > "\x7f" and (plain := _fold(one)) != one}
    uneven = [one for one, plain in table.items() if len(plain) != 1]
    indexes, begins, ends, shift = list[int](), list[int](), list[int](), 0
    if uneven:
        for match in re.finditer(f"[{re.escape(''.join(uneven))}]", text):
            size = len(table[match[0]])
            indexes.append(match.start())
            begins.append(match.start() + shift)
            ends.append(begins[-1] + size)
            shift += size - 1
    return Folded(text.translate(str.maketrans(table)) if table else text, indexes, begins, ends)


def _fold(character: str) -> str:
    if character in _PLAIN:
        return _PLAIN[character]
    if character in _UNSEEN:
        return ""
    if ord(character) in _HANGUL:
        return character
    return "".join(_PLAIN.get(one, one) for one in unicodedata.normalize("NFKD", character))


_Pairs = dict[str, set[str | None]]
"""What stands in the file for each character of a quote; None for a part of a character."""


class Carried(Struct, frozen=True):
    """A new text with the file's characters; `is_certain` unless characters that the model added may be slips, too."""

    text: str
    is_certain: bool


def carry_characters(found: str, old: str, new: str) -> Carried:
    """Return the new text with the characters of `found`, whose fold is that of `old`, wherever the model changed nothing.

    Lines that stay are those of `found`. In others, characters that stay are the file's but for those of another width or form,
    which are as the model wrote them. In what it added, a character that always stands for another one in `found` is replaced
    by that: who makes a slip makes it everywhere. It is not certain where the slip may be meant as well: a character of the same
    family that the old text does not have, one that is a slip here and right there, a plain one for a typographic one.
    """
    form = _form_of(found, old)
    if form is not None:
        old, new = unicodedata.normalize(form, old), unicodedata.normalize(form, new)
    theirs = _counterparts(found, old)
    pairs: _Pairs = {}
    for mine, counterpart in zip(old, theirs, strict=True):
        pairs.setdefault(mine, set()).add(counterpart)
    for one in _proven_slips(old, new, pairs):
        pairs[one] = {_PLAIN[one]}
    starts = list(accumulate((len(line) + 1 for line in old.split("\n")), initial=0))
    kept, quoted, written = found.split("\n"), old.split("\n"), new.split("\n")
    lines: list[str] = []
    added: list[str] = []
    for run in runs_of(quoted, written):
        if run.is_equal:
            lines += [kept[at] for at in run.old]
        elif run.new:
            span = slice(starts[run.old.start], max(starts[run.old.stop] - 1, starts[run.old.start]))
            text = "\n".join(written[run.new.start : run.new.stop])
            lines += _carry_within(old[span], theirs[span], text, pairs, added).split("\n")
    return Carried("\n".join(lines), not _is_doubtful("".join(added), pairs))


def _form_of(found: str, old: str) -> Literal["NFC", "NFD"] | None:
    """Return the Unicode form that the file's text has and the quote not."""
    for form in _FORMS:
        if unicodedata.is_normalized(form, found) and not unicodedata.is_normalized(form, old):
            return form
    return None


def _carry_within(old: str, theirs: Sequence[str | None], new: str, pairs: _Pairs, added: list[str]) -> str:
    """Return changed lines with the file's characters where the model left them, and append what it added."""
    pieces: list[str] = []
    for run in runs_of(old, new):
        if run.is_equal:
            for at in run.old:
                same = theirs[at]
                pieces.append(same if same is not None and _plain(same) == _plain(old[at]) else _only(pairs, old[at]))
        else:
            written = new[run.new.start : run.new.stop]
            added.append(written)
            pieces += [_only(pairs, one) for one in written]
    return "".join(pieces)


def _counterparts(found: str, old: str) -> list[str | None]:
    """Return what is in `found` for each character of `old`, None for a part of a character."""
    theirs, mine = fold(found), fold(old)
    edges = [theirs.origin(mine.at(at)) for at in range(len(old))]
    edges.append(len(found))
    return [None if start is None or end is None else found[start:end] for start, end in pairwise(edges)]


def _proven_slips(old: str, new: str, pairs: _Pairs) -> list[str]:
    """Return the closing quotation marks of the new text alone that open something there, which none does, where others slipped."""
    is_slipped = any(one in _CLOSING and pairs[one] == {_PLAIN[one]} for one in pairs)
    return [one for one in _CLOSING if is_slipped and one not in old and re.search(rf"(?:^|[\s(\[{{=,:]){one}", new)]


def _only(pairs: _Pairs, written: str) -> str:
    """Return the only counterpart of a character that is no plain one, else the character as it is written."""
    counterparts = pairs.get(written, set())
    only = next(iter(counterparts)) if len(counterparts) == 1 else None
    return written if only is None or written <= "\x7f" else only


def _plain(text: str) -> str:
    return text if text.isascii() else "".join(_PLAIN.get(one, one) for one in text if one not in _UNSEEN)


def _is_doubtful(added: str, pairs: _Pairs) -> bool:
    """Return whether what the model added has a character that may be a slip, or meant."""
    slipped = {one for one, counterparts in pairs.items() if one > "\x7f" and counterparts != {one}}
    families = {family for one in slipped for family in _families(one)}
    return any(_may_be_slip(one, pairs.get(one), families) for one in set(added))


def _may_be_slip(one: str, counterparts: set[str | None] | None, slipped: set[str]) -> bool:
    if counterparts is None:
        return one > "\x7f" and not slipped.isdisjoint(_families(one))
    if one <= "\x7f":  # of another width or form it stays as it is written
        only = next(iter(counterparts)) if len(counterparts) == 1 else None
        return one in _FAMILIES and only is not None and only != one == _plain(only)
    return len(counterparts) > 1


def _families(character: str) -> Iterator[str]:
    plain = _PLAIN.get(character, "")
    if plain in _FAMILIES:
        yield "quotes" if plain in "\"'" else plain
    form, _, decomposed = unicodedata.decomposition(character).partition(" ")
    if decomposed and form.startswith("<"):
        yield form
