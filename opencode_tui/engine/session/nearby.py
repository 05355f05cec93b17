"""Rules files near a file that the model reads: given along with it, once. Source: reference, section 25 ("nested instructions").

Of each folder between the file and the instance's folder (itself left out: its rules stand in the system prompt) the first of the
known names counts. What a read of this history that is still sent has brought already is not given again.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from opencode_tui.engine.session.history import filter_compacted
from opencode_tui.engine.session.instruction import MAX_BYTES, NAMES
from opencode_tui.engine.session.store import SessionStore
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted


class NearbyInstructions:
    """Finds rules files for the read tool of one folder's instance."""

    def __init__(self, *, store: SessionStore) -> None:
        self._store = store
        self._claimed: dict[str, set[Path]] = {}

    async def __call__(self, path: Path, context: ToolContext) -> Sequence[tuple[Path, str]]:
        """Return path and text of each rules file that holds near `path` (a real path) and is new to the conversation."""
        found = await asyncio.to_thread(_rules_files, path, context.directory)
        if not found:
            return []
        known = self._claimed.setdefault(context.message_id, set()) | await self._loaded(context.session_id)
        fresh = [file for file in found if file not in known and file != path]
        self._claimed = {context.message_id: {*self._claimed[context.message_id], *fresh}}
        return [(file, text) for file in fresh if (text := await asyncio.to_thread(_read, file))]

    async def _loaded(self, session_id: str) -> set[Path]:
        loaded: set[Path] = set()
        for message in filter_compacted(await self._store.messages(session_id)):
            for part in message.parts:
                if (
                    isinstance(part, ToolPart)
                    and isinstance(part.state, ToolStateCompleted)
                    and not part.state.time.compacted
                ):
                    names: list[str] = part.state.metadata.get("loaded") or []
                    loaded.update(Path(name) for name in names)
        return loaded


def _rules_files(path: Path, directory: Path) -> list[Path]:
    found: list[Path] = []
    folder = path if path.is_dir() else path.parent
    while folder != directory and folder.is_relative_to(directory):
        here = next((folder / name for name in NAMES if (folder / name).is_file()), None)
        if here is not None:
            found.append(here)
        folder = folder.parent
    return found


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(MAX_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""
