"""What is typed while the screen closes was meant for the screen: it is dropped, so that no shell takes it for a command."""

import os
import select
import time
from contextlib import suppress

QUIET_S = 0.3
"""Seconds without a key after which a person has seen that the screen is gone."""

PATIENCE_S = 3.0
"""Seconds after which keys go where they go: a cat may lie on the keyboard."""


class TypeaheadGuard:
    """A terminal whose keys nobody gets until `restore`; made before the screen takes the terminal over.

    The screen leaves it without echo (`TerminalInput`), so that what is typed while the engine closes is not seen either.
    """

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._before = _attributes(terminal)

    def wait_for_quiet(self, *, is_expected: bool) -> None:
        """Return when nobody types any more, after three seconds in any case. Blocks.

        A line goes as a whole: half of one would be another command. With `is_expected` who does not type already is not waited
        for; of a screen that closes by itself a person learns while writing.
        """
        deadline = time.monotonic() + PATIENCE_S
        patience = 0.0 if is_expected else QUIET_S
        while self._is_ours() and time.monotonic() < deadline:
            if not select.select([self._terminal], [], [], patience)[0]:
                return
            self._drop()
            patience = QUIET_S

    def restore(self) -> None:
        """Drop what was typed and make the terminal as it was, in one step."""
        if self._before is not None and self._is_ours():
            import termios  # there, for `_before` is

            with suppress(termios.error):
                termios.tcsetattr(self._terminal, termios.TCSAFLUSH, self._before)

    def _drop(self) -> None:
        import termios

        with suppress(termios.error):
            termios.tcflush(self._terminal, termios.TCIFLUSH)

    def _is_ours(self) -> bool:
        """Whether the terminal is there and listens to us; to touch another one's would stop the program."""
        try:
            return self._before is not None and os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:
            return False


def _attributes(terminal: int) -> list[int | list[bytes | int]] | None:
    try:
        import termios  # absent on Windows
    except ImportError:
        return None
    try:
        return termios.tcgetattr(terminal)
    except termios.error:
        return None
