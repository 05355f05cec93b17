"""What `run` reads from standard input.

With a message a pipe that stays empty does not hold the run: programs that start it, such as CI, ssh and editors, often leave one
open. Whatever is waited for, used or left is said on stderr.
"""

import os
import select
import stat
import sys
import time

from opencode_tui.cli.terminal import say
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.quantity import byte_words

NAMED_AFTER_S = 1.0
"""Seconds after which a wait is named."""

EMPTY_S = 5.0
"""Seconds for which a pipe may stay empty when there is a message."""

_PIECE = 1 << 16


def piped_text(*, is_needed: bool) -> str:
    """Return the text of standard input, empty for a terminal; blocks. Raises OpencodeError when it cannot be read.

    `is_needed`: there is nothing else to send, so it is waited for without a limit.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():  # pyright: ignore[reportUnnecessaryComparison] - None without a stdin
        return ""
    try:
        descriptor = _pipe()
        data = sys.stdin.buffer.read() if descriptor is None else _read_pipe(descriptor, is_needed=is_needed)
    except OSError as error:
        raise OpencodeError(
            f"cannot read standard input ({error.strerror}); pass the message as an argument"
        ) from error
    text = data.decode("utf-8", "replace")
    if not is_needed and text.strip():
        say(
            f"the message is followed by {byte_words(len(data))} of standard input; in a loop `< /dev/null` leaves its lines"
        )
    return text


def _pipe() -> int | None:
    """Return the descriptor of standard input if reading it may wait for another program."""
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):  # a text of a test
        return None
    kind = os.fstat(descriptor).st_mode
    can_wait = os.name != "nt" and (stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind))
    return descriptor if can_wait else None


def _read_pipe(descriptor: int, *, is_needed: bool) -> bytes:
    """Return all data until the end; none when there is none for `EMPTY_S` and it is not needed."""
    pieces: list[bytes] = []
    began, is_named = time.monotonic(), False
    while True:
        waited = time.monotonic() - began
        may_leave = not (is_needed or pieces)
        if may_leave and waited >= EMPTY_S:
            say(
                f"nothing came on standard input within {EMPTY_S:g} s: going on without it; `< /dev/null` saves the wait,"
                " and a message in the pipe itself waits for its end"
            )
            return b""
        limit = NAMED_AFTER_S if not is_named else EMPTY_S if may_leave else None
        if select.select([descriptor], [], [], None if limit is None else max(0.0, limit - waited))[0]:
            piece = os.read(descriptor, _PIECE)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
        elif not is_named:
            is_named = True
            say(_words(is_needed=is_needed, has_begun=bool(pieces)))


def _words(*, is_needed: bool, has_begun: bool) -> str:
    if has_begun:
        return "reading standard input to its end"
    if is_needed:
        return "reading the message from standard input; give one as an argument to do without"
    return f"reading standard input, at most {EMPTY_S:g} s while nothing comes; `< /dev/null` for none"
