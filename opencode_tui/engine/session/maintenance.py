"""Maintenance of a session before a run adds to its conversation, and after the run.

Most turns have nothing to recover, no active undo and no changed file, so the code for these is loaded on demand.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import AnyPart, ReasoningPart, TextPart, ToolPart
from opencode_tui.schema.session.session import UNDO_KEY
from opencode_tui.schema.session.stored_error import PROGRAM_ENDED, aborted
from opencode_tui.schema.session.tool_state import ToolStatePending, ToolStateRunning, ToolStateUnion, fail
from opencode_tui.schema.tools import row_of

if TYPE_CHECKING:
    from opencode_tui.engine.session.revert.revert import SessionRevert
    from opencode_tui.engine.session.revert.summary import SessionSummaries


logger = logging.getLogger(__name__)

# Repair the records that a dead process left unfinished in a session. Needs the session's run lock. Afterwards no part is
# `pending` or `running`, no text is open, every message has `time.completed` and no compaction is running.

INTERRUPTED_TOOL = "Interrupted: the program ended before this call had a result"
UNSEEN = "the program ended while this ran; undo lists its changes, but does not revert them"


async def repair(store: SessionStore, session_id: str, *, clock: Clock) -> int:
    """Close everything unfinished in the session; returns the number of repaired messages."""
    broken = [message for message in await store.messages(session_id) if is_unfinished(message)]
    for message in broken:
        await _close(store, message, clock())
    if (await store.get(session_id)).time.compacting is not None:
        await store.update(session_id, lambda info: info.changed(time=info.time.changed(compacting=None)), touch=False)
    if broken:
        await store.sync()
    return len(broken)


def is_unfinished(message: MessageWithParts) -> bool:
    """Return whether an assistant message or one of its parts never ended."""
    info = message.info
    if not isinstance(info, AssistantMessage):
        return False
    return info.time.completed is None or any(_is_open(part) for part in message.parts)


async def _close(store: SessionStore, message: MessageWithParts, now: int) -> None:
    info = message.info
    for part in message.parts:
        match part:
            case ToolPart() if isinstance(part.state, ToolStatePending | ToolStateRunning):
                await store.update_part(part.changed(state=_interrupted(part, now)))
            case TextPart() | ReasoningPart() if _is_open(part) and part.time is not None:
                await store.update_part(part.changed(text=part.text.rstrip(), time=part.time.changed(end=now)))
            case _:
                pass
    if isinstance(info, AssistantMessage) and info.time.completed is None:
        error = info.error or aborted(PROGRAM_ENDED)
        await store.update_message(info.changed(time=info.time.changed(completed=now), error=error))


def _interrupted(part: ToolPart, now: int) -> ToolStateUnion:
    ran = isinstance(part.state, ToolStateRunning) and row_of(part.tool).may_change_unseen
    return fail(part.state, error=INTERRUPTED_TOOL, now=now, metadata={"unprotected": UNSEEN} if ran else None)


def _is_open(part: AnyPart) -> bool:
    match part:
        case ToolPart():
            return isinstance(part.state, ToolStatePending | ToolStateRunning)
        case TextPart() | ReasoningPart():
            return part.time is not None and part.time.end is None
        case _:
            return False


class SessionMaintenance(Struct, frozen=True):
    """Recovers, prepares and summarizes sessions of one folder. Each method needs the session's run lock.

    `recover_files` records the changes of files by commands of a dead process, where `has_open_steps`, which blocks for one small
    file, finds any; `end_run` those of background commands.
    """

    store: SessionStore
    clock: Clock
    has_open_steps: Callable[[], bool]
    recover_files: Callable[[str], Awaitable[None]]
    end_run: Callable[[str], Awaitable[None]]
    revert: "Lazy[SessionRevert]"
    summaries: "Lazy[SessionSummaries]"
    recovered: set[str] = field(default_factory=set[str])
    """The sessions whose files this process has looked at."""

    async def recover(self, session_id: str) -> int:
        """Close what a dead process left open, files included, and return the number of repaired messages.

        Files are looked at once in this process, and when a message was unfinished, so that a process died. A failure is logged.
        """
        repaired = await repair(self.store, session_id, clock=self.clock)
        if repaired or session_id not in self.recovered:
            self.recovered.add(session_id)
            try:
                if await asyncio.to_thread(self.has_open_steps):
                    await self.recover_files(session_id)
            except OpencodeError as error:
                logger.warning("session %s: what a killed command changed is not known: %s", session_id, error)
        return repaired

    async def prepare(self, session_id: str) -> None:
        """Recover the session and make an active or started undo final, before anything is added.

        Raises as `SessionRevert.cleanup`.
        """
        await self.recover(session_id)
        info = await self.store.get(session_id)
        if info.revert is not None or UNDO_KEY in (info.metadata or {}):
            await self.revert.get().cleanup(session_id)

    async def summarize(self, session_id: str) -> None:
        """Summarize the changes of files of the last turn and of the session; after a run, while its lock is held."""
        await self.summaries.get().refresh_last(session_id)
