"""What is added to the engine, and how it stands: tools, skills, and the services that later versions bring."""

from typing import Any

from fastapi import APIRouter, Response

from opencode_tui.schema.catalog import SkillSummary, ToolSummary
from opencode_tui.server.answer import answer_records, answer_value
from opencode_tui.server.request import FolderClient

router = APIRouter(tags=["extension"])


@router.get("/experimental/tool/ids", response_model=list[str])
async def list_tool_ids(client: FolderClient) -> Response:
    """List the names of the tools."""
    return answer_value([tool.id for tool in await client.catalog.tools()])


@router.get("/experimental/tool", response_model=list[ToolSummary])
async def list_tools(client: FolderClient) -> Response:
    """List the tools with the JSON schemas of their parameters."""
    return answer_records(await client.catalog.tools())


@router.get("/skill", response_model=list[SkillSummary])
async def list_skills(client: FolderClient) -> Response:
    """List the skills."""
    return answer_records(await client.catalog.skills())


@router.get("/mcp", response_model=dict[str, Any])
async def list_mcp_servers(_client: FolderClient) -> Response:
    """Return the MCP servers that are connected: this version connects none."""
    return answer_value({})


@router.get("/experimental/resource", response_model=dict[str, Any])
async def list_mcp_resources(_client: FolderClient) -> Response:
    """Return the resources of connected MCP servers: this version connects none."""
    return answer_value({})


@router.get("/lsp", response_model=list[Any])
async def list_language_servers(_client: FolderClient) -> Response:
    """Return the language servers that run: this version starts none."""
    return answer_value([])


@router.get("/formatter", response_model=list[Any])
async def list_formatters(_client: FolderClient) -> Response:
    """Return the formatters that run: this version starts none."""
    return answer_value([])
