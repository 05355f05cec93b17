"""Redaction of keys and other secrets in settings, texts and headers."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from opencode_tui.schema.record import JsonObject

COVER = "[hidden]"

# Texts, not compiled: most runs redact nothing, and `re` keeps what it has compiled.
_SECRET_KEY = (r"(?i)(api|access|secret|private|auth|client)[-_]?(key|token|secret)|^(key|token|secret|password)$|password|"
               r"authorization|credential|bearer")  # fmt: skip
_SECRET_SECTIONS = frozenset({"headers", "environment", "env"})
_CREDENTIALS_IN_ADDRESS = r"(?<=://)[^/\s?#]+(?=@)"
_ADDRESS_SECRET = r"(?i)(?<=[?&])([^=&\s]*(?:key|token|secret|password|sig)[^=&\s]*)=[^&\s#]+"

_MIN_SECRET = 6
"""Shorter secrets are not replaced: `k` would make every text unreadable."""

_LOOKS_LIKE_KEY = (
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|pplx|nvapi|csk|fw|tgp|r8)[-_][A-Za-z0-9_\-*.]{6,}|\bAIza[A-Za-z0-9_\-]{10,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\beyJ[A-Za-z0-9_\-]{10,}[.A-Za-z0-9_\-]*"
)
_AUTHORIZATION = (
    r"(?i)((?:authorization|x-api-key|api[-_ ]?key)[\"']?\s*[:=]\s*[\"']?(?:bearer\s+|basic\s+)?|\bbearer\s+)"
    r"([^\s\"',;]{4,})"
)
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
        if key in _SECRET_SECTIONS:
            return {name: COVER if isinstance(inner, str) and inner else inner for name, inner in items}
        return {name: _cover(inner, name) for name, inner in items}
    if isinstance(value, list):
        return [_cover(inner, key) for inner in cast("list[Any]", value)]
    if not isinstance(value, str) or not value:
        return value
    if re.search(_SECRET_KEY, key):
        return COVER
    return redact_address(value)


def redact_address(text: str) -> str:
    """Return a text with the credentials and secret parameters of the addresses in it replaced."""
    return re.sub(_ADDRESS_SECRET, rf"\1={COVER}", re.sub(_CREDENTIALS_IN_ADDRESS, COVER, text))


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text with the given secrets, and everything that looks like a key, replaced by `***`."""
    for secret in secrets:
        if len(secret) >= _MIN_SECRET:
            text = text.replace(secret, "***")
    return re.sub(_AUTHORIZATION, r"\1***", re.sub(_LOOKS_LIKE_KEY, "***", text))


def safe_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that help to diagnose a failure, without those that could contain a secret."""
    return {name: value for name, value in headers.items() if name in _KEPT_HEADERS or name.startswith(_KEPT_PREFIXES)}
