"""Truncation of tool outputs for the model; the full text is kept in a file for 7 days.

Source: docs/internals/tools.md#truncation.
"""

import asyncio
import logging
import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.schema.ids import Clock, Identifier, time_field
from opencode_tui.schema.session.tool_state import KeptLines
from opencode_tui.schema.system_error import cause_of
from opencode_tui.storage.paths import ensure

MAX_LINES = 2_000
MAX_BYTES = 51_200
KEEP_MS = 7 * 24 * 3_600_000
_FIELD = 1 << 48
_TICKS_PER_MS = 4096

Direction = Literal["head", "tail"]
_log = logging.getLogger(__name__)


class Limits(Struct, frozen=True):
    """How much is left of an output."""

    lines: int = MAX_LINES
    size_bytes: int = MAX_BYTES


class Cut(Struct, frozen=True):
    """The kept part of a text, and how much was omitted; `removed` is 0 when it is complete."""

    kept: str
    removed: int = 0
    unit: Literal["lines", "bytes"] = "lines"

    @property
    def marker(self) -> str:
        """The line that replaces the omitted text."""
        return f"...{self.removed} {self.unit} truncated..."


class Truncation(Struct, frozen=True):
    """A text for the model; `output_path` is the file with the full text when it was cut."""

    text: str
    truncated: bool = False
    output_path: Path | None = None
    kept: KeptLines | None = None
    """How many lines are left; None of a text that was not cut."""


def cut(text: str, direction: Direction = "head", limits: Limits | None = None) -> Cut:
    """Return the whole lines that fit from one end; of a first line that does not fit, the part that fits."""
    limits = limits or Limits()
    data = text.encode("utf-8", "replace")
    lines = data.split(b"\n")
    if len(lines) <= limits.lines and len(data) <= limits.size_bytes:
        return Cut(text)
    ordered = lines if direction == "head" else lines[::-1]
    kept: list[bytes] = []
    used = 0
    for line in ordered[: limits.lines]:
        needed = len(line) + (1 if kept else 0)
        if used + needed > limits.size_bytes:
            return _cut_by_bytes(data, kept or [_part(line, direction, limits.size_bytes)], direction)
        kept.append(line)
        used += needed
    return Cut(_join(kept, direction), len(lines) - len(kept), "lines")


def hint(path: Path, *, may_delegate: bool) -> str:
    """Return the hint for the model where the full text is and how to read it."""
    how = (
        "Let a sub-agent look into it with the Task tool (Grep, or Read with offset and limit), to keep your context small."
        if may_delegate
        else "Search it with Grep, or Read parts of it with offset and limit."
    )
    return f"The call succeeded, but its output was too long. The full text is in {path}\n{how}"


def render(piece: Cut, advice: str, direction: Direction) -> str:
    """Return preview, marker and advice in the order in which the model reads them."""
    parts = (piece.kept, piece.marker, advice) if direction == "head" else (piece.marker, advice, piece.kept)
    return "\n\n".join(parts)


def _kept(text: str, piece: Cut, direction: Direction) -> KeptLines:
    total, left = (one.count("\n") + (not one.endswith("\n")) for one in (text, piece.kept))
    return KeptLines(total, left) if direction == "head" else KeptLines(total, 0, left)


class Truncator:
    """Cuts outputs and keeps their full texts in a folder."""

    def __init__(self, *, folder: Path, identifier: Identifier) -> None:
        self.folder = folder
        self._identifier = identifier

    async def truncate(
        self, text: str, *, may_delegate: bool = False, direction: Direction = "head", limits: Limits | None = None
    ) -> Truncation:
        """Return the text, truncated when it exceeds the limits; `may_delegate`: the agent may use the task tool."""
        piece = await asyncio.to_thread(cut, text, direction, limits)
        if not piece.removed:
            return Truncation(text)
        kept = _kept(text, piece, direction)
        try:
            path = await asyncio.to_thread(self._save, text)
        except OSError as error:
            advice = f"The full text could not be kept ({cause_of(error)}); run the call again with less output."
            return Truncation(render(piece, advice, direction), truncated=True, kept=kept)
        advice = hint(path, may_delegate=may_delegate)
        return Truncation(render(piece, advice, direction), truncated=True, output_path=path, kept=kept)

    def reserve(self) -> Path:
        """Return the path of a new full text that the caller will write with mode 0600; makes its folder."""
        return ensure(self.folder) / self._identifier.ascending("tool")

    def _save(self, text: str) -> Path:
        path = self.reserve()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(text.encode("utf-8", "replace"))
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path


def remove_old_outputs(folder: Path, clock: Clock) -> int:
    """Remove full texts older than 7 days, of all worktrees, and return how many. Blocks."""
    removed = 0
    for path in [*folder.glob("tool_*"), *folder.glob("*/tool_*")]:
        if _age_ms(path, clock) <= KEEP_MS:
            continue
        try:
            path.unlink(missing_ok=True)
            removed += 1
        except OSError as error:
            _log.warning("old tool output stays", extra={"file": str(path), "error": str(error)})
    return removed


def _age_ms(path: Path, clock: Clock) -> int:
    """Return the age by the id's time, which wraps; a time ahead of the clock is age 0."""
    made = time_field(path.name)
    if made is None:
        return 0
    ticks = (clock() * _TICKS_PER_MS - made) % _FIELD
    return ticks // _TICKS_PER_MS if ticks < _FIELD // 2 else 0


def _part(line: bytes, direction: Direction, size: int) -> bytes:
    piece = line[:size] if direction == "head" else line[-size:]
    return piece.decode("utf-8", "ignore").encode()


def _join(kept: list[bytes], direction: Direction) -> str:
    return b"\n".join(kept if direction == "head" else kept[::-1]).decode()


def _cut_by_bytes(data: bytes, kept: list[bytes], direction: Direction) -> Cut:
    text = _join(kept, direction)
    return Cut(text, len(data) - len(text.encode()), "bytes")
