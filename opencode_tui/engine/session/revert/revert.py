"""Undo of a conversation and of its changes of files: preview, revert, unrevert, and the cleanup that makes it final.

Crash-safe: the pending undo is stored in the session's record before a file changes; the files change in one transaction, which
is completed or rolled back; then the record stores the result. The next use of the session completes a pending undo.
Source: docs/internals/snapshots.md#conversation.
"""

import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.reminder import as_reminder
from opencode_tui.engine.session.revert.cleanup import Cleanup
from opencode_tui.engine.session.revert.files import (
    FileRevert,
    RevertablePatches,
    read_note,
    with_final,
    with_pending,
    with_undo,
    without_pending,
    without_undo,
)
from opencode_tui.engine.session.revert.range import (
    Messages,
    find_boundary,
    hidden_parts,
    last_turn,
    request_of,
    scope_of,
    stored_boundary,
    visible,
)
from opencode_tui.engine.session.revert.summary import SessionSummaries
from opencode_tui.engine.session.session_lock import SessionLock
from opencode_tui.engine.snapshot.report import as_patch
from opencode_tui.schema.error import BusyError, NotFoundError, NothingToRevertError
from opencode_tui.schema.ids import Prefix
from opencode_tui.schema.session.history import conversation
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import PatchPart, TextPart
from opencode_tui.schema.session.session import RevertState, SessionInfo
from opencode_tui.schema.session.undo import PendingUndo, RevertPreview, RevertReport, UndoFile, UndoOnly, UndoScope

_PREFIX = "ses_"
_RANDOM_BYTES = 8
_PART = "prt_"
_FILES_UNDONE = (
    "The user undid these changes of yours; the files are as they were before. Read them before you edit them:"
)


