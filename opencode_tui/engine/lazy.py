"""Values that are created on first use, so that turns that do not need them neither import nor build them."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """Creates a value once, on the thread of the first `get`.

    `make` imports what it needs. If it raises, the next `get` tries again.
    """

    __slots__ = ("_lock", "_make", "_value")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._lock = threading.RLock()
        self._value: T

    def get(self) -> T:
        """Return the value. Raises what `make` raises. Blocks for the import, a few milliseconds."""
        if self._make is not None:
            with self._lock:
                if self._make is not None:
                    self._value = self._make()
                    self._make = None
        return self._value

    @property
    def made(self) -> T | None:
        """The value, None before the first `get`."""
        return self._value if self._make is None else None
