import pytest

from opencode_tui.engine.provider.error.plain import no_connection
from opencode_tui.engine.session import retry
from opencode_tui.engine.session.retry import RETRY_ATTEMPTS, GiveUp, Wait, backoff, most_attempts, next_try
from opencode_tui.schema.error import Failure, ProviderError, split_remedy


def failure(*, retryable: bool = True, retry_after_ms: int | None = None, kind: str = "network") -> ProviderError:
    given = Failure(kind=kind, retryable=retryable, retry_after_ms=retry_after_ms)
    return ProviderError("no", provider_id="p", failure=given)


def refused(url: str, *, proxy: str | None = None) -> ProviderError:
    return no_connection("p", url, "no", proxy=proxy, is_refused=True)


def test_waits_double_up_to_thirty_seconds():
    assert [backoff(attempt) for attempt in range(1, 8)] == [2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]


@pytest.mark.parametrize(
    ("asked", "attempt", "waited"),
    [
        (1_500, 1, 1_500),
        (20, 1, 20),
        (0, 1, 2_000),
        (None, 1, 2_000),
        (60_000, 1, 60_000),
        (60_000, 4, 60_000),
        (1_000, 2, 4_000),
        (1_500, 4, 16_000),
        (0, 7, 30_000),
    ],
)
def test_what_the_provider_asks_for_is_respected_and_a_short_wait_that_did_not_help_is_no_measure(
    asked: int | None, attempt: int, waited: int
):
    assert next_try(failure(retry_after_ms=asked), attempt=attempt, waited_ms=0) == Wait(waited)


@pytest.mark.parametrize("asked", [None, 0, 1_000])
def test_eight_attempts_last_two_minutes_whatever_short_wait_is_asked_for(asked: int | None):
    waited = 0
    for attempt in range(1, RETRY_ATTEMPTS):
        decision = next_try(failure(retry_after_ms=asked), attempt=attempt, waited_ms=waited)
        assert isinstance(decision, Wait)
        waited += decision.delay_ms
    assert 119_000 <= waited <= 120_000
    assert isinstance(next_try(failure(retry_after_ms=asked), attempt=RETRY_ATTEMPTS, waited_ms=waited), GiveUp)


def test_a_failure_that_will_not_pass_is_not_tried_again():
    assert next_try(failure(retryable=False), attempt=1, waited_ms=0) == GiveUp()


@pytest.mark.parametrize(
    ("error", "attempt", "waited", "word"),
    [
        (failure(), 8, 0, "8 attempts"),
        (failure(), 3, 299_000, "3 attempts"),
        (failure(retry_after_ms=301_000), 1, 0, "301 s"),
        (failure(retry_after_ms=1_000), 6, 290_000, "6 attempts"),
        (failure(kind="page"), 3, 0, "3 attempts"),
        (refused("http://localhost:1/v1"), 3, 6_000, "3 attempts"),
        (refused("http://[::1]:1/v1"), 3, 6_000, "3 attempts"),
        (refused("https://api.company.test/v1", proxy="http://127.0.0.1:1"), 3, 6_000, "3 attempts"),
    ],
)
def test_a_burst_ends_with_a_reason(error, attempt, waited, word):
    decision = next_try(error, attempt=attempt, waited_ms=waited)
    assert isinstance(decision, GiveUp) and word in decision.reason


@pytest.mark.parametrize(
    ("url", "proxy"), [("https://api.company.test/v1", ""), ("http://127.0.0.1:1/v1", "http://proxy.company.test:8080")]
)
def test_another_machine_that_refuses_a_connection_keeps_its_attempts(url: str, proxy: str):
    error = refused(url, proxy=proxy)
    assert next_try(error, attempt=3, waited_ms=6_000) == Wait(backoff(3)) and most_attempts(error) == RETRY_ATTEMPTS


def test_a_server_of_this_machine_is_named_with_what_starts_it():
    error = no_connection("ollama", "http://127.0.0.1:11434/v1", "no", proxy=None, is_refused=True)
    assert str(error) == (
        "ollama: cannot reach 127.0.0.1:11434 (connection refused); fix: start Ollama (`ollama serve`), or check"
        " provider.ollama.options.baseURL"
    )
    assert (
        split_remedy(str(refused("http://localhost:1/v1")))[1]
        == "start the server, or check provider.p.options.baseURL"
    )


def test_the_limit_that_the_user_reads_is_the_one_that_counts(monkeypatch):
    monkeypatch.setattr(retry, "RETRY_BURST_MS", 90_000)
    given_up = next_try(failure(retry_after_ms=100_000), attempt=1, waited_ms=0)
    assert given_up == GiveUp("the provider asks to wait 100 s (limit: 1.5 min)")
