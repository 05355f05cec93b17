"""Checks of one source: missing files, misspelled placeholders, rules without effect, file modes.

Every check looks only at keys that are present, so that a source without them costs nothing. Blocks: it checks for files.
"""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from opencode_tui.config.notice import Notice
from opencode_tui.config.permission import is_action
from opencode_tui.config.sources.jsonc import KeyPath
from opencode_tui.config.sources.layer import Layer, Origin
from opencode_tui.config.sources.locations import repository_folders
from opencode_tui.config.sources.substitute import resolve_file
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.tools import OLD_TOOLS, TOOLS

_MISSPELLED_PLACEHOLDER = re.compile(r"\{(?:env|file):[^{}]*(?:$|[\n{])|\{(?!env:|file:)(?i:env|file):")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_PLUGIN_PATHS = ("./", "../", "/", "~/", "file://")
_SCRIPTS = (".ts", ".js", ".mjs", ".cjs", ".tsx")
_PROSE = ("prompt", "template", "description")
_WITHOUT_PATTERNS = ("doom_loop", *(row.name for row in (*TOOLS, *OLD_TOOLS) if not row.has_patterns))
"""Permissions without patterns: only the pattern `*` matches."""


class SourceCheck:
    """Checks the sources of one load."""

    def __init__(self, *, home: Path, directory: Path, worktree: Path) -> None:
        self._home = home
        self._directory = directory
        self._worktree = worktree

    def check(self, layer: Layer, *, written: JsonObject) -> Iterator[Notice]:
        """Yield warnings about a valid layer; `written` are its settings before substitution."""
        if layer.has_placeholders:
            yield from _check_placeholders(layer, written, ())
        yield from _check_rules(layer)
        for index, entry in enumerate(_strings(layer.value.get("plugin"))):
            if fault := self._plugin_fault(entry, layer.folder):
                yield layer.notice(("plugin", index), fault)
        for index, entry in enumerate(_strings(layer.value.get("instructions"))):
            if fault := self._instruction_fault(entry, layer.origin):
                yield layer.notice(("instructions", index), fault)
        skills = layer.value.get("skills")
        for index, entry in enumerate(
            _strings(cast("JsonObject", skills).get("paths") if isinstance(skills, dict) else None)
        ):
            if not os.path.isdir(resolve_file(entry, self._directory, self._home)):
                yield layer.notice(("skills", "paths", index), "no such folder; create it or correct the path")
        if layer.origin == "user":
            yield from _check_mode(layer, written)

    def _plugin_fault(self, entry: str, folder: Path) -> str:
        if entry.endswith(_SCRIPTS):
            return "plugins are Python here; OpenCode's JavaScript plugins cannot be loaded (ignored)"
        if entry.startswith(_PLUGIN_PATHS) or entry.endswith(".py"):
            path = resolve_file(entry.removeprefix("file://"), folder, self._home)
            return "" if path.is_file() else "no such file; create it or correct the path"
        if not all(part.isidentifier() for part in entry.split(".")):
            return "neither a path (./name.py) nor the name of a Python module; npm packages cannot be loaded (ignored)"
        return ""

    def _instruction_fault(self, entry: str, origin: Origin) -> str:
        if entry.startswith(("http://", "https://")):
            has_credentials = "@" in urlsplit(entry).netloc
            return "contains a name or password, which appears in logs; remove it" if has_credentials else ""
        if _SCHEME.match(entry):
            return "only http:// and https:// addresses can be fetched (ignored)"
        if glob.has_magic(entry):
            return ""  # matching files may appear later
        if origin != "repository" and not entry.startswith(("/", "~/")):
            return ""  # settings for all projects may list files that only some have
        if entry.startswith(("/", "~/")):
            candidates = [resolve_file(entry, self._directory, self._home)]
        else:
            candidates = [folder / entry for folder in repository_folders(self._directory, self._worktree)]
        if any(path.is_file() for path in candidates):
            return ""
        is_folder = any(path.is_dir() for path in candidates)
        return (
            "is a folder; use a pattern for its files, as in docs/*.md"
            if is_folder
            else "no such file; create it or correct the path"
        )


def _check_placeholders(layer: Layer, value: Any, path: KeyPath) -> Iterator[Notice]:
    if isinstance(value, dict):
        for key, inner in cast("JsonObject", value).items():
            yield from _check_placeholders(layer, inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from _check_placeholders(layer, inner, (*path, index))
    elif isinstance(value, str) and path[-1] not in _PROSE and _MISSPELLED_PLACEHOLDER.search(value):
        yield layer.notice(path, "not a valid placeholder; write {env:NAME} or {file:path}")


def _check_rules(layer: Layer) -> Iterator[Notice]:
    """Yield a warning for each rule that a later `*` overrides, and each pattern that never matches."""
    tables: list[tuple[KeyPath, Any]] = [(("permission",), layer.value.get("permission"))]
    agents = layer.value.get("agent")
    for name, agent in cast("JsonObject", agents).items() if isinstance(agents, dict) else ():
        tables.append((("agent", name, "permission"), cast("JsonObject", agent).get("permission")))
    for path, rules in tables:
        if not isinstance(rules, dict):
            continue
        tools = cast("JsonObject", rules)
        yield from _check_order(layer, path, list(tools), is_action(tools.get("*")))
        for tool, patterns in tools.items():
            if isinstance(patterns, dict):
                names = list(cast("JsonObject", patterns))
                yield from _check_order(layer, (*path, tool), names, "*" in names)
                if tool in _WITHOUT_PATTERNS and any(name != "*" for name in names):
                    yield layer.notice((*path, tool), 'patterns other than "*" never match here; write only an action')
                if "" in names:
                    yield layer.notice((*path, tool, ""), 'an empty pattern never matches; write "*" for everything')


def _check_order(layer: Layer, path: KeyPath, names: Sequence[str], has_catch_all: bool) -> Iterator[Notice]:
    if has_catch_all and names.index("*") > 0:
        before = ", ".join(names[: names.index("*")][:3])
        yield layer.notice(
            (*path, "*"), f'the last match wins, so this overrides the rules before it ({before}); put "*" first'
        )


def _check_mode(layer: Layer, written: JsonObject) -> Iterator[Notice]:
    """Yield a warning for an API key in a file that others can read, and for a file that others can change."""
    if not os.path.isabs(layer.source) or not os.path.exists(layer.source):
        return  # a file that does not exist yet gets a safe mode
    mode = os.stat(layer.source).st_mode
    if mode & 0o002:
        yield Notice(layer.source, "", f"everyone can change it (mode {mode & 0o777:04o}); run chmod o-w")
    if mode & 0o044 and os.stat(os.path.dirname(layer.source)).st_mode & 0o011:
        for path in _literal_keys(written):
            yield layer.notice(
                path, f"others can read this key (mode {mode & 0o777:04o}); run chmod 600, or use `auth login`"
            )
            return


def _literal_keys(settings: JsonObject) -> Iterator[KeyPath]:
    providers = settings.get("provider")
    for name, provider in cast("JsonObject", providers).items() if isinstance(providers, dict) else ():
        options = cast("JsonObject", provider).get("options") if isinstance(provider, dict) else None
        key = cast("JsonObject", options).get("apiKey") if isinstance(options, dict) else None
        if isinstance(key, str) and key and "{" not in key and not key.startswith("$"):
            yield ("provider", name, "options", "apiKey")


def _strings(value: Any) -> list[str]:
    return [entry for entry in cast("list[Any]", value) if isinstance(entry, str)] if isinstance(value, list) else []
