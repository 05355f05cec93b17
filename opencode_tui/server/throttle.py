"""A limit on wrong passwords: after some of them, a client waits before its next try, longer each time."""

import time
from collections.abc import Callable

FREE_TRIES = 5
"""Wrong passwords of one client that cost it no wait."""

LONGEST_WAIT_S = 60.0
_KEPT_S = 900.0
_CLIENT_LIMIT = 4096


class Throttle:
    """Counts the wrong passwords of each client, by its address; a correct one starts its count again.

    While a client waits, its passwords are not compared, so that trying many at once gains nothing.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failures: dict[str, tuple[int, float]] = {}
        """The number of wrong passwords in a row and the time of the last one, the longest ago first."""

    def wait_s(self, client: str) -> float:
        """Return the seconds until a client may try again; 0 when it may now."""
        count, last = self._failures.get(client, (0, 0.0))
        if count < FREE_TRIES:
            return 0.0
        wait = min(2.0 ** min(count - FREE_TRIES, 10), LONGEST_WAIT_S)
        return max(0.0, last + wait - self._now())

    def record(self, client: str, *, is_right: bool) -> None:
        """Count a password that was compared."""
        count, last = self._failures.pop(client, (0, 0.0))
        if is_right:
            return
        now = self._now()
        self._failures[client] = ((count if now - last < _KEPT_S else 0) + 1, now)
        if len(self._failures) > _CLIENT_LIMIT:
            del self._failures[next(iter(self._failures))]
