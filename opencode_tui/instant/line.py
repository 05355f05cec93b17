"""The line that is being typed, read from the bytes of the terminal as far as their meaning is certain."""

LARGEST_PASTE = 1_000
"""Bytes of a paste from which it is not shown: the prompt makes an attachment of it."""

_PASTE_BEGINS, _PASTE_ENDS = b"\x1b[200~", b"\x1b[201~"
KEYS = ("left", "right", "home", "end", "backspace", "ctrl+c")
"""The keys that are applied besides characters, as the TUI names them."""

_LEFT, _RIGHT, _HOME, _END = range(4)
_MOVES = {
    b"\x1b[D": _LEFT,
    b"\x1bOD": _LEFT,
    b"\x1b[C": _RIGHT,
    b"\x1bOC": _RIGHT,
    b"\x1b[H": _HOME,
    b"\x1bOH": _HOME,
    b"\x1b[1~": _HOME,
    b"\x1b[F": _END,
    b"\x1bOF": _END,
    b"\x1b[4~": _END,
}
_ESCAPE, _BACKSPACE, _CTRL_C = 0x1B, 0x7F, 0x03
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_JAMO = range(0x1100, 0x1200)
"""Letters that join to one."""
_WIDE = (range(0x4E00, 0xA000), range(0xAC00, 0xD7A4))
"""Ideographs, and the syllables of Hangul: letters of two cells. No letter before `_JAMO` is wider than one."""


class TypedLine:
    """The text and the cursor. The first key whose effect is not certain makes it stuck: it changes no more."""

    def __init__(self, room: int) -> None:
        self.text = ""
        self.cursor = 0
        """Characters before the cursor."""
        self.room = room
        """Cells that the text may have."""
        self.is_stuck = False
        self.wants_to_quit = False
        """Whether ctrl+c was typed twice without a text."""
        self._rest = b""
        self._is_ending = False

    @property
    def is_whole(self) -> bool:
        """Whether the effect of all that was typed is certain and shown."""
        return not (self.is_stuck or self._rest)

    def feed(self, data: bytes) -> None:
        """Apply the next bytes; a character or sequence that is cut waits for its rest."""
        rest, at = self._rest + data, 0
        while at < len(rest) and not self.is_stuck:
            used = self._apply(rest, at)
            if not used:
                break
            at += used
        if self._is_ending and rest[at:]:  # another key ends what the first press began
            self.wants_to_quit, self._is_ending = rest.startswith(b"\x03", at), False
        self._rest = b"" if self.is_stuck else rest[at:]

    def _apply(self, rest: bytes, at: int) -> int:
        """Apply one key; return its bytes, 0 when some are missing."""
        byte = rest[at]
        if byte == _ESCAPE:
            return self._apply_sequence(rest, at)
        if byte == _BACKSPACE:
            if self.text[: self.cursor].endswith("]"):
                self.is_stuck = True  # may be the marker of an attachment, which goes at once
            elif self.cursor:
                self.cursor -= 1
                self.text = self.text[: self.cursor] + self.text[self.cursor + 1 :]
            return 1
        if byte == _CTRL_C:
            self.is_stuck = self._is_ending = not self.text  # "ctrl+c again to quit"
            self.text, self.cursor = "", 0
            return 1
        size = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        letter = rest[at : at + size]
        if len(letter) < size:
            return 0
        try:
            self._insert(letter.decode())
        except UnicodeDecodeError:
            self.is_stuck = True
        return size

    def _apply_sequence(self, rest: bytes, at: int) -> int:
        if rest.startswith(_PASTE_BEGINS, at):
            end = rest.find(_PASTE_ENDS, at)
            if end < 0:
                self.is_stuck = len(rest) - at > LARGEST_PASTE
                return 0
            self._insert(rest[at + len(_PASTE_BEGINS) : end].decode(errors="replace"))
            return end + len(_PASTE_ENDS) - at
        for sequence, move in _MOVES.items():
            if rest.startswith(sequence, at):
                self.cursor = (max(0, self.cursor - 1), min(len(self.text), self.cursor + 1), 0, len(self.text))[move]
                return len(sequence)
        beginning = rest[at:]
        self.is_stuck = not any(one.startswith(beginning) for one in (*_MOVES, _PASTE_BEGINS))
        return 0

    def _insert(self, words: str) -> None:
        text = self.text[: self.cursor] + words + self.text[self.cursor :]
        if not all(map(cells_of, words)) or sum(map(cells_of, text)) > self.room or self._means_more(words):
            self.is_stuck = True
            return
        self.text, self.cursor = text, self.cursor + len(words)

    def _means_more(self, words: str) -> bool:
        """Return whether a text does more than appear: help, the lines of a file, the path of an image, an attachment."""
        is_image = words.strip().rstrip("'\"").lower().endswith(_IMAGES)
        return (words[:1] == "?" and not self.text) or ("#" in words and "@" in self.text) or is_image


def cells_of(letter: str) -> int:
    """Return how many cells a character has; 0 if that is not certain, or it is not printable."""
    if letter.isascii():
        return int(letter.isprintable())
    if letter.isalpha():  # before the import below, which waits for its turn with each file that it looks for
        if ord(letter) < _JAMO.start:
            return 1
        if any(ord(letter) in letters for letters in _WIDE):
            return 2
    import unicodedata  # a large table, which few first keys need

    kind, width = unicodedata.category(letter), unicodedata.east_asian_width(letter)
    if ord(letter) in _JAMO or not (kind[0] in "LNP" or kind == "Sc"):
        return 0
    if width in "WF":
        return 2 if kind == "Lo" else 0
    return 1
