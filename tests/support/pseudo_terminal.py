"""A terminal of a given width to write to, without a program in it."""

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Generator
from contextlib import contextmanager

from msgspec.structs import replace

from opencode_tui.cli.style import Style

HUES = {"accent": "95", "success": "92", "added": "92", "warning": "93", "error": "91", "removed": "91"}


@contextmanager
def terminal_style(columns: int, *, is_live: bool = False, is_utf8: bool = True) -> Generator[Style]:
    """Yield the look of a terminal so wide; one that is not live shows text alone, which is easy to compare."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    try:
        style = Style(is_terminal=True, is_live=is_live, is_utf8=is_utf8, descriptor=slave)
        yield replace(style, hues=HUES) if is_live else style
    finally:
        os.close(master)
        os.close(slave)
