"""Settings as they may be printed: keys, tokens, headers and environments are covered."""

import re
from typing import Any, cast

from opencode_tui.schema.record import JsonObject

COVER = "[hidden]"

_SECRET_KEY = re.compile(r"(api|access|secret|private|auth|client)[-_]?(key|token|secret)|^(key|token|secret|password)$|password|"
                         r"authorization|credential|bearer", re.IGNORECASE)  # fmt: skip
_SECRET_SECTIONS = frozenset({"headers", "environment", "env"})
_CREDENTIALS_IN_ADDRESS = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_ADDRESS_SECRET = re.compile(r"(?<=[?&])([^=&\s]*(?:key|token|secret|password|sig)[^=&\s]*)=[^&\s#]+", re.IGNORECASE)


def redact(settings: JsonObject) -> JsonObject:
    """Return a copy with secrets covered; names of keys stay."""
    return {key: _cover(value, key) for key, value in settings.items()}


def _cover(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        items = cast("JsonObject", value).items()
        if key in _SECRET_SECTIONS:
            return {name: COVER if isinstance(inner, str) and inner else inner for name, inner in items}
        return {name: _cover(inner, name) for name, inner in items}
    if isinstance(value, list):
        return [_cover(inner, key) for inner in cast("list[Any]", value)]
    if not isinstance(value, str) or not value:
        return value
    if _SECRET_KEY.search(key):
        return COVER
    return _ADDRESS_SECRET.sub(rf"\1={COVER}", _CREDENTIALS_IN_ADDRESS.sub(COVER, value))
