"""Earlier prompts, kept in a file across runs: one JSON string a line, the newest last."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

KEPT = 200
MAX_LENGTH = 20_000
"""Characters of a prompt that is worth keeping."""


class History:
    """Goes back and forth; what was being written when one started to look comes back at the end."""

    def __init__(self, entries: Sequence[str] = ()) -> None:
        self.entries = list(entries)
        self._at = len(self.entries)
        self._draft = ""

    def add(self, text: str) -> None:
        """Remember a prompt that was sent; before it the one that was begun, when an earlier one was sent instead."""
        begun = self.begun
        self._at, self._draft = len(self.entries), ""
        if begun.strip() and begun != text:
            self.add(begun)
        if text.strip() and len(text) <= MAX_LENGTH and (not self.entries or self.entries[-1] != text):
            self.entries.append(text)
            del self.entries[:-KEPT]
        self._at = len(self.entries)

    def set_aside(self, text: str) -> None:
        """Remember a prompt that was cleared; one that was only looked up is there already."""
        if self.is_looking and self.entries[self._at] == text:
            text = self._draft
        self.add(text)

    @property
    def begun(self) -> str:
        """What was being written when one started to look; empty while nothing is looked up."""
        return self._draft if self.is_looking else ""

    def load(self, entries: Sequence[str]) -> None:
        """Put what earlier runs kept before what this one has."""
        self.entries = [*entries, *self.entries][-KEPT:]
        self._at = len(self.entries)

    def earlier(self, present: str) -> str | None:
        """Return the prompt before; None when there is none."""
        if self._at == 0:
            return None
        if self._at == len(self.entries):
            self._draft = present
        self._at -= 1
        return self.entries[self._at]

    def later(self) -> str | None:
        """Return the prompt after, at the end what was being written; None when nothing was looked up."""
        if self._at >= len(self.entries):
            return None
        self._at += 1
        return self._draft if self._at == len(self.entries) else self.entries[self._at]

    @property
    def is_looking(self) -> bool:
        """Whether an earlier prompt is shown."""
        return self._at < len(self.entries)


def read_history(path: Path) -> list[str]:
    """Return the prompts of a file, at most the newest ones; lines that make no sense are passed over. Blocks."""
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


def append_history(path: Path, text: str) -> None:
    """Add a prompt; a file that grew to twice what counts is cut. Blocks; a disk that refuses costs the history only."""
    if not text.strip() or len(text) > MAX_LENGTH:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(descriptor, "a", encoding="utf-8") as file:
            file.write(json.dumps(text) + "\n")
        _cut(path)
    except OSError:
        return


def _cut(path: Path) -> None:
    lines = path.read_text("utf-8", "replace").splitlines()
    if len(lines) > 2 * KEPT:
        fresh = path.with_suffix(".new")
        fresh.touch(mode=0o600)
        fresh.write_text("\n".join(lines[-KEPT:]) + "\n", "utf-8")
        fresh.replace(path)
