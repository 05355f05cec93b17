"""Adds an MCP server to a settings file; its comments and its order stay."""

import json
import os
import re
from pathlib import Path
from typing import cast

from opencode_tui.config.sources.layer import parse_layer
from opencode_tui.config.sources.locations import FILE_NAMES
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import AtomicWriter, FileSystem


def add_mcp_server(folder: Path, name: str, entry: JsonObject) -> Path:
    """Add a server to the settings file of a folder and return the file; it is created where there is none.

    Raises ConfigError for a file that cannot be read or has a server of this name. Blocks.
    """
    path = next((folder / one for one in FILE_NAMES if (folder / one).exists()), folder / FILE_NAMES[1])
    try:
        text = read_text(str(path)) if path.exists() else "{}\n"
    except UnreadableFileError as error:
        raise ConfigError(f"{path}: {error}") from None
    layer = parse_layer(text, source=str(path), origin="user", folder=folder)
    servers = layer.value.get("mcp")
    if isinstance(servers, dict) and name in cast("JsonObject", servers):
        raise ConfigError(f"{path}: mcp.{name} exists already; change it there, or choose another name")
    changed = _insert(text, name, entry, has_servers=isinstance(servers, dict))
    expected = {
        **layer.value,
        "mcp": {**(cast("JsonObject", servers) if isinstance(servers, dict) else {}), name: entry},
    }
    if changed is None or parse_layer(changed, source=str(path), origin="user", folder=folder).value != expected:
        raise ConfigError(f"{path} cannot be changed by this command; add the server to its key `mcp` yourself")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        AtomicWriter(FileSystem()).write(os.path.realpath(path), changed.encode(), durable=True)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    return path


def _insert(text: str, name: str, entry: JsonObject, *, has_servers: bool) -> str | None:
    """Return the text with the entry as the first member of `mcp`; None where that cannot be found."""
    found = re.search(r'"mcp"\s*:\s*\{' if has_servers else r"\{", text)
    if found is None:
        return None
    member = f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}"
    member = f"\n    {member}" if has_servers else f'\n  "mcp": {{\n    {member}\n  }}'
    rest = text[found.end() :]
    end = "\n" if rest.lstrip().startswith("}") else ","
    return f"{text[: found.end()]}{member}{end}{rest.lstrip() if end != ',' else rest}"
