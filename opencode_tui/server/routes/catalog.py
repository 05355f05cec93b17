"""Routes of agents, commands, tools, skills, providers, settings, and services that are not supported yet."""

import asyncio
from typing import Any, Literal

from fastapi import APIRouter, Response

from opencode_tui.schema.api.catalog import AgentSummary, CommandSummary, SkillSummary, ToolSummary
from opencode_tui.schema.record import Record
from opencode_tui.server.answer import JSON_TYPE, answer_records, answer_value, value_bytes
from opencode_tui.server.provider_shape import default_models, shape_providers
from opencode_tui.server.request import FolderClient
from opencode_tui.server.screen_keys import with_keys

agent_router = APIRouter(tags=["agent"])


@agent_router.get("/agent", response_model=list[AgentSummary])
async def list_agents(client: FolderClient) -> Response:
    """List the agents, the default one first."""
    return answer_records(await client.catalog.agents())


@agent_router.get("/command", response_model=list[CommandSummary])
async def list_commands(client: FolderClient) -> Response:
    """List the slash commands."""
    return answer_records(await client.catalog.commands())


config_router = APIRouter(tags=["config"])


@config_router.get("/config", response_model=dict[str, Any])
async def get_config(client: FolderClient) -> Response:
    """Return the effective settings, secrets redacted, with default keys of OpenCode's screen."""
    return answer_value(with_keys(await client.settings.effective()))


provider_router = APIRouter(tags=["provider"])


class AuthMethod(Record):
    """A way to give a provider credentials."""

    type: Literal["api"] = "api"
    label: str = "API key"


@provider_router.get("/provider", response_model=dict[str, Any])
async def list_providers(client: FolderClient) -> Response:
    """Return every known provider, their default models, and which of them can be used now."""
    providers = await client.catalog.providers()
    models = await client.catalog.all_models()

    def shape() -> bytes:
        connected = [provider.id for provider in providers if provider.is_ready]
        shaped = shape_providers(providers, models)
        return value_bytes({"all": shaped, "default": default_models(providers), "connected": connected})

    return Response(await asyncio.to_thread(shape), media_type=JSON_TYPE)


@provider_router.get("/config/providers", response_model=dict[str, Any])
async def list_ready_providers(client: FolderClient) -> Response:
    """Return the providers that can be asked now, and their default models."""
    providers = await client.catalog.providers(only_ready=True)
    models = await client.catalog.models()

    def shape() -> bytes:
        return value_bytes({"providers": shape_providers(providers, models), "default": default_models(providers)})

    return Response(await asyncio.to_thread(shape), media_type=JSON_TYPE)


@provider_router.get("/provider/auth", response_model=dict[str, list[AuthMethod]])
async def list_auth_methods(client: FolderClient) -> Response:
    """Return for each provider how it can be given credentials: by a key, with `opencode-tui auth login`."""
    providers = await client.catalog.providers()
    return answer_value({provider.id: [AuthMethod().to_dict()] for provider in providers if provider.env})


extension_router = APIRouter(tags=["extension"])


@extension_router.get("/experimental/tool/ids", response_model=list[str])
async def list_tool_ids(client: FolderClient) -> Response:
    """List the names of the tools."""
    return answer_value([tool.id for tool in await client.catalog.tools()])


@extension_router.get("/experimental/tool", response_model=list[ToolSummary])
async def list_tools(client: FolderClient) -> Response:
    """List the tools with the JSON schemas of their parameters."""
    return answer_records(await client.catalog.tools())


@extension_router.get("/skill", response_model=list[SkillSummary])
async def list_skills(client: FolderClient) -> Response:
    """List the skills."""
    return answer_records(await client.catalog.skills())


@extension_router.get("/mcp", response_model=dict[str, Any])
async def list_mcp_servers(_client: FolderClient) -> Response:
    """Return the MCP servers that are connected: this version connects none."""
    return answer_value({})


@extension_router.get("/experimental/resource", response_model=dict[str, Any])
async def list_mcp_resources(_client: FolderClient) -> Response:
    """Return the resources of connected MCP servers: this version connects none."""
    return answer_value({})


@extension_router.get("/lsp", response_model=list[Any])
async def list_language_servers(_client: FolderClient) -> Response:
    """Return the language servers that run: this version starts none."""
    return answer_value([])


@extension_router.get("/formatter", response_model=list[Any])
async def list_formatters(_client: FolderClient) -> Response:
    """Return the formatters that run: this version starts none."""
    return answer_value([])
