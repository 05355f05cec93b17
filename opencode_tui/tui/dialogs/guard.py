"""Keeps a key that was typed for something else from answering a question."""

OPENING_MS = 400
QUIET_MS = 150


class Guard:
    """Deaf for 400 ms after the question appeared, and then until no key came for 150 ms; afterwards it lets all through."""

    def __init__(self, now: int) -> None:
        self._opened = now
        self._last = now - QUIET_MS
        self._is_live = False

    def is_live(self, now: int) -> bool:
        """Whether keys work; `now` in ms of a clock that never goes back."""
        self._is_live = self._is_live or self.wait(now) <= 0
        return self._is_live

    def wait(self, now: int) -> int:
        """How many ms are left without another key; 0 when keys work."""
        if self._is_live:
            return 0
        return max(0, self._opened + OPENING_MS - now, self._last + QUIET_MS - now)

    def lets(self, now: int) -> bool:
        """Tell whether a key counts; one that does not makes the guard wait anew."""
        if self.is_live(now):
            return True
        self._last = now
        return False