class SessionRevert:
    """Undo of sessions. Each method but `cleanup` acquires the session's run lock; raises BusyError while it is held."""

    def __init__(
        self,
        *,
        store: SessionStore,
        lock: SessionLock,
        files: FileRevert,
        summaries: SessionSummaries,
        cleanup: Cleanup,
        recover_session: Callable[[str], Awaitable[object]],
        new_id: Callable[[Prefix], str],
    ) -> None:
        """`recover_session` closes what a dead process left open in a session, and records the last changes of files."""
        self._store = store
        self._lock = lock
        self._files = files
        self._summaries = summaries
        self._cleanup = cleanup
        self._recover_session = recover_session
        self._new_id = new_id

    async def preview(
        self,
        session_id: str,
        message_id: str | None = None,
        part_id: str | None = None,
        *,
        only: UndoOnly | None = None,
    ) -> RevertPreview:
        """Return what `revert` with these arguments would do now; raises as it does."""
        await self._check_background(session_id, message_id, part_id)
        async with self._locked(session_id) as info:
            state, scope = await self._target(info, message_id, part_id)
            preview = await self._files.preview(await self._work(info, state, only), read_note(info).report)
        return preview.changed(scope=scope.changed(only=only))

    async def preview_unrevert(self, session_id: str) -> RevertPreview:
        """Return what `unrevert` would do now; raises as it does."""
        async with self._locked(session_id) as info:
            return await self._files.preview(await self._unrecorded_files(info), read_note(info).report, is_redo=True)

    async def revert(
        self,
        session_id: str,
        message_id: str | None = None,
        part_id: str | None = None,
        *,
        only: UndoOnly | None = None,
    ) -> RevertReport:
        """Undo everything from a message on, or from a part of it; without one the user's last turn. Returns the report.

        `only` limits it to the conversation or to files. It replaces an active undo: files in between are restored. Raises
        NoSuchMessageError, NothingToRevertError, SnapshotError, BusyError, also while a background command runs that was
        started there; then nothing has changed.
        """
        await self._check_background(session_id, message_id, part_id)
        async with self._locked(session_id) as info:
            state, _ = await self._target(info, message_id, part_id)
            return await self._apply(info, state, await self._work(info, state, only), only)

    async def unrevert(self, session_id: str) -> RevertReport:
        """Restore what the active undo undid; raises NothingToRevertError without one, else as `revert`.

        For files that could not be written the undo stays active, so that it can be retried.
        """
        redone: list[RevertReport] = []
        async with self._locked(session_id, redone) as info:
            if redone and info.revert is None:  # one that was interrupted, and is complete now
                return redone[0]
            return await self._apply(info, None, await self._unrecorded_files(info))

    async def commit(self, session_id: str) -> bool:
        """Make the active undo final, and return whether there was one; raises as `unrevert`."""
        async with self._locked(session_id) as info:
            return await self._make_final(info, nullcontext())

    async def cleanup(self, session_id: str) -> bool:
        """Make the active undo final before the conversation continues; returns whether there was one. Needs the run lock."""
        info = await self._recovered(await self._store.get(session_id))
        return await self._make_final(info, self._lock.locks.unforked(session_id))

    async def _make_final(self, info: SessionInfo, no_forks: AbstractAsyncContextManager[None]) -> bool:
        if info.revert is None:
            return False
        session_id = info.id
        anew: list[str] = []
        async with no_forks:
            messages = await self._conversation(session_id)
            boundary = stored_boundary(messages, info.revert)
            if is_of_files(info):
                await self._record_files(info, messages)
            elif boundary is not None:
                await self._store.update(session_id, with_final, touch=False)
                await self._store.sync()
                await self._cleanup.remove(session_id, messages, boundary)
                if boundary.part is not None:
                    anew = [messages[request_of(messages, boundary.message)].info.id]
        summed_up = await self._summaries.prepare(info, None, anew=anew)
        await self._store.update(session_id, lambda old: summed_up(without_undo(old)))
        await self._store.sync()
        return True

    async def recover_all(self) -> None:
        """Complete or roll back the undos that dead processes started in this worktree.

        Skips running sessions, which recover themselves. Raises SnapshotError, StorageError.
        """
        for key in await self._files.unwritten():
            try:
                async with self._locked(_PREFIX + key[: -2 * _RANDOM_BYTES]):
                    await self._files.delete_record(key)
            except BusyError:
                continue
            except NotFoundError:  # the session was deleted
                await self._files.delete_record(key)

    async def recover(self, session_id: str) -> None:
        """Recover a session after a crash. Raises as `revert`."""
        async with self._locked(session_id):
            pass

    @asynccontextmanager
    async def _locked(self, session_id: str, redone: list[RevertReport] | None = None) -> AsyncGenerator[SessionInfo]:
        """Hold the run lock and yield the record of the recovered session; `redone` gets the report of a redo that it completes."""
        async with self._lock.hold(session_id):
            await self._recover_session(session_id)
            info = await self._recovered(await self._store.get(session_id), redone)
            if read_note(info).final:  # a part of what it hides may be deleted
                await self._make_final(info, nullcontext())
                info = await self._store.get(session_id)
            yield info

    async def _check_background(self, session_id: str, message_id: str | None, part_id: str | None) -> None:
        """Raise BusyError while a command of what would be undone runs: its changes are known when it has ended."""
        if self._files.has_background_commands:
            state, _ = await self._target(await self._store.get(session_id), message_id, part_id)
            messages = await self._conversation(session_id)
            first = next(one.info for one in messages if one.info.id == state.message_id)
            await self._files.wait_for_commands(session_id, first.id)

    async def _target(
        self, info: SessionInfo, message_id: str | None, part_id: str | None
    ) -> tuple[RevertState, UndoScope]:
        if message_id is not None:
            message_id = await self._store.stored_id(info.id, message_id)
        messages = await self._near(info, message_id)
        try:
            wanted = message_id or last_turn(visible(messages, info.revert))
        except NothingToRevertError:
            messages = await self._conversation(info.id)
            wanted = last_turn(visible(messages, info.revert))
        scope = scope_of(messages, find_boundary(messages, wanted, part_id))
        return RevertState(message_id=scope.message_id, part_id=scope.part_id), scope

    async def _near(self, info: SessionInfo, message_id: str | None) -> Messages:
        """Return the messages of a session; without those before the last compaction where neither undo begins there."""
        begins = [
            *([] if info.revert is None else [info.revert.message_id]),
            *([] if message_id is None else [message_id]),
        ]
        messages = conversation(await self._store.recent(info.id))
        if {message.info.id for message in messages}.issuperset(begins):
            return messages
        return await self._conversation(info.id)

    async def _conversation(self, session_id: str) -> Messages:
        """Return all messages but the requests that wait, which no undo hides."""
        return conversation(await self._store.messages(session_id))

    async def _work(self, info: SessionInfo, state: RevertState, only: UndoOnly | None = None) -> RevertablePatches:
        if only == "conversation":
            return RevertablePatches([], {})
        messages = await self._near(info, state.message_id)
        boundary = stored_boundary(messages, state)
        return await self._files.collect(info, [] if boundary is None else hidden_parts(messages, boundary))

    async def _unrecorded_files(self, info: SessionInfo) -> RevertablePatches:
        """Return the files of an active undo that another program made, and that has no snapshots here."""
        if info.revert is None:
            raise NothingToRevertError(f"there is nothing to redo: there is no active undo in session {info.id}")
        if read_note(info).report is not None:
            return RevertablePatches([], {})
        work = await self._work(info, info.revert)
        reason = "another program undid this; its snapshots are not available here"
        files = [*work.lost, *(file for patch in work.patches for file in patch.files)]
        return RevertablePatches([], dict.fromkeys(files, reason))

    async def _apply(
        self, info: SessionInfo, state: RevertState | None, work: RevertablePatches, only: UndoOnly | None = None
    ) -> RevertReport:
        """Store the pending undo, apply it to the files, store the result."""
        key = _key_of(info.id) + secrets.token_hex(_RANDOM_BYTES)
        record = self._new_id("msg") if only == "files" else None
        pending = PendingUndo(key=key, to=state, only=only, record=record)
        active = read_note(info).report
        await self._store.update(info.id, lambda old: with_pending(old, pending))
        await self._store.sync()
        if not work.patches and (active is None or active.before is None):
            return await self._conclude(info, pending, None, work)
        try:
            report = await self._files.revert(work, active, key=pending.key, is_redo=state is None)
        except Exception:
            await self._recovered(await self._store.get(info.id))
            raise
        return await self._conclude(info, pending, report, work)

    async def _recovered(self, info: SessionInfo, redone: list[RevertReport] | None = None) -> SessionInfo:
        """Complete a pending undo when its files were reverted, drop it otherwise."""
        pending = read_note(info).pending
        if pending is None:
            return info
        report = await self._files.finished(pending.key)
        if report is None:
            info = await self._store.update(info.id, without_pending)
            summed_up = (await self._summaries.prepare(info, info.revert))(
                info
            )  # it may have changed them before it died
            return info if summed_up == info else await self._store.update(info.id, lambda _: summed_up)
        work = RevertablePatches([], {}) if pending.to is None else await self._work(info, pending.to, pending.only)
        done = await self._conclude(info, pending, report, work)
        if pending.to is None and redone is not None:
            redone.append(done)
        return await self._store.get(info.id)

    async def _conclude(
        self, info: SessionInfo, pending: PendingUndo, report: RevertReport | None, work: RevertablePatches
    ) -> RevertReport:
        active = read_note(info).report
        state = pending.to
        done = await self._files.complete(report, work, active, is_redo=state is None)
        if info.revert is not None and is_of_files(info):  # a cleanup was interrupted while it wrote the message
            await self._store.writer(info.id).remove_left(info.revert.message_id)
        if state is not None:
            scope = await self._scope(info, state)
            done = done.changed(scope=scope.changed(only=pending.only))
            if pending.record is not None:
                state = RevertState(message_id=pending.record)
            state = await self._state(info, state, done)
            remaining = done
        else:
            state, remaining = _remaining_undo(info, done, active)
        summed_up = await self._summaries.prepare(info, state)

        def change(old: SessionInfo) -> SessionInfo:
            return summed_up(
                without_undo(old) if state is None or remaining is None else with_undo(old, state, remaining)
            )

        await self._store.update(info.id, change)
        await self._store.sync()
        if report is not None:
            await self._files.delete_record(pending.key)
        return done

    async def _record_files(self, info: SessionInfo, messages: Messages) -> None:
        """Store the message that reports an undo of files to the model, and their change; can be repeated."""
        report, revert = read_note(info).report, info.revert
        change = None if report is None else as_patch(report)
        users = [one.info for one in messages if isinstance(one.info, UserMessage)]
        if report is None or revert is None or change is None or not users:
            return
        paths = [file.path for file in (*report.restored, *report.deleted)]
        if not paths:
            return
        message = users[-1].changed(id=revert.message_id, summary=None)
        text = as_reminder("\n".join([_FILES_UNDONE, *(f"- {path}" for path in paths)]))
        # Equal ids on each attempt: an interrupted cleanup is repeated.
        reminder, patch = (f"{_PART}{message.id[len(_PART) :]}{number}" for number in range(2))
        reported = PatchPart(
            id=patch,
            session_id=info.id,
            message_id=message.id,
            hash=change.hash,
            after=change.after,
            files=change.files,
        )
        words = TextPart(id=reminder, session_id=info.id, message_id=message.id, text=text, synthetic=True)
        await self._store.writer(info.id).add_message(message, [words, reported])

    async def _scope(self, info: SessionInfo, state: RevertState) -> UndoScope:
        messages = await self._near(info, state.message_id)
        return scope_of(messages, find_boundary(messages, state.message_id, state.part_id))

    async def _state(self, info: SessionInfo, state: RevertState, done: RevertReport) -> RevertState:
        before = info.revert.snapshot if info.revert is not None else None
        return state.changed(snapshot=done.before or before, after=done.after, diff=await self._files.diff_text(done))


def is_of_files(info: SessionInfo) -> bool:
    """Return whether the active undo is one of files only."""
    report = read_note(info).report
    return info.revert is not None and report is not None and report.scope is not None and report.scope.only == "files"


def _key_of(session_id: str) -> str:
    """Return the prefix of a key that identifies the session."""
    return "".join(letter for letter in session_id.removeprefix(_PREFIX) if letter.isalnum())


def _remaining_undo(
    info: SessionInfo, done: RevertReport, active: RevertReport | None
) -> tuple[RevertState | None, RevertReport | None]:
    """Return the undo that stays active after a redo: that of the files that could not be written."""
    if active is None or not done.failed:
        return None, None
    failed = {file.path for file in done.failed}

    def still(files: list[UndoFile]) -> list[UndoFile]:
        return [file for file in files if file.path in failed]

    edited = [path for path in active.edited if path in failed]
    return info.revert, active.changed(restored=still(active.restored), deleted=still(active.deleted), edited=edited)
