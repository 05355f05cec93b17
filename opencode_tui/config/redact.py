"""Redaction of keys and other secrets in settings, texts and headers."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, cast

from opencode_tui.config.settings.fields import all_fields, is_map, is_secret
from opencode_tui.redaction.cover import COVER, MASK
from opencode_tui.redaction.detectors import mask_keys
from opencode_tui.redaction.names import is_secret_setting
from opencode_tui.schema.record import JsonObject

# Texts, not compiled: most runs redact nothing, and `re` keeps what it has compiled.
_CREDENTIALS_IN_ADDRESS = r"(?<=://)[^/\s?#]+(?=@)"
_ADDRESS_SECRET = r"(?i)(?<=[?&])([^=&?\s]{0,200}(?:key|token|secret|password|sig)[^=&?\s]{0,200})=[^&\s#]+"

_MIN_SECRET = 6
"""Shorter secrets are not replaced: `k` would make every text unreadable."""

_KEPT_HEADERS = (
    "retry-after",
    "content-type",
    "date",
    "server",
    "request-id",
    "x-request-id",
    "cf-ray",
    "x-should-retry",
)
_KEPT_PREFIXES = ("retry-after", "x-ratelimit", "anthropic-ratelimit", "openai-")


def redact_settings(settings: JsonObject) -> JsonObject:
    """Return a copy with secrets replaced; the keys are kept."""
    return {key: _cover(value, key) for key, value in settings.items()}


def _cover(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        items = cast("JsonObject", value).items()
        if key in _secret_keys(of_maps=True):
            return {name: COVER if isinstance(inner, str) and inner else inner for name, inner in items}
        return {name: _cover(inner, name) for name, inner in items}
    if isinstance(value, list):
        return [_cover(inner, key) for inner in cast("list[Any]", value)]
    if not isinstance(value, str) or not value:
        return value
    if is_secret_setting(key) or key in _secret_keys(of_maps=False):
        return COVER
    return redact_address(value)


@cache
def _secret_keys(*, of_maps: bool) -> frozenset[str]:
    """Return the keys of the fields whose value is a secret, or a map of values that may be."""
    secret = {key: field for key, field in all_fields().items() if is_secret(field)}
    return frozenset(key.rpartition(".")[2] for key, field in secret.items() if is_map(field) == of_maps)


def redact_address(text: str) -> str:
    """Return a text with the credentials and secret parameters of the addresses in it replaced."""
    return re.sub(_ADDRESS_SECRET, rf"\1={COVER}", re.sub(_CREDENTIALS_IN_ADDRESS, COVER, text))


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text with the given secrets, and everything that looks like a key, replaced by `***`."""
    for secret in secrets:
        if len(secret) >= _MIN_SECRET:
            text = text.replace(secret, MASK).replace(repr(secret)[1:-1], MASK)  # libraries quote what they do not send
    return mask_keys(text)


def safe_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that help to diagnose a failure, without those that could contain a secret."""
    return {name: value for name, value in headers.items() if name in _KEPT_HEADERS or name.startswith(_KEPT_PREFIXES)}
