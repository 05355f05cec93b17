"""The modes and the title that a program set in its terminal, so that a new terminal can go on in place of the old one."""

import re

_SEQUENCE = re.compile(rb"\x1b\[\?([\d;]{1,64})([hl])|\x1b\][02];([^\x07\x1b]{0,1024})(?:\x07|\x1b\\)")
_TAIL_BYTES = 1100
"""The longest start of a sequence that may lie at the end of the output."""

_SYNCHRONIZED = b"2026"
"""Holds back what is drawn until it is reset: never restored."""

_SCREEN = b"1049"
_RESET = b"\x18\x1bc"
"""Ends a sequence that was cut off, then resets the terminal."""


class ScreenModes:
    """Reads the output of a program; `restore` returns what brings an unused terminal into the same state, without the text."""

    def __init__(self) -> None:
        self._tail = b""
        self._modes: dict[bytes, bytes] = {}
        self._title: bytes | None = None

    def feed(self, data: bytes) -> None:
        """Read the next output."""
        text = self._tail + data
        end = 0
        for found in _SEQUENCE.finditer(text):
            modes, state, title = found.groups()
            if modes is None:
                self._title = title
            else:
                self._modes |= dict.fromkeys(modes.split(b";"), state)
            end = found.end()
        start = text.rfind(b"\x1b", end)
        self._tail = b"" if start < 0 or len(text) - start > _TAIL_BYTES else text[start:]

    def restore(self) -> bytes:
        """Return the output that resets a terminal, then sets the modes and the title."""
        order = sorted(self._modes, key=lambda mode: mode != _SCREEN)  # the other screen first: it has modes of its own
        modes = [b"\x1b[?%b%b" % (mode, self._modes[mode]) for mode in order if mode != _SYNCHRONIZED]
        title = [] if self._title is None else [b"\x1b]0;%b\x07" % self._title]
        return b"".join([_RESET, *modes, *title])
