"""The changes of files by a session and by each of its turns: counts, texts, the event. Source: reference, section 21.

A turn's changes are those of its own steps and of the agents that it started, not those of others in the meantime.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.revert.patches import merge, net_changes, patches_of, totals, truncate, usable
from opencode_tui.engine.session.revert.range import turns_of, visible
from opencode_tui.schema.event.event import Event, SessionDiff
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.message import UserMessage, UserSummary
from opencode_tui.schema.session.part import AnyPart, TextPart
from opencode_tui.schema.session.session import RevertState, SessionInfo

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.snapshot import Snapshots

TITLE_LENGTH = 100
NOTES = "diffNotes"
"""The key of `session.metadata` for notes on changes, by file."""


class SessionSummaries(Struct, frozen=True):
    """Summarizes the changes of sessions; needs the session's run lock. Raises StorageError, SnapshotError."""

    store: SessionStore
    snapshots: "Lazy[Snapshots]"
    publish: Callable[[Event], None]

    async def refresh(self, session_id: str, *, anew: Collection[str] = ()) -> None:
        """Summarize the turns without a summary and those of the requests `anew`, then the session, and publish it."""
        info = await self.store.get(session_id)
        change = await self.prepare(info, info.revert, anew=anew)
        if change(info) != info:
            await self.store.update(session_id, change, touch=False)

    async def refresh_last(self, session_id: str) -> None:
        """Summarize the last turn again, then the session; after a run."""
        turns = turns_of(await self.store.messages(session_id))
        await self.refresh(session_id, anew=[turns[-1][0].id] if turns else [])

    async def prepare(
        self, info: SessionInfo, revert: RevertState | None, *, anew: Collection[str] = ()
    ) -> Callable[[SessionInfo], SessionInfo]:
        """Summarize as `refresh` does, with this undo active, and return the change of the session's record."""
        messages = await self.store.messages(info.id)
        kept = visible(messages, revert)
        groups: list[Sequence[FileDiff]] = []
        for (user, parts), (_, whole) in zip(turns_of(kept), turns_of(messages), strict=False):
            if len(parts) != len(whole):
                groups.append(await self._changes(parts))
            elif user.summary is None or user.id in anew:
                groups.append(await self._sum_up(user, parts))
            else:
                groups.append(user.summary.diffs)
        diffs = await asyncio.to_thread(lambda: truncate(merge(groups)))
        await self._keep(info.id, diffs)
        return lambda old: _summed_up(old, diffs)

    async def diff(self, session_id: str, message_id: str | None = None) -> list[FileDiff]:
        """Return the changes of files by a session, or by the turn of one of its messages."""
        if message_id is None:
            return await self.session(session_id)
        return await self.turn(session_id, message_id)

    async def session(self, session_id: str) -> list[FileDiff]:
        """Return the changes of a session as last summarized."""
        return with_notes(await self.store.diff(session_id), await self.store.get(session_id))

    async def turn(self, session_id: str, message_id: str) -> list[FileDiff]:
        """Return the changes of the turn of a request or an answer."""
        messages = await self.store.messages(session_id)
        for user, parts in reversed(turns_of(messages)):
            if user.id == message_id or any(part.message_id == message_id for part in parts):
                return await self._changes(parts) or (user.summary.diffs if user.summary else [])
        return []

    async def _changes(self, parts: Sequence[AnyPart]) -> list[FileDiff]:
        patches = await patches_of(self.store, parts)
        if not any(patch.files for patch in patches):
            return []
        snapshots = self.snapshots.get()
        return await net_changes(snapshots, (await usable(snapshots, patches)).patches)

    async def _sum_up(self, user: UserMessage, parts: Sequence[AnyPart]) -> list[FileDiff]:
        diffs = truncate(await self._changes(parts))
        old = user.summary or UserSummary()
        summary = old.changed(title=old.title or title_of(parts, user.id), diffs=_stored(diffs))
        if summary != user.summary:
            await self.store.update_message(user.changed(summary=summary))
        return diffs

    async def _keep(self, session_id: str, diffs: Sequence[FileDiff]) -> None:
        stored = _stored(diffs)
        if stored != await self.store.diff(session_id):
            await self.store.write_diff(session_id, stored)
            self.publish(SessionDiff(session_id=session_id, diff=list(diffs)))


def with_notes(diffs: Sequence[FileDiff], info: SessionInfo) -> list[FileDiff]:
    """Return stored changes with their notes."""
    notes: JsonObject = (info.metadata or {}).get(NOTES) or {}
    return [diff.changed(note=notes.get(diff.file)) for diff in diffs]


def title_of(parts: Sequence[AnyPart], message_id: str) -> str | None:
    """Return the first line of the user's text in a request, cut to 100 characters."""
    for part in parts:
        if isinstance(part, TextPart) and part.message_id == message_id and not part.synthetic and not part.ignored:
            lines = [line.strip() for line in part.text.splitlines() if line.strip()]
            if lines:
                return lines[0] if len(lines[0]) <= TITLE_LENGTH else lines[0][: TITLE_LENGTH - 1] + "…"
    return None


def _stored(diffs: Sequence[FileDiff]) -> list[FileDiff]:
    return [diff.changed(note=None) for diff in diffs]


def _summed_up(info: SessionInfo, diffs: Sequence[FileDiff]) -> SessionInfo:
    metadata = {key: value for key, value in (info.metadata or {}).items() if key != NOTES}
    # Stored turns have no notes: the note on a file is kept while the file is among the changed ones.
    old_notes = {diff.file: diff.note for diff in with_notes(diffs, info)}
    notes = {diff.file: note for diff in diffs if (note := diff.note or old_notes[diff.file])}
    if notes:
        metadata[NOTES] = notes
    return info.changed(summary=totals(diffs), metadata=metadata or None)
