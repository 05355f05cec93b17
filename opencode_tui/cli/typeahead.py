"""Drop keys typed while the TUI closes, so that the shell does not run them as commands."""

import os
import select
import signal
import time
from contextlib import suppress
from types import FrameType

from opencode_tui.instant.screen import attributes_before

QUIET_S = 0.3
"""Seconds without a key after which input is considered finished."""

TIMEOUT_S = 3.0
"""Maximum wait in seconds, in case of key repeat."""


class TypeaheadGuard:
    """Discards typed keys until `restore`; created before the TUI opens the terminal.

    The TUI leaves the terminal without echo (`TerminalInput`), so that keys typed while the engine closes are not shown either.
    """

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._before = attributes_before() or _attributes(terminal)

    def wait_for_quiet(self, *, is_expected: bool) -> None:
        """Return when typing has stopped, at the latest after `TIMEOUT_S`. Blocks.

        Whole lines are dropped: half a line would be a different command. With `is_expected` (the user quit) return at once
        unless keys are pending.
        """
        deadline = time.monotonic() + TIMEOUT_S
        timeout = 0.0 if is_expected else QUIET_S
        while self._is_ours() and time.monotonic() < deadline:
            if not select.select([self._terminal], [], [], timeout)[0]:
                return
            self._drop()
            timeout = QUIET_S

    def restore(self) -> None:
        """Drop pending keys and restore the terminal's settings in one step."""
        if self._before is not None and self._is_ours():
            import termios  # present if `_before` is set

            with suppress(termios.error):
                termios.tcsetattr(self._terminal, termios.TCSAFLUSH, self._before)

    def die(self, number: int, _frame: FrameType | None) -> None:
        """Restore the terminal's settings and end as the signal does: a handler for when the screen is closed."""
        self.restore()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _drop(self) -> None:
        import termios

        with suppress(termios.error):
            termios.tcflush(self._terminal, termios.TCIFLUSH)

    def _is_ours(self) -> bool:
        """Return whether this process is in the terminal's foreground group; otherwise changing it would stop the process."""
        try:
            return self._before is not None and os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:
            return False


def _attributes(terminal: int) -> list[int | list[bytes | int]] | None:
    import termios

    try:
        return termios.tcgetattr(terminal)
    except termios.error:
        return None
