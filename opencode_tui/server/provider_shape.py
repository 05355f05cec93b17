"""Providers and models in the shape of OpenCode's API. Source: reference, `http.md` 3, "Facts for start-up"."""

from collections.abc import Iterable, Sequence

from opencode_tui.schema.api.catalog import ProviderSummary
from opencode_tui.schema.model import Cost, Model, Prices
from opencode_tui.schema.record import JsonObject

_PACKAGES = {"anthropic": "@ai-sdk/anthropic", "openai": "@ai-sdk/openai-compatible"}
_LARGE = 200_000
_MEDIA = ("text", "audio", "image", "video", "pdf")


def shape_providers(providers: Sequence[ProviderSummary], models: Iterable[Model]) -> list[JsonObject]:
    """Return each provider with its models by id."""
    listed: dict[str, dict[str, JsonObject]] = {provider.id: {} for provider in providers}
    known = {provider.id: provider for provider in providers}
    for model in models:
        if model.provider_id in listed:
            listed[model.provider_id][model.model_id] = _model(model, known[model.provider_id])
    return [{**provider.to_dict(), "options": {}, "models": listed[provider.id]} for provider in providers]


def default_models(providers: Iterable[ProviderSummary]) -> dict[str, str]:
    """Return the default model of each provider."""
    return {provider.id: provider.default_model for provider in providers if provider.default_model}


def _model(model: Model, provider: ProviderSummary) -> JsonObject:
    package = provider.package or _PACKAGES.get(model.adapter, model.adapter)
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
