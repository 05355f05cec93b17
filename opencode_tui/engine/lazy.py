"""Values that are created on first use, so that turns that do not need them neither import nor build them."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

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


class service(Generic[T]):
    """Makes a method the maker of a service: the attribute of an object is its `Lazy`, one for each object."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.__doc__ = make.__doc__
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the attribute."""
        self._name = name

    def __get__(self, owner: object, kind: type) -> Lazy[T]:
        """Return the service; called for one that the object does not have yet."""
        made: Lazy[T] = vars(owner).setdefault(self._name, Lazy(partial(self._make, owner)))  # atomic
        return made
