"""The program's own log: a file below the data folder, opened when there is something to write.

Nothing of it reaches the terminal except with `--log-level debug`.
"""

import logging
import os
import sys
from pathlib import Path

from opencode_tui.storage.paths import ensure

MAX_BYTES = 5 * 1024 * 1024
FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"


def start_log(folder: Path, level: str | None) -> None:
    """Send log lines of this level (default: warning) and above to `opencode-tui.log` in the folder; a debug run shows them too.

    A later call replaces an earlier one. A level that is given here is kept, whatever the settings say later (`logLevel`).
    """
    root = logging.getLogger("opencode_tui")
    for handler in [one for one in root.handlers if isinstance(one.formatter, _SafeFormatter)]:
        root.removeHandler(handler)
    root.setLevel((level or "warning").upper())
    handlers: list[logging.Handler] = [_PrivateFile(folder / "opencode-tui.log")]
    if level == "debug":
        handlers.append(logging.StreamHandler(sys.stderr))
    for handler in handlers:
        handler.setFormatter(_SafeFormatter(FORMAT))
        handler.setLevel((level or "notset").upper())
        root.addHandler(handler)


class _SafeFormatter(logging.Formatter):
    """Keeps what a name or an answer holds from steering the terminal that shows the log."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with its traceback if there is one."""
        from opencode_tui.text.safe_text import make_safe  # a run with nothing to tell needs it late, if at all

        return make_safe(super().format(record), multiline=True)


class _PrivateFile(logging.Handler):
    """Appends to a file with mode 0600, begun anew when it has grown too large; a disk that refuses costs the log only."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            ensure(self.path.parent)
            if self.path.exists() and self.path.stat().st_size > MAX_BYTES:
                self.path.replace(self.path.with_suffix(".old.log"))
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(self.format(record) + "\n")
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Keep quiet: there is no better place to complain."""
