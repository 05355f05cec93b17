"""Which files of a project may reach a model although the user did not name them: real files of the project, without secrets.

Names are compared as case-insensitive file systems do.
"""

import os
import posixpath
import re
from pathlib import Path

RULES_FILES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""The names of a project's rules files; of one folder the first counts."""

_INVISIBLE = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Letters that HFS+ ignores in names. Source: git, utf8.c, `next_hfs_char`."""
_WINDOWS_END = re.compile(r"(?:[ .]+|:[^/]*)$")
"""Endings that NTFS ignores in names: dots, spaces, streams. Source: git, path.c, `is_ntfs_dotgit`."""


def fold(path: str) -> str:
    """Return the path in a form that is equal for all names that some file system treats as the same."""
    folded = path.casefold()
    if not folded.isascii():
        folded = _INVISIBLE.sub("", folded)
    parts = [_WINDOWS_END.sub("", part) or part for part in folded.split("/")]
    return "/".join(".git" if part == "git~1" else part for part in parts)


def is_secret(path: str) -> bool:
    """Return whether the name is that of a file with secrets: `.env`, `x.env`, `.env.local`, but not `.env.example`.

    Source: reference, section 26, rules for `read`.
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
