"""What a repository's settings name: files that git includes, and programs that it starts. Pure but for what is included.

The form is git's: sections, names without case, quotes, escapes, comments and continued lines. Source: git-config(1), "Syntax".
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from opencode_tui.storage.safe_folder import open_folder

CONFIG_BYTES = 256 * 1024
_MOST_INCLUDED = 50

_SECTION = re.compile(r'\s*\[\s*([\w.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]')
_NAME = re.compile(r"\s*([A-Za-z][\w-]*)[ \t]*(=?)")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}

_PROGRAMS = re.compile(
    r"core\.(?:fsmonitor|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)|sequence\.editor|gpg\.(?:.*\.)?program"
    r"|(?:credential|guitool|pager|alias|browser|man)\..*|diff\.external|(?:diff|merge|filter|trailer|mergetool|difftool)\..*"
    r"|interactive\.difffilter|uploadpack\.packobjectshook|remote\..*\.(?:uploadpack|receivepack|vcs)|sendemail\..*cmd"
)
"""Settings whose values are command lines."""


class NamedFiles(Struct, frozen=True):
    """Files and folders inside a work tree that a repository's settings name, there or not; `hooks` is the folder of hooks.

    `programs` has all words of command lines, as if each were a path.
    """

    hooks: Path | None = None
    included: tuple[Path, ...] = ()
    programs: tuple[Path, ...] = ()

    def all(self) -> tuple[Path, ...]:
        """Return all of them."""
        return (*filter(None, [self.hooks]), *self.included, *self.programs)


class RemoteSettings(Struct, frozen=True):
    """Which repositories the settings of one name: the addresses by remote, those that a command uses that names none.

    `groups` are the names of several remotes; `rewrites` are the starts of addresses that others replace.
    """

    urls: Mapping[str, Sequence[str]]
    defaults: Sequence[str]
    groups: frozenset[str] = frozenset()
    rewrites: Sequence[tuple[str, str]] = ()

    def rewritten(self, address: str) -> str:
        """Return the address that git uses for one; of several rewrites the longest counts."""
        found = max(
            (one for one in self.rewrites if address.startswith(one[0])), key=lambda one: len(one[0]), default=None
        )
        return address if found is None else found[1] + address[len(found[0]) :]


def find_remotes(top: Path) -> RemoteSettings | None:
    """Return what the settings of the repository with this work tree say about remotes; None where they cannot be read. Blocks."""
    settings = _parsed(_read(_settings_of(top)))
    if not settings:
        return None
    urls: dict[str, list[str]] = {}
    defaults: dict[str, None] = {}
    groups: set[str] = set()
    rewrites: list[tuple[str, str]] = []
    for name, value in settings:
        section, _, rest = name.partition(".")
        middle, _, last = rest.rpartition(".")
        if section == "remote" and last in ("url", "pushurl") and middle:
            urls.setdefault(middle, []).append(value)
        elif name == "remote.pushdefault" or (section == "branch" and last in ("remote", "pushremote")):
            defaults[value] = None
        elif section == "remotes":
            groups.add(rest)
        elif section == "url" and last in ("insteadof", "pushinsteadof"):
            rewrites.append((value, middle))
    if "origin" in urls or len(urls) != 1:
        defaults["origin"] = None
    else:
        defaults |= dict.fromkeys(urls)
    used = [name for name in defaults if name != "." and (name in urls or name != "origin")]
    return RemoteSettings({name: tuple(found) for name, found in urls.items()}, used, frozenset(groups), rewrites)


def _settings_of(top: Path) -> Path:
    """Return the file of settings of the repository with a work tree, that of the common folder for a linked one."""
    pointer = _pointer(top / ".git").partition("gitdir:")[2].strip()
    if not pointer:
        return top / ".git" / "config"
    folder = Path(os.path.realpath(top / pointer))
    common = _pointer(folder / "commondir").strip()
    return Path(os.path.realpath(folder / common)) / "config" if common else folder / "config"


def find_user_settings() -> list[Path]:
    """Return the real paths of git's settings of the user, the least important first."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    names = [os.path.join(folder, "git/config"), os.path.expanduser("~/.gitconfig")] if named is None else [named]
    return [Path(os.path.realpath(name)) for name in names]


