"""The words of a text as the index holds them.

SQLite's tokenizer `unicode61` splits text at everything that is not a letter or a digit, folds case and removes diacritics.
Before that, this module writes texts of scripts without spaces as overlapping pairs of characters, and lists the pieces of
camelCase words.
A character of the private use area marks the index's own words; texts and queries lose such characters.
"""

import re
from functools import lru_cache
from unicodedata import category, normalize

MARK = "\ue000"
"""The first character of the index's own words, such as the name of the tool of a part."""

_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]")

_UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003134f"
)
"""Han, Hiragana, Katakana, Hangul: words are not separated, or have endings attached."""

_RUN = re.compile(f"[{_UNSPACED}]+")
_BOUNDARY = re.compile("[A-Z](?<=[a-z0-9][A-Z])")
"""A capital after a small letter or a digit; looked for by the capital, which most texts have least of."""

_ALNUM = re.compile("[A-Za-z0-9]+")
_PIECE = re.compile("[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def clean(text: str) -> str:
    """Return the text without characters that the index uses itself or that are not Unicode."""
    if text.isascii():
        return text
    if any("\ud800" <= character <= "\udfff" for character in text):
        text = text.encode("utf-8", "replace").decode()
    return _PRIVATE.sub(" ", text)


def indexed(text: str) -> str:
    """Return the text to index: runs without spaces as their pairs, followed by their last character.

    Each character of a run begins a word, so that a single character is found as the beginning of one.
    """
    if text.isascii():
        return text
    return _RUN.sub(_pairs_and_last, clean(text))


def queried(text: str) -> str:
    """Return a phrase to search as the index has it; its last run may continue in the text."""
    text = clean(text).replace("\0", " ")
    runs = list(_RUN.finditer(text))
    if not runs:
        return text
    last = runs[-1]
    tail = text[last.end() :]
    end = " ".join(_pairs(last.group())) if not tail.strip() else _pairs_and_last(last)
    return f"{_RUN.sub(_pairs_and_last, text[: last.start()])} {end} {tail}"


def is_single(text: str) -> bool:
    """Return whether a phrase ends with a single character of a script without spaces, which must be searched as a prefix."""
    match = re.search(f"(?:^|[^{_UNSPACED}])[{_UNSPACED}]$", text.rstrip())
    return match is not None


def has_words(text: str) -> bool:
    """Return whether the index can have a word of this text."""
    return any(category(character)[0] in "LN" for character in clean(text))


def pieces(text: str) -> str:
    """Return the pieces of the camelCase words of a text: `retryBackoff` has `retry Backoff`; empty without such words."""
    if _BOUNDARY.search(text) is None:
        return ""
    found: list[str] = []
    for word in _ALNUM.findall(text):
        if not (word.islower() or word.isupper() or word.isdigit()):
            parts = _split(word)
            if len(parts) > 1:
                found += parts
    return " ".join(found)


@lru_cache(4096)
def _split(word: str) -> list[str]:
    return _PIECE.findall(word)


@lru_cache(1024)
def tag(kind: str, name: str) -> str:
    """Return a word of the index's own, such as for the tool `bash`."""
    return f"{MARK}{kind}{name.casefold().encode('utf-8', 'replace').hex()}"


def _pairs_and_last(run: re.Match[str]) -> str:
    text = run.group()
    return f" {' '.join([*_pairs(text), text[-1]] if len(text) > 1 else [text])} "


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def fold(text: str) -> str:
    """Return the text in lower case without diacritics, character by character: as long as it was."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold, text))


@lru_cache(8192)
def _fold(character: str) -> str:
    if _RUN.match(character):
        return character
    return normalize("NFD", character)[0].lower()[0]
