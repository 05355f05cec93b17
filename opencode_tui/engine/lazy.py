"""A value that is made on first use, so that what most turns never need is neither imported nor built for them."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """Makes a value once, when it is first asked for, on whichever thread that is.

    `make` imports what it needs itself. When it raises, the next call of `get` tries again.
    """

    __slots__ = ("_lock", "_make", "_value")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make
        self._lock = threading.RLock()
        self._value: T

    def get(self) -> T:
        """Return the value; raises what `make` raises. Blocks for the import, a few milliseconds."""
        if self._make is not None:
            with self._lock:
                if self._make is not None:
                    self._value = self._make()
                    self._make = None
        return self._value

    @property
    def made(self) -> T | None:
        """The value, None while nobody has asked for it."""
        return self._value if self._make is None else None
