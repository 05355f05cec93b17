"""Finds files and folders by parts of their names, and lines by regular expressions. Skips files that git ignores.

The list of names is cached for a short time, because a user types several characters.
"""

import asyncio
import json
import os
from collections import deque
from pathlib import Path

from opencode_tui.engine.tool.search.hits import confirmed
from opencode_tui.engine.tool.search.ripgrep import require_ripgrep, run_search
from opencode_tui.engine.tool.search.search import FileSearch
from opencode_tui.schema.api.file import FindKind, LineMatch, LineText, Submatch
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.ranking import is_hidden, ranked_paths
from opencode_tui.schema.record import JsonObject

KEPT_MS = 3_000
"""Milliseconds for which the list of names is cached."""

MOST_FILES = 500_000
"""Maximum number of names, enough for a repository of 100,000 files."""


class FileFinder:
    """Finds files and folders by name in one folder."""

    def __init__(self, *, directory: Path, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._files: list[str] = []
        self._listed_at: int | None = None
        self._listing = asyncio.Lock()

    async def find(self, query: str, *, kind: FindKind = "all", limit: int = 100) -> list[str]:
        """Return paths relative to the folder in the order of `ranked_paths`; folders end with a slash.

        Without a query, paths closer to the root come first.
        """
        files = await self._list()
        return await asyncio.to_thread(_choose, files, query, kind, limit)

    async def names(self) -> list[str]:
        """Return all files and folders relative to the folder, in no order; folders end with a slash."""
        files = await self._list()
        return [*files, *await asyncio.to_thread(_folders, files)]

    async def _list(self) -> list[str]:
        async with self._listing:
            now = self._clock()
            if self._listed_at is None or now - self._listed_at > KEPT_MS:
                search = FileSearch(self._directory, os.environ)
                self._files = (await search.files(self._directory, accept=lambda _path: True, limit=MOST_FILES)).paths
                self._listed_at = self._clock()
            return self._files


def _choose(files: list[str], query: str, kind: FindKind, limit: int) -> list[str]:
    names = [*(files if kind != "directory" else ()), *(_folders(files) if kind != "file" else ())]
    wanted = query.strip().casefold()
    if not wanted:
        return sorted(names, key=lambda name: (is_hidden(name), name.count("/"), name))[:limit]
    found = deque(ranked_paths(wanted, [name.casefold() for name in names], limit), maxlen=1)
    return [names[index] for best in found for index in best]


def _folders(files: list[str]) -> list[str]:
    parents: set[str] = set()
    for name in files:
        at = name.rfind("/")
        while at > 0 and name[:at] not in parents:
            parents.add(name[:at])
            at = name.rfind("/", 0, at)
    return sorted(f"{parent}/" for parent in parents)


_OPTIONS = ("--no-config", "--json", "--hidden", "--no-require-git", "--no-messages", "--glob=!.git")


async def search_lines(folder: Path, pattern: str, *, limit: int) -> list[LineMatch]:
    """Return up to `limit` matching lines of a real folder's files; none that only a link made in the meantime leads to.

    Raises ToolError for a wrong pattern, and without ripgrep.
    """
    ripgrep = await asyncio.to_thread(require_ripgrep, folder, os.environ)
    found: list[LineMatch] = []

    def consume(records: list[bytes]) -> bool:
        messages = (json.loads(record) for record in records if record)
        matches = [_match(message["data"]) for message in messages if message["type"] == "match"]
        there = confirmed(
            folder, [(match.path.text, match.line_number, match.lines.text.rstrip("\r\n")) for match in matches]
        )
        found.extend(match for match, is_there in zip(matches, there, strict=True) if is_there)
        return len(found) < limit

    await run_search([ripgrep, *_OPTIONS, f"--regexp={pattern}", "--", "./"], folder, separator=b"\n", consume=consume)
    return found[:limit]


def _match(data: JsonObject) -> LineMatch:
    return LineMatch(
        path=LineText(text=_text(data["path"]).removeprefix("./")),
        lines=LineText(text=_text(data["lines"])),
        line_number=data["line_number"],
        absolute_offset=data["absolute_offset"],
        submatches=[
            Submatch(match=LineText(text=_text(hit["match"])), start=hit["start"], end=hit["end"])
            for hit in data["submatches"]
        ],
    )


def _text(value: JsonObject) -> str:
    """Return a text of ripgrep; text that is not UTF-8 arrives as base64 and gets replacement characters."""
    if "text" in value:
        return value["text"]
    import base64  # only for text that is not UTF-8

    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")
