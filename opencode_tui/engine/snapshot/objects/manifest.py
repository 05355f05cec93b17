"""The part of a snapshot that a git tree cannot represent: mode bits, empty folders, pipes, left-out paths with reasons.

Stored as a JSON blob next to the files' tree; equal states give equal bytes.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from opencode_tui.engine.snapshot.entry import EXECUTABLE_MODE, FOLDER_MODE, PLAIN_MODE, Entry

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Defaults:
    """The modes that are not listed path by path."""

    file: int = PLAIN_MODE
    executable: int = EXECUTABLE_MODE
    folder: int = FOLDER_MODE


@dataclass(frozen=True, slots=True)
class Manifest:
    """The data of a snapshot next to its files.

    `modes`: bits of files and folders that differ from the defaults. `folders`: folders that exist and contain nothing recorded.
    `skipped`: path to reason; a folder's reason applies to everything in it, and "" is the worktree. `looked`: paths that were
    checked and absent, although a folder above them is skipped. `touched`: the skipped paths that changed in the step before
    this snapshot; None where they were not compared. `special`: pipes, sockets, devices and huge files, which have no content
    here; those that cannot be made again may be among the skipped ones, too. `private`: recorded paths that git ignores, of a
    folder everything in it: their content is only for undo, never in a diff or in a copy of the worktree. `times`: when the files
    that changed in the step before this snapshot had last been changed before it, in ns.
    """

    defaults: Defaults = Defaults()
    modes: dict[str, int] = field(default_factory=dict[str, int])
    folders: frozenset[str] = frozenset()
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    looked: frozenset[str] = frozenset()
    touched: frozenset[str] | None = None
    special: dict[str, Entry] = field(default_factory=dict[str, Entry])
    private: frozenset[str] = frozenset()
    times: dict[str, int] = field(default_factory=dict[str, int])

    def encode(self) -> bytes:
        """Return the manifest's bytes."""
        content: dict[str, Any] = {
            "version": _VERSION,
            "defaults": [self.defaults.file, self.defaults.executable, self.defaults.folder],
            "modes": self.modes,
            "folders": sorted(self.folders),
            "skipped": self.skipped,
            "looked": sorted(self.looked),
        }
        if self.touched is not None:
            content["touched"] = sorted(self.touched)
        if self.special:
            content["special"] = {path: [entry.kind, entry.mode, entry.id] for path, entry in self.special.items()}
        if self.private:
            content["private"] = sorted(self.private)
        if self.times:
            content["times"] = self.times
        return json.dumps(content, sort_keys=True).encode()


def decode(data: bytes) -> Manifest:
    """Return a manifest; raises ValueError when the bytes are none."""
    content: dict[str, Any] = json.loads(data)
    try:
        if content["version"] != _VERSION:
            raise ValueError(f"it is of version {content['version']!r}; a newer opencode-tui wrote it")
        return Manifest(
            Defaults(*content["defaults"]),
            content["modes"],
            frozenset(content["folders"]),
            content["skipped"],
            frozenset(content["looked"]),
            frozenset(content["touched"]) if "touched" in content else None,
            {path: Entry(kind, mode, name) for path, (kind, mode, name) in content.get("special", {}).items()},
            frozenset(content.get("private", ())),
            content.get("times", {}),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"it lacks {error}") from error
