"""Separates what the user typed from what a paste or the terminal sent.

A paste may contain its own end mark, and a reply of the terminal may be cut, very long, or never end. What follows either of them
without a pause is not typed until the pause shows that no further end mark comes: nothing in a paste or a reply becomes a key.
"""

import re
from collections.abc import Sequence
from enum import Enum, auto

from msgspec import Struct
from textual import events

from opencode_tui.tui.held_reply import ROUNDS

PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"

_BEGINS = re.compile(r"\x1b\[200~|\x1b[]PX^_]|[\x90\x98\x9d-\x9f]")
"""The start of a paste, or of a control string: OSC, DCS, SOS, PM or APC, also as one character."""

_CUT = re.compile(r"\x1b(?:\[(?:2(?:0(?:0)?)?)?|[]PX^_])?$")
"""The possible start of a paste or a control string at the end of a text."""

_ENDS = re.compile(r"\x1b\\|[\x07\x18\x1a\x9c]|\x1b(?=[^\\])")
"""The end of a control string: its terminator, BEL, a character that cancels it, or the next sequence."""

_WHOLE = re.compile(r"(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c]*(?:\x1b\\|[\x07\x9c])")
"""A whole control string."""

_STRAY = re.compile(r".*(?:\x1b\\|\x9c)", re.DOTALL)
"""A text up to its last terminator of a control string."""

_EXPECTED = re.compile(r"\x1b(?:\]11;|_G)")
"""The start of a reply to what this program asks: the background, and how pictures are shown."""

_GOES_ON = re.compile(r"\x1b\]11;[rgba:/0-9a-fA-F]*(?:[\x07\x9c]|\x1b(?:\\|$)|$)")
"""What a reply about the background is, as far as it is known."""

_LONGEST = 1_000
"""Characters of a reply that are kept; a longer one is none of those that are asked for."""

_MOST_TYPED = 4_096
"""Characters that no user types without a pause behind a paste."""

_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

_ABORTS = ("\x1b", "\x03")
"""Keys that end a paste whose end mark is missing, once nothing of it came for `ROUNDS` pauses."""

DROP_ESCAPE = PASTE_BEGINS[1:] + PASTE_ENDS
"""Makes a parser of keys read an escape that it has got as an empty paste: the escape began what this module reads."""


class Reply(Struct, frozen=True):
    """A control string that the terminal sent, with its start and its terminator; empty for one that is cut or too long."""

    text: str


Piece = str | events.Paste | Reply
"""Typed text as the terminal sent it, a paste without control characters, or a reply."""


class _State(Enum):
    """What the next character belongs to."""

    TYPED = auto()
    PASTE = auto()
    BEHIND_PASTE = auto()
    REPLY = auto()
    BEHIND_REPLY = auto()


