"""Why a model is asked again, in words."""

import pytest

from opencode_tui.engine.provider.error.plain import truncated
from opencode_tui.text.retry import past_reason, waiting_reason
from tests.support.terminal.conversation import Story


@pytest.mark.parametrize(
    ("status", "message", "waits", "past"),
    [
        (
            429,
            "This request would exceed your account's rate",
            "Rate limited by anthropic",
            "rate limited by anthropic",
        ),
        (529, "Overloaded", "anthropic is overloaded", "anthropic was overloaded"),
        (500, "upstream exploded", "anthropic failed (500)", "anthropic failed (500)"),
        (None, "connection reset", "anthropic could not be reached", "anthropic could not be reached"),
    ],
)
def test_a_wait_names_the_party_and_the_cause(status: int | None, message: str, waits: str, past: str) -> None:
    attempt = Story().retry("1:02", status=status, message=message)
    assert waiting_reason("anthropic", attempt, f"anthropic: {message} (HTTP {status})") == waits
    assert past_reason("anthropic", attempt) == past


def test_a_response_that_broke_off_is_not_called_unreachable() -> None:
    error = truncated("anthropic", "the connection to api.anthropic.com was lost (peer closed connection)")
    attempt = Story().retry("1:02", status=None, message=str(error))
    data = attempt.error.data.changed(metadata=dict(error.failure.metadata or {}))
    attempt = attempt.changed(error=attempt.error.changed(data=data))
    assert waiting_reason("anthropic", attempt, str(error)) == "The response of anthropic was cut off"
    assert past_reason("anthropic", attempt) == "the response of anthropic was cut off"


def test_a_wait_without_a_known_attempt_shows_the_message() -> None:
    assert waiting_reason("", None, "Rate limited\nby anthropic.") == "Rate limited by anthropic"
