import pytest

from opencode_tui.engine.session.retry import GiveUp, Wait, backoff, next_try
from opencode_tui.schema.error import Failure, ProviderError


def failure(*, retryable: bool = True, retry_after_ms: int | None = None) -> ProviderError:
    return ProviderError("no", provider_id="p", failure=Failure(retryable=retryable, retry_after_ms=retry_after_ms))


def test_waits_double_up_to_thirty_seconds():
    assert [backoff(attempt) for attempt in range(1, 8)] == [2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]


def test_what_the_provider_asks_for_is_respected():
    assert next_try(failure(retry_after_ms=1_500), attempt=4, waited_ms=0) == Wait(1_500)


def test_a_failure_that_will_not_pass_is_not_tried_again():
    assert next_try(failure(retryable=False), attempt=1, waited_ms=0) == GiveUp()


@pytest.mark.parametrize(
    ("error", "attempt", "waited", "word"),
    [
        (failure(), 8, 0, "8 attempts"),
        (failure(), 3, 299_000, "3 attempts"),
        (failure(retry_after_ms=301_000), 1, 0, "301 s"),
    ],
)
def test_a_burst_ends_with_a_reason(error, attempt, waited, word):
    decision = next_try(error, attempt=attempt, waited_ms=waited)
    assert isinstance(decision, GiveUp) and word in decision.reason
