"""The tools of MCP servers as tools of the agent: each by its own name, or behind a search when they are many.

A call asks for permission under the tool's own name, also behind `mcp_call`. Undo covers what a server changes: files are recorded
before and after a call.
"""

import asyncio
import json
import re
from collections.abc import Callable, Collection, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, cast

from opencode_tui.engine.mcp.call import ServerCall
from opencode_tui.engine.mcp.names import CALL, SEARCH, claude_name
from opencode_tui.engine.permission.decision import Query
from opencode_tui.engine.permission.ruleset import BuiltInRule, disabled, evaluate
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult
from opencode_tui.schema.api.mcp import McpTool
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.field import Field
from opencode_tui.schema.permission import Ruleset
from opencode_tui.schema.record import JsonObject

if TYPE_CHECKING:
    from opencode_tui.engine.mcp.call import CallBackground
    from opencode_tui.engine.mcp.servers import McpServers

SEARCH_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "query": {"description": "Words for what the tool should do, or a part of its name", "type": "string"},
        "limit": {"description": "Most tools to return", "type": "integer"},
    },
    "required": ["query"],
}
CALL_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "tool": {"description": "The name of the tool, as the search returns it", "type": "string"},
        "arguments": {
            "additionalProperties": True,
            "description": "The tool's arguments, by its schema",
            "type": "object",
        },
    },
    "required": ["tool"],
}
"""The schemas of both, written out: to derive them takes 10 ms of each run. A test compares them."""

FOUND_TOOLS = 8
"""Tools that a search returns unless it asks for another number."""

WAIT_S = 10.0
"""Seconds that a search waits for servers whose tools are not known yet."""

_WORD = re.compile(r"[^\W_]+")


class McpArguments(Parameters):
    """The arguments of a tool as the model wrote them; the tool's own schema checks them."""

    unknown = "allow"


class ServerTool:
    """One tool of a server."""

    parameters = McpArguments

    def __init__(self, tool: McpTool, servers: "McpServers", background: "CallBackground | None" = None) -> None:
        """`background` lets long calls continue; without it each is waited for."""
        self.tool = tool
        self.name = tool.id
        self.description = tool.description
        self.claude_name = claude_name(tool.server, tool.name)
        self._servers = servers
        self._background = background

    async def run(self, arguments: McpArguments, context: ToolContext) -> ToolResult:
        """Ask for permission under the tool's own name, call it and return its result. Raises ToolError."""
        tool, given = self.tool, dict(arguments.model_extra or {})
        await _approve(tool, given, context)
        return await ServerCall(self._servers, tool, given, context, self._background).run()


async def _approve(tool: McpTool, arguments: JsonObject, context: ToolContext) -> None:
    """Raise ToolError for arguments that do not fit, PermissionRefused for a call that may not run."""
    if problem := await asyncio.to_thread(check_arguments, tool.parameters, arguments):
        schema = json.dumps(tool.parameters, ensure_ascii=False)
        raise ToolError(f"The input of {tool.id} does not fit: {problem}. Its schema: {schema}")
    await context.ask.query(
        Query(
            session_id=context.session_id,
            permission=tool.id,
            patterns=["*"],
            always=["*"],
            metadata={"server": tool.server, "tool": tool.name, "input": arguments},
            by_user=["*"] if _is_for_reading(context.ask.rules()) else (),
            is_foreign=True,
            subject=definition_mark(tool),
        )
    )


def definition_mark(tool: McpTool) -> str:
    """Return what identifies the description and the schema of a tool: a grant holds only as long as they stay the same."""
    shown = json.dumps([tool.description, tool.parameters], sort_keys=True, ensure_ascii=False)
    return sha256(shown.encode("utf-8", "replace")).hexdigest()[:16]


def _is_for_reading(layers: Sequence[Ruleset]) -> bool:
    """Return whether an agent or one above it edits nothing by itself, such as `plan`: a tool may change anything."""
    decisive = [evaluate("edit", "*", layer) for layer in layers]
    return any(rule.action == "deny" and isinstance(rule, BuiltInRule) for rule in decisive)


def check_arguments(schema: JsonObject, arguments: JsonObject) -> str | None:
    """Return what is wrong with the arguments of a tool, None where nothing is or the schema itself is wrong. Blocks.

    The schema is the server's: nothing that it refers to is fetched, and its patterns, which may take any time, are not compared.
    """
    import jsonschema  # takes 30 ms
    import referencing

    try:
        checked = _without_patterns(schema)
        validator = jsonschema.Draft202012Validator(checked, registry=referencing.Registry())
        errors = sorted(validator.iter_errors(arguments), key=lambda error: list(map(str, error.absolute_path)))
    except Exception:  # noqa: BLE001 - a wrong schema of a server must not keep its tool from being called
        return None
    if not errors:
        return None
    return "; ".join(
        f"{'.'.join(map(str, error.absolute_path)) or 'input'}: {error.message[:200]}" for error in errors[:5]
    )


_NAMED_SCHEMAS = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
_VALUES = frozenset({"const", "enum", "default", "examples"})


