"""Plugins for tests: files of a package, and packages that are installed as the program installs them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opencode_tui.engine.plugin.install import Installer, Source
from opencode_tui.storage.paths import find_paths

SCHEMAS = "https://agent-plugins.org/schemas/1.0.0"
SKILL = "---\nname: {0}\ndescription: Does {0}.\n---\nDo it.\n"


def manifest(**more: Any) -> dict[str, Any]:
    """Return a manifest of Agent Plugins."""
    return {"$schema": f"{SCHEMAS}/plugin.schema.json", "name": "acme", **more}


def servers(**entries: Any) -> dict[str, Any]:
    """Return an `mcp.json` with these servers."""
    return {"$schema": f"{SCHEMAS}/mcp.schema.json", "mcpServers": entries}


def write_plugin(folder: Path, files: Mapping[str, Any] | None = None, **fields: Any) -> Path:
    """Write a package: its manifest with these fields, and files, objects as JSON; a name with ! is a program."""
    for name, content in {"plugin.json": manifest(**fields), **(files or {})}.items():
        if content is None:
            continue
        path = folder / name.rstrip("!")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        if name.endswith("!"):
            path.chmod(0o755)
    return folder


def install(folder: Path, environ: Mapping[str, str]) -> Path:
    """Install a package of a folder, and return where it is."""
    with Installer(paths=find_paths(environ), environ=environ) as installer:
        prepared = installer.prepare(installer.fetch(Source(str(folder), is_folder=True)))
        installer.install(prepared)
        return installer.store.place(prepared.record.name).final
