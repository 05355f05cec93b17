"""The files of an undo: preview, revert and report, and the undo in a session's record (`revert` and `metadata.undo`)."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.leaving import Leaving
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.revert.range import UncoveredCall
from opencode_tui.engine.session.revert.summary import (
    CLEANED,
    RevertablePatches,
    changes_in,
    net_changes,
    status_of,
    usable,
)
from opencode_tui.engine.snapshot.report import Patch, as_patch
from opencode_tui.engine.snapshot.revert.plan import CHANGED_SINCE
from opencode_tui.engine.snapshot.snapshot import Snapshots
from opencode_tui.engine.tool.edit.diff import compare
from opencode_tui.schema.error import SessionError
from opencode_tui.schema.record import ValidationError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.part import AnyPart
from opencode_tui.schema.session.session import UNDO_KEY, RevertState, SessionInfo
from opencode_tui.schema.session.undo import PendingUndo, RevertPreview, RevertReport, UndoFile, UndoNote
from opencode_tui.storage.safe_folder import open_folder

if TYPE_CHECKING:
    from opencode_tui.engine.tool.process.background import BackgroundCommands


def read_note(info: SessionInfo) -> UndoNote:
    """Return the note; an unreadable one counts as empty, so that it blocks nothing."""
    try:
        return UndoNote.model_validate((info.metadata or {}).get(UNDO_KEY) or {})
    except ValidationError:
        return UndoNote()


def with_pending(info: SessionInfo, pending: PendingUndo) -> SessionInfo:
    """Return the record of a session in which an undo or redo is about to start."""
    return _noted(info, read_note(info).changed(pending=pending))


def without_pending(info: SessionInfo) -> SessionInfo:
    """Return the record of a session without the pending undo or redo."""
    return _noted(info, read_note(info).changed(pending=None))


def with_final(info: SessionInfo) -> SessionInfo:
    """Return the record of a session whose active undo is about to become final."""
    return _noted(info, read_note(info).changed(final=True))


def with_undo(info: SessionInfo, revert: RevertState, report: RevertReport) -> SessionInfo:
    """Return the record of a session with an active undo."""
    return _noted(info, UndoNote(report=report)).changed(revert=revert)


def without_undo(info: SessionInfo) -> SessionInfo:
    """Return the record of a session without any undo."""
    return _noted(info, UndoNote()).changed(revert=None)


def _noted(info: SessionInfo, note: UndoNote) -> SessionInfo:
    metadata = {key: value for key, value in (info.metadata or {}).items() if key != UNDO_KEY}
    content = note.to_dict()
    if content:
        metadata[UNDO_KEY] = content
    return info.changed(metadata=metadata or None)


DIFF_LIMIT = 100_000
"""Maximum characters of `revert.diff`; above it files are listed without their lines."""


class FileRevert:
    """Reverts the files of one worktree. Raises SnapshotError and StorageError as the snapshots do."""

    def __init__(
        self,
        *,
        store: SessionStore,
        snapshots: Snapshots,
        leaving: Leaving,
        background: "Lazy[BackgroundCommands] | None" = None,
    ) -> None:
        """`background` are the commands that may still change files. `leaving` decides what of them is stored with an undo."""
        self._store = store
        self._snapshots = snapshots
        self._background = background
        self._leaving = leaving

    @property
    def has_background_commands(self) -> bool:
        """Return whether background commands were started since the program started."""
        return self._background is not None and self._background.made is not None

    async def wait_for_commands(self, session_id: str, first: str) -> None:
        """Wait for the records of background commands that a session started from a message on; BusyError while one runs."""
        if self._background is not None and self._background.made is not None:
            await self._background.made.refuse_undo(session_id, first)

    async def collect(self, info: SessionInfo, parts: Sequence[AnyPart]) -> RevertablePatches:
        """Return the changes of files by these parts. Raises SessionError when the session belongs to another project's folder."""
        changes = await changes_in(self._store, parts)
        patches = [change for change in changes if isinstance(change, Patch)]
        is_ours = any(patch.after for patch in patches)
        if is_ours and await asyncio.to_thread(_is_elsewhere, info.directory, self._snapshots.worktree):
            raise SessionError(f"session {info.id} works in {info.directory}; run undo there to revert its files")
        work = await usable(self._snapshots, patches)
        covered = {file for patch in patches for file in patch.files}
        calls = [change for change in changes if isinstance(change, UncoveredCall)]
        uncovered = {file: call.reason for call in calls for file in call.files if file not in covered}
        if self._snapshots.unavailable is None:  # else the whole report says why
            root = await asyncio.to_thread(self._snapshots.worktree.resolve)
            uncovered |= {str(root): call.reason for call in calls if not call.files}
        return RevertablePatches(work.patches, {**uncovered, **work.lost})

    async def preview(
        self, work: RevertablePatches, active: RevertReport | None, *, is_redo: bool = False
    ) -> RevertPreview:
        """Return what an undo would do to files, after reverting the active one; a redo does only the latter."""
        before, gone = await self._in_force(active)
        patches = [*work.patches, *_as_patches(before)]
        found = await self._snapshots.preview(patches) if patches else RevertPreview()
        changes = await self._changes(patches, is_redo=is_redo)
        return RevertPreview(
            restored=_files(found.restored, changes),
            deleted=_files(found.deleted, changes),
            kept=await _with_times(found.kept, changes),
            unprotected=_unprotected(found.unprotected, {**gone, **work.lost}, changes),
            unavailable=self._snapshots.unavailable,
            beside=[] if is_redo else await self._snapshots.beside(patches),
        )

    async def revert(
        self, work: RevertablePatches, active: RevertReport | None, *, key: str, is_redo: bool = False
    ) -> RevertReport | None:
        """Revert, and return the report, None when no file is concerned; `key` as in `Snapshots.revert`.

        The report of an undo includes the active one; that of a redo covers only itself.
        """
        before, _ = await self._in_force(active)
        if not work.patches and before is None:
            return None
        if is_redo and before is not None:
            return await self._snapshots.unrevert(before, key=key)
        return await self._snapshots.revert(work.patches, active=before, key=key)

    async def complete(
        self,
        report: RevertReport | None,
        work: RevertablePatches,
        active: RevertReport | None,
        *,
        is_redo: bool = False,
    ) -> RevertReport:
        """Return the report of `revert` with what the changes were, as it is shown and stored."""
        before, gone = await self._in_force(active)
        lost = {**gone, **work.lost}
        if report is None:
            return RevertReport(unprotected=_unprotected([], lost, {}), unavailable=self._snapshots.unavailable)
        changes = await self._changes([*work.patches, *_as_patches(before)], is_redo=is_redo)
        return report.changed(
            restored=_files(report.restored, changes),
            deleted=_files(report.deleted, changes),
            kept=await _with_times(report.kept, changes),
            unprotected=_unprotected(report.unprotected, lost, changes),
            failed=_files(report.failed, changes),
            beside=[] if is_redo else await self._snapshots.beside(work.patches),
        )

    async def finished(self, key: str) -> RevertReport | None:
        """Return the report of the revert with this key, None when it was not done or is no longer known."""
        return None if self._snapshots.unavailable is not None else await self._snapshots.completed_revert(key)

    async def unwritten(self) -> list[str]:
        """Return the keys of reverts that were done and may not be stored in a session."""
        return [] if self._snapshots.unavailable is not None else await self._snapshots.completed_keys()

    async def delete_record(self, key: str) -> None:
        """Delete the record of a finished revert."""
        if self._snapshots.unavailable is None:
            await self._snapshots.delete_completed(key)

    async def diff_text(self, report: RevertReport) -> str | None:
        """Return the unified diff from before to after an undo; None without files."""
        if report.before is None or report.after is None:
            return None
        files = [file.path for file in (*report.restored, *report.deleted)]
        changes = await self._snapshots.diff(report.before, report.after, files)
        return await asyncio.to_thread(lambda: _as_text(self._leaving.diffs(changes)))

    async def _in_force(self, active: RevertReport | None) -> tuple[RevertReport | None, dict[str, str]]:
        """Return the report of the active undo, or its files with the reason when its snapshots have been cleaned up."""
        undone = None if active is None else as_patch(active)
        if undone is None or undone.after is None:
            return None, {}
        if not await self._snapshots.missing([undone.hash, undone.after]):
            return active, {}
        return None, dict.fromkeys(undone.files, CLEANED)

    async def _changes(self, patches: Sequence[Patch], *, is_redo: bool) -> dict[str, FileDiff]:
        """Return the changes that an undo or redo reverts, by absolute path."""
        found = await net_changes(self._snapshots, [_backwards(patch) for patch in patches] if is_redo else patches)
        root = await asyncio.to_thread(self._snapshots.worktree.resolve)
        return {f"{root}/{change.file}": change for change in found}


