"""How calls reach an engine that runs elsewhere: a proxy around each facet, and a function that carries the calls.

Public members of a facet are coroutine functions; readers of events belong to the client itself.
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

S = TypeVar("S")


Carry = Callable[[Callable[..., Awaitable[Any]]], Callable[..., Coroutine[Any, Any, Any]]]
"""Returns for a function of the engine one that awaits it in the engine's event loop; canceling the caller cancels it."""


def forward(service: S, carry: Carry | None) -> S:
    """Return a proxy with the coroutine functions of a service, called by `carry`; without it the service itself."""
    return service if carry is None else cast("S", _Proxy(service, carry))


class _Proxy:
    """Looks a member up when it is first used, then keeps it."""

    def __init__(self, service: object, carry: Carry) -> None:
        self._service = service
        self._carry = carry

    def __getattr__(self, name: str) -> Any:
        """Return a coroutine function of the service; called for one that is not kept yet."""
        member = None if name.startswith("_") else getattr(self._service, name)
        if not inspect.iscoroutinefunction(member):
            raise AttributeError(f"{name!r} is not a coroutine function of {type(self._service).__name__}")
        carried = self.__dict__[name] = self._carry(member)
        return carried
