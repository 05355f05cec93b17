"""How a face's calls reach the engine: one generic proxy around each service, and one strategy that carries the calls.

A facet has three kinds of members, which a strategy can tell apart: coroutine functions, plain functions and values.
Subscriptions are the fourth kind; they belong to the client itself. Arguments and results are records, plain values and
callbacks (`stored` of a prompt), which are called where the engine runs unless the strategy carries them back.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class Calls(Protocol):
    """Carries calls from the face's event loop to where the engine runs."""

    def coroutine(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        """Return a function that awaits this one of the engine; canceling the caller cancels it."""
        ...

    def function(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return a function that calls this one of the engine, which returns at once."""
        ...

    def subscription(self, subscribe: Callable[[], R]) -> R:
        """Return what this function of the engine returns: a reader of events that the face iterates or polls."""
        ...


class DirectCalls:
    """The engine runs in the face's own event loop: every call is the engine's."""

    def coroutine(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        """Return the function itself."""
        return function

    def function(self, function: Callable[P, R]) -> Callable[P, R]:
        """Return the function itself."""
        return function

    def subscription(self, subscribe: Callable[[], R]) -> R:
        """Subscribe."""
        return subscribe()


def forward(service: S, calls: Calls) -> S:
    """Return a proxy with the public members of a service, whose functions are called by `calls`."""
    return cast("S", _Proxy(service, calls))


class _Proxy:
    """Looks a member up when it is first used, then keeps it."""

    def __init__(self, service: object, calls: Calls) -> None:
        self._service = service
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        """Return a public member of the service; called for one that is not kept yet."""
        if name.startswith("_"):
            raise AttributeError(name)
        member = getattr(self._service, name)
        if inspect.iscoroutinefunction(member):
            member = self._calls.coroutine(member)
        elif callable(member):
            member = self._calls.function(member)
        else:
            return member
        self.__dict__[name] = member
        return member
