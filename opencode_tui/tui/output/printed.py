"""What `print` writes to while the app runs.

Threads and default arguments of libraries keep it for good. It holds only a weak reference to the app, so that an engine that
continues without its screen (`cli/detached.py`) does not keep the conversation in memory twice.
"""

import weakref
from collections.abc import Callable


class Printed:
    """A file whose text a method of the app shows, as long as there is an app."""

    def __init__(self, show: Callable[..., None], *, stderr: bool) -> None:
        self._show = weakref.WeakMethod(show)
        self._stderr = stderr

    def write(self, text: str) -> None:
        """Show text in the app, if there still is one."""
        if (show := self._show()) is not None:
            show(text, stderr=self._stderr)

    def flush(self) -> None:
        """Do nothing: the app shows each text at once."""

    def isatty(self) -> bool:
        """Return True, as the class of Textual does that this one replaces."""
        return True

    def fileno(self) -> int:
        """Return -1: there is no descriptor."""
        return -1
