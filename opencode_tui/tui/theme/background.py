"""What a terminal answers when it is asked for the colour of its background (OSC 11), taken out of what is typed."""

import re

ASK = "\x1b]11;?\x1b\\"

_ANSWER = re.compile(
    r"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?(?:\x07|\x1b\\|\x9c)"
)
_BEGINNING = re.compile(r"\x1b(?:\](?:1(?:1(?:;(?:r(?:g(?:b(?:a?(?::[0-9a-fA-F/]{0,19}\x1b?)?)?)?)?)?)?)?)?)?$")
ROUNDS = 20

_SURE = len("\x1b]1")
"""Letters from which the end of a piece is the beginning of an answer and no key."""


class AnswerFilter:
    """Takes answers out of the input; what may be the beginning of one waits until `release`, everything else passes at once."""

    def __init__(self) -> None:
        self._held = ""
        self._rounds = 0
        """How often nothing may come before an answer is awaited no longer."""

    def asked(self) -> None:
        """The terminal was asked: until it answers, also an escape may be the beginning of the answer."""
        self._rounds = ROUNDS

    def feed(self, data: str) -> tuple[str, bool | None]:
        """Return what was typed, and whether the background is dark when that was told."""
        data, self._held = self._held + data, ""
        told: bool | None = None
        for found in _ANSWER.finditer(data):
            told, self._rounds = is_dark(*found.groups()), 0
        rest = _ANSWER.sub("", data)
        cut = _BEGINNING.search(rest)
        if cut is not None and (self._rounds or len(cut.group()) >= _SURE):
            rest, self._held = rest[: cut.start()], cut.group()
        return rest, told

    def release(self) -> str:
        """Return what waited: nothing came behind it in time, so it was typed."""
        self._rounds = max(0, self._rounds - 1)
        held, self._held = self._held, ""
        return held


def is_dark(red: str, green: str, blue: str) -> bool:
    """Whether a colour is dark; each part has one to four hexadecimal digits."""
    shares = [int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue)]
    return 0.299 * shares[0] + 0.587 * shares[1] + 0.114 * shares[2] < 0.5
