"""How calls reach an engine that runs elsewhere: a proxy around each facet, and a strategy that carries the calls.

Public members of a facet are coroutine functions; readers of events belong to the client itself.
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec, Protocol, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class Calls(Protocol):
    """Carries calls from the caller's event loop to that of the engine."""

    def coroutine(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        """Return a function that awaits this one of the engine; canceling the caller cancels it."""
        ...


def forward(service: S, calls: Calls | None) -> S:
    """Return a proxy with the coroutine functions of a service, called by `calls`; without `calls` the service itself."""
    return service if calls is None else cast("S", _Proxy(service, calls))


class _Proxy:
    """Looks a member up when it is first used, then keeps it."""

    def __init__(self, service: object, calls: Calls) -> None:
        self._service = service
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        """Return a coroutine function of the service; called for one that is not kept yet."""
        member = None if name.startswith("_") else getattr(self._service, name)
        if not inspect.iscoroutinefunction(member):
            raise AttributeError(f"{name!r} is not a coroutine function of {type(self._service).__name__}")
        carried = self.__dict__[name] = self._calls.coroutine(member)
        return carried
