"""Requests to the Responses route of a ChatGPT plan: those of the Responses API without what the route rejects.

Source: developers.openai.com/siwc/token-sharing-open-source/models-and-inference.
Functions are grouped in a namespace, which comes back
with their calls.
"""

import json

from msgspec.structs import replace

from opencode_tui.engine.provider.decode import responses_request
from opencode_tui.engine.provider.llm import LlmRequest
from opencode_tui.schema.record import JsonObject

NAMESPACE = "opencode_tui"
_ABOUT = "Tools of opencode-tui for the user's project."

REJECTED = frozenset(
    {
        "background", "conversation", "max_output_tokens", "max_tool_calls", "metadata", "moderation", "multi_agent",
        "prompt", "prompt_cache_retention", "safety_identifier", "temperature", "top_logprobs", "top_p", "truncation",
        "user", "previous_response_id",
    }
)  # fmt: skip
"""Fields that the documentation names as rejected."""

UNSURE = frozenset({"prompt_cache_key", "prompt_cache_options", "service_tier"})
"""Fields that the documentation does not name; other clients leave them out."""


def encode(request: LlmRequest) -> bytes:
    """Return the body as strict JSON."""
    body = build(request)
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def build(request: LlmRequest) -> JsonObject:
    """Return the body of a streaming request; whatever the settings say, it is streamed and not stored."""
    built = responses_request.build(request)
    body = {name: value for name, value in built.items() if name not in REJECTED and name not in UNSURE}
    body |= {"stream": True, "store": False, "model": request.model.api_id}
    items: list[JsonObject] = body.pop("input")
    tools: list[JsonObject] = body.pop("tools", [])
    functions = [tool for tool in tools if tool.get("type") == "function"]
    others = [tool for tool in tools if tool.get("type") != "function"]
    called = [{"namespace": NAMESPACE, **item} if item.get("type") == "function_call" else item for item in items]
    if functions:
        space = {"type": "namespace", "name": NAMESPACE, "description": _ABOUT, "tools": functions}
        body["tools"] = [space, *others]
    elif others:
        body["tools"] = others
    return {**body, "input": called}


FORMAT = replace(responses_request.FORMAT, encode=encode)
