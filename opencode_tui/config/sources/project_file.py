"""Which files of a project may reach a model although the user did not name them: real files of the project, without secrets.

Names are compared as case-insensitive file systems do.
"""

import os
import posixpath
import re
from collections import deque
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

ENTRY_LIMIT = 100_000
"""Most names that the patterns of one request examine: about 0.3 s."""

RULES_FILES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""The names of a project's rules files; of one folder the first counts."""

_INVISIBLE = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Letters that HFS+ ignores in names. Source: git, utf8.c, `next_hfs_char`."""
_WINDOWS_END = re.compile(r"(?:[ .]+|:[^/]*)$")
"""Endings that NTFS ignores in names: dots, spaces, streams. Source: git, path.c, `is_ntfs_dotgit`."""
_ODD = re.compile(r"[ .](?:/|$)|:|git~1")
"""What `fold` changes in the casefolded ASCII form of a path."""


def fold(path: str) -> str:
    """Return the path in a form that is equal for all names that some file system treats as the same."""
    folded = path.casefold()
    if folded.isascii() and _ODD.search(folded) is None:
        return folded
    if not folded.isascii():
        folded = _INVISIBLE.sub("", folded)
    parts = [_WINDOWS_END.sub("", part) or part for part in folded.split("/")]
    return "/".join(".git" if part == "git~1" else part for part in parts)


def is_secret(path: str) -> bool:
    """Return whether the name is that of a file with secrets: `.env`, `x.env`, `.env.local`, but not `.env.example`.

    Source: docs/internals/permissions.md#default-rules.
    """
    name = fold(posixpath.basename(path.rstrip("/")))
    return (name.endswith(".env") or ".env." in name) and not name.endswith(".env.example")


def find_objection(path: Path, root: Path) -> str | None:
    """Return why a file that the project names may not be sent, None when it may. Follows links; `root` is a real path. Blocks."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(root):
        return f"it leads to {real}, outside the project"
    parts = fold(real.relative_to(root).as_posix()).split("/")
    if (
        ".git" in parts
        or any(part.startswith(".env") for part in parts)
        or is_secret(real.name)
        or is_secret(path.name)
    ):
        return (
            "its name is one of a file with secrets" if real == path else f"it leads to {real}, which may hold secrets"
        )
    return None


class PatternSearch:
    """Finds the files of patterns, for one load of settings or one request.

    A repository chooses the patterns and the links, so the work is bounded: a link that leads out of the project is a match, but is
    not entered; each folder is listed once for the same rest of a pattern; and all searches together examine `entries` names.
    """

    def __init__(self, root: Path, *, entries: int = ENTRY_LIMIT) -> None:
        self.root = root
        self._left = entries

    @property
    def is_complete(self) -> bool:
        """Return whether no search was cut so far."""
        return self._left > 0

    def is_inside(self, path: Path) -> bool:
        """Return whether a path leads into the project. Blocks."""
        return Path(os.path.realpath(path)).is_relative_to(self.root)

    def find(self, start: Path, segments: Sequence[str]) -> list[Path]:
        """Return the paths below a folder that match the segments of a pattern, sorted; `**` follows no links. Blocks."""
        if Path(os.path.normpath(start)).is_relative_to(self.root) and not self.is_inside(start):
            plain = start.joinpath(*segments)
            return [plain] if len(segments) == 1 and os.path.lexists(plain) else []
        found: list[Path] = []
        pending = deque([(start, _past_folders(segments, {0}))])
        seen: set[tuple[str, frozenset[int]]] = set()
        while pending and self.is_complete:
            folder, states = pending.popleft()
            for entry in self._entries(folder):
                passed = {at + 1 for at in states if segments[at] != "**" and fnmatchcase(entry.name, segments[at])}
                stays = () if entry.is_symlink() else {at for at in states if segments[at] == "**"}
                after = _past_folders(segments, passed.union(stays))
                waiting = after - {len(segments)}
                is_way_out = entry.is_symlink() and self.is_inside(folder) and not self.is_inside(Path(entry.path))
                if len(segments) in after or (waiting and is_way_out):
                    found.append(Path(entry.path))
                if waiting and not is_way_out and entry.is_dir():
                    key = (os.path.realpath(entry.path) if entry.is_symlink() else entry.path, frozenset(waiting))
                    if key not in seen:
                        seen.add(key)
                        pending.append((Path(entry.path), waiting))
        return sorted(found)

    def _entries(self, folder: Path) -> "list[os.DirEntry[str]]":
        """Return the names in a folder, none where it is missing, may not be read or cannot have such a name."""
        try:
            with os.scandir(folder) as entries:
                listed = list(islice(entries, max(self._left, 0)))
        except (OSError, ValueError):
            listed = []
        self._left -= len(listed) + 1
        return listed


def _past_folders(segments: Sequence[str], states: set[int]) -> set[int]:
    """Return the states with those that follow a `**`, which also stands for no folder."""
    reached = set(states)
    for at, segment in enumerate(segments):
        if at in reached and segment == "**":
            reached.add(at + 1)
    return reached
