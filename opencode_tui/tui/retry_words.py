"""Why a model is asked again, in a few words, for what is past and for what one waits for; pure."""

from collections.abc import Sequence

from opencode_tui.schema.part import RetryPart
from opencode_tui.tui.items import AnyItem, RetryItem
from opencode_tui.tui.safe_text import screen_line


def failed_by(status: int | None, message: str) -> str:
    """Return what the provider did, to be read behind its name: `limited the rate`."""
    if _is_limit(status, message):
        return "limited the rate"
    if _is_overload(status, message):
        return "was overloaded"
    return _otherwise(status, message)


def waits_for(items: Sequence[AnyItem], told: str) -> str:
    """Return whom one waits for, and why: `Rate limited by anthropic`; what was told where the chat knows no more."""
    last = next((item for item in reversed(items) if isinstance(item, RetryItem)), None)
    if last is None or not last.attempts:
        return screen_line(" ".join(told.split())).rstrip(".")
    return _waits(screen_line(last.provider), last.attempts[-1])


def _waits(provider: str, attempt: RetryPart) -> str:
    status, message = attempt.error.data.status_code, attempt.error.data.message
    if _is_limit(status, message):
        return f"Rate limited by {provider}"
    if _is_overload(status, message):
        return f"{provider} is overloaded"
    return f"{provider} {_otherwise(status, message)}"


def _is_limit(status: int | None, message: str) -> bool:
    text = message.lower()
    return status == 429 or "rate limit" in text or "too many" in text


def _is_overload(status: int | None, message: str) -> bool:
    return status == 529 or "overload" in message.lower()


def _otherwise(status: int | None, message: str) -> str:
    text = message.lower()
    if "timeout" in text or "timed out" in text:
        return "did not answer in time"
    if status is not None and status >= 500:
        return f"failed ({status})"
    return "could not be reached" if status is None else f"answered {status}"
