"""Tries a provider with its cheapest request, when the user asks for it: the list of models, which costs nothing.

Sources: https://platform.openai.com/docs/api-reference/models/list; https://docs.claude.com/en/api/models-list and
https://ai.google.dev/api/models, whose pages are short without `limit` and `pageSize`, up to 1000; for OpenRouter, whose list
needs no key, https://openrouter.ai/docs/api/api-reference/api-keys/get-current-key.
"""

import asyncio
from urllib.parse import urlsplit

from opencode_tui.engine.provider.decode.response import as_list, as_text
from opencode_tui.engine.provider.formats import find_format
from opencode_tui.engine.provider.http import HttpProvider
from opencode_tui.engine.provider.llm import Llm, LlmRequest, TextBlock, UserEntry
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.schema.error import ProviderError, with_remedy
from opencode_tui.schema.json_text import as_object, load_json
from opencode_tui.schema.model import Model

LIMIT_S = 20.0
"""Seconds for the whole trial."""

_FEW_TOKENS = 16
_MOST_BYTES = 8 * 1024 * 1024


async def try_listing(endpoint: Endpoint, model: Model) -> str:
    """Return what keeps a provider with a direct format from being used, empty if nothing does."""
    is_openrouter = (urlsplit(endpoint.base_url).hostname or "").endswith("openrouter.ai")
    used = find_format(model.adapter)
    http = HttpProvider(endpoint, used.credentials(endpoint.api_key))
    try:
        async with asyncio.timeout(LIMIT_S):
            body = bytearray()
            async for chunk in http.get("/key" if is_openrouter else used.list_path):
                body += chunk
                if len(body) > _MOST_BYTES:
                    return ""
    except ProviderError as error:
        # Servers without a list answer 404 or 405; that is no failure, the key and the way there are right.
        return "" if error.failure.status in (404, 405, 501) else str(error)
    except TimeoutError:
        return f"{endpoint.provider_id}: no answer within {LIMIT_S:g} s"
    finally:
        await http.close()
    names = _names(bytes(body))
    sent = model.api_id or model.model_id
    if not names or sent in names or f"models/{sent}" in names:
        return ""
    problem = f"{endpoint.provider_id}: the key is accepted, but the provider does not list the model {sent!r}"
    return with_remedy(problem, "switch the model (/models, or -m)")


async def try_asking(llm: Llm, model: Model) -> str:
    """Return what keeps any other provider from being used: a request for a few tokens."""
    request = LlmRequest(model, (), (UserEntry((TextBlock("Say: ok"),)),), max_output=_FEW_TOKENS)
    try:
        async with asyncio.timeout(LIMIT_S * 2):
            async for _ in llm.stream(request):
                pass
    except ProviderError as error:
        return str(error)
    except TimeoutError:
        return f"{model.provider_id}: no answer within {LIMIT_S * 2:g} s"
    return ""


def _names(body: bytes) -> set[str]:
    """Return the names in a list of models; empty for anything else, and for one page of several."""
    try:
        found = as_object(load_json(body))
    except ValueError:
        return set()
    if found.get("has_more") or found.get("nextPageToken"):
        return set()
    listed = as_list(found.get("data")) or as_list(found.get("models"))
    named = ((as_text(one.get(key)) for key in ("id", "slug", "name")) for one in map(as_object, listed))
    return {next(filter(None, names), "") for names in named} - {""}