async def _with_times(conflicts: Sequence[UndoFile], changes: Mapping[str, FileDiff]) -> list[UndoFile]:
    """Return the files that an undo leaves alone, with the time in ms of the last change of those that were changed since."""

    def changed_at(conflict: UndoFile) -> int | None:
        if conflict.reason != CHANGED_SINCE:
            return None
        folder, name = os.path.split(conflict.path)
        try:
            with open_folder(folder) as opened:
                return opened.status(name).st_mtime_ns // 1_000_000
        except OSError:  # it does not exist: there is no time to report
            return None

    times = await asyncio.to_thread(lambda: [changed_at(conflict) for conflict in conflicts])
    return [
        _file(conflict.path, changes, reason=conflict.reason).changed(changed_at=time)
        for conflict, time in zip(conflicts, times, strict=True)
    ]


def _is_elsewhere(directory: str, worktree: Path) -> bool:
    """Return whether a folder exists and is outside of the worktree."""
    return os.path.isdir(directory) and not Path(directory).resolve().is_relative_to(worktree.resolve())


def _as_patches(report: RevertReport | None) -> list[Patch]:
    patch = None if report is None else as_patch(report)
    return [] if patch is None else [patch]


def _backwards(patch: Patch) -> Patch:
    """Return the inverse of a patch; one without a snapshot after it is returned unchanged."""
    return patch if patch.after is None else patch.changed(hash=patch.after, after=patch.hash)


