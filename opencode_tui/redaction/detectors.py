"""Finds secrets in texts by their forms, the table `detectors.txt`, and replaces them.

The table is read, and a pattern compiled, when they are first needed.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from opencode_tui.redaction.cover import MASK, cover, is_covered
from opencode_tui.schema.table import read_sections, split_columns

KEY = "key"
PRIVATE_KEY = "private-key"
PASSWORD = "secret"
ADDRESS = "password-in-address"
EMAIL = "e-mail"

PIECE = 32_000
"""Characters that are searched at once, about: other threads have to wait for each search."""

_BOUNDS = r"(?<![A-Za-z0-9_\-])", r"(?![A-Za-z0-9])"
_CUT = r"[A-Za-z0-9_\-*.]{6,}"
"""What follows the beginning of a key that is cut or masked."""

_CUT_ENDS = ((ADDRESS, r"://[^\s/@]+:(?!\d*$)[^\s/@]*$"), (EMAIL, r"(?<![\w:/])(?!git@|www@)[\w.%+\-]+@[\w.\-]*$"))
"""What a cut address with a password, and a cut e-mail address look like."""
_LONGEST_END = 500
"""Characters of the last word that are examined: the time grows with their square."""

_ENTROPY = 3.0
_BLANK = "␣"


class Detector(Struct, frozen=True):
    """One form of secret. `words`: one of them is in every match. The groups named `secret` are replaced, else the whole match.

    `marks` are those of the table; `accept` is the name of the test that a match has to pass, if any.
    """

    kind: str
    words: tuple[str, ...]
    pattern: str
    marks: frozenset[str]
    accept: str = ""

    def can_match(self, text: str, folded: str) -> bool:
        """Return whether one of the words is in a text; `folded` is the text in lower case."""
        searched = folded if "folded" in self.marks else text
        return any(word in searched for word in self.words)

    def sub(self, text: str, counts: Counter[str]) -> str:
        """Return the text with its matches covered; `counts` grows by each."""
        accept = _TESTS[self.accept] if self.accept else None

        def replace(match: re.Match[str]) -> str:
            whole = match[0]
            start, end = match.span("secret") if "secret" in match.re.groupindex else match.span()
            secret = match.string[start:end]
            if not secret.strip() or is_covered(secret) or (accept is not None and not accept(match)):
                return whole
            counts[self.kind] += 1
            return f"{whole[: start - match.start()]}{cover(self.kind)}{whole[end - match.start() :]}"

        return _compiled(self.pattern, is_folded="folded" in self.marks).sub(replace, text)


class _Table(Struct, frozen=True):
    """The forms in their order, those in messages of errors only, and what is no secret."""

    forms: tuple[Detector, ...]
    cut: tuple[str, ...]
    ordinary: Mapping[str, str]


@cache
def _table() -> _Table:
    sections = {section.title: section.rows for section in read_sections(Path(__file__).with_name("detectors.txt"))}
    patterns = {name: pattern for name, pattern in (split_columns(row, 2) for row in sections["patterns"])}
    forms = tuple(_read_form(row, patterns) for row in sections["forms"])
    starts = {
        re.escape(word.rstrip("-_")) for form in forms if "cut" in form.marks for word in form.words if word[-1] in "-_"
    }
    marks = {re.escape(word) for form in forms if "cut" in form.marks for word in form.words if word[-1] not in "-_"}
    beginnings = rf"\b(?:(?:{'|'.join(sorted(starts))})[-_]|{'|'.join(sorted(marks))}){_CUT}"
    ordinary = {name: pattern for name, pattern in (split_columns(row, 2) for row in sections["ordinary"])}
    return _Table(forms, (beginnings, *sections["cut"]), ordinary)


def _read_form(row: str, patterns: Mapping[str, str]) -> Detector:
    kind, marks, words, pattern = split_columns(row, 4)
    for name, part in patterns.items():
        pattern = pattern.replace(f"{{{name}}}", part)
    found = frozenset(marks.split())
    if "whole" in found:
        pattern = pattern.join(_BOUNDS)
    accept = next((mark.partition("=")[2] for mark in found if mark.startswith("accept=")), "")
    return Detector(kind, tuple(word.replace(_BLANK, " ") for word in words.split()), pattern, found, accept)


@cache
def _compiled(pattern: str, *, is_folded: bool = False) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if is_folded else 0)


def redact(text: str, counts: Counter[str]) -> str:
    """Return the text with its secrets and e-mail addresses replaced by `[hidden:KIND]`; `counts` grows by each."""
    if len(text) < 6:
        return text
    if len(text) > 2 * PIECE and "\n" in text:
        for detector in _table().forms:
            if "lines" in detector.marks and detector.can_match(text, ""):
                text = detector.sub(text, counts)
        return "".join(_redact(piece, counts) for piece in _pieces(text))
    return _redact(text, counts)


def redact_cut(text: str, counts: Counter[str]) -> str:
    """Return a text that may be cut, with or without `…`, without what may be the start of a secret at its end."""
    shown = text.removesuffix("…")
    head, blank, last = shown.rpartition(" ")
    end = last[-_LONGEST_END:]
    kind = next((kind for kind, pattern in _CUT_ENDS if re.search(pattern, end)), "")
    if not kind and mask_keys(end) != end:
        kind = KEY
    if not kind:
        return text
    counts[kind] += 1
    return f"{head}{blank}{cover(kind)}{text[len(shown) :]}"


def mask_keys(text: str) -> str:
    """Return a message of an error with what looks like a key replaced by `***`, also where it is cut or masked already."""
    for pattern in _table().cut:
        text = _compiled(pattern).sub(lambda match: f"{match[1] if match.re.groups else ''}{MASK}", text)
    return text


def _pieces(text: str) -> Iterator[str]:
    """Yield the text in pieces that end with a line."""
    start = 0
    while start < len(text):
        end = text.find("\n", min(len(text), start + PIECE)) + 1
        yield text[start : end or len(text)]
        start = end or len(text)


def _redact(text: str, counts: Counter[str]) -> str:
    folded = text.lower()
    for detector in _table().forms:
        if detector.can_match(text, folded):
            changed = detector.sub(text, counts)
            if changed != text:
                text, folded = changed, changed.lower()
    return text


def _is(name: str, value: str, *, is_folded: bool = False) -> bool:
    """Return whether a whole value is one of those of the table that are no secrets."""
    return _compiled(_table().ordinary[name], is_folded=is_folded).fullmatch(value) is not None


def _is_placeholder(value: str) -> bool:
    return _is("placeholder", value, is_folded=True)


def _is_value(match: re.Match[str]) -> bool:
    """Return whether a quoted value after a name like `password` is one, and no word, name, path or placeholder."""
    secret = match["secret"]
    return not (
        _is_placeholder(secret) or _is("plain", secret) or any(one in secret for one in "${<%(=")
    ) or _is_strong(secret)


def _is_assigned(match: re.Match[str]) -> bool:
    """Return whether a variable in upper case has a secret for its value."""
    secret = match["secret"]
    if match["name"].endswith("_KEY") and _is("plain", secret):
        return False
    return not (_is_placeholder(secret) or _is("assigned", secret))


def _is_random(match: re.Match[str]) -> bool:
    secret = match["secret"]
    return not (
        _is_placeholder(secret)
        or _is("plain", secret)
        or (_is("identifier", secret) and not _is_strong(secret))
        or ("/" in secret and "." in secret)
    )


def _is_loose(match: re.Match[str]) -> bool:
    return _is_strong(match["secret"]) and not _is_placeholder(match["secret"])


def _is_strong(secret: str) -> bool:
    """Return whether a value has letters and digits mixed as only random ones have."""
    if len(secret) < 16 or " " in secret or not (re.search(r"\d", secret) and re.search(r"[A-Za-z]", secret)):
        return False
    if _is("separated", secret) and ("_" in secret or "-" in secret):
        return False
    sizes = Counter(secret).values()
    return -sum(size / len(secret) * math.log2(size / len(secret)) for size in sizes) >= _ENTROPY


def _is_address(match: re.Match[str]) -> bool:
    address = match[0]
    return not (
        _is("file ending", match["end"].lower())
        or address.startswith(("git@", "www@"))
        or _is("reserved address", address, is_folded=True)
    )


_TESTS: Mapping[str, Callable[[re.Match[str]], bool]] = {
    "value": _is_value,
    "assigned": _is_assigned,
    "random": _is_random,
    "loose": _is_loose,
    "address": _is_address,
}
