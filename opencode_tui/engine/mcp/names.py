"""Pure: the names of the tools of MCP servers for the model and in permission rules."""

import hashlib
import re
from collections.abc import Collection, Sequence

LONGEST = 64
"""Most characters of a tool's name: providers refuse longer ones."""

_HASH = 8
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")


def clean_name(name: str) -> str:
    """Return a name with every character that a provider refuses replaced by an underscore."""
    return _OTHER.sub("_", name)


def tool_ids(tools: Sequence[tuple[str, str]], reserved: Collection[str] = ()) -> list[str]:
    """Return a name for each (server, tool): `server_tool`, which ends in a hash where it would be too long or not unique."""
    used = set(reserved)
    found: list[str] = []
    for server, tool in tools:
        name = f"{clean_name(server)}_{clean_name(tool)}"
        if len(name) > LONGEST or name in used:
            digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_HASH]
            name = f"{name[: LONGEST - _HASH - 1]}_{digest}"
        used.add(name)
        found.append(name)
    return found
