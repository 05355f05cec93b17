"""The attachments of the prompt in this run, by marker."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from opencode_tui.tui.prompt.draft import Attachment, Draft, clean, marker_of, split_at

KEPT = 200
"""Attachments that are kept although no text has their marker: the editor's own undo may bring them back."""


class Attachments:
    """All attachments of this run. No two have the same marker, so a marker means the same in each text at any time.

    The history, the stash and the editor's own undo bring back texts: their attachments are found by the markers in them.
    `texts` returns the texts that may come back, that of the editor included.
    """

    def __init__(self, texts: Callable[[], Iterable[str]]) -> None:
        self._texts = texts
        self._by_marker: dict[str, Attachment] = {}

    def get(self, marker: str) -> Attachment | None:
        """Return the attachment of a marker; None if it has none."""
        return self._by_marker.get(marker)

    def draft(self, text: str) -> Draft:
        """Return a text with its attachments."""
        return Draft(text, self._in(text))

    def add(self, one: Attachment, text: str) -> str:
        """Keep an attachment, and return a marker that the text does not have; one that is here has its marker again."""
        texts, number = (text, *self._texts()), 1
        while not self._suits(marker := marker_of(one, number), one, texts):
            number += 1
        self._by_marker[marker] = one
        if len(self._by_marker) > 2 * KEPT:
            unused = [name for name in self._by_marker if not any(name in other for other in texts)]
            for name in unused[:-KEPT]:
                del self._by_marker[name]
        return marker

    def _suits(self, marker: str, one: Attachment, texts: Sequence[str]) -> bool:
        """Return whether an attachment may have a marker, which the first text must not have; words must not become a marker."""
        known = self._by_marker.get(marker)
        return marker not in texts[0] if known == one else known is None and not any(marker in text for text in texts)

    def adopt(self, draft: Draft) -> str:
        """Keep the attachments of a draft, and return its text for the editor.

        A marker that another attachment has here gets a free number. A piece becomes a pasted text where the editor would change
        it, or where a marker of this run would be read in it.
        """
        names: dict[str, str] = {}
        for marker, one in draft.attachments.items():
            is_free = self._by_marker.setdefault(marker, one) == one
            names[marker] = marker if is_free else self.add(one, draft.text)
        pieces = split_at(draft.text, draft.attachments)
        return "".join(
            names[one] if at % 2 else one if self._is_plain(one) else self.add(Attachment(text=one), draft.text)
            for at, one in enumerate(pieces)
        )

    def unfold(self, draft: Draft) -> str:
        """Return the text of a draft with those pasted texts in their places that need no marker."""
        return draft.filled(lambda marker, one: marker if one.is_file or not self._is_plain(one.text) else one.text)

    def _is_plain(self, text: str) -> bool:
        return text == clean(text) and not self._in(text)

    def _in(self, text: str) -> Mapping[str, Attachment]:
        return {marker: one for marker, one in self._by_marker.items() if marker in text}
