"""Wrong passwords cost time, those of one client and only after some of them."""

from opencode_tui.server.throttle import FREE_TRIES, LONGEST_WAIT_S, Throttle


def failed(throttle: Throttle, times: int) -> None:
    for _ in range(times):
        throttle.record("10.0.0.1", is_right=False)


def test_after_the_free_tries_each_wrong_password_doubles_the_wait_up_to_a_limit() -> None:
    throttle = Throttle(now=lambda: 0.0)
    failed(throttle, FREE_TRIES - 1)
    assert throttle.wait_s("10.0.0.1") == 0
    waits: list[float] = []
    for _ in range(8):
        failed(throttle, 1)
        waits.append(throttle.wait_s("10.0.0.1"))
    assert waits == [1, 2, 4, 8, 16, 32, LONGEST_WAIT_S, LONGEST_WAIT_S]
    assert throttle.wait_s("10.0.0.2") == 0


def test_a_correct_password_and_the_time_end_the_wait() -> None:
    now = 0.0
    throttle = Throttle(now=lambda: now)
    failed(throttle, FREE_TRIES)
    now = 1.0
    assert throttle.wait_s("10.0.0.1") == 0
    failed(throttle, 1)
    throttle.record("10.0.0.1", is_right=True)
    assert throttle.wait_s("10.0.0.1") == 0
