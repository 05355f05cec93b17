"""Adds an MCP server to a settings file; its comments, its order and its mode stay."""

from pathlib import Path
from typing import cast

from opencode_tui.config.sources.jsonc import JsoncError
from opencode_tui.config.sources.jsonc_edit import merge_into
from opencode_tui.config.sources.layer import parse_layer
from opencode_tui.config.sources.locations import FILE_NAMES
from opencode_tui.config.user_file import read_settings_text, write_settings_text
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths


def add_mcp_server(folder: Path, name: str, entry: JsonObject, *, paths: Paths) -> Path:
    """Add a server to the settings file of a folder and return the file; it is created where there is none.

    Of two files it is the one that overrides the other. Raises ConfigError for a file that cannot be read or has a server of this
    name, StorageError for one that cannot be written. Blocks.
    """
    with Locks(paths).store():
        present = [folder / one for one in FILE_NAMES if (folder / one).exists()]
        path = present[-1] if present else folder / "opencode.json"
        text = read_settings_text(path)
        layer = parse_layer(text or "{}", source=str(path), origin="user", folder=folder)
        servers = layer.value.get("mcp")
        if isinstance(servers, dict) and name in cast("JsonObject", servers):
            raise ConfigError(f"{path}: mcp.{name} exists already; change it there, or choose another name")
        try:
            changed = merge_into(text, {"mcp": {name: entry}})
        except JsoncError as error:
            raise ConfigError(f"{path}: {error.position}: {error}") from None
        folder.mkdir(parents=True, exist_ok=True)
        write_settings_text(path, changed)
    return path
