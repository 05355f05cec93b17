"""Pure: the names of the tools of MCP servers for the model and in permission rules."""

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence

from opencode_tui.config.permission import PERMISSIONS

LONGEST = 64
"""Most characters of a tool's name: providers refuse longer ones."""

SEARCH, CALL = "mcp_search", "mcp_call"
"""The tools that replace those of servers where these are many."""

RESERVED = PERMISSIONS | {SEARCH, CALL}
"""Names that no tool of a server has: a rule for a permission must not mean a tool."""

_HASH = 8
_LIKE_HASHED = re.compile(r"_[0-9a-f]{8}$")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")


def clean_name(name: str) -> str:
    """Return a name with every character that a provider refuses replaced by an underscore."""
    return _OTHER.sub("_", name)


def claude_name(server: str, tool: str) -> str:
    """Return the name of a tool in Claude Code, by which hooks match it; a server of a plugin (`PLUGIN:SERVER`) has a prefix."""
    prefix = "plugin_" if ":" in server else ""
    return f"mcp__{prefix}{clean_name(server)}__{clean_name(tool)}"


def tool_ids(tools: Sequence[tuple[str, str]], reserved: Collection[str] = ()) -> list[str]:
    """Return a name for each (server, tool): `server_tool`, with a hash where it would be too long, reserved or not unique.

    The name of a tool does not depend on the order of the tools, and all that would have the same name get a hash.
    """
    plain = [f"{clean_name(server)}_{clean_name(tool)}" for server, tool in tools]
    counts = Counter(plain)
    return [
        _hashed(name, server, tool)
        if len(name) > LONGEST or counts[name] > 1 or name in RESERVED or name in reserved or _LIKE_HASHED.search(name)
        else name
        for name, (server, tool) in zip(plain, tools, strict=True)
    ]


def _hashed(name: str, server: str, tool: str) -> str:
    digest = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_HASH]
    return f"{name[: LONGEST - _HASH - 1]}_{digest}"
