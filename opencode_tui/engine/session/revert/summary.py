"""The changes of files by a session and by each of its turns: counts, texts, the event.

Source: docs/internals/session.md#summaries.

A turn's changes are those of its own steps and of the agents that it started, not those of others in the meantime; an undo
reverts their net change per file. Every run computes it, so nothing of the snapshots is imported before a file has changed.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.leaving import Leaving
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.revert.range import (
    UncoveredCall,
    changes_of,
    find_boundary,
    hidden_parts,
    turns_of,
    visible,
    work_of,
)
from opencode_tui.schema.error import NotFoundError
from opencode_tui.schema.event.event import Event, SessionDiff
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import conversation
from opencode_tui.schema.session.message import UserMessage, UserSummary
from opencode_tui.schema.session.part import AnyPart, PatchPart, TextPart
from opencode_tui.schema.session.session import RevertState, SessionInfo, SessionSummary

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.report import Patch
    from opencode_tui.engine.snapshot.snapshot import Snapshots


TEXT_LIMIT = 1_000_000
"""Maximum characters of a change's two texts together; above it only the counts of lines are stored."""

TOO_LARGE = "too large to show"

FOREIGN = "another program recorded this step; its snapshots are not available here"
CLEANED = "the snapshots have been cleaned up"
_ALL = 1 << 30


class RevertablePatches(Struct, frozen=True):
    """Patches with available snapshots, oldest first, and all other changed files with the reason."""

    patches: "list[Patch]"
    lost: dict[str, str]


async def patches_of(store: SessionStore, parts: Sequence[AnyPart]) -> "list[Patch]":
    """Return the patches among these parts, oldest first; those of a child session replace its call, each once."""
    return [change for change in await changes_in(store, parts) if not isinstance(change, UncoveredCall)]


async def changes_in(
    store: SessionStore, parts: Sequence[AnyPart], *, seen: set[str] | None = None
) -> "list[Patch | UncoveredCall]":
    """Return the changes of these parts and of the child sessions that they started; messages in `seen` are skipped.

    What the agent of a deleted session changed is not known any more.
    """
    seen = set[str]() if seen is None else seen
    found: list[Patch | UncoveredCall] = []
    for change in changes_of(parts):
        if isinstance(change, PatchPart):
            from opencode_tui.engine.snapshot import report

            found.append(report.Patch(hash=change.hash, files=change.files, after=change.after))
        elif isinstance(change, UncoveredCall):
            found.append(change)
        elif not await _exists(store, change.session_id):
            reason = f"what an agent changed is not known: its session {change.session_id} was deleted"
            found.append(UncoveredCall([], reason))
        else:
            for message in work_of(change, await store.tail(change.session_id, _ALL)):
                if message.info.id not in seen:
                    seen.add(message.info.id)
                    found += await changes_in(store, message.parts, seen=seen)
    return found


async def _exists(store: SessionStore, session_id: str) -> bool:
    try:
        await store.get(session_id)
    except NotFoundError:
        return False
    return True


async def usable(snapshots: "Snapshots", patches: "Sequence[Patch]") -> RevertablePatches:
    """Return the patches without files for which one of them has no snapshot: reverting part of a file's changes is useless."""
    if not patches:
        return RevertablePatches([], {})
    if snapshots.unavailable is not None:
        return RevertablePatches([], {file: snapshots.unavailable for patch in patches for file in patch.files})
    missing = await snapshots.missing({name for patch in patches for name in (patch.hash, patch.after) if name})
    lost: dict[str, str] = {}
    available: list[Patch] = []
    for patch in patches:
        if missing.intersection((patch.hash, patch.after)):
            lost.update({file: CLEANED if patch.after else FOREIGN for file in patch.files})
        else:
            available.append(patch)
    # A step with only files without a snapshot left still reports what its snapshots do not contain.
    return RevertablePatches(
        [patch.changed(files=[file for file in patch.files if file not in lost]) for patch in available], lost
    )


async def net_changes(snapshots: "Snapshots", patches: "Sequence[Patch]") -> list[FileDiff]:
    """Return each file's change from before its first patch to after its last, without files that have no snapshot after it.

    Raises SnapshotError when a snapshot is not available.
    """
    groups = _ends_of(patches)
    return merge([await snapshots.diff(before, after, files) for (before, after), files in groups.items()])


