"""Reasons for retries of model requests: of past attempts and of the pending one."""

from collections.abc import Mapping

from opencode_tui.schema.error import split_remedy
from opencode_tui.schema.session.part import RetryPart
from opencode_tui.text.safe_text import screen_line


def past_reason(provider: str, attempt: RetryPart) -> str:
    """Return why a past attempt failed: `rate limited by anthropic`, `anthropic was overloaded`."""
    name, status = screen_line(provider), attempt.error.data.status_code
    text, _ = split_remedy(attempt.error.data.message)
    metadata = attempt.error.data.metadata or {}
    if metadata.get("kind") == "media":
        return _media(name, metadata)
    if metadata.get("kind") == "thoughts":
        return f"{name} rejected reasoning of earlier answers; it is left out"
    if metadata.get("kind") == "unthought":
        return f"{name} does not let the model think in the middle of this turn; it answers without"
    if metadata.get("kind") == "parameter":
        return f"{name} rejected the default reasoning of the model; it is left out"
    if metadata.get("kind") == "bad_call":
        return f"{name} rejected a tool call of the model"
    if _is_limit(status, text):
        return f"rate limited by {name}"
    if _is_cut_off(metadata):
        return f"the response of {name} was cut off"
    return f"{name} {'was overloaded' if _is_overload(status, text) else _otherwise(status, text, metadata)}"


def waiting_reason(provider: str, attempt: RetryPart | None, message: str) -> str:
    """Return why a retry is pending: `Rate limited by anthropic`; `message` where no attempt is known."""
    if attempt is None:
        return screen_line(" ".join(message.split())).rstrip(".")
    name, status = screen_line(provider), attempt.error.data.status_code
    text, _ = split_remedy(attempt.error.data.message)
    metadata = attempt.error.data.metadata or {}
    if _is_limit(status, text):
        return f"Rate limited by {name}"
    if _is_cut_off(metadata):
        return f"The response of {name} was cut off"
    if _is_overload(status, text):
        return f"{name} is overloaded"
    return f"{name} {_otherwise(status, text, metadata)}"


def _media(name: str, metadata: Mapping[str, str]) -> str:
    """Return what a provider does not accept of the images and documents, and which are left out since."""
    most, largest = metadata.get("most", ""), metadata.get("largest", "")
    if most.isdecimal():
        return f"{name} accepts {most} images and documents at most; the older ones are left out"
    if largest.isdecimal():
        return f"{name} accepts images and documents up to {int(largest[:12]) / 2**20:.3g} MB; larger ones are left out"
    return f"{name} rejected an image or document; those so far are left out"


def _is_limit(status: int | None, message: str) -> bool:
    text = message.lower()
    return status == 429 or "rate limit" in text or "too many" in text


def _is_overload(status: int | None, message: str) -> bool:
    return status == 529 or "overload" in message.lower()


def _is_cut_off(metadata: Mapping[str, str]) -> bool:
    """Return whether the provider had begun to respond."""
    return metadata.get("code") == "ECONNRESET"


def _otherwise(status: int | None, message: str, metadata: Mapping[str, str]) -> str:
    text = message.lower()
    if metadata.get("code") == "ETIMEDOUT" or "timeout" in text or "timed out" in text:
        return "did not respond in time"
    if status is not None and status >= 500:
        return f"failed ({status})"
    return "could not be reached" if status is None else f"responded with {status}"
