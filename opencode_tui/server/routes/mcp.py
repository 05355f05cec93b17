"""Routes of the HTTP client for MCP servers; OpenCode's API does not have them."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from opencode_tui.schema.api.mcp import McpAdd, McpPrompt, McpResource, McpServerStatus, McpTool
from opencode_tui.schema.http_headers import OWN
from opencode_tui.server.answer import answer_record, answer_records
from opencode_tui.server.request import FolderClient

own_router = APIRouter(prefix=OWN, tags=["opencode-tui"])

ServerName = Annotated[str, Path(min_length=1, max_length=200)]
"""The name of an MCP server in the settings."""


@own_router.get("/mcp", response_model=list[McpServerStatus])
async def list_servers(client: FolderClient) -> Response:
    """Return the state of each MCP server."""
    return answer_records(await client.mcp.servers())


@own_router.post("/mcp", response_model=McpServerStatus)
async def add_server(client: FolderClient, request: McpAdd) -> Response:
    """Add an MCP server until the folder is closed."""
    return answer_record(await client.mcp.add(request))


@own_router.get("/mcp/{name}/tools", response_model=list[McpTool])
async def list_server_tools(client: FolderClient, name: ServerName) -> Response:
    """Return the known tools of an MCP server."""
    return answer_records(await client.mcp.tools(name))


@own_router.post("/mcp/{name}/connect", response_model=McpServerStatus)
async def connect_server(client: FolderClient, name: ServerName) -> Response:
    """Switch an MCP server on, and start it."""
    return answer_record(await client.mcp.connect(name))


@own_router.post("/mcp/{name}/disconnect", response_model=McpServerStatus)
async def disconnect_server(client: FolderClient, name: ServerName) -> Response:
    """End an MCP server, and switch it off."""
    return answer_record(await client.mcp.disconnect(name))


@own_router.post("/mcp/{name}/restart", response_model=McpServerStatus)
async def restart_server(client: FolderClient, name: ServerName) -> Response:
    """End an MCP server, and start it again."""
    return answer_record(await client.mcp.restart(name))


@own_router.get("/mcp-prompts", response_model=list[McpPrompt])
async def list_prompts(client: FolderClient) -> Response:
    """Return the known prompts of all MCP servers."""
    return answer_records(await client.mcp.prompts())


@own_router.get("/mcp-resources", response_model=list[McpResource])
async def list_resources(client: FolderClient) -> Response:
    """Return the known resources of all MCP servers."""
    return answer_records(await client.mcp.resources())
