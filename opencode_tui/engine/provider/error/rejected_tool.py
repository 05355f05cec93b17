"""The tool that a provider rejects by its place in the request, which says nothing to the user, and the names of what was sent."""

import re
from collections.abc import Iterator

from opencode_tui.engine.provider.decode.response import as_list, as_text
from opencode_tui.schema.json_text import as_object, decode_json
from opencode_tui.schema.record import JsonObject

_PLACES = tuple(
    (re.compile(pattern), first)
    for pattern, first in (
        (r"function_?[dD]eclarations[.\[](\d{1,4})", 0),
        (r"toolConfig\.tools\.(\d{1,4})\.member", 1),
        (r"\btools?(?:\.|\[|['\"], ?)(\d{1,4})(?!\d)", 0),
    )
)
"""How providers write the place, the most exact way first, each with the number of the first tool."""


def rejected_tool(message: str, tools: tuple[str, ...]) -> str:
    """Return the name of the tool whose place a message has, empty without a place or where the name is quoted."""
    for pattern, first in _PLACES:
        found = pattern.search(message)
        if found is None:
            continue
        index = int(found.group(1)) - first
        name = tools[index] if 0 <= index < len(tools) else ""
        return "" if any(f"{quote}{name}{quote}" in message for quote in "'\"`") else name
    return ""


def sent_tools(body: bytes) -> tuple[str, ...]:
    """Return the names of the tools in a request, in its order, whatever its format."""
    return tuple(_names(as_object(decode_json(body)))) if body else ()


def _names(body: JsonObject) -> Iterator[str]:
    for tool in map(as_object, as_list(body.get("tools"))):
        if "functionDeclarations" in tool:
            for declared in map(as_object, as_list(tool["functionDeclarations"])):
                yield as_text(declared.get("name"))
        else:
            is_group = "tools" in tool  # a namespace of them
            yield "" if is_group else as_text(tool.get("name")) or as_text(as_object(tool.get("function")).get("name"))
