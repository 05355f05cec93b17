"""The title of the terminal window, its progress in the tab or taskbar, and notifications of the terminal."""

import os
from collections.abc import Callable, Mapping
from typing import Literal

from opencode_tui.text.safe_text import screen_line

NAME = "opencode-tui"
MOST = 60
"""Maximum characters of a session's title."""

_KEEP, _BRING_BACK = "\x1b[22;2t", "\x1b[23;2t"


class TerminalTitle:
    """Writes the title when it changes; `write` sends text to the terminal."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._title = self._sign = ""
        self._wanted = ""
        self._shown = ""
        self.is_on = os.environ.get("OPENCODE_DISABLE_TERMINAL_TITLE", "").lower() not in ("1", "true")

    def show(self, title: str, sign: str = "") -> None:
        """Show the title of the open session, empty for none, after a sign of its state. The title may be unsafe."""
        self._title, self._sign = title, sign
        safe = screen_line(" ".join(title.split()))[:MOST]
        words = f"{safe} · {NAME}" if safe else NAME
        self._wanted = f"{sign} {words}" if sign else words
        if self.is_on and self._wanted != self._shown:
            self._write(f"{'' if self._shown else _KEEP}\x1b]2;{self._wanted}\x07")
            self._shown = self._wanted

    def switch(self) -> None:
        """Turn the title off or on."""
        self.is_on = not self.is_on
        if self.is_on:
            self.show(self._title, self._sign)
        else:
            self.end()

    def end(self) -> None:
        """Restore the previous title."""
        if self._shown:
            self._write(_BRING_BACK)
            self._shown = ""


Progress = Literal["", "busy", "asks"]

_PROGRESS: Mapping[Progress, str] = {"": "0;0", "busy": "3;0", "asks": "4;100"}
_KNOWING = frozenset({"ghostty", "WezTerm", "mintty"})
_VTE, _ITERM = 8000, (3, 6, 6)
"""The first versions that show progress."""


class TerminalProgress:
    """Shows in the tab or taskbar whether a turn works or waits for the user (OSC 9;4), where the terminal knows how."""

    def __init__(self, write: Callable[[str], object], environ: Mapping[str, str]) -> None:
        self._write = write
        self._shown: Progress = ""
        self._is_on = shows_progress(environ)

    def show(self, progress: Progress) -> None:
        """Show another state; empty removes it."""
        if self._is_on and progress != self._shown:
            self._shown = progress
            self._write(f"\x1b]9;4;{_PROGRESS[progress]}\x07")


def shows_progress(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal shows progress: others take the sequence for the text of a notification."""
    if environ.get("TMUX") or environ.get("STY"):
        return False
    program, vte = environ.get("TERM_PROGRAM", ""), environ.get("VTE_VERSION", "")
    version = tuple(int(one) for one in environ.get("TERM_PROGRAM_VERSION", "").split(".") if one.isdecimal())
    return (
        "WT_SESSION" in environ
        or environ.get("ConEmuANSI") == "ON"
        or program in _KNOWING
        or (program == "iTerm.app" and version >= _ITERM)
        or (vte.isdecimal() and int(vte) >= _VTE)
    )


LONG_MS = 20_000
"""Milliseconds from which the end of a turn is notified."""

Event = Literal["question", "end"]
"""What a notification is about."""


class Notifier:
    """Says when an answer is needed or a turn ended: the terminal by `notify`, not of a short turn, the user's command by `run`."""

    def __init__(self, notify: Callable[[str], object], run: Callable[[Event, str], object]) -> None:
        self._notify = notify
        self._run = run
        self._asking = 0

    def follow(self, asking: int) -> None:
        """Set the number of waiting questions; notify when it grows."""
        if asking > self._asking:
            self._notify("opencode-tui: waiting for your answer")
            self._run("question", "waits for your answer")
        self._asking = asking

    def ended(self, took_ms: int) -> None:
        """Notify about the end of a turn."""
        if took_ms >= LONG_MS:
            self._notify("opencode-tui: turn finished")
        self._run("end", "turn finished")
