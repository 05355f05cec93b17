"""Keeps one region's mistake from taking the screen down: it is logged and told in a line, and the region goes on."""

import logging
from pathlib import Path
from typing import Protocol, TypeVar, cast

from textual import events
from textual.await_complete import AwaitComplete
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen

_log = logging.getLogger(__name__)


class _Surviving(Protocol):
    is_headless: bool

    def show_failure(self, error: Exception) -> None: ...


class ErrorBoundary(MessagePump):
    """A widget or screen whose handlers may fail; only one that cannot even be made ends the app. Tests see every error."""

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            app = cast("_Surviving", self.app)
            if app.is_headless or isinstance(message, events.Compose | events.Mount):
                raise
            _log.exception("%s failed at %s", type(self).__name__, type(message).__name__)
            app.show_failure(error)


def log_path() -> str:
    """Where the log is written, below `~` where it is; empty where there is none yet."""
    paths = [getattr(one, "path", None) for one in logging.getLogger("opencode_tui").handlers]
    path = next((one for one in paths if isinstance(one, Path)), None)
    if path is None:
        return ""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


# Screens that are left once, however often the key for it comes.

T = TypeVar("T")


class DismissOnce(Screen[T]):
    """A screen over others; a second key in the moment in which it closes leaves no other screen and raises nothing."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """Leave the screen."""
        return super().dismiss(result) if self in self.app.screen_stack else AwaitComplete()
