"""The wait for an answer at the terminal, which ends when another client has answered: the screen, a browser, an editor."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from opencode_tui.client.client import Client, EventReader
from opencode_tui.schema.event.event import BusLagged, PermissionReplied, QuestionRejected, QuestionReplied

T = TypeVar("T")

ELSEWHERE = "Answered elsewhere."


async def unless_answered(client: Client, request_id: str, asking: Coroutine[Any, Any, T]) -> T | None:
    """Return what `asking` returns; cancel it and return None once the request does not wait any more."""
    reading = asyncio.create_task(asking)
    with client.events() as events:
        watching = asyncio.create_task(_resolved(client, request_id, events))
        try:
            await asyncio.wait({reading, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done() and (watching.exception() is not None or not watching.result()):
                await asyncio.wait({reading})  # it is not known: the user decides
        finally:
            reading.cancel()
            watching.cancel()
            await asyncio.wait({reading, watching})
    return None if reading.cancelled() else reading.result()


async def _resolved(client: Client, request_id: str, events: EventReader) -> bool:
    """Wait until a request does not wait any more, and return True; False at the end of the events."""
    if not await _waits(client, request_id):
        return True
    async for envelope in events:
        match envelope.event:
            case PermissionReplied() | QuestionReplied() | QuestionRejected() as event if (
                event.request_id == request_id
            ):
                return True
            case BusLagged() if not await _waits(client, request_id):
                return True
            case _:
                pass
    return False


async def _waits(client: Client, request_id: str) -> bool:
    waiting = [*await client.permissions.pending(), *await client.questions.pending()]
    return any(one.id == request_id for one in waiting)
