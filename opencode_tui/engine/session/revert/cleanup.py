"""Make an undo final: delete what it hides, in an order that can be interrupted and resumed anywhere.

First the child sessions that only served it, then messages, newest first, then the parts of the message that stays. As
long as anything is left, the message or part where the undo starts exists.
"""

import asyncio
from contextlib import AsyncExitStack

from msgspec import Struct

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.revert.range import (
    Boundary,
    Messages,
    child_call,
    hidden_messages,
    hidden_parts,
    work_of,
)
from opencode_tui.engine.session.runs import RunRegistry
from opencode_tui.schema.error import BusyError, NotFoundError
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.storage.locks import Locks

_ALL = 1 << 30


class Cleanup(Struct, frozen=True):
    """Deletes hidden messages, parts and child sessions; needs the session's run lock."""

    store: SessionStore
    runs: RunRegistry
    locks: Locks

    async def remove(self, session_id: str, messages: Messages, boundary: Boundary) -> None:
        """Delete what an undo from this boundary hides, and publish each deletion. Raises StorageError."""
        await self._remove_children(session_id, messages, boundary)
        for message in reversed(hidden_messages(messages, boundary)):
            await self.store.writer(session_id).remove_message(message.info.id)
        if boundary.part is not None:
            first = messages[boundary.message]
            for part in reversed(first.parts[boundary.part :]):
                await self.store.writer(session_id).remove_part(first.info.id, part.id)

    async def _remove_children(self, session_id: str, messages: Messages, boundary: Boundary) -> None:
        calls = [
            call
            for part in hidden_parts(messages, boundary)
            if isinstance(part, ToolPart) and (call := child_call(part))
        ]
        for child_id in dict.fromkeys(call.session_id for call in calls):
            try:
                child = await self.store.get(child_id)
            except NotFoundError:
                continue
            # A fork's calls name the child sessions of its source.
            if child.parent_id != session_id:
                continue
            conversation = await self.store.tail(child_id, _ALL)
            done = {
                message.info.id
                for call in calls
                if call.session_id == child_id
                for message in work_of(call, conversation)
            }
            await self._remove_work(child_id, [message.info.id for message in conversation], done)

    async def _remove_work(self, child_id: str, conversation: list[str], done: set[str]) -> None:
        """Delete the child session, or only its messages for the calls when it has others; not while it is running."""
        if self.runs.get(child_id) is not None:
            return
        is_all = done.issuperset(conversation)
        async with AsyncExitStack() as held:
            try:
                writer = await held.enter_async_context(self.store.locked(child_id))
            except BusyError:
                return
            await held.enter_async_context(self.locks.unforked(child_id))
            if is_all:
                await self.store.remove(child_id)
            for message_id in () if is_all else reversed(conversation):
                if message_id in done:
                    await writer.remove_message(message_id)
        if is_all:
            await asyncio.to_thread(self.locks.delete, child_id)
