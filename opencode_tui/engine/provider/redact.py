"""Keeps keys out of every text that is shown, logged or stored."""

import re
from collections.abc import Iterable, Mapping

_MIN_SECRET = 6
"""Characters below which a key is not looked for by itself: `k` would make every text unreadable."""

_LOOKS_LIKE_KEY = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|gho|pplx|nvapi|csk|fw|tgp|r8)[-_][A-Za-z0-9_\-*.]{6,}|\bAIza[A-Za-z0-9_\-]{10,}|\beyJ[A-Za-z0-9_\-]{10,}[.A-Za-z0-9_\-]*"
)
_AUTHORIZATION = re.compile(
    r"(?i)((?:authorization|x-api-key|api[-_ ]?key)[\"']?\s*[:=]\s*[\"']?(?:bearer\s+|basic\s+)?|\bbearer\s+)([^\s\"',;]{4,})"
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


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text with the given secrets, and whatever looks like a key, replaced by `***`."""
    for secret in secrets:
        if len(secret) >= _MIN_SECRET:
            text = text.replace(secret, "***")
    return _AUTHORIZATION.sub(r"\1***", _LOOKS_LIKE_KEY.sub("***", text))


def safe_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that help to understand a failure, and none that could hold a secret."""
    return {name: value for name, value in headers.items() if name in _KEPT_HEADERS or name.startswith(_KEPT_PREFIXES)}
