"""The start of a terminal's reply that the input ends with: its end may be in a later read."""

import re
from collections.abc import Callable

ROUNDS = 20
"""Reads without input, of a tenth of a second each, for which a reply is expected, and for which its start is held."""


class HeldReply:
    """What is held of the input between two reads.

    `beginning` finds the start of a reply at the end of a text. `is_reply` says whether a text begins with a whole one.
    A start for which `not_typed` matches is never typed: it waits for its end for `ROUNDS` reads, and is dropped without one.
    Any other one was typed if nothing follows until the next read.
    """

    def __init__(
        self, beginning: re.Pattern[str], not_typed: re.Pattern[str], is_reply: Callable[[str], object]
    ) -> None:
        self.rounds = 0
        """Reads without input after which no reply is expected any more."""
        self._beginning, self._not_typed, self._is_reply = beginning, not_typed, is_reply
        self._text = ""
        self._late = 0
        """Reads without input since the held text came."""

    @property
    def is_waiting(self) -> bool:
        """Whether a reply is expected, or the start of one is held."""
        return bool(self.rounds or self._text)

    def join(self, data: str) -> str:
        """Return the input with what was held before it; nothing is held any more."""
        held, self._text, self._late = self._text, "", 0
        whole = held + data
        is_cut = self._not_typed.match(held) and not (self._is_reply(whole) or self._beginning.match(whole))
        return data if is_cut else whole

    def hold(self, text: str, sure: int = 0) -> str:
        """Return a text without the start of a reply at its end, which is held if one is expected or it has `sure` characters."""
        cut = self._beginning.search(text)
        if cut is None or not (self.rounds or (sure and len(cut.group()) >= sure)):
            return text
        self._text = cut.group()
        return text[: cut.start()]

    def release(self) -> str:
        """Return what was typed of the held text, after a read without input."""
        self.rounds, self._late = max(0, self.rounds - 1), self._late + 1
        is_typed = not self._not_typed.match(self._text)
        if not is_typed and self._late < ROUNDS:
            return ""
        held, self._text = self._text, ""
        return held if is_typed else ""
