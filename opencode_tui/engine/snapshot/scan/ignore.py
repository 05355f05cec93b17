"""The ignore rules of `.gitignore` files and of `info/exclude`, evaluated without git.

The user's global ignore file is not read: files that only it ignores are recorded.
"""

import os
import re
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

LIMIT_BYTES = 1024 * 1024
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class _Group:
    """Adjacent rules that all ignore or all include; `names` match the last part, `paths` the path from the rules' folder."""

    ignores: bool
    names: re.Pattern[str] | None
    paths: re.Pattern[str] | None

    def matches(self, name: str, path: str) -> bool:
        """Return whether one of the rules matches this entry; a folder's name and path end in `/`."""
        if self.names is not None and self.names.fullmatch(name):
            return True
        return self.paths is not None and self.paths.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a folder: its own before those above; `base` is the folder as latin-1. `key` identifies the rules."""

    base: str = ""
    groups: tuple[_Group, ...] = ()
    above: "Rules | None" = None
    key: str = ""

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a path (relative to the worktree), in a folder that is not ignored itself, is ignored."""
        if self.above is None:
            return False
        if not path.isascii():
            path = os.fsencode(path).decode("latin-1")
        slash = "/" if is_folder else ""
        name = path.rpartition("/")[2] + slash
        rules: Rules | None = self
        while rules is not None:
            inner = path[len(rules.base) + 1 :] if rules.base else path
            for group in reversed(rules.groups):
                if group.matches(name, inner + slash):
                    return group.ignores
            rules = rules.above
        return False

    def with_file(self, file: str, base: str) -> "Rules":
        """Return these rules extended by those of an ignore file; the same rules when it is missing or empty."""
        return self.with_text(_read(file), base)

    def with_folder(self, top: Path, folder: str) -> "Rules":
        """Return these rules extended by those of a folder's ignore files, weakest first; its path is relative to `top`."""
        rules = self
        for name in (".gitignore", ".ignore"):
            rules = rules.with_file(str(top / folder / name), folder)
        return rules

    def with_text(self, text: str, base: str) -> "Rules":
        """Return these rules extended by those of an ignore file's text, for the folder `base`."""
        groups = _parse(text) if text else ()
        if not groups:
            return self
        sum_ = sha1(f"{self.key}\0{base}\0{text}".encode("utf-8", "surrogateescape"), usedforsecurity=False)
        return Rules(os.fsencode(base).decode("latin-1"), groups, self, sum_.hexdigest())


def _read(file: str) -> str:
    """Return the text of a regular file; "" for anything else, as git does."""
    try:
        descriptor = os.open(file, _READ)
    except OSError:
        return ""
    with open(descriptor, "rb") as stream:
        try:
            return text_of_rules(stream.read(LIMIT_BYTES))
        except OSError:  # a folder of that name
            return ""


def text_of_rules(data: bytes) -> str:
    """Return an ignore file's bytes as latin-1 text, because git compares bytes."""
    return data[:LIMIT_BYTES].removeprefix(b"\xef\xbb\xbf").decode("latin-1")


def _parse(text: str) -> tuple[_Group, ...]:
    from pathspec import GitIgnoreSpec  # 15 ms, needed only where something is ignored

    groups: list[tuple[bool, list[str], list[str]]] = []
    for line in text.split("\n"):
        # `a/**/` means the folders below `a`; pathspec takes it for `a/`.
        plain = re.sub(r"(?<=.)/\*\*/\s*\Z", "/**/*/", line.removesuffix("\r"))
        try:
            patterns = list(GitIgnoreSpec.from_lines([plain]).patterns)
        except (ValueError, re.error):  # git skips invalid patterns, too
            continue
        for pattern in patterns:
            expression: re.Pattern[str] | None = getattr(pattern, "regex", None)
            ignores: bool | None = getattr(pattern, "include", None)
            if expression is None or ignores is None:
                continue
            if not groups or groups[-1][0] != ignores:
                groups.append((ignores, [], []))
            body = line.strip().removeprefix("!").rstrip("/")
            _, names, paths = groups[-1]
            (paths if "/" in body else names).append(_whole(expression.pattern))
    return tuple(_Group(ignores, _either(names), _either(paths)) for ignores, names, paths in groups)


def _whole(expression: str) -> str:
    """Return the expression for whole paths: entries of a matching folder need no match, because a walk visits the folder first.

    The expressions can be joined by `|`, and match a line feed in a name like any other character.
    """
    alone = expression.replace("(?P<ps_d>/).*", "(?P<ps_d>/)")
    unnamed = re.sub(r"\(\?P<\w+>", "(?:", alone)
    ended = re.sub(r"\$(?=\)?\Z)", r"\\Z", unnamed)
    whole = f"{ended}.+" if ended.endswith("/") else ended
    return _without_backtracking(whole) if whole.startswith("^") else f".*{whole}"


_LEADING_FOLDERS = "^(?:.+/)?"
_INNER_FOLDERS = "(?:/.+)?"
_CHARACTER = r"(?:\\.|\[\^?\]?(?:\\.|[^\]\\])*\](?![*+])|[^\\\[\](){}?*+|^$./])"
_STARS = re.compile(r"(?:\[\^/\]\*)+")
_STAR_BEFORE_STAR = re.compile(rf"\[\^/\]\*({_CHARACTER}+)(?=\[\^/\]\*)")


def _without_backtracking(expression: str) -> str:
    """Return the expression with every `*` and `**` but the last matching at its first position only.

    A later position can never match more, so the result is the same. With backtracking a line of a repository such as
    `*a*a*a*a*b` would take the time of the power of its stars, and hold the interpreter.
    """
    expression = _STAR_BEFORE_STAR.sub(r"(?>[^/]*?\1)", _STARS.sub("[^/]*", expression))
    first, *rest = expression.split(_INNER_FOLDERS)
    if not rest:
        return expression
    if first.startswith(_LEADING_FOLDERS):
        first = f"^(?>(?:.+?/)??{first.removeprefix(_LEADING_FOLDERS)}(?=/))"
    middle = (f"(?>(?:/.+?)??{part}(?=/))" for part in rest[:-1])
    return f"{first}{''.join(middle)}{_INNER_FOLDERS}{rest[-1]}"


def _either(expressions: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(expressions), re.DOTALL) if expressions else None
