"""Reads a package in the form that it has: Agent Plugins, or that of Claude Code."""

import os
from typing import Any, cast

from opencode_tui.config.installed import agent_plugin, claude_plugin
from opencode_tui.config.installed.package import AGENT_PLUGINS, CLAUDE_FOLDER, MANIFEST, Package, PackageError, Place
from opencode_tui.config.sources.text_file import UnreadableFileError, read_text
from opencode_tui.schema.json_text import JsonError, load_json
from opencode_tui.schema.record import JsonObject


def read_package(place: Place, *, entry: JsonObject | None = None) -> Package:
    """Return the package in a folder. Raises PackageError. Blocks.

    `entry` is what a marketplace says about a plugin of Claude Code, None where it is not from one.
    """
    has_claude = entry is not None or os.path.lexists(place.root / CLAUDE_FOLDER / MANIFEST)
    if os.path.lexists(place.root / MANIFEST) and not (has_claude and not _is_agent_plugin(place)):
        return agent_plugin.read(place)
    if has_claude:
        return claude_plugin.read(place, entry or {})
    raise PackageError(
        f"no {MANIFEST} and no {CLAUDE_FOLDER}/{MANIFEST} in the folder; give the root of a plugin or of a marketplace"
    )


def _is_agent_plugin(place: Place) -> bool:
    """Return whether the manifest in the root is one of Agent Plugins, and not one of another program.

    One that leads out of the root counts as such: their specification rejects it, and it is not read.
    """
    if not place.contains(place.root / MANIFEST):
        return True
    try:
        value: Any = load_json(read_text(str(place.root / MANIFEST)))
    except (OSError, UnreadableFileError, JsonError):
        return False
    return isinstance(value, dict) and str(cast("JsonObject", value).get("$schema", "")).startswith(AGENT_PLUGINS)
