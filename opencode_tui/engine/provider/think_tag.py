"""Thoughts that a model writes into its text: `<think>…</think>` at the very start of an answer.

Models behind a server without a reasoning parser do so. Anywhere else the tag is text.
"""

from typing import Literal

_OPEN = "<think>"
_CLOSE = "</think>"

Piece = tuple[Literal["text", "thought"], str]


class ThinkTag:
    """Separates leading thoughts from the text, wherever the pieces are cut."""

    def __init__(self) -> None:
        self.is_settled = False
        """Whether everything that follows is text, so that nobody needs to ask."""
        self._held = ""
        self._is_inside = False
        self._is_closed = False

    def split(self, text: str) -> list[Piece]:
        """Return what is known of the text so far, in order."""
        if self.is_settled:
            return [("text", text)]
        self._held += text
        if self._is_closed:
            return self._after_tag([])
        if not self._is_inside:
            begun = self._held.lstrip()
            if begun.startswith(_OPEN):
                self._is_inside, self._held = True, begun[len(_OPEN) :]
            elif not _OPEN.startswith(begun):
                return self._settle("text", self._held)
            else:
                return []
        thought, tag, rest = self._held.partition(_CLOSE)
        if tag:
            self._is_closed, self._held = True, rest
            return self._after_tag([("thought", thought)] if thought else [])
        kept = _overlap(thought)
        self._held = thought[len(thought) - kept :]
        shown = thought[: len(thought) - kept]
        return [("thought", shown)] if shown else []

    def flush(self) -> list[Piece]:
        """Return what was held back, because nothing follows."""
        return self._settle("thought" if self._is_inside and not self._is_closed else "text", self._held)

    def _after_tag(self, pieces: list[Piece]) -> list[Piece]:
        """Leave out the empty lines that models put between their thoughts and the answer."""
        self._held = self._held.lstrip("\n")
        return pieces + self._settle("text", self._held) if self._held else pieces

    def _settle(self, kind: Literal["text", "thought"], text: str) -> list[Piece]:
        self.is_settled = True
        self._held = ""
        return [(kind, text)] if text else []


def _overlap(text: str) -> int:
    """Return how many characters at the end of the text may be the beginning of the closing tag."""
    return next((size for size in range(len(_CLOSE) - 1, 0, -1) if text.endswith(_CLOSE[:size])), 0)
