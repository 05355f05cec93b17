"""The MCP servers that a client gives with a session: in use in its folder as long as one of those sessions is open."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from opencode_tui.client.client import Client
from opencode_tui.schema.api.mcp import McpAdd
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.record import JsonObject

Server = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio


class ClientServers:
    """The servers of one client in one folder. They are the user's, so they need no trust of the folder."""

    def __init__(self) -> None:
        self._users: dict[str, set[str]] = {}

    async def add(self, client: Client, session_id: str, servers: Sequence[Server]) -> list[str]:
        """Start the servers that are not in use yet, and return what kept one from starting, a line each."""
        known = {one.name: one.state for one in await client.mcp.servers()}
        lines = await asyncio.gather(*(self._add(client, session_id, server, known) for server in servers))
        return [line for line in lines if line]

    async def release(self, client: Client, session_id: str) -> None:
        """End the servers that only this session used."""
        for name, users in tuple(self._users.items()):
            users.discard(session_id)
            if not users:
                del self._users[name]
                with suppress(OpencodeError):  # it is gone
                    await client.mcp.disconnect(name)

    async def _add(self, client: Client, session_id: str, server: Server, known: dict[str, str]) -> str:
        name = server.name
        if name in self._users:
            self._users[name].add(session_id)
            return ""
        if known.get(name, "disabled") != "disabled":
            return f"- {name}: the folder has a server of this name, which is used."
        config = config_of(server)
        if config is None:
            return f"- {name}: servers inside the client are not supported, only commands and addresses."
        self._users[name] = {session_id}
        try:
            status = await client.mcp.add(McpAdd(name=name, config=config))
        except OpencodeError as error:
            return f"- {name}: {error}"
        return f"- {name}: {status.error}" if status.error else ""


def config_of(server: Server) -> JsonObject | None:
    """Return a server as the settings have it; None for one that only the client can reach."""
    match server:
        case McpServerStdio():
            environment = {one.name: one.value for one in server.env}
            return {"type": "local", "command": [server.command, *server.args], "environment": environment}
        case HttpMcpServer() | SseMcpServer():
            return {"type": "remote", "url": server.url, "headers": {one.name: one.value for one in server.headers}}
        case AcpMcpServer():
            return None
