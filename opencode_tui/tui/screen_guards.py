"""Base classes that keep the failure of one widget or a repeated key from ending the app."""

import logging
from pathlib import Path
from typing import cast

from textual import events
from textual.message import Message
from textual.message_pump import MessagePump
from textual.worker import Worker, WorkerState

from opencode_tui.schema.error import OpencodeError

_log = logging.getLogger(__name__)


class ShowsFailures:
    """The app, as widgets use it that fail."""

    def show_failure(self, error: Exception) -> None:
        """Report in one line that a part of the screen failed."""
        raise NotImplementedError


class ErrorBoundary(MessagePump):
    """A widget or screen whose failing handlers and workers are logged and reported in one line.

    Failures while it is composed or mounted end the app, and without a terminal every error is raised.
    """

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            if self.app.is_headless or isinstance(message, events.Compose | events.Mount):
                raise
            _log.exception("%s failed at %s", type(self).__name__, type(message).__name__)
            cast("ShowsFailures", self.app).show_failure(error)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report work in the background that failed: what it loads would stay blank without a word."""
        error = event.worker.error
        if event.state is WorkerState.ERROR and isinstance(error, Exception):
            event.stop()
            if not isinstance(error, OpencodeError):
                _log.error("work of %s failed", type(self).__name__, exc_info=error)
            self.show_failed_work(error)

    def show_failed_work(self, error: Exception) -> None:
        """Show in one line why work in the background failed."""
        cast("ShowsFailures", self.app).show_failure(error)


def failure_words(error: Exception) -> str:
    """Return what to say about an error in one line: its own words, or where to find the details of one that was not expected."""
    if isinstance(error, OpencodeError):
        return str(error)
    return f"{type(error).__name__}: {error}; the log has the details"


def log_path() -> str:
    """Return the path of the log, relative to `~` where possible; empty when there is none yet."""
    paths = [getattr(one, "path", None) for one in logging.getLogger("opencode_tui").handlers]
    path = next((one for one in paths if isinstance(one, Path)), None)
    if path is None:
        return ""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
