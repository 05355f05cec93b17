"""Prune old tool outputs after a turn or on request, and restore them.

Only a mark is set: the output stays on disk, the model can read it with `recall`, the user removes the mark with `restore`.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.session_lock import SessionLock
from opencode_tui.engine.session.tokens.characters import tokens_by_length
from opencode_tui.schema.error import NoSuchMessageError, SessionError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.session.history import MessageWithParts, conversation
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, prune, restore

if TYPE_CHECKING:
    from opencode_tui.schema.api.context import PruneReport


# Which old tool outputs are pruned. Source: docs/internals/compaction.md#pruning.

PROTECT = 40_000
"""Tokens of the newest outputs before the safe turns that are not pruned."""

MINIMUM = 20_000
"""Tokens that pruning must save, else nothing is pruned."""

SAFE_TURNS = 2
"""Newest turns whose outputs are never pruned."""

PROTECTED_TOOLS = frozenset({"skill"})
"""Tools whose outputs are instructions for the rest of the conversation."""

KEEP = "keep"
"""The key in a call's metadata that protects its output from pruning."""


def prunable(messages: Sequence[MessageWithParts]) -> list[ToolPart]:
    """Return the calls to prune, newest first; empty when that would save too little."""
    total = gained = 0
    chosen: list[ToolPart] = []
    for part in _eligible(messages):
        size = output_tokens(part)
        total += size
        if total > PROTECT:
            gained += size
            chosen.append(part)
    return chosen if gained >= MINIMUM else []


def pruned(messages: Sequence[MessageWithParts]) -> list[ToolPart]:
    """Return the pruned calls, oldest first."""
    return [part for message in messages for part, state in _completed(message) if state.time.compacted is not None]


def output_tokens(part: ToolPart) -> int:
    """Return the tokens of a completed call's output, 0 for any other call."""
    return tokens_by_length(part.state.output) if isinstance(part.state, ToolStateCompleted) else 0


def _eligible(messages: Sequence[MessageWithParts]) -> Iterator[ToolPart]:
    turns = 0
    for message in reversed(conversation(messages)):
        info = message.info
        turns += isinstance(info, UserMessage)
        if turns < SAFE_TURNS:
            continue
        if isinstance(info, AssistantMessage) and info.summary:
            return
        for part, state in reversed(_completed(message)):
            if part.tool in PROTECTED_TOOLS or state.metadata.get(KEEP):
                continue
            if state.time.compacted is not None:
                return
            yield part


def _completed(message: MessageWithParts) -> list[tuple[ToolPart, ToolStateCompleted]]:
    return [
        (part, part.state)
        for part in message.parts
        if isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)
    ]


class SessionPruning(Struct, frozen=True):
    """Prunes and restores; `is_automatic` is false when settings or flags switch automatic pruning off."""

    store: SessionStore
    lock: SessionLock
    clock: Clock
    is_automatic: bool

    async def after_turn(self, session_id: str) -> None:
        """Prune by the rules, unless that is switched off. Needs the run lock; waits for forks that still read the session."""
        # No undo is active after a turn, and the rules stop at a summary.
        parts = prunable(await self.store.recent(session_id))[::-1] if self.is_automatic else []
        if parts:
            async with self.lock.locks.unforked(session_id):
                await self._mark(parts)

    async def prune(
        self, session_id: str, parts: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> "PruneReport":
        """Prune these calls, or by the rules without any; returns what was, or would be, pruned.

        Raises NoSuchMessageError for an unknown part, SessionError for one that is not a finished call, BusyError.
        """

        def choose(messages: Sequence[MessageWithParts]) -> list[ToolPart]:
            if parts is None:
                return prunable(messages)[::-1]
            return [part for part in _named(messages, parts) if not _is_pruned(part)]

        return await self._change(session_id, choose, None if dry_run else self._mark)

    async def restore(
        self, session_id: str, parts: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> "PruneReport":
        """Restore the outputs of these calls, or all; later pruning skips them. Returns and raises as `prune` does."""

        def choose(messages: Sequence[MessageWithParts]) -> list[ToolPart]:
            if parts is None:
                return pruned(messages)
            return [part for part in _named(messages, parts) if _is_pruned(part)]

        return await self._change(session_id, choose, None if dry_run else self._lift)

    async def _change(
        self,
        session_id: str,
        choose: Callable[[Sequence[MessageWithParts]], list[ToolPart]],
        change: Callable[[Sequence[ToolPart]], Awaitable[None]] | None,
    ) -> "PruneReport":
        if change is None:
            return _report(session_id, choose(await self._messages(session_id)))
        async with self.lock.hold(session_id):
            parts = choose(await self._messages(session_id))
            await change(parts)
        return _report(session_id, parts)

    async def _mark(self, parts: Sequence[ToolPart]) -> None:
        """Mark calls, the oldest first: the rules stop at a marked one, and so continue after a crash."""
        now = self.clock()
        for part in parts:
            await self.store.writer(part.session_id).update_part(part.changed(state=prune(part.state, now=now)))
        await self.store.sync()

    async def _lift(self, parts: Sequence[ToolPart]) -> None:
        for part in parts:
            await self.store.writer(part.session_id).update_part(part.changed(state=restore(part.state)))
        await self.store.sync()

    async def _messages(self, session_id: str) -> list[MessageWithParts]:
        info, messages = await self.store.get(session_id), await self.store.messages(session_id)
        if info.revert is None:
            return messages
        from opencode_tui.engine.session.revert.range import visible  # most sessions have no active undo

        return visible(messages, info.revert)


def _named(messages: Sequence[MessageWithParts], part_ids: Sequence[str]) -> list[ToolPart]:
    """Return the finished calls of these ids, oldest first. Raises NoSuchMessageError or SessionError."""
    wanted = set(part_ids)
    found = [part for message in messages for part in message.parts if part.id in wanted]
    missing = sorted(wanted - {part.id for part in found})
    if missing:
        raise NoSuchMessageError(f"the session has no part {missing[0]}; `opencode-tui debug context` lists its parts")
    calls = [part for part in found if isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)]
    if len(calls) < len(found):
        other = next(part for part in found if part not in calls)
        raise SessionError(f"part {other.id} is not a finished tool call; only outputs of finished calls can be pruned")
    return calls


def _is_pruned(part: ToolPart) -> bool:
    return isinstance(part.state, ToolStateCompleted) and part.state.time.compacted is not None


def _report(session_id: str, parts: Sequence[ToolPart]) -> "PruneReport":
    from opencode_tui.schema.api.context import PrunedPart, PruneReport  # no turn needs a report

    pruned_parts = [
        PrunedPart(
            part_id=part.id,
            message_id=part.message_id,
            tool=part.tool,
            title=part.state.title if isinstance(part.state, ToolStateCompleted) else "",
            tokens=output_tokens(part),
        )
        for part in parts
    ]
    return PruneReport(session_id=session_id, tokens=sum(part.tokens for part in pruned_parts), parts=pruned_parts)
