"""Files that were named by `@` where the server does not run: in another folder, or on another machine.

OpenCode's screens before 1.2 join the name, which this server found for them, with the folder that they themselves stand in.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from opencode_tui.schema.request import FileInput, PromptInput, PromptPart

_FILE = "file://"


async def with_files_of(folder: Path, request: PromptInput) -> PromptInput:
    """Return the request with such files at their place in `folder`; what is there under the given address stays."""
    if not any(isinstance(part, FileInput) and part.source is not None for part in request.parts):
        return request
    return request.changed(parts=await asyncio.to_thread(_placed, folder, request.parts))


def _placed(folder: Path, parts: Sequence[PromptPart]) -> list[PromptPart]:
    return [_at_its_place(folder, part) if isinstance(part, FileInput) else part for part in parts]


def _at_its_place(folder: Path, part: FileInput) -> FileInput:
    given, mark, lines = part.url.removeprefix(_FILE).partition("?")
    named = part.source.path if part.source is not None else None
    if not named or not part.url.startswith(f"{_FILE}/") or os.path.exists(unquote(given)):
        return part
    place = os.path.normpath(folder / named)
    if not place.startswith(f"{folder}{os.sep}") or not os.path.exists(place):
        return part
    return part.changed(url=f"{Path(place).as_uri()}{mark}{lines}")
