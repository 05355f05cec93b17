"""Why a request to a model is retried, in a few words: for past attempts, and for the one that is waited for."""

from opencode_tui.schema.session.part import RetryPart
from opencode_tui.text.safe_text import screen_line


def failed_by(status: int | None, message: str) -> str:
    """Return what the provider did, to be read after its name: `limited the rate`."""
    if _is_limit(status, message):
        return "limited the rate"
    if _is_overload(status, message):
        return "was overloaded"
    return _otherwise(status, message)


def waiting_reason(provider: str, attempt: RetryPart | None, message: str) -> str:
    """Return what is waited for and why: `Rate limited by anthropic`; the given message where no attempt is known."""
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
