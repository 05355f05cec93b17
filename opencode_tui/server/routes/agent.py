"""Agents and commands that can be chosen."""

from fastapi import APIRouter, Response

from opencode_tui.schema.catalog import AgentSummary, CommandSummary
from opencode_tui.server.answer import answer_records
from opencode_tui.server.request import FolderClient

router = APIRouter(tags=["agent"])


@router.get("/agent", response_model=list[AgentSummary])
async def list_agents(client: FolderClient) -> Response:
    """List the agents, the default one first."""
    return answer_records(await client.catalog.agents())


@router.get("/command", response_model=list[CommandSummary])
async def list_commands(client: FolderClient) -> Response:
    """List the slash commands."""
    return answer_records(await client.catalog.commands())