class TypedInput:
    """Reads what the terminal sends; `feed` and `pause` return the pieces in their order.

    `feed` gets each read. `pause` is called whenever nothing came for a moment while `is_waiting`: a tenth of a second, or a third
    of that while `is_undecided`.
    """

    def __init__(self) -> None:
        self._state = _State.TYPED
        self._held = ""
        """What is read and not returned yet: the start of a mark or a reply, or what follows a paste or reply without a pause."""
        self._pasted: list[str] = []
        """The text of the paste that is read."""
        self._pauses = 0
        """Pauses since the last read."""
        self._expected = 0
        """Pauses for which a reply is expected: until then an escape at the end of a read may be its start."""
        self._ends_in_escape = False
        """Whether the last character that was returned is an escape, whose rest may follow."""

    @property
    def is_waiting(self) -> bool:
        """Whether `pause` has something to do."""
        return bool(self._held or self._expected or self._ends_in_escape) or self._state is not _State.TYPED

    @property
    def is_undecided(self) -> bool:
        """Whether a short pause decides about what was read."""
        return self._state in (_State.BEHIND_PASTE, _State.BEHIND_REPLY)

    def expect_reply(self) -> None:
        """Hold an escape at the end of a read for a while, as it may be the start of a reply."""
        self._expected = ROUNDS

    def feed(self, data: str) -> Sequence[Piece]:
        """Return the pieces that are complete with the next characters."""
        if self._state is _State.PASTE and self._pauses >= ROUNDS and data in _ABORTS:
            self._state, self._held = _State.TYPED, ""
            return [self._paste()]
        pieces: list[Piece] = []
        is_late = self._state is _State.REPLY and self._pauses > 0
        if is_late and self._held.startswith("\x1b]") and not _GOES_ON.match(self._held + data):
            pieces.append(self._drop())
        self._pauses = 0
        if self._ends_in_escape and data:
            self._ends_in_escape = False
            joined = "\x1b" + data
            if _BEGINS.match(joined) or _CUT.fullmatch(joined):
                pieces.append(DROP_ESCAPE)
                data = joined
        held, self._held = self._held, ""
        self._read(held + data, pieces)
        return pieces

    def pause(self) -> Sequence[Piece]:
        """Return what is decided because nothing followed in time."""
        self._pauses += 1
        self._expected = max(0, self._expected - 1)
        self._ends_in_escape = False
        if self._state is _State.REPLY and not (_EXPECTED.match(self._held) and self._pauses < ROUNDS):
            return [self._drop()]
        return self.flush()

    def flush(self) -> Sequence[Piece]:
        """Return what is held, as after a pause, but for an unfinished paste or reply."""
        pieces: list[Piece] = []
        if self._state in (_State.PASTE, _State.REPLY):
            return pieces
        before, self._state = self._state, _State.TYPED
        held, self._held = self._held, ""
        if before is _State.TYPED:
            self._pass(held, pieces)
            return pieces
        if before is _State.BEHIND_PASTE:
            pieces.append(self._paste())
        self._read(held, pieces)
        return pieces

    def _drop(self) -> Reply:
        self._state, self._held = _State.TYPED, ""
        return Reply("")

    def _paste(self) -> events.Paste:
        text, self._pasted = "".join(self._pasted), []
        return events.Paste(text)

    def _pass(self, typed: str, pieces: list[Piece]) -> None:
        if typed:
            pieces.append(typed)
            self._ends_in_escape = typed.endswith("\x1b")

    def _read(self, data: str, pieces: list[Piece]) -> None:
        """Append the pieces of all that is known, and hold the rest."""
        while data:
            if self._state is _State.TYPED:
                data = self._read_typed(data, pieces)
            elif self._state is _State.PASTE:
                data = self._read_paste(data)
            elif self._state is _State.BEHIND_PASTE:
                data = self._read_behind_paste(data)
            elif self._state is _State.REPLY:
                data = self._read_reply(data, pieces)
            else:
                data = self._read_behind_reply(data)

    def _read_typed(self, data: str, pieces: list[Piece]) -> str:
        found = _BEGINS.search(data)
        if found is None or (found.end() == len(data) and len(found.group()) == 2):
            # alt and a character, unless more follows at once; an escape alone is a key that must not wait
            cut = _CUT.search(data)
            if cut is not None and (self._expected or len(cut.group()) > 1):
                data, self._held = data[: cut.start()], cut.group()
            self._pass(data, pieces)
            return ""
        self._pass(data[: found.start()], pieces)
        self._ends_in_escape = False
        is_paste = found.group() == PASTE_BEGINS
        self._state = _State.PASTE if is_paste else _State.REPLY
        return data[found.end() if is_paste else found.start() :]

    def _read_paste(self, data: str) -> str:
        text, mark, rest = data.partition(PASTE_ENDS)
        if mark:
            self._state = _State.BEHIND_PASTE
        else:
            kept = next((size for size in range(len(PASTE_ENDS) - 1, 0, -1) if text.endswith(PASTE_ENDS[:size])), 0)
            text, self._held = text[: len(text) - kept], text[len(text) - kept :]
        self._pasted.append(_STEERING.sub("", text))
        return rest

    def _read_behind_paste(self, data: str) -> str:
        """Read what follows an end mark without a pause: up to another end mark it is pasted, too."""
        text, mark, rest = data.rpartition(PASTE_ENDS)
        if not mark and len(rest) > _MOST_TYPED:
            text, rest = rest[:-_MOST_TYPED], rest[-_MOST_TYPED:]
        if text:
            self._pasted.append(_STEERING.sub("", text.replace(PASTE_ENDS, "").replace(PASTE_BEGINS, "")))
        self._held = rest
        return ""

    def _read_reply(self, data: str, pieces: list[Piece]) -> str:
        found = _ENDS.search(data, 2 if data[0] == "\x1b" else 1)
        if found is None:
            self._held = data if len(data) <= _LONGEST else data[:_LONGEST] + "\x1b" * data.endswith("\x1b")
            return ""
        is_whole = found.group() in ("\x1b\\", "\x07", "\x9c") and found.end() <= _LONGEST
        pieces.append(Reply(data[: found.end()] if is_whole else ""))
        self._state = _State.BEHIND_REPLY
        return data[found.start() if found.group() == "\x1b" else found.end() :]

    def _read_behind_reply(self, data: str) -> str:
        """Read what follows a reply without a pause: up to a terminator that ends nothing it is no typed text, either."""
        if _BEGINS.match(data) and not (len(data) == 2 and data[0] == "\x1b"):
            self._state = _State.TYPED
            return data
        if _STRAY.match(_WHOLE.sub("", data)):
            data = _STRAY.sub("", data)
        self._held = data[-_MOST_TYPED:]
        return ""