def _files(files: Sequence[UndoFile], changes: Mapping[str, FileDiff]) -> list[UndoFile]:
    return [_file(file.path, changes, reason=file.reason) for file in files]


def _file(path: str, changes: Mapping[str, FileDiff], *, reason: str | None = None) -> UndoFile:
    change = changes.get(path)
    if change is None:
        return UndoFile(path=path, reason=reason)
    return UndoFile(
        path=path,
        status=change.status,
        additions=change.additions,
        deletions=change.deletions,
        note=change.note,
        reason=reason,
    )


def _unprotected(files: Sequence[UndoFile], lost: Mapping[str, str], changes: Mapping[str, FileDiff]) -> list[UndoFile]:
    reasons = {**{file.path: file.reason for file in files}, **lost}
    return [_file(path, changes, reason=reason) for path, reason in sorted(reasons.items())]


def _as_text(changes: Sequence[FileDiff]) -> str:
    """Return changes in the format of git, which other programs expect in the field."""
    pieces: list[str] = []
    room = DIFF_LIMIT
    for change in changes:
        old, new = (f"{side}/{change.file}" for side in "ab")
        status = status_of(change)
        head = f"diff --git {old} {new}\n"
        old, new = "/dev/null" if status == "added" else old, "/dev/null" if status == "deleted" else new
        _, _, hunks = compare(change.file, change.before, change.after).text.partition(f"+++ {change.file}\n")
        lines = f"--- {old}\n+++ {new}\n{hunks}" if hunks else f"Binary files {old} and {new} differ\n"
        if len(lines) > room:
            lines = f"--- {old}\n+++ {new}\n"
        room -= len(lines)
        pieces.append(head + lines)
    return "".join(pieces)
