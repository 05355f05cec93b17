"""The tools of MCP servers that a turn has: frozen with its user message, so that its requests stay equal from the start."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, field

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.mcp.call import CallBackground
from opencode_tui.engine.mcp.servers import McpServers
from opencode_tui.engine.mcp.tools import (
    CALL,
    CALL_LATER,
    CALL_SCHEMA,
    SEARCH,
    SEARCH_SCHEMA,
    WAIT_S,
    CallTool,
    SearchTool,
    ServerTool,
    describe_search,
    find_tool,
)
from opencode_tui.engine.provider.llm import ToolSpec
from opencode_tui.engine.tool.registry import AnyTool, InnerCall
from opencode_tui.schema.api.mcp import McpTool
from opencode_tui.schema.model import Model

DIRECT_TOOLS = 20
"""Most tools of servers that a request contains one by one."""

DIRECT_SHARE = 0.1
"""Largest share of the usable context that their schemas may take then."""

_SESSIONS = 50
"""Sessions whose last turn is remembered."""


class TurnTools(Struct, frozen=True):
    """The tools of a turn. `is_direct`: the model sees each of them, else a search; `unknown` are servers that still start."""

    tools: Sequence[McpTool]
    unknown: Sequence[str]
    is_direct: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools that rules can switch off, the search included."""
        return (*(tool.id for tool in self.tools), *(() if self.is_direct else (SEARCH,)), CALL)

    def specs(self, is_enabled: Callable[[str], bool]) -> tuple[ToolSpec, ...]:
        """Return what the model sees, without the tools that are switched off."""
        if self.is_direct:
            shown = tuple(self.inventory(is_enabled).values())
            # Tools that a server adds later are called through it: the tools of a session's requests stay the same.
            return (*shown, ToolSpec(CALL, CALL_LATER, CALL_SCHEMA)) if shown and is_enabled(CALL) else shown
        if not is_enabled(SEARCH) or not is_enabled(CALL):
            return ()
        search = describe_search(self.tools, self.unknown, is_enabled)
        return (
            ToolSpec(SEARCH, search, SEARCH_SCHEMA),
            ToolSpec(CALL, CallTool.description, CALL_SCHEMA),
        )

    def inventory(self, is_enabled: Callable[[str], bool]) -> dict[str, ToolSpec]:
        """Return all enabled tools by name, also those that the model sees by the search only."""
        return {
            tool.id: ToolSpec(tool.id, tool.description, tool.parameters, tool.server)
            for tool in self.tools
            if is_enabled(tool.id)
        }


class _Turn(Struct, frozen=True):
    message_id: str
    model: str
    tools: TurnTools


class McpTurns(Struct, frozen=True):
    """The tools of servers for the turns of a folder's sessions. `usable` returns the tokens of a model's conversation.

    `background` lets long calls continue; without it each is waited for.
    """

    servers: Lazy[McpServers]
    usable: Callable[[Model], int | None]
    background: CallBackground | None = None
    _turns: dict[str, _Turn] = field(default_factory=dict[str, _Turn])

    async def of_turn(self, session_id: str, message_id: str, model: Model) -> TurnTools:
        """Return the tools of the turn that a user message started: those known at its first request."""
        known = self._turns.get(session_id)
        if known is not None and (known.message_id, known.model) == (message_id, str(model.ref)):
            return known.tools
        servers = await asyncio.to_thread(self.servers.get)
        await servers.use_new_sign_ins()
        tools = servers.all_tools()
        unknown = [server.name for server in servers.enabled() if not server.is_listed and server.error is None]
        room = self.usable(model)
        is_small = room is None or sum(tool.tokens for tool in tools) <= room * DIRECT_SHARE
        found = TurnTools(tools, unknown, is_direct=not unknown and is_small and len(tools) <= DIRECT_TOOLS)
        self._turns.pop(session_id, None)
        self._turns[session_id] = _Turn(message_id, str(model.ref), found)
        while len(self._turns) > _SESSIONS:
            del self._turns[next(iter(self._turns))]
        return found

    def get(self, name: str) -> AnyTool | None:
        """Return a tool by name: the search, or a tool of a server, also one that the model only found. None for an unknown one."""
        servers = self.servers.made
        if servers is None:
            return None
        match name:
            case "mcp_search":
                return SearchTool(servers)
            case "mcp_call":
                return CallTool(servers)
            case _:
                tool = find_tool(servers, name)
                return None if tool is None else ServerTool(tool, servers, self.background)

    async def find_inner(self, name: str, arguments: Mapping[str, Any]) -> InnerCall | None:
        """Return the tool that a call of `mcp_call` names; waits some seconds for servers whose tools are not known yet."""
        servers = self.servers.made
        wanted, given = arguments.get("tool"), arguments.get("arguments", {})
        if name != CALL or servers is None or not isinstance(wanted, str) or not isinstance(given, dict):
            return None
        tool = find_tool(servers, wanted)
        if tool is None:
            await servers.wait_listed(WAIT_S)
            tool = find_tool(servers, wanted)
        if tool is None:
            return None
        return InnerCall(ServerTool(tool, servers, self.background), cast("dict[str, Any]", given))
