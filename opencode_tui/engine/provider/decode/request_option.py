"""Converts extra parameters of the settings (camel case, OpenCode's names) to those of the wire formats."""

import re
from typing import Any, cast

from opencode_tui.engine.provider.llm import LlmRequest
from opencode_tui.schema.record import JsonObject

_OURS = frozenset({"model", "messages", "system", "tools", "stream"})
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def wire_options(request: LlmRequest) -> JsonObject:
    """Return the options of the model and the request in snake case; the request's win, and none may replace the conversation.

    The value None removes a field of the body: see `without_nulls`.
    """
    options = {_snake(key): _snake_keys(value) for key, value in given_options(request).items()}
    return {key: value for key, value in options.items() if key not in _OURS}


def without_nulls(body: JsonObject) -> JsonObject:
    """Return a body without the fields that an option with the value `null` removes, for a server that rejects them."""
    return {name: value for name, value in body.items() if value is not None}


def given_options(request: LlmRequest) -> JsonObject:
    """Return the options of the model and the request as the settings name them; the request's win."""
    return {**request.model.options, **request.options}


def _snake(name: str) -> str:
    return _HUMP.sub("_", name).lower() if name.isidentifier() else name


def _snake_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {_snake(str(key)): _snake_keys(inner) for key, inner in cast(JsonObject, value).items()}
    return value
