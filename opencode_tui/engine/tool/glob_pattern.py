"""File name patterns as people write them: `*`, `?`, `[…]`, `{a,b}`, and `**` for any number of folders."""

import re
from collections.abc import Callable

_MAGIC = re.compile(r"[*?\[{]")


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test for paths relative to a folder, with `/` between their parts.

    A pattern without `/` is for the name at any depth; one with `/` starts at the folder; a `!` before it turns it round.
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
