"""Pure: the listed model that is nearest to an unlisted name, whose limits count until the settings or a newer list say more.

Imported for the first unlisted model only. Names are compared by their words and numbers from the left, then by their other words:
`gpt-6.2-sol` is nearer to `gpt-6.1-sol` than to `gpt-6-sol` or `gpt-6-astra`.
"""

import re
from collections.abc import Iterable

from opencode_tui.engine.provider.model_pattern import short_name

_WORDS = re.compile(r"[a-z]+|\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{6,}|latest")
"""What is no version, nor a word of a family."""


def find_nearest(model_id: str, listed: Iterable[str], *, least: int = 1) -> str | None:
    """Return the listed ID that shares most words with a name from the left, `least` or more; None when none does.

    Of those that share as many, the words in any other place count, then the version: the highest that is not above the name's.
    """
    wanted, version = _words(model_id), version_of(model_id)
    found: list[tuple[tuple[int, int, bool, tuple[int, ...], int], str]] = []
    for name in listed:
        words = _words(name)
        same = _shared(wanted, words)
        if same < least:
            continue
        rest = len({word for word in wanted[same:] if word.isalpha()} & set(words[same:]))
        own = version_of(name)
        is_older = own <= version
        found.append(((same, rest, is_older, own if is_older else tuple(-number for number in own), -len(name)), name))
    return max(found)[1] if found else None


def version_of(model_id: str) -> tuple[int, ...]:
    """Return the numbers of a model's name without dates: (5, 5) of `claude-sonnet-5-5-20260101`."""
    return tuple(int(word) for word in _words(model_id) if word.isdigit())


def _words(model_id: str) -> list[str]:
    return _WORDS.findall(_DATE.sub("", short_name(model_id)))


def _shared(one: list[str], other: list[str]) -> int:
    """Return how many words both begin with."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        count += 1
    return count
