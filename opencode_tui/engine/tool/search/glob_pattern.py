"""File name patterns (`*`, `?`, `[…]`, `{a,b}`, and `**` for any number of folders) and the rules of `.gitignore` and `.ignore`."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MAGIC = re.compile(r"[*?\[{]")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test for paths relative to a folder, with `/` between their parts.

    A pattern without `/` is for the name at any depth; one with `/` starts at the folder; a `!` before it inverts it.
    """
    if pattern.startswith("!"):
        wanted = matcher(pattern[1:])
        return lambda path: not wanted(path)
    anchored = pattern.removeprefix("./")
    if "/" not in anchored:
        anchored = f"**/{anchored}"
    compiled = re.compile(_translate(anchored.removeprefix("/")), re.DOTALL)
    return lambda path: compiled.fullmatch(path) is not None


def split_fixed(pattern: str) -> tuple[str, str]:
    """Return an absolute pattern's leading folder without wildcards, and the rest."""
    parts = pattern.split("/")
    fixed = next((index for index, part in enumerate(parts[:-1]) if _MAGIC.search(part)), len(parts) - 1)
    return "/".join(parts[:fixed]) or "/", "/".join(parts[fixed:])


def _translate(pattern: str) -> str:
    pieces: list[str] = []
    at = depth = 0
    while at < len(pattern):
        rest = pattern[at:]
        if rest.startswith("**/") and (at == 0 or pattern[at - 1] in "/{,"):
            pieces.append("(?:[^/]+/)*")
            at += 3
            continue
        if rest.startswith("**"):
            pieces.append(".*")
            at += 2
            continue
        sign = pattern[at]
        closing = pattern.find("]", at + 2) if sign == "[" else -1
        if sign == "{" and "}" in rest:
            pieces.append("(?:")
            depth += 1
        elif sign == "}" and depth:
            pieces.append(")")
            depth -= 1
        elif sign == "," and depth:
            pieces.append("|")
        elif closing > 0:
            pieces.append(_translate_set(pattern[at + 1 : closing]))
            at = closing
        else:
            pieces.append({"*": "[^/]*", "?": "[^/]"}.get(sign) or re.escape(sign))
        at += 1
    return "".join(pieces) + ")" * depth


def _translate_set(members: str) -> str:
    negated = members[:1] in ("!", "^")
    escaped = re.sub(r"([\\\[\]^&~|])", r"\\\1", members[1:] if negated else members)
    return f"[^/{escaped}]" if negated else f"[{escaped}]"


class IgnoreRules(Struct, frozen=True):
    """The ignore rules of one folder, for paths below it; `folder` is relative to the top, empty for the top itself."""

    folder: str
    rules: "GitIgnoreSpec"


def rules_in(top: Path, folder: str) -> list[IgnoreRules]:
    """Return the rules in the ignore files of a folder, weakest first; blocks."""
    from pathspec import GitIgnoreSpec  # 5 ms, needed only where something is listed

    found: list[IgnoreRules] = []
    for name in (".gitignore", ".ignore"):
        path = top / folder / name
        if path.is_file():
            lines = path.read_text("utf-8", "replace").splitlines()
            found.append(IgnoreRules(folder, GitIgnoreSpec.from_lines(lines)))
    return found


def is_ignored(path: str, ignored: Sequence[IgnoreRules]) -> bool:
    """Return whether the innermost rule that matches a path ignores it; a folder's path ends with a slash."""
    for item in reversed(ignored):
        inner = path[len(item.folder) + 1 :] if item.folder else path
        verdict = item.rules.check_file(inner).include
        if verdict is not None:
            return verdict
    return False