def _without_patterns(schema: Any) -> Any:
    """Return a schema without regular expressions, which leaves defaults to the server."""
    if isinstance(schema, list):
        return [_without_patterns(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    members = cast(JsonObject, schema)
    left_out = {"pattern", "patternProperties"}
    if "patternProperties" in members:  # else what these allow would be refused
        left_out |= {"additionalProperties", "unevaluatedProperties"}
    kept: JsonObject = {}
    for name, value in members.items():
        if name in _NAMED_SCHEMAS and isinstance(value, dict):
            kept[name] = {one: _without_patterns(inner) for one, inner in cast(JsonObject, value).items()}
        elif name not in left_out:
            kept[name] = value if name in _VALUES else _without_patterns(value)
    return _without_required_defaults(kept)


def _without_required_defaults(schema: JsonObject) -> JsonObject:
    """Return a schema that requires no property with a default: the server fills it in, as those of zod say that list both."""
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or not isinstance(properties, dict):
        return schema
    known = cast("JsonObject", properties)
    has_default = {name for name, one in known.items() if isinstance(one, dict) and "default" in one}
    return {**schema, "required": [name for name in cast("list[Any]", required) if name not in has_default]}


class SearchParameters(Parameters):
    """The parameters of a search for tools."""

    query: str = Field(description="Words for what the tool should do, or a part of its name")
    limit: int = Field(default=FOUND_TOOLS, ge=1, le=50, description="Most tools to return")


class SearchTool:
    """Finds tools of servers and returns their schemas."""

    name = SEARCH
    parameters = SearchParameters
    description = "Finds tools of the MCP servers and returns their names, descriptions and schemas."

    def __init__(self, servers: "McpServers") -> None:
        self._servers = servers

    async def run(self, arguments: SearchParameters, context: ToolContext) -> ToolResult:
        """Return the best matches first, without tools that rules deny; waits some seconds for servers that start."""
        unknown = await self._servers.wait_listed(WAIT_S)
        tools = self._servers.all_tools()
        denied = {tool.id for tool in tools} & set(context.switched_off)
        for rules in context.ask.rules():
            denied |= disabled([tool.id for tool in tools], rules)
        found = rank([tool for tool in tools if tool.id not in denied], arguments.query)[: arguments.limit]
        texts = [f"{one.id}: {one.description}\n{json.dumps(one.parameters, ensure_ascii=False)}" for one in found]
        if not found:
            texts.append(f"No tool matches. There are {len(tools) - len(denied)} tools; search with other words.")
        texts += _describe_unknown(self._servers, unknown)
        return ToolResult(arguments.query, "\n\n".join(texts), {"count": len(found)})


def _describe_unknown(servers: "McpServers", names: Sequence[str]) -> list[str]:
    """Return a line for each server whose tools are not known, with the reason."""
    errors = {name: servers.status_of(name).error for name in names}
    return [
        f"The tools of the MCP server {name} are not known: {error or 'it is still starting'}"
        for name, error in errors.items()
    ]


def rank(tools: Sequence[McpTool], query: str) -> list[McpTool]:
    """Return the tools that match a query, best first: by exact name, parts of the name, the description, names of arguments."""
    words = [word.lower() for word in _WORD.findall(query)]
    scored = [(_score(tool, query.strip().lower(), words), tool) for tool in tools]
    return [tool for score, tool in sorted(scored, key=lambda one: -one[0]) if score > 0 or not words]


def _score(tool: McpTool, query: str, words: Sequence[str]) -> float:
    if query in (tool.id.lower(), tool.name.lower()):
        return 1_000
    name, about = _words(tool.id), _words(tool.description)
    arguments = _words(" ".join(tool.parameters.get("properties") or {}))
    score = 0.0
    for word in words:
        score += 10 if word in name else 6 if word in tool.id.lower() else 0
        score += 3 if word in about else 1 if word in tool.description.lower() else 0
        score += 2 if word in arguments else 0
    return score


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text))}


class CallParameters(Parameters):
    """The parameters of a call of a found tool."""

    tool: str = Field(description="The name of the tool, as the search returns it")
    arguments: dict[str, Any] = Field(default_factory=dict, description="The tool's arguments, by its schema")


class CallTool:
    """Calls a tool that a search has found."""

    name = CALL
    parameters = CallParameters
    description = f"Calls a tool of an MCP server. Find it and its schema with {SEARCH} first."

    def __init__(self, servers: "McpServers") -> None:
        self._servers = servers

    async def run(self, arguments: CallParameters, context: ToolContext) -> ToolResult:
        """Raise ToolError: a call of a tool that exists is run as a call of that tool (`McpTurns.find_inner`)."""
        unknown = [server.name for server in self._servers.enabled() if not server.is_listed]
        lines = [f"There is no MCP tool {arguments.tool!r}; find one with {SEARCH}."]
        raise ToolError("\n".join([*lines, *_describe_unknown(self._servers, unknown)]))


CALL_LATER = "Calls a tool of an MCP server that is not one of these, once a reminder names it."
"""The description of `CallTool` where the model sees each tool."""


def find_tool(servers: "McpServers", name: str) -> McpTool | None:
    """Return the tool of this name, None for an unknown one."""
    return next((tool for tool in servers.all_tools() if tool.id == name), None)


LISTED_CHARACTERS = 1_800
"""Most characters of the names of tools in the description of the search."""


def describe_search(tools: Sequence[McpTool], unknown: Collection[str], is_enabled: Callable[[str], bool]) -> str:
    """Return the description of the search, with the names of all servers and of as many tools as fit."""
    servers: dict[str, list[str]] = {}
    for tool in tools:
        if is_enabled(tool.id):
            servers.setdefault(tool.server, []).append(tool.id)
    room = LISTED_CHARACTERS // max(len(servers), 1)
    lines: list[str] = []
    for server, names in servers.items():
        shown: list[str] = []
        while len(shown) < len(names) and sum(map(len, shown)) + 2 * len(shown) + len(names[len(shown)]) < room:
            shown.append(names[len(shown)])
        more = f" and {len(names) - len(shown)} more" if len(shown) < len(names) else ""
        lines.append(f"- {server}: {', '.join(shown)}{more}")
    lines += [f"- {server}: still starting; a search waits for it" for server in unknown]
    return "\n".join([f"{SearchTool.description} Call them with {CALL}. Servers and tools:", *lines])
