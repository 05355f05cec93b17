"""What a repository holds that needs trust, item by item: each settings file, plugin or tool folder and skill, with a fingerprint.

The fingerprint of a settings file covers its gated settings alone, so that a new theme costs no trust, together with the content of
every file of the repository that they name: a script that a command starts counts as much as the command. Such names count from the
file's folder or the worktree; whoever starts a command starts it in one of them.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from opencode_tui.config.notice import dotted
from opencode_tui.config.sources.folder import Extension
from opencode_tui.config.sources.layer import Layer
from opencode_tui.config.sources.substitute import resolve_file
from opencode_tui.config.sources.text_file import UnreadableFileError, read_bytes
from opencode_tui.config.trust.gate import STARTS, Gated, RepositoryFolder, find_gated, find_linked
from opencode_tui.schema.record import JsonObject

MAX_REVIEWED_FILES = 2_000
MAX_REVIEWED_BYTES = 64 << 20
"""Of one file; a larger one cannot be vouched for, so that what needs it stays untrusted."""

_WORD = re.compile(r"[^\s\"'`;|&()<>=,{}]+")
_NAMING_FOLDERS = ("plugin", "skills")
"""Settings in which a folder stands for what is in it; in a command it is only where something happens."""

_TEXT_ENDINGS = (".md", ".txt")

LIMIT = 200
"""Characters that are shown of one setting."""

_NAMING_KEYS = ("command", "url", "baseURL", "template", "module", "path")
_SNIPPETS = re.compile(r"!`[^`]*`?")


class ReviewItem(Struct, frozen=True):
    """A file or folder of a repository (`name` is relative to the worktree) and what it would do, one line an effect.

    `fingerprint` reads the present content. It returns None when something of it cannot be read: nobody can vouch for that.
    """

    name: str
    path: Path
    effects: tuple[str, ...]
    fingerprint: Callable[[], str | None]


class _UnfathomableError(Exception):
    """Too much, or unreadable."""


def review_settings(layer: Layer, place: RepositoryFolder) -> tuple[ReviewItem, list[Gated]]:
    """Return what a source's (migrated) settings need trust for."""
    linked = find_linked(layer.value, layer.source, place)
    gated = linked or find_gated(layer.value, place, has_placeholders=layer.has_placeholders)
    effects = tuple(describe_effect(one) for one in gated if not one.only_over_deny)
    name = os.path.relpath(layer.source, place.worktree)
    return ReviewItem(name, Path(layer.source), effects, partial(_fingerprint_settings, gated, place)), gated


def review_extensions(extensions: list[Extension], worktree: Path) -> list[tuple[ReviewItem, list[Extension]]]:
    """Return one item a plugin or tool folder, and one a skill that holds more than text. Blocks."""
    groups: dict[Path, list[Extension]] = {}
    for extension in extensions:
        is_skill = extension.kind == "skill"
        if not is_skill or not _is_only_text(extension.path, worktree):
            groups.setdefault(extension.path if is_skill else extension.top, []).append(extension)
    found: list[tuple[ReviewItem, list[Extension]]] = []
    for folder, members in groups.items():
        effects = tuple(f"{_name(member.path, worktree)}: {STARTS}" for member in members)
        found.append(
            (ReviewItem(_name(folder, worktree), folder, effects, partial(_fingerprint_folder, folder)), members)
        )
    return found


def _name(path: Path, worktree: Path) -> str:
    return os.path.relpath(path, worktree)


def _fingerprint_settings(gated: list[Gated], place: RepositoryFolder) -> str | None:
    digest = hashlib.sha256()
    try:
        for one in gated:
            digest.update(json.dumps([one.path, one.value]).encode())
            for path in sorted(_named_files(one, place)):
                digest.update(json.dumps(["file", os.path.relpath(path, place.worktree)]).encode())
                if path.is_relative_to(place.worktree):  # of a link to the outside only where it leads counts
                    digest.update(_content(path))
    except _UnfathomableError:
        return None
    return digest.hexdigest()


def _named_files(gated: Gated, place: RepositoryFolder) -> set[Path]:
    """Return the files of the repository that a gated setting names, links followed, with the Python files beside a plugin."""
    found: set[Path] = set()
    for text in _texts(gated.value):
        for word in (text, *_WORD.findall(text)):
            for folder in (place.folder, place.worktree):
                path = resolve_file(
                    word.removeprefix("file://").removeprefix("@").removeprefix("file:"), folder, place.home
                )
                found |= _files_at(path, place.worktree, with_folders=gated.path[0] in _NAMING_FOLDERS)
    if gated.path[0] == "plugin":
        found |= {beside for path in found for beside in path.parent.glob("*.py") if beside.is_file()}
    return found


def _files_at(path: Path, worktree: Path, *, with_folders: bool) -> set[Path]:
    """Return the real file at a path of the repository, or those below the folder; nothing for the worktree itself."""
    try:
        real = Path(os.path.realpath(path))
        if real == worktree or not path.is_relative_to(worktree):
            return set()
        if real.is_dir():
            is_own = with_folders and real.is_relative_to(worktree)
            return set(_walk(real)) if is_own else set()
        return {real} if real.is_file() else set()
    except (OSError, ValueError):
        return set()  # no path at all: a word of a command


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _texts(inner)


def _fingerprint_folder(folder: Path) -> str | None:
    digest = hashlib.sha256()
    try:
        for path in sorted(_walk(folder)):
            digest.update(json.dumps(os.path.relpath(path, folder)).encode())
            digest.update(_content(path))
    except _UnfathomableError:
        return None
    return digest.hexdigest()


def _walk(folder: Path) -> Iterator[Path]:
    count = 0
    for current, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *(name for name in folders if os.path.islink(os.path.join(current, name)))]:
            count += 1
            if count > MAX_REVIEWED_FILES:
                raise _UnfathomableError
            yield Path(current, name)


def _content(path: Path) -> bytes:
    """Return the SHA-256 of a file's bytes; a link counts with its target's bytes."""
    try:
        return hashlib.sha256(read_bytes(str(path), MAX_REVIEWED_BYTES)).digest()
    except (UnreadableFileError, FileNotFoundError):
        raise _UnfathomableError from None


def _is_only_text(skill: Path, worktree: Path) -> bool:
    try:
        return Path(os.path.realpath(skill)).is_relative_to(worktree) and all(
            path.suffix in _TEXT_ENDINGS and not path.is_symlink() for path in _walk(skill)
        )
    except _UnfathomableError:
        return False


def describe_effect(gated: Gated) -> str:
    """Return one line: the setting, what it does, and the command, address or file that it names. Secrets are not among them."""
    shown = " ".join(_named_in(gated.value).split())
    shown = shown if len(shown) <= LIMIT else shown[: LIMIT - 1] + "…"
    return f"{dotted(gated.path)}: {gated.effect}" + (
        f": {shown}" if shown and shown not in map(str, gated.path) else ""
    )


def _named_in(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(filter(None, map(_named_in, cast("list[Any]", value))))
    if not isinstance(value, dict):
        return ""
    fields = cast("JsonObject", value)
    return " ".join(_field(key, fields[key]) for key in _NAMING_KEYS if key in fields)


def _field(key: str, value: Any) -> str:
    if key == "template" and isinstance(value, str):
        return " ".join(_SNIPPETS.findall(value))
    if isinstance(value, list):
        return " ".join(str(word) for word in cast("list[Any]", value))
    return value if isinstance(value, str) else ""