def find_named(configs: Sequence[Path], worktree: Path) -> NamedFiles:
    """Return what settings name inside a work tree, a real path; also settings that they include. Later ones count. Blocks."""
    hooks: Path | None = None
    included: dict[Path, None] = {}
    programs: dict[Path, None] = {}
    waiting = list(configs)
    while waiting:
        file = waiting.pop(0)
        for name, value in _parsed(_read(file)):
            if name == "core.hookspath":
                hooks = _inside(worktree, worktree, value)
            elif (name == "include.path" or name.startswith("includeif.")) and name.endswith(".path"):
                path = _inside(worktree, file.parent, value)
                if path is not None and path not in included and len(included) < _MOST_INCLUDED:
                    included[path] = None
                    waiting.append(path)
            elif _PROGRAMS.fullmatch(name) and (value.startswith("!") or not name.startswith("alias.")):
                words = (_inside(worktree, worktree, word.lstrip("!")) for word in _words(value))
                programs |= dict.fromkeys(path for path in words if path is not None)
    return NamedFiles(hooks, tuple(included), tuple(programs))


@lru_cache(maxsize=32)
def _parsed(text: str) -> Sequence[tuple[str, str]]:
    """Return what `parse` yields, kept: each command reads the same settings."""
    return tuple(parse(text))


def parse(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names, of sections and variables in lower case, with their values. What git would refuse ends the text."""
    section, at = "", 0
    while at < len(text):
        if (found := _SECTION.match(text, at)) is not None:
            section = found[1].lower() + ("" if found[2] is None else "." + re.sub(r"\\(.)", r"\1", found[2]))
            at = found.end()
        elif (found := _NAME.match(text, at)) is not None and section:
            value, at = _value(text, found.end()) if found[2] else ("true", found.end())
            yield f"{section}.{found[1].lower()}", value
        elif (rest := text[at:].lstrip())[:1] in ("#", ";"):
            end = text.find("\n", len(text) - len(rest))
            at = end if end >= 0 else len(text)
        else:
            return


def _value(text: str, at: int) -> tuple[str, int]:
    """Return the value that begins at a place, and where it ends."""
    value, spaces, is_quoted = "", "", False
    while at < len(text) and (letter := text[at]) != "\n":
        at += 1
        if letter == "\\":
            following, at = text[at : at + 1], at + 1
            if following == "\r":
                at += text[at : at + 1] == "\n"
            if following not in ("\n", "\r"):
                value, spaces = value + spaces + _ESCAPES.get(following, following), ""
        elif letter == '"':
            is_quoted = not is_quoted
        elif letter in "#;" and not is_quoted:
            end = text.find("\n", at)
            at = end if end >= 0 else len(text)
        elif letter.isspace() and not is_quoted:
            spaces += letter if value else ""
        else:
            value, spaces = value + spaces + letter, ""
    return value, at


def _words(value: str) -> list[str]:
    return re.sub(r"[\"'\\]", "", value).split()


def _pointer(path: Path) -> str:
    """Return the text of a file that names a folder: as for git, a null character ends it."""
    return _read(path).partition("\0")[0]


def _read(path: Path) -> str:
    """Return the text of a small file that is no link; empty where there is none."""
    try:
        with open_folder(path.parent) as folder:
            return folder.read(path.name, CONFIG_BYTES)[0].decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _inside(worktree: Path, folder: Path, name: str) -> Path | None:
    """Return the real path that a value names from a folder; None outside of the work tree, and for it as a whole."""
    try:
        path = Path(os.path.realpath(folder / os.path.expanduser(name)))
    except ValueError:
        return None
    return path if name and path != worktree and path.is_relative_to(worktree) else None
