"""Whether settings have something in the form of OpenCode 2: few have, so that only those load what reads it (`opencode2.py`)."""

from typing import Any, cast

from opencode_tui.schema.record import JsonObject

KEYS = frozenset({"permissions", "agents", "providers", "commands", "plugins", "snapshots", "update"})
"""Keys of settings that only OpenCode 2 has."""

AGENT_KEYS = frozenset({"permissions", "system", "disabled", "request"})
"""Keys of an agent that only OpenCode 2 has."""


def is_newer_form(value: JsonObject) -> bool:
    """Return whether settings have something in the form of OpenCode 2."""
    if not KEYS.isdisjoint(value) or isinstance(value.get("skills"), list) or has_servers(value.get("mcp")):
        return True
    if not {"keep", "buffer"}.isdisjoint(entries(value.get("compaction"))):
        return True
    agents = [entry for section in ("agent", "mode") for entry in entries(value.get(section)).values()]
    return any(not AGENT_KEYS.isdisjoint(entries(entry)) for entry in agents)


def has_servers(value: Any) -> bool:
    """Return whether `mcp` has the newer form; a server that is called `servers` has a type or a switch."""
    mcp = entries(value)
    inner = [mcp[name] for name in ("servers", "timeout") if name in mcp]
    return any({"type", "enabled"}.isdisjoint(entries(one)) for one in inner)


def entries(value: Any) -> JsonObject:
    """Return an object, an empty one for anything else."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}
