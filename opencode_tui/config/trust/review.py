"""The items of a repository that need trust, with fingerprints: settings files, plugin and tool folders, skills.

The fingerprint of a settings file covers only its gated settings, so that a new theme needs no new trust, and the content of every
file of the repository that they refer to: a script that a command starts matters as much as the command. Such paths are relative to
the file's folder or the worktree: commands start in one of the two.
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
from opencode_tui.config.settings.fields import field_at, has_mark, present_fields, trust_of
from opencode_tui.config.settings.marks import STARTS, Mark
from opencode_tui.config.sources.folder import Extension
from opencode_tui.config.sources.layer import Layer
from opencode_tui.config.sources.substitute import resolve_file
from opencode_tui.config.sources.text_file import UnreadableFileError, read_bytes
from opencode_tui.config.trust.gate import Gated, RepositoryFolder, find_gated, find_linked
from opencode_tui.schema.record import JsonObject

MAX_REVIEWED_FILES = 2_000
MAX_REVIEWED_BYTES = 64 << 20
"""Most bytes of one file; an item with a larger file cannot be trusted."""

_WORD = re.compile(r"[^\s\"'`;|&()<>=,{}]+")
_TEXT_ENDINGS = (".md", ".txt")

LIMIT = 200
"""Most characters that are shown of one setting."""

_NAMING_KEYS = ("command", "url", "baseURL", "template", "module", "path", "environment", "headers")
_SNIPPETS = re.compile(r"!`[^`]*`?")


class ReviewItem(Struct, frozen=True):
    """A file or folder of a repository (`name` is relative to the worktree) and its effects, one line each.

    `conditional` are the effects that it has only over certain settings of the user, by the dotted key in the file.
    `fingerprint` reads the current content. It returns None when some of it cannot be read; such an item cannot be trusted.
    """

    name: str
    path: Path
    effects: tuple[str, ...]
    fingerprint: Callable[[], str | None]
    conditional: tuple[tuple[str, str], ...] = ()


class _UnreadableContentError(Exception):
    """The content is too large or unreadable."""


def review_settings(layer: Layer, place: RepositoryFolder) -> tuple[ReviewItem, list[Gated]]:
    """Return the item of a source's (migrated) settings, and its gated settings."""
    linked = find_linked(layer.value, layer.source, place)
    gated = linked or find_gated(layer.value, place, has_placeholders=layer.has_placeholders)
    effects = tuple(describe_effect(one) for one in gated if one.condition is None)
    conditional = tuple(
        (layer.notice(one.path, "").key, describe_effect(one)) for one in gated if one.condition is not None
    )
    name = os.path.relpath(layer.source, place.worktree)
    fingerprint = partial(_fingerprint_settings, gated, place)
    return ReviewItem(name, Path(layer.source), effects, fingerprint, conditional), gated


def find_started_files(settings: JsonObject, place: RepositoryFolder) -> set[Path]:
    """Return the real files of the repository that settings name which start programs outside the sandbox. Blocks.

    A change of such a file decides what runs there at the next hook or start of a server.
    """
    present = ((path, trust_of(field), value) for path, field, value in present_fields(settings))
    started = [
        Gated(path, STARTS, value) for path, trust, value in present if trust is not None and trust.starts_unasked
    ]
    found = {path for one in started for path in _named_files(one, place)}
    return {path for path in found if path.is_relative_to(place.worktree)}


def review_extensions(extensions: list[Extension], worktree: Path) -> list[tuple[ReviewItem, list[Extension]]]:
    """Return one item per plugin or tool folder, and per skill that contains more than text. Blocks."""
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
                if path.is_relative_to(place.worktree):  # of a link to the outside only its target counts
                    digest.update(_content(path))
    except _UnreadableContentError:
        return None
    return digest.hexdigest()


def _named_files(gated: Gated, place: RepositoryFolder) -> set[Path]:
    """Return the files of the repository that a gated setting refers to, links resolved, and the Python files next to a plugin."""
    with_folders = has_mark(field_at(gated.path[:1]), Mark.NAMES_FOLDERS)
    found: set[Path] = set()
    for text in _texts(gated.value):
        for word in (text, *_WORD.findall(text)):
            for folder in (place.folder, place.worktree):
                path = resolve_file(
                    word.removeprefix("file://").removeprefix("@").removeprefix("file:"), folder, place.home
                )
                found |= _files_at(path, place.worktree, with_folders=with_folders)
    if gated.path[0] == "plugin":
        found |= {sibling for path in found for sibling in path.parent.glob("*.py") if sibling.is_file()}
    return found


def _files_at(path: Path, worktree: Path, *, with_folders: bool) -> set[Path]:
    """Return the real file at a path of the repository, or those in the folder; nothing for the worktree itself."""
    try:
        real = Path(os.path.realpath(path))
        if real == worktree or not path.is_relative_to(worktree):
            return set()
        if real.is_dir():
            is_own = with_folders and real.is_relative_to(worktree)
            return set(_walk(real)) if is_own else set()
        return {real} if real.is_file() else set()
    except (OSError, ValueError):
        return set()  # not a path, but a word of a command


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
    except _UnreadableContentError:
        return None
    return digest.hexdigest()


def _walk(folder: Path) -> Iterator[Path]:
    count = 0
    for current, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *(name for name in folders if os.path.islink(os.path.join(current, name)))]:
            count += 1
            if count > MAX_REVIEWED_FILES:
                raise _UnreadableContentError
            yield Path(current, name)


def _content(path: Path) -> bytes:
    """Return the SHA-256 of a file's bytes, links followed."""
    try:
        return hashlib.sha256(read_bytes(str(path), MAX_REVIEWED_BYTES)).digest()
    except (UnreadableFileError, FileNotFoundError):
        raise _UnreadableContentError from None


def _is_only_text(skill: Path, worktree: Path) -> bool:
    try:
        return Path(os.path.realpath(skill)).is_relative_to(worktree) and all(
            path.suffix in _TEXT_ENDINGS and not path.is_symlink() for path in _walk(skill)
        )
    except _UnreadableContentError:
        return False


def describe_effect(gated: Gated) -> str:
    """Return one line: the setting, its effect, and the command, address or file in it. Contains no secrets."""
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
    if key in ("environment", "headers") and isinstance(value, dict):
        return f"with {' '.join(cast('JsonObject', value))}" if value else ""
    if key == "template" and isinstance(value, str):
        return " ".join(_SNIPPETS.findall(value))
    if isinstance(value, list):
        return " ".join(str(word) for word in cast("list[Any]", value))
    return value if isinstance(value, str) else ""
