"""Routes of agents, commands, tools, skills, providers and language servers.

Providers and models have the shape of OpenCode's API. Source: docs/internals/http.md#routes.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from fastapi import Response

from opencode_tui.schema.api.catalog import AgentSummary, ProviderSummary, SkillSummary, ToolSummary
from opencode_tui.schema.api.folder import CommandSummary
from opencode_tui.schema.api.language import FormatterState, LanguageServerState
from opencode_tui.schema.model import Cost, Model, Prices
from opencode_tui.schema.provider_formats import row_of
from opencode_tui.schema.record import JsonObject, Record, absent
from opencode_tui.server.answer import JSON_TYPE, answer_records, answer_value, error_body, value_bytes
from opencode_tui.server.request import FolderClient, ProviderId
from opencode_tui.server.router import new_router

agent_router = new_router("agent")


@agent_router.get("/agent", response_model=list[AgentSummary])
async def list_agents(client: FolderClient) -> Response:
    """List the agents, the default one first."""
    return answer_records(await client.catalog.agents())


@agent_router.get("/command", response_model=list[CommandSummary])
async def list_commands(client: FolderClient) -> Response:
    """List the slash commands."""
    return answer_records(await client.catalog.commands())


provider_router = new_router("provider")


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


class SignIn(Record):
    """The method of a provider to sign in by, an index into those of `/provider/auth`, and the code of the second step."""

    method: int
    code: str | None = absent()


@provider_router.post("/provider/{providerID}/oauth/authorize", response_model=dict[str, Any])
async def begin_sign_in(_client: FolderClient, provider_id: ProviderId, _request: SignIn) -> Response:
    """Refuse to sign in: every provider here gets its key by `/auth/{providerID}`."""
    return _no_sign_in(provider_id)


@provider_router.post("/provider/{providerID}/oauth/callback", response_model=bool)
async def end_sign_in(_client: FolderClient, provider_id: ProviderId, _request: SignIn) -> Response:
    """Refuse to complete a sign-in, because none was begun."""
    return _no_sign_in(provider_id)


def _no_sign_in(provider_id: str) -> Response:
    message = f"{provider_id} has no sign-in here; store an API key with `opencode-tui auth login {provider_id}`"
    return answer_value(error_body("ProviderAuthOauthMissing", message, providerID=provider_id), status=400)


extension_router = new_router("extension")


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


@extension_router.get("/lsp", response_model=list[LanguageServerState])
async def list_language_servers(client: FolderClient) -> Response:
    """Return the language servers that run, or that failed."""
    return answer_records([one for one in await client.languages.servers() if one.status in ("connected", "error")])


@extension_router.get("/formatter", response_model=list[FormatterState])
async def list_formatters(client: FolderClient) -> Response:
    """Return the known formatters, and which of them run after an edit."""
    return answer_records(await client.languages.formatters())


_LARGE = 200_000
_SENT = {"id", "name", "source", "env"}
"""The fields of a provider in OpenCode's API; its key and address are not among them."""

_MEDIA = ("text", "audio", "image", "video", "pdf")


def shape_providers(providers: Sequence[ProviderSummary], models: Iterable[Model]) -> list[JsonObject]:
    """Return each provider with its models by id."""
    listed: dict[str, dict[str, JsonObject]] = {provider.id: {} for provider in providers}
    known = {provider.id: provider for provider in providers}
    for model in models:
        if model.provider_id in listed:
            listed[model.provider_id][model.model_id] = _model(model, known[model.provider_id])
    return [
        {
            **{name: value for name, value in provider.to_dict().items() if name in _SENT},
            "options": {},
            "models": listed[provider.id],
        }
        for provider in providers
    ]


def default_models(providers: Iterable[ProviderSummary]) -> dict[str, str]:
    """Return the default model of each provider."""
    return {provider.id: provider.default_model for provider in providers if provider.default_model}


def _model(model: Model, provider: ProviderSummary) -> JsonObject:
    row = row_of(model.adapter)
    package = provider.package or (row.package if row else model.adapter)
    return {
        "id": model.model_id,
        "providerID": model.provider_id,
        "name": model.name or model.model_id,
        "status": "active",
        "api": {"id": model.api_id or model.model_id, "npm": package, "url": provider.base_url},
        "capabilities": _capabilities(model),
        "cost": _cost(model.cost),
        "limit": model.limit.to_dict(),
        "options": {},
        "headers": {},
        "release_date": "",
        "variants": model.variants,
    }


def _capabilities(model: Model) -> JsonObject:
    media = {"text", "image", "pdf"} if model.attachment else {"text"}
    return {
        "temperature": model.temperature,
        "reasoning": model.reasoning,
        "attachment": model.attachment,
        "toolcall": model.tool_call,
        "input": {kind: kind in media for kind in _MEDIA},
        "output": {kind: kind == "text" for kind in _MEDIA},
        "interleaved": False,
    }


def _cost(cost: Cost) -> JsonObject:
    """Return prices in USD per million tokens; OpenCode only has prices of large requests from 200,000 tokens on."""
    shaped = _prices(cost)
    if large := next((prices for prices in cost.large if prices.above == _LARGE), None):
        shaped["experimentalOver200K"] = _prices(large)
    return shaped


def _prices(prices: Prices) -> JsonObject:
    return {
        "input": float(prices.input),
        "output": float(prices.output),
        "cache": {"read": float(prices.cache_read), "write": float(prices.cache_write)},
    }
