"""Reasons for retries of model requests: of past attempts and of the pending one."""

from opencode_tui.schema.session.part import RetryPart
from opencode_tui.text.safe_text import screen_line


def past_reason(provider: str, attempt: RetryPart) -> str:
    """Return why a past attempt failed: `rate limited by anthropic`, `anthropic was overloaded`."""
    name, status, text = screen_line(provider), attempt.error.data.status_code, attempt.error.data.message
    if _is_limit(status, text):
        return f"rate limited by {name}"
    return f"{name} {'was overloaded' if _is_overload(status, text) else _otherwise(status, text)}"


def waiting_reason(provider: str, attempt: RetryPart | None, message: str) -> str:
    """Return why a retry is pending: `Rate limited by anthropic`; `message` where no attempt is known."""
    if attempt is None:
        return screen_line(" ".join(message.split())).rstrip(".")
    name, status, text = screen_line(provider), attempt.error.data.status_code, attempt.error.data.message
    if _is_limit(status, text):
        return f"Rate limited by {name}"
    if _is_overload(status, text):
        return f"{name} is overloaded"
    return f"{name} {_otherwise(status, text)}"


def _is_limit(status: int | None, message: str) -> bool:
    text = message.lower()
    return status == 429 or "rate limit" in text or "too many" in text


def _is_overload(status: int | None, message: str) -> bool:
    return status == 529 or "overload" in message.lower()


def _otherwise(status: int | None, message: str) -> str:
    text = message.lower()
    if "timeout" in text or "timed out" in text:
        return "did not respond in time"
    if status is not None and status >= 500:
        return f"failed ({status})"
    return "could not be reached" if status is None else f"responded with {status}"
