"""Groups of tasks: one that raises the error of a task itself, and one that no task can end.

asyncio's own group raises its errors in an ExceptionGroup, whose text ("unhandled errors in a TaskGroup") names none of them, and
ends with the first one. So groups are opened here alone (`tests/test_tasks.py`).
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar, cast

T = TypeVar("T")

_logger = logging.getLogger(__name__)


def first_error(error: BaseException) -> BaseException:
    """Return the first error inside of nested exception groups, or the error itself when it is no group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


@asynccontextmanager
async def task_group() -> AsyncGenerator[asyncio.TaskGroup]:
    """Wait at the end of the context for the tasks of a group. The first error cancels the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as errors:
        error = first_error(errors)
        raise error from error.__cause__


class Tasks:
    """Starts the tasks of an engine or of a server. The failure of one ends neither the others nor what they belong to."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    def start(
        self, work: Coroutine[object, object, T], *, name: str, failed: Callable[[Exception], T] | None = None
    ) -> "asyncio.Task[T | None]":
        """Start a task and return it; it raises nothing but its cancellation. An error is logged once, under `name`.

        The result is then that of `failed`, which gets the error; None without it. Raises RuntimeError when all is ending.
        """
        guarded = _guarded(work, name, failed)
        try:
            return self._group.create_task(guarded, name=name)
        except RuntimeError:
            for one in (guarded, work):
                one.close()  # else Python warns that it was never awaited
            raise


async def _guarded(work: Coroutine[object, object, T], name: str, failed: Callable[[Exception], T] | None) -> T | None:
    try:
        return await work
    except Exception as error:
        _logger.exception("%s failed", name)
        if failed is None:
            return None
        try:
            return failed(error)
        except Exception:
            _logger.exception("the end of %s failed", name)
            return None


@asynccontextmanager
async def guarded_tasks() -> AsyncGenerator[Tasks]:
    """Wait at the end of the context for the tasks that were started in it."""
    async with task_group() as group:
        yield Tasks(group)
