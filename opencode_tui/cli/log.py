"""The log file under the data folder; it is created with the first line.

Log lines reach the terminal only with `--log-level debug`. No line contains a key of the environment or of auth.json.
"""

import logging
import os
import sys
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import ensure, find_paths

if TYPE_CHECKING:
    from opencode_tui.config.auth import AuthStore
    from opencode_tui.engine.sandbox.environment import Secrets
    from opencode_tui.storage.writer import WriterThread

_NAME = "opencode-tui.log"
MAX_BYTES = 5 * 1024 * 1024
FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"


def open_log(folder: Path) -> int:
    """Return a descriptor that appends to the log file of the folder, mode 0600. Raises OSError."""
    return os.open(ensure(folder) / _NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def start_log(folder: Path, level: str | None) -> None:
    """Log this level (default: warning) and above to `opencode-tui.log` in the folder; `debug` logs to stderr too.

    A later call replaces an earlier one. A level that is given here takes precedence over the settings (`logLevel`).
    """
    root = logging.getLogger("opencode_tui")
    for handler in [one for one in root.handlers if isinstance(one.formatter, _SafeFormatter)]:
        root.removeHandler(handler)
    root.setLevel((level or "warning").upper())
    handlers: list[logging.Handler] = [_PrivateFile(folder / _NAME)]
    if level == "debug":
        handlers.append(logging.StreamHandler(sys.stderr))
    formatter = _SafeFormatter(FORMAT, dict(os.environ))
    for handler in handlers:
        handler.setFormatter(formatter)
        handler.setLevel((level or "notset").upper())
        root.addHandler(handler)


def adopt_log(name: str) -> None:
    """Send the log of a library, with those of its modules, to ours instead of the terminal; `start_log` comes first."""
    for other in [one for one in logging.root.manager.loggerDict if one.startswith(f"{name}.")]:
        part = logging.getLogger(other)
        part.handlers, part.propagate = [], True
        part.setLevel(logging.NOTSET)
    ours, theirs = logging.getLogger("opencode_tui"), logging.getLogger(name)
    theirs.handlers, theirs.propagate = ours.handlers, False
    theirs.setLevel(ours.level)


class _SafeFormatter(logging.Formatter):
    """Removes keys, and escapes control characters, so that no log line can control the terminal that shows it."""

    def __init__(self, line: str, environ: Mapping[str, str]) -> None:
        super().__init__(line)
        self._environ = environ

    @cached_property
    def _auth(self) -> "AuthStore":
        """The stored keys: one object, because it logs once that their file is damaged, which calls `format` again."""
        from opencode_tui.config.auth import AuthStore  # most runs log nothing

        return AuthStore(paths=find_paths(self._environ))

    @cached_property
    def _secrets(self) -> "Secrets":
        from opencode_tui.engine.sandbox.environment import Secrets

        try:
            return Secrets(self._environ, stored=self._auth.keys)
        except ConfigError:  # the home directory is gone in the meantime
            return Secrets(self._environ)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with its traceback if there is one."""
        from opencode_tui.text.safe_text import make_safe  # most runs log nothing

        return make_safe(self._secrets.redact(super().format(record)), multiline=True)


PATIENCE_S = 0.1
"""Seconds that a caller waits for its line to be written: then the disk hangs, and no line waits until it works again."""

END_S = 1.0
"""Seconds for lines that are not written when the program ends."""

_MOST_LINES = 1000
"""Lines kept for a disk that hangs; later ones are lost."""


class _PrivateFile(logging.Handler):
    """Appends to a file with mode 0600, rotated at `MAX_BYTES`; a failed write loses the log line only.

    Lines are written on a thread of their own: a write that never finishes must not stop the event loop.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._waiting = 0
        self._is_held = False
        self._last: threading.Event | None = None

    @cached_property
    def _thread(self) -> "WriterThread":
        from opencode_tui.storage.writer import WriterThread  # most runs log nothing

        return WriterThread("log")

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        if self._waiting >= _MOST_LINES:
            return
        line, written = self.format(record) + "\n", threading.Event()

        def done(error: BaseException | None) -> None:
            self._waiting, self._is_held = self._waiting - 1, False
            if error is not None:
                self.handleError(record)
            written.set()

        self._waiting, self._last = self._waiting + 1, written
        self._thread.submit(lambda: self._write(line), done)
        if not self._is_held and not written.wait(PATIENCE_S):
            self._is_held = True

    def flush(self) -> None:
        """Wait for the lines that are not written, at most `END_S`; called when the program ends."""
        if self._last is not None:
            self._last.wait(END_S)

    def _write(self, line: str) -> None:
        if self.path.exists() and self.path.stat().st_size > MAX_BYTES:
            self.path.replace(self.path.with_suffix(".old.log"))
        with open(open_log(self.path.parent), "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(line)

    def handleError(self, record: logging.LogRecord) -> None:
        """Ignore the error: there is nowhere else to report it."""
