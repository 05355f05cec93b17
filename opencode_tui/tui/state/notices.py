"""What the folder, its settings and this machine have to say to the user, as the start page shows it."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.client.client import Client
from opencode_tui.schema.api.catalog import SandboxState
from opencode_tui.text.notices import placed_warnings

if TYPE_CHECKING:
    from opencode_tui.schema.api.folder import InactiveSetting


@dataclass
class FolderNotices:
    """Filled while the screen starts; texts are unsafe."""

    warnings: Sequence[tuple[str, str]] = ()
    """Wrong settings: the file of each, and its line, which begins with that."""
    ignored: Sequence["InactiveSetting"] = ()
    """Settings that are inactive until the folder is trusted."""
    undo_off: str = ""
    """Why undo restores no files in this folder; empty where it does."""
    is_read_only: bool = False
    can_import: bool = False
    """Whether there are sessions of other programs to import."""
    local_servers: Sequence[str] = ()
    """A line for each server of models that runs on this machine; looked for at the first start without a key."""
    can_look_for_servers: bool = False
    """Whether there is no key, and no look for such servers yet: the list of models looks for them."""
    sandbox: SandboxState | None = None
    """How commands are confined; None until it is known."""
    has_prompts: bool = False
    """Whether there are earlier prompts, of this run or of others."""

    async def load(self, client: Client) -> None:
        """Read what the settings and the folder say. Raises OpencodeError."""
        notices = await client.settings.notices()
        self.warnings, self.ignored, self.undo_off = placed_warnings(notices), notices.ignored, notices.undo_off or ""
        self.is_read_only = await asyncio.to_thread(_is_read_only, client.directory)


def _is_read_only(folder: Path) -> bool:
    """Return whether a local folder is read-only; False for a folder of a remote server."""
    return folder.is_dir() and not os.access(folder, os.W_OK)
