"""What git ignores, read from `.gitignore` and `.ignore` files without asking git."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


class IgnoreRules(Struct, frozen=True):
    """The ignore rules of one folder, for paths below it; `folder` is relative to the top, empty for the top itself."""

    folder: str
    rules: "GitIgnoreSpec"


def rules_in(top: Path, folder: str) -> list[IgnoreRules]:
    """Return the rules that the files of a folder say, weakest first; none of what cannot be read. Blocks."""
    from pathspec import GitIgnoreSpec  # 5 ms, needed only where something is listed

    found: list[IgnoreRules] = []
    for name in (".gitignore", ".ignore"):
        path = top / folder / name
        if path.is_file():
            lines = path.read_text("utf-8", "replace").splitlines()
            found.append(IgnoreRules(folder, GitIgnoreSpec.from_lines(lines)))
    return found


def is_ignored(path: str, ignored: Sequence[IgnoreRules]) -> bool:
    """Tell what the innermost rule that speaks of a path says; a folder's path ends with a slash."""
    for item in reversed(ignored):
        inner = path[len(item.folder) + 1 :] if item.folder else path
        verdict = item.rules.check_file(inner).include
        if verdict is not None:
            return verdict
    return False
