"""Finds the plugins and tool files that a folder's settings name. Imports none of them.

A path in the setting `plugin` is relative to the folder of its settings file; a repository's own settings count only while it is
trusted. Anything else is the name of an installed module. Order: the setting, then the files of the settings folders, weakest
first; of two plugins with the same name the later wins.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from opencode_tui.config.flags import Flags
from opencode_tui.config.load import LoadedConfig
from opencode_tui.config.sources.layer import Layer, parse_layer, read_layer
from opencode_tui.config.sources.locations import SettingsSource, list_administrator_sources, list_sources
from opencode_tui.config.sources.substitute import resolve_file
from opencode_tui.storage.paths import Paths

_PATH_BEGINNINGS = ("./", "../", "/", "~/", "file://")


class PluginSource(Struct, frozen=True):
    """A plugin or a tool file: `path` of a file, or the name of an installed module."""

    kind: Literal["plugin", "tool"]
    name: str
    path: Path | None = None

    @property
    def label(self) -> str:
        """The name in messages."""
        return str(self.path) if self.path is not None else self.name


def find_plugins(config: LoadedConfig, *, paths: Paths, flags: Flags, directory: Path) -> list[PluginSource]:
    """Return the plugins and tools in load order. Blocks; may read the settings files again."""
    found: dict[tuple[str, str], PluginSource] = {}
    entries: list[str] = config.effective.get("plugin") or []
    sources = [*_named(entries, config, paths, flags, directory)] if entries else []
    for extension in config.extensions:
        if extension.kind == "plugin":
            sources.append(PluginSource("plugin", extension.path.stem, extension.path))
        elif extension.kind == "tool":
            sources.append(PluginSource("tool", extension.path.stem, extension.path))
    for source in sources:
        key = (source.kind, source.name)
        found.pop(key, None)
        found[key] = source
    return list(found.values())


def _named(
    entries: list[str], config: LoadedConfig, paths: Paths, flags: Flags, directory: Path
) -> Iterator[PluginSource]:
    for entry in entries:
        if not _is_path(entry):
            yield PluginSource("plugin", entry)
    for layer in _layers_with_plugins(config, paths, flags, directory):
        written = layer.value["plugin"]
        for entry in cast("list[object]", written) if isinstance(written, list) else ():
            if isinstance(entry, str) and entry in entries and _is_path(entry):
                path = resolve_file(_plain_path(entry), layer.folder, paths.home)
                yield PluginSource("plugin", path.stem, path)


def _layers_with_plugins(config: LoadedConfig, paths: Paths, flags: Flags, directory: Path) -> Iterator[Layer]:
    """Yield the trusted settings that name plugins."""
    inert = {notice.source for notice in config.ignored if notice.key.startswith("plugin")}
    sources = list_sources(paths=paths, flags=flags, directory=directory, worktree=config.worktree)
    for source in [*sources, *list_administrator_sources(flags, directory)]:
        layer = _read(source)
        if layer is not None and "plugin" in layer.value and layer.source not in inert:
            yield layer


def _read(source: SettingsSource) -> Layer | None:
    if source.kind == "text":
        return parse_layer(source.text, source=source.name, origin=source.origin, folder=source.path)
    return read_layer(source.path, source.origin) if source.kind == "file" else None


def _is_path(entry: str) -> bool:
    return entry.startswith(_PATH_BEGINNINGS) or entry.endswith(".py")


def _plain_path(entry: str) -> str:
    return unquote(urlsplit(entry).path) if entry.startswith("file://") else entry
