"""What `print` writes to while the app runs.

Threads and default arguments of libraries keep it for good. So it keeps neither the app nor, through names of its module,
Textual: an engine that goes on without its screen would not get rid of either (`cli/detached.py`).
"""

import weakref
from typing import Protocol


class Prints(Protocol):
    """Shows printed text, as an app of Textual does."""

    def _print(self, text: str, *, stderr: bool = False) -> None: ...


class Printed:
    """A file whose text an app shows, as long as there is one."""

    def __init__(self, app: Prints, *, stderr: bool) -> None:
        self._shown = weakref.ref(app)
        self._stderr = stderr

    def write(self, text: str) -> None:
        """Show text in the app, if there still is one."""
        if (app := self._shown()) is not None:
            app._print(text, stderr=self._stderr)  # pyright: ignore[reportPrivateUsage] - as Textual's own class does

    def flush(self) -> None:
        """Do nothing: the app shows each text at once."""

    def isatty(self) -> bool:
        """Say, as Textual's own class does, that it is a terminal."""
        return True

    def fileno(self) -> int:
        """Return a descriptor that is none."""
        return -1
