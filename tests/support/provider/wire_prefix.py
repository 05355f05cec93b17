"""The parts of a request that a provider caches, in the order in which it reads them, per format of the API."""

import json
from collections.abc import Mapping
from typing import Any

FORMATS: Mapping[str, str] = {
    "openai": "fake",
    "responses": "fake-responses",
    "anthropic": "fake-anthropic",
    "gemini": "fake-gemini",
}
"""The provider of `provider_config` that speaks each format."""

_KEYS = {
    "openai": ("tools", "messages"),
    "anthropic": ("tools", "system", "messages"),
    "responses": ("tools", "instructions", "input"),
    "gemini": ("tools", "systemInstruction", "contents"),
}


def pieces(name: str, body: Mapping[str, Any]) -> list[bytes]:
    """Return the tools, the system text and the messages of a request as bytes, without the marks that ask for caching.

    The blocks of a message are pieces of their own: Anthropic's and Gemini's last message of a request may get more of them.
    """
    found: list[bytes] = []
    for key in _KEYS[name]:
        value = _without_marks(body.get(key) or [])
        for item in value if isinstance(value, list) else [value]:
            found += [_bytes(one) for one in _blocks(item)]
    return found


def share(name: str, earlier: Mapping[str, Any], later: Mapping[str, Any]) -> float:
    """Return the share of the bytes of a request that a later one starts with, 1 when it starts with all of them."""
    before, after = pieces(name, earlier), pieces(name, later)
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return sum(map(len, before[:same])) / sum(map(len, before))


def _blocks(item: Any) -> list[Any]:
    if isinstance(item, dict):
        for key in ("content", "parts"):
            if isinstance(item.get(key), list) and "role" in item:
                return [[item["role"], block] for block in item[key]]
    return [item]


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_marks(inner) for name, inner in value.items() if name != "cache_control"}
    return [_without_marks(one) for one in value] if isinstance(value, list) else value


def _bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
