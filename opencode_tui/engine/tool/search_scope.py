"""What the searching tools share: where to search, leaving out what may not be read unasked, and newest files first."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from opencode_tui.engine.tool.location import Location, ask_outside, locate
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.error import ToolError

Readable = Callable[[ToolContext, Path], bool]
"""Tells whether the read tool could show a file in this context without asking."""

RESULT_LIMIT = 100
"""Source: reference, section 28 (glob, grep)."""


async def choose_place(written: str | None, context: ToolContext) -> Location:
    """Return the place to search, the directory of the context by default; asks when it lies outside. Raises ToolError."""
    place = await locate(written or ".", context)
    await ask_outside(place, context)
    if not await asyncio.to_thread(place.real.exists):
        raise ToolError(
            f"{place.path} does not exist; give an existing folder, or leave path out to search {context.directory}"
        )
    return place


def readable_below(place: Location, readable: Readable | None, context: ToolContext) -> Callable[[str], bool] | None:
    """Return the test for paths relative to a place."""
    return None if readable is None else lambda path: readable(context, place.real / path)


async def newest_first(root: Path, paths: Iterable[str]) -> list[str]:
    """Return the paths that still exist, by the time of their last change."""
    return await asyncio.to_thread(_sorted_by_time, root, list(dict.fromkeys(paths)))


def take_readable(paths: Sequence[str], readable: Callable[[str], bool] | None) -> tuple[list[str], int]:
    """Return the first paths that may be read, up to the limit, and how many were passed over for it."""
    taken: list[str] = []
    hidden = 0
    for path in paths:
        if len(taken) == RESULT_LIMIT:
            break
        if readable is None or readable(path):
            taken.append(path)
        else:
            hidden += 1
    return taken, hidden


def hidden_note(hidden: int) -> list[str]:
    """Return the note about files that were left out; empty when there are none."""
    if not hidden:
        return []
    count = f"{hidden} {'file was' if hidden == 1 else 'files were'}"
    return [f"({count} left out, because reading such files needs permission; use read on one to ask.)"]


def _sorted_by_time(root: Path, paths: list[str]) -> list[str]:
    times: dict[str, int] = {}
    for path in paths:
        try:
            times[path] = os.stat(root / path, follow_symlinks=False).st_mtime_ns
        except OSError:
            # It vanished since it was found.
            continue
    return sorted(times, key=lambda path: (-times[path], path))
