"""Finds files and lines in a folder, with ripgrep where it is installed and with a slower program of ours where it is not.

What git ignores and `.git` are left out, hidden files are not. Results are bounded. No setting of the person's for ripgrep holds:
it could start programs.
"""

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.tool.glob_pattern import matcher
from opencode_tui.engine.tool.ripgrep import find_ripgrep
from opencode_tui.engine.tool.search_process import run_search

FILE_LIMIT = 20_000
MATCH_LIMIT = 2_000
LINE_CHARACTERS = 2_000
FALLBACK_NOTE = "(ripgrep is not installed; searched with the slower built-in search.)"
_RIPGREP_OPTIONS = (
    "--no-config",
    "--color=never",
    "--no-messages",
    "--hidden",
    "--no-require-git",
    "--glob=!.git",
    "--null",
)
_FALLBACK = (sys.executable, "-P", "-m", "opencode_tui.engine.tool.python_search")
_MATCH = re.compile(rb"(.+?)\0(\d+):(.*)", re.DOTALL)


class Files(Struct, frozen=True):
    """Paths relative to the searched folder, in no order. `more` tells that the limit was hit."""

    paths: list[str]
    more: bool


class Match(Struct, frozen=True):
    """One line that matches; `path` is relative to the searched folder, and empty where one file was searched."""

    path: str
    line: int
    text: str


class Matches(Struct, frozen=True):
    """Matching lines. `more` tells that the limit was hit, `complete` that every path could be read."""

    found: list[Match]
    more: bool
    complete: bool


class FileSearch:
    """Searches with the given ripgrep, or without one when it is None; `note` tells the model of that."""

    def __init__(self, *, ripgrep: str | None) -> None:
        self._ripgrep = ripgrep

    @classmethod
    def installed(cls) -> "FileSearch":
        """Return a search with the ripgrep that is installed, if one is; looks at the disk."""
        return cls(ripgrep=find_ripgrep())

    @property
    def note(self) -> str:
        """What a result should say of how it was found; empty for ripgrep."""
        return "" if self._ripgrep else FALLBACK_NOTE

    async def files(
        self, folder: Path, *, accept: Callable[[str], bool], exclude: Sequence[str] = (), limit: int = FILE_LIMIT
    ) -> Files:
        """Return up to `limit` files that `accept` takes and no `exclude` pattern matches."""
        paths: list[str] = []

        def take(records: list[bytes]) -> bool:
            names = (record.decode("utf-8", "surrogateescape").removeprefix("./") for record in records)
            paths.extend(name for name in names if name and accept(name))
            return len(paths) < limit

        if self._ripgrep:
            globs = [f"--glob=!{pattern}" for pattern in exclude]
            command = [self._ripgrep, *_RIPGREP_OPTIONS, "--files", *globs, "./"]
        else:
            command = [*_FALLBACK, json.dumps({"exclude": list(exclude)})]
        ending = await run_search(command, folder, separator=b"\0", take=take)
        return Files(paths[:limit], more=ending.stopped)

    async def lines(self, target: Path, pattern: str, *, include: str | None, is_file: bool) -> Matches:
        """Return up to 2,000 matching lines, cut to 2,000 characters, of one file or of a folder's files that `include` takes."""
        accept = matcher(include) if include and not is_file else None
        found: list[Match] = []

        def take(records: list[bytes]) -> bool:
            matches = (match for record in records if (match := _parse(record, is_file)) is not None)
            found.extend(match for match in matches if accept is None or accept(match.path))
            return len(found) < MATCH_LIMIT

        file = target.name if is_file else None
        if self._ripgrep:
            command = [self._ripgrep, *_RIPGREP_OPTIONS, *_line_options(pattern, include), "--", f"./{file or ''}"]
        else:
            command = [*_FALLBACK, json.dumps({"pattern": pattern, "file": file})]
        ending = await run_search(command, target.parent if is_file else target, separator=b"\n", take=take)
        return Matches(found[:MATCH_LIMIT], more=ending.stopped, complete=ending.complete)


def _line_options(pattern: str, include: str | None) -> list[str]:
    """Return ripgrep's options. Its own `--glob` would bring back what git ignores, hence the file type for plain names."""
    options = ["--line-number", "--with-filename", "--no-heading", f"--max-columns={LINE_CHARACTERS}"]
    options += ["--max-columns-preview", f"--regexp={pattern}"]
    if r"\n" in pattern or "\n" in pattern:
        options.append("--multiline")
    if include and "/" not in include and not include.startswith("!"):
        options += [f"--type-add=wanted:{include}", "--type=wanted"]
    return options


def _parse(record: bytes, is_file: bool) -> Match | None:
    match = _MATCH.fullmatch(record)
    if match is None:
        return None
    path = "" if is_file else match.group(1).decode("utf-8", "surrogateescape").removeprefix("./")
    return Match(path, int(match.group(2)), match.group(3).decode("utf-8", "replace").rstrip("\r"))
