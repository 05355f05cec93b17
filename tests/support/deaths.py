"""A process that dies within a method: its call number `at` and all later ones never happen."""

from collections.abc import Generator
from contextlib import contextmanager

from tests.support.snapshots import Death


@contextmanager
def dying(owner: type, name: str, at: int) -> Generator[None]:
    """Raise Death instead of calling an async method for the `at`-th time (from 1)."""
    whole = getattr(owner, name)
    calls = 0

    async def call(*arguments: object, **fields: object) -> object:
        nonlocal calls
        calls += 1
        if calls >= at:
            raise Death
        return await whole(*arguments, **fields)

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, whole)
