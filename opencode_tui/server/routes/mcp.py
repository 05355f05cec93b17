"""Routes of MCP servers: those of OpenCode's API, and what our HTTP client needs besides."""

import re
from typing import Annotated, Any

from fastapi import Path, Response

from opencode_tui.schema.api.mcp import (
    McpAdd,
    McpSignIn,
    McpSignInCode,
)
from opencode_tui.server.answer import answer_record, answer_value
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

router = new_router("mcp")

_OTHER = re.compile(r"[^a-zA-Z0-9_-]")

ServerName = Annotated[str, Path(min_length=1, max_length=200)]
"""The name of an MCP server in the settings."""


@router.get("/mcp", response_model=dict[str, Any])
async def list_mcp_servers(client: FolderClient) -> Response:
    """Return the states of the MCP servers by name."""
    return await _answer_statuses(client)


@router.post("/mcp", response_model=dict[str, Any])
async def add_mcp_server(client: FolderClient, request: McpAdd) -> Response:
    """Add or replace an MCP server until the folder is closed, and return the states of all."""
    await client.mcp.add(request)
    return await _answer_statuses(client)


@router.post("/mcp/{name}/connect", response_model=bool)
async def connect_mcp_server(client: FolderClient, name: ServerName) -> Response:
    """Switch an MCP server on and start it; a failure is in its state."""
    await client.mcp.connect(name)
    return answer_value(True)


@router.post("/mcp/{name}/disconnect", response_model=bool)
async def disconnect_mcp_server(client: FolderClient, name: ServerName) -> Response:
    """End an MCP server, and switch it off."""
    await client.mcp.disconnect(name)
    return answer_value(True)


async def _answer_statuses(client: FolderClient) -> Response:
    return answer_value({one.name: one.opencode_status() for one in await client.mcp.servers()})


@router.get("/experimental/resource", response_model=dict[str, Any])
async def list_mcp_resources(client: FolderClient) -> Response:
    """Return the known resources of MCP servers by `server:name`."""
    listed = await client.mcp.resources()
    return answer_value(
        {_OTHER.sub("_", one.client) + ":" + _OTHER.sub("_", one.name): one.to_dict() for one in listed}
    )


@router.post("/mcp/{name}/auth", response_model=McpSignIn)
async def begin_sign_in(client: FolderClient, name: ServerName) -> Response:
    """Begin a sign-in and return the address for the browser, an empty one where the server demands none."""
    return answer_record(await client.mcp.begin_sign_in(name))


@router.delete("/mcp/{name}/auth", response_model=dict[str, bool])
async def remove_sign_in(client: FolderClient, name: ServerName) -> Response:
    """Delete the tokens of an MCP server."""
    await client.mcp.sign_out(name)
    return answer_value({"success": True})


@router.post("/mcp/{name}/auth/callback", response_model=dict[str, Any])
async def finish_sign_in(client: FolderClient, name: ServerName, request: McpSignInCode) -> Response:
    """End a sign-in with the code that the browser brought back, and return the server's state."""
    return answer_value((await client.mcp.finish_sign_in(name, request)).opencode_status())


@router.post("/mcp/{name}/auth/authenticate", response_model=dict[str, Any])
async def sign_in(client: FolderClient, name: ServerName) -> Response:
    """Open the browser, wait for the sign-in, and return the server's state."""
    return answer_value((await client.mcp.sign_in(name)).opencode_status())
