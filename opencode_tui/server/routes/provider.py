"""Providers and their models."""

import asyncio
from typing import Any, Literal

from fastapi import APIRouter, Response

from opencode_tui.schema.record import Record
from opencode_tui.server.answer import JSON_TYPE, answer_value, value_bytes
from opencode_tui.server.provider_shape import default_models, shape_providers
from opencode_tui.server.request import FolderClient

router = APIRouter(tags=["provider"])


class AuthMethod(Record):
    """A way to give a provider credentials."""

    type: Literal["api"] = "api"
    label: str = "API key"


@router.get("/provider", response_model=dict[str, Any])
async def list_providers(client: FolderClient) -> Response:
    """Return every known provider, their default models, and which of them can be asked now."""
    providers = await client.catalog.providers()
    models = await client.catalog.all_models()

    def shape() -> bytes:
        connected = [provider.id for provider in providers if provider.is_ready]
        shaped = shape_providers(providers, models)
        return value_bytes({"all": shaped, "default": default_models(providers), "connected": connected})

    return Response(await asyncio.to_thread(shape), media_type=JSON_TYPE)


@router.get("/config/providers", response_model=dict[str, Any])
async def list_ready_providers(client: FolderClient) -> Response:
    """Return the providers that can be asked now, and their default models."""
    providers = await client.catalog.providers(only_ready=True)
    models = await client.catalog.models()

    def shape() -> bytes:
        return value_bytes({"providers": shape_providers(providers, models), "default": default_models(providers)})

    return Response(await asyncio.to_thread(shape), media_type=JSON_TYPE)


@router.get("/provider/auth", response_model=dict[str, list[AuthMethod]])
async def list_auth_methods(client: FolderClient) -> Response:
    """Return for each provider how it can be given credentials: by a key, with `opencode-tui auth login`."""
    providers = await client.catalog.providers()
    return answer_value({provider.id: [AuthMethod().to_dict()] for provider in providers if provider.env})
