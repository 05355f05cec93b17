"""The spellings of a path: relative to the project, and absolute. A rule for files counts in each of them.

A copy of a work tree has the paths of its origins as well, so that rules about the project by an absolute path hold in each copy.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.storage.same_name import NAMES, AnySpelling, key

PERMISSIONS = ("read", "edit", "list")
"""Permissions whose patterns are paths."""


class PathForms(Struct, frozen=True):
    """`base` is the folder that relative patterns start at, `roots` are the spellings of the project's folder, and the folders that
    it is a copy of; all absolute.

    With `ignores_spelling` the project's disk finds a file under each spelling of its name.
    """

    base: str
    roots: Sequence[str]
    ignores_spelling: bool = False

    def of(self, permission: str, pattern: str) -> tuple[str, ...]:
        """Return the other spellings of a path.

        Some end with `/`, so that a rule for what is in a folder (`secrets/*`) holds for the folder as well.
        """
        if permission not in PERMISSIONS or pattern == "*":
            return ()
        path = os.path.normpath(os.path.join(self.base, pattern))
        inner = next((found for root in self.roots if (found := _below(path, root)) is not None), None)
        found = [path] if inner is None else [inner, *(os.path.join(root, inner) for root in self.roots)]
        texts = dict.fromkeys([pattern, *(text for text in found if text)])
        folders = [f"{text.rstrip('/')}/" for text in texts] if permission != "edit" else []
        forms = [text for text in (*texts, *folders) if text != pattern]
        if self.ignores_spelling:
            forms += [AnySpelling(key(text)) for text in (pattern, *forms)]
        return tuple(forms)


def forms_of(directory: Path, worktree: Path, origins: Sequence[Path]) -> PathForms:
    """Return the spellings for a project; in a folder without a worktree they start at the folder. Blocks.

    `origins` are the work trees that it is a copy of.
    """
    base = str(directory if str(worktree) == "/" else worktree)
    real = os.path.realpath(base)
    roots = (base, real, *map(str, origins))
    return PathForms(str(worktree), list(dict.fromkeys(roots)), NAMES.is_ignoring(Path(real)))


def patterns_of(pattern: str, *, allows: bool) -> tuple[str, ...]:
    """Return the spellings of a rule's pattern for paths: without `./`; unless it allows, for what is in a folder as well."""
    plain = pattern.removeprefix("./") if pattern.startswith("./") and len(pattern) > 2 else pattern
    texts = (plain,) if allows or plain.endswith("*") else (plain, f"{plain.rstrip('/')}/*")
    return tuple(dict.fromkeys((pattern, *texts)))


def _below(path: str, root: str) -> str | None:
    """Return the path relative to a folder, "" for the folder itself; None outside."""
    if path == root:
        return ""
    start = f"{root.rstrip('/')}/"
    return path.removeprefix(start) if path.startswith(start) else None