def _ends_of(patches: "Sequence[Patch]") -> dict[tuple[str, str], list[str]]:
    """Return the changed files by the snapshots before their first patch and after their last one, if that is known."""
    ends: dict[str, tuple[str, str | None]] = {}
    for patch in patches:
        for file in patch.files:
            ends[file] = (ends.get(file, (patch.hash,))[0], patch.after)
    groups: dict[tuple[str, str], list[str]] = {}
    for file, (before, after) in ends.items():
        if after is not None:
            groups.setdefault((before, after), []).append(file)
    return groups


def _stored_changes(earlier: Sequence[FileDiff], requests: Iterable[UserMessage]) -> list[FileDiff] | None:
    """Return earlier changes and those of these turns as they are stored, None when one of them has none stored."""
    summaries = [request.summary for request in requests]
    if any(summary is None for summary in summaries):
        return None
    return merge([earlier, *(summary.diffs for summary in summaries if summary is not None and summary.diffs)])


def truncate(changes: Sequence[FileDiff]) -> list[FileDiff]:
    """Return the changes, without texts where these are too large."""
    return [
        change if len(change.before) + len(change.after) <= TEXT_LIMIT else _without_text(change) for change in changes
    ]


def merge(changes: Iterable[Sequence[FileDiff]]) -> list[FileDiff]:
    """Return each file's change from before the first to after the last, by name, without files that did not change."""
    merged: dict[str, FileDiff] = {}
    for group in changes:
        for change in group:
            earlier = merged.pop(change.file, None)
            whole = change if earlier is None else _joined(earlier, change)
            if whole is not None:
                merged[change.file] = whole
    return [merged[file] for file in sorted(merged)]


def totals(changes: Sequence[FileDiff]) -> SessionSummary:
    """Return the counts of changed lines and files."""
    return SessionSummary.trusted(
        additions=sum(change.additions for change in changes),
        deletions=sum(change.deletions for change in changes),
        files=len(changes),
    )


def status_of(change: FileDiff) -> Literal["added", "deleted", "modified"]:
    """Return the kind of a change; derived from the texts in older records, which do not store it."""
    if change.status is not None:
        return change.status
    if not change.before and change.after:
        return "added"
    return "deleted" if change.before and not change.after else "modified"


def _joined(first: FileDiff, second: FileDiff) -> FileDiff | None:
    existed, exists = status_of(first) != "added", status_of(second) != "deleted"
    if not existed and not exists:
        return None
    if _is_truncated(first) or _is_truncated(second):
        return _added_up(_without_text(first), _without_text(second), existed=existed, exists=exists)
    has_text = bool(first.before)
    if (
        existed
        and exists
        and has_text
        and first.before == second.after
        and not (_is_textless(first) or _is_textless(second))
    ):
        return None
    from opencode_tui.engine.snapshot.objects.diff import count_lines  # only for files that changed twice

    additions, deletions = count_lines(first.before, second.after)
    return second.changed(
        before=first.before,
        additions=additions,
        deletions=deletions,
        status=_status(existed=existed, exists=exists),
        note=second.note or first.note,
    )


def _added_up(first: FileDiff, second: FileDiff, *, existed: bool, exists: bool) -> FileDiff:
    return second.changed(
        additions=first.additions + second.additions,
        deletions=first.deletions + second.deletions,
        status=_status(existed=existed, exists=exists),
    )


def _status(*, existed: bool, exists: bool) -> Literal["added", "deleted", "modified"]:
    if existed and exists:
        return "modified"
    return "added" if exists else "deleted"


def _without_text(change: FileDiff) -> FileDiff:
    return change.changed(before="", after="", status=status_of(change), note=TOO_LARGE)


def _is_truncated(change: FileDiff) -> bool:
    """Return whether a change has counts of lines and no texts."""
    return not change.before and not change.after and bool(change.additions or change.deletions)


def _is_textless(change: FileDiff) -> bool:
    """Return whether something other than text changed: the mode, or binary content."""
    return change.before == change.after


TITLE_LENGTH = 100
NOTES = "diffNotes"
"""The key of `session.metadata` for notes on changes, by file."""


