"""A preview of the HTTP request to a provider: URL, headers, body, with redacted keys."""

import json
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from opencode_tui.config.redact import redact_address
from opencode_tui.engine.provider.decode import openai_request
from opencode_tui.engine.provider.formats import ProviderFormat, find_format
from opencode_tui.engine.provider.http import request_headers
from opencode_tui.engine.provider.litellm_worker import litellm_call
from opencode_tui.engine.provider.llm import LlmRequest
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.redaction.cover import COVER
from opencode_tui.schema.record import JsonObject

_OPEN_HEADERS = ("accept", "accept-encoding", "anthropic-beta", "anthropic-version", "content-type", "user-agent")
"""Headers whose values are not secret; headers of the settings may be."""

_LEAST_SECRET = 6
"""Minimum length of a key that is redacted: shorter ones would match anywhere."""


class RequestPreview(Struct, frozen=True):
    """The request; `url` is None when it is unknown."""

    url: str | None
    headers: dict[str, str]
    body: JsonObject


def preview_request(request: LlmRequest, endpoint: Endpoint | None) -> RequestPreview:
    """Return the request as its adapter sends it; only the body without an endpoint (the demo, a provider without a key)."""
    adapter = request.model.adapter
    if adapter == "litellm" and endpoint is not None:
        return _through_litellm(request, endpoint)
    if adapter in ("litellm", "demo"):
        return RequestPreview(None, {}, openai_request.build(request))
    used = find_format(adapter)
    body: JsonObject = json.loads(used.encode(request))
    return RequestPreview(None, {}, body) if endpoint is None else _direct(request, used, endpoint, body)


def _through_litellm(request: LlmRequest, endpoint: Endpoint) -> RequestPreview:
    """Return litellm's arguments, which include the URL and the headers of the settings."""
    call, headers = litellm_call(request, endpoint), {**endpoint.headers, **request.model.headers}
    shown = _covered(call.get("api_base"), headers, call, endpoint)
    own = {"api_base": shown.url, "extra_headers": shown.headers}
    return RequestPreview(None, {}, {**shown.body, **{name: value for name, value in own.items() if name in call}})


def _direct(request: LlmRequest, used: ProviderFormat, endpoint: Endpoint, body: JsonObject) -> RequestPreview:
    headers = {**request_headers(endpoint, used.credentials(endpoint.api_key)), **request.model.headers}
    return _covered(endpoint.base_url.rstrip("/") + used.path(request), headers, body, endpoint)


def _covered(url: str | None, headers: dict[str, str], body: JsonObject, endpoint: Endpoint) -> RequestPreview:
    hidden = {name: value for name, value in headers.items() if name.lower() not in _OPEN_HEADERS}
    secrets = [endpoint.api_key or "", *hidden.values(), *(value.rpartition(" ")[2] for value in hidden.values())]
    shown = {name: COVER if name in hidden else value for name, value in headers.items()}
    address = None if url is None else redact_address(url)
    return RequestPreview(
        address, shown, _without(body, [secret for secret in secrets if len(secret) >= _LEAST_SECRET])
    )


def _without(value: Any, secrets: Iterable[str]) -> Any:
    """Return JSON data with all occurrences of these texts redacted."""
    text = json.dumps(value, ensure_ascii=False)
    for secret in secrets:
        text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], COVER)
    return json.loads(text)
