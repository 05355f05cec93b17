"""The MCP servers that a client gives with a session: in use in its folder as long as one of those sessions is open."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from acp.schema import AcpMcpServer, HttpMcpServer, McpServerStdio, SseMcpServer

from opencode_tui.client.client import Client
from opencode_tui.schema.api.mcp import McpAdd
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.record import JsonObject

Server = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio


class ClientServers:
    """The servers of one client in one folder. They are the user's, so they need no trust of the folder."""

    def __init__(self) -> None:
        self._used: dict[str, _Used] = {}

    async def add(self, client: Client, session_id: str, servers: Sequence[Server]) -> list[str]:
        """Start the servers that are not in use yet, and return what kept one from starting, a line each."""
        known = {one.name: one.state for one in await client.mcp.servers()}
        lines = await asyncio.gather(*(self._add(client, session_id, server, known) for server in servers))
        return [line for line in lines if line]

    async def release(self, client: Client, session_id: str) -> None:
        """End the servers that only this session used."""
        for name, used in tuple(self._used.items()):
            used.sessions.discard(session_id)
            if not used.sessions:
                del self._used[name]
                await _disconnect(client, name)

    async def _add(self, client: Client, session_id: str, server: Server, known: dict[str, str]) -> str:
        name = server.name
        used = self._used.get(name)
        if used is None:
            if known.get(name, "disabled") != "disabled":
                return f"- {name}: the folder has a server of this name, which is used."
            config = config_of(server)
            if config is None:
                return f"- {name}: servers inside the client are not supported, only commands and addresses."
            sessions: set[str] = set()
            used = self._used[name] = _Used(sessions, asyncio.create_task(self._start(client, name, config, sessions)))
        used.sessions.add(session_id)
        error = await asyncio.shield(used.starting)
        return f"- {name}: {error}" if error else ""

    async def _start(self, client: Client, name: str, config: JsonObject, sessions: set[str]) -> str:
        """Start a server and return what kept it from starting; it stays in use only if it started and a session uses it."""
        try:
            status = await client.mcp.add(McpAdd(name=name, config=config))
            error, has_failed = status.error or "", status.state in ("disabled", "failed")
        except OpencodeError as refused:
            error, has_failed = str(refused), True
        used = self._used.get(name)
        if used is None or (used.sessions is sessions and has_failed):  # else another session has restarted it
            await _disconnect(client, name)
            if used is not None and self._used.get(name) is used:
                del self._used[name]
        return error


class _Used(NamedTuple):
    """A server: the sessions that use it, and its start, which returns what kept it from starting."""

    sessions: set[str]
    starting: "asyncio.Task[str]"


async def _disconnect(client: Client, name: str) -> None:
    with suppress(OpencodeError):  # it is gone
        await client.mcp.disconnect(name)


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
