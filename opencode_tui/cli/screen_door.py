"""What the screen's command needs of the engine; loaded behind the first frame."""

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from opencode_tui.cli import log
from opencode_tui.cli.session_choice import choose_session
from opencode_tui.client.client import Client
from opencode_tui.client.local import open_client
from opencode_tui.schema.header import DEFAULT_USERNAME
from opencode_tui.storage.paths import find_paths

__all__ = ["choose_session"]


def open_here(directory: Path) -> AbstractAsyncContextManager[Client]:
    """Open the engine in this process."""
    return open_client(os.environ, directory)


def open_there(url: str, password: str | None, directory: str | None) -> AbstractAsyncContextManager[Client]:
    """Connect to a server."""
    from opencode_tui.client.remote import open_remote  # only who attaches needs it

    username = os.environ.get("OPENCODE_SERVER_USERNAME", "").strip() or DEFAULT_USERNAME
    given = password or os.environ.get("OPENCODE_SERVER_PASSWORD", "").strip() or None
    return open_remote(url, password=given, username=username, directory=directory)


def start_log(level: str | None) -> None:
    """Send log lines to the program's log; nothing of it may reach the terminal that the screen draws on."""
    log.start_log(find_paths(os.environ).log, None if level == "debug" else level)
