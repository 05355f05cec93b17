"""What the screen's command needs of the engine; loaded behind the first frame."""

import os

from opencode_tui.cli import log
from opencode_tui.client.local import open_client
from opencode_tui.storage.paths import find_paths

__all__ = ["open_client", "start_log"]


def start_log(level: str | None) -> None:
    """Send log lines to the program's log; nothing of it may reach the terminal that the screen draws on."""
    log.start_log(find_paths(os.environ).log, None if level == "debug" else level)