class SessionSummaries(Struct, frozen=True):
    """Summarizes the changes of sessions; needs the session's run lock. Raises StorageError, SnapshotError.

    What they return is stored, sent and shared: `leaving` decides which files keep their content in it.
    """

    store: SessionStore
    snapshots: "Lazy[Snapshots]"
    publish: Callable[[Event], None]
    leaving: Leaving

    async def refresh(self, session_id: str, *, anew: Collection[str] = ()) -> None:
        """Summarize the turns without a summary and those of the requests `anew`, then the session, and publish it."""
        info = await self.store.get(session_id)
        change = await self.prepare(info, info.revert, anew=anew)
        if change(info) != info:
            await self.store.update(session_id, change, touch=False)

    async def refresh_last(self, session_id: str) -> None:
        """Summarize the last turn again, then the session; after a run."""
        turns = turns_of(await self.store.recent(session_id))
        await self.refresh(session_id, anew=[turns[-1][0].id] if turns else [])

    async def prepare(
        self, info: SessionInfo, revert: RevertState | None, *, anew: Collection[str] = ()
    ) -> Callable[[SessionInfo], SessionInfo]:
        """Summarize as `refresh` does, with this undo active, and return the change of the session's record."""
        recent = await self.store.recent(info.id)
        names = {message.info.id for message in recent}
        is_here = names.issuperset([*anew, *([] if revert is None else [revert.message_id])])
        older = await self.store.sum_up_older(info.id, _stored_changes) if is_here else None
        messages = conversation(await self.store.messages(info.id) if older is None else recent)
        kept = visible(messages, revert)
        groups: list[Sequence[FileDiff]] = [older or ()]
        for (user, parts), (_, whole) in zip(turns_of(kept), turns_of(messages), strict=False):
            if len(parts) != len(whole):
                groups.append(await self._changes(parts))
            elif user.summary is None or user.id in anew:
                groups.append(await self._sum_up(user, parts))
            else:
                groups.append(user.summary.diffs)
        diffs = await asyncio.to_thread(lambda: self.leaving.diffs(truncate(merge(groups))))
        await self._keep(info.id, diffs)
        return lambda old: _summed_up(old, diffs)

    async def diff(self, session_id: str, message_id: str | None = None) -> list[FileDiff]:
        """Return the changes of files by a session, or by the turn of one of its messages."""
        if message_id is None:
            return await self.session(session_id)
        return await self.turn(session_id, message_id)

    async def session(self, session_id: str) -> list[FileDiff]:
        """Return the changes of a session as last summarized."""
        stored = self.leaving.diffs(await self.store.diff(session_id))
        return [
            one if noted.note is None or one.note else noted
            for one, noted in zip(stored, with_notes(stored, await self.store.get(session_id)), strict=True)
        ]

    async def turn(self, session_id: str, message_id: str) -> list[FileDiff]:
        """Return the changes of the turn of a request or an answer."""
        messages = await self.store.messages(session_id)
        for user, parts in reversed(turns_of(messages)):
            if user.id == message_id or any(part.message_id == message_id for part in parts):
                return await self._changes(parts) or (user.summary.diffs if user.summary else [])
        return []

    async def ignored(self, session_id: str, message_id: str | None = None) -> list[FileDiff]:
        """Return the changes of ignored files by a session, or by the turn of one of its messages, without their content.

        `diff` leaves them out, because it is stored, sent and shared. Reads the whole session.
        """
        info = await self.store.get(session_id)
        turns = turns_of(visible(await self.store.tail(session_id), info.revert))
        parts = [
            part
            for user, parts in turns
            if message_id is None or user.id == message_id or any(part.message_id == message_id for part in parts)
            for part in parts
        ]
        patches = await patches_of(self.store, parts)
        if not any(patch.files for patch in patches):
            return []
        snapshots = self.snapshots.get()
        return await snapshots.ignored_changes(_ends_of((await usable(snapshots, patches)).patches))

    async def since(self, session_id: str, message_id: str, part_id: str | None = None) -> list[FileDiff]:
        """Return the changes by everything from a message, or a part of it, on. Raises NoSuchMessageError."""
        messages = conversation(await self.store.messages(session_id))
        return await self._changes(hidden_parts(messages, find_boundary(messages, message_id, part_id)))

    async def _changes(self, parts: Sequence[AnyPart]) -> list[FileDiff]:
        patches = await patches_of(self.store, parts)
        if not any(patch.files for patch in patches):
            return []
        snapshots = self.snapshots.get()
        changes = await net_changes(snapshots, (await usable(snapshots, patches)).patches)
        return await asyncio.to_thread(self.leaving.diffs, changes)

    async def _sum_up(self, user: UserMessage, parts: Sequence[AnyPart]) -> list[FileDiff]:
        diffs = truncate(await self._changes(parts))
        old = user.summary or UserSummary.trusted()
        summary = old.changed(title=old.title or title_of(parts, user.id), diffs=_stored(diffs))
        if summary != user.summary:
            await self.store.writer(user.session_id).update_message(user.changed(summary=summary))
        return diffs

    async def _keep(self, session_id: str, diffs: Sequence[FileDiff]) -> None:
        stored = _stored(diffs)
        if stored != await self.store.diff(session_id):
            await self.store.writer(session_id).write_diff(stored)
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
