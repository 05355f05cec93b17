"""Earlier prompts, kept in a file across runs: one JSON string per line, latest last."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

KEPT = 200
MAX_LENGTH = 20_000
"""Maximum length of a stored prompt."""


class History:
    """Navigates through earlier prompts; the draft follows the latest one."""

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self.entries = list(entries)
        self._at = len(self.entries)
        self._draft = ""

    def add(self, text: str) -> None:
        """Append a sent prompt; before it the unsent draft, if an earlier prompt was sent instead."""
        begun = self.begun
        self._at, self._draft = len(self.entries), ""
        if begun.strip() and begun != text:
            self.add(begun)
        if text.strip() and len(text) <= MAX_LENGTH and (not self.entries or self.entries[-1] != text):
            self.entries.append(text)
            del self.entries[:-KEPT]
        self._at = len(self.entries)

    def set_aside(self, text: str) -> None:
        """Append a cleared draft, unless it is an unchanged earlier prompt."""
        if text == self.shown:
            text = self._draft
        self.add(text)

    @property
    def begun(self) -> str:
        """The draft while an earlier prompt is shown; else empty."""
        return self._draft if self.is_looking else ""

    def load(self, entries: Sequence[str]) -> None:
        """Insert the prompts of earlier runs before those of this one."""
        self.entries = [*entries, *self.entries][-KEPT:]
        self._at = len(self.entries)

    def earlier(self, present: str) -> str | None:
        """Return the previous prompt; None if there is none."""
        if self._at == 0:
            return None
        if self._at == len(self.entries):
            self._draft = present
        self._at -= 1
        return self.entries[self._at]

    def later(self) -> str | None:
        """Return the next prompt, after the last one the draft; None if no earlier prompt is shown."""
        if self._at >= len(self.entries):
            return None
        self._at += 1
        return self._draft if self._at == len(self.entries) else self.entries[self._at]

    @property
    def shown(self) -> str | None:
        """The earlier prompt that is shown; None without one."""
        return self.entries[self._at] if self.is_looking else None

    @property
    def is_looking(self) -> bool:
        """Return whether an earlier prompt is shown."""
        return self._at < len(self.entries)


def read_history(path: Path) -> list[str]:
    """Return the prompts of a file, at most the latest ones; invalid lines are skipped. Blocks."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    found: list[str] = []
    for line in lines[-KEPT:]:
        try:
            entry: object = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, str) and entry.strip():
            found.append(entry)
    return found


def append_history(path: Path, text: str) -> bool:
    """Append a prompt, and return whether that was possible; a file of twice the limit is truncated. Blocks."""
    if not text.strip() or len(text) > MAX_LENGTH:
        return False
    try:
        for folder in reversed(path.parents):
            folder.mkdir(exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(descriptor, "a", encoding="utf-8") as file:
            file.write(json.dumps(text) + "\n")
        _cut(path)
    except OSError:
        return False
    return True


def _cut(path: Path) -> None:
    lines = path.read_text("utf-8", "replace").splitlines()
    if len(lines) > 2 * KEPT:
        fresh = path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write("\n".join(lines[-KEPT:]) + "\n")
        fresh.replace(path)
