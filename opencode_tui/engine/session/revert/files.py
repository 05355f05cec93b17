"""The files of an undo: preview, revert and report."""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from pydantic import ValidationError

from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.revert.range import UncoveredCall, changes_of, work_of
from opencode_tui.engine.snapshot.report import Patch, PathNote, Preview, Report
from opencode_tui.engine.snapshot.revert.plan import CHANGED_SINCE
from opencode_tui.engine.snapshot.snapshot import Snapshots
from opencode_tui.engine.tool.edit.diff import compare
from opencode_tui.schema.error import SessionError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.part import AnyPart, PatchPart
from opencode_tui.schema.session.session import UNDO_KEY, RevertState, SessionInfo, SessionSummary
from opencode_tui.schema.session.undo import PendingUndo, RevertPreview, RevertReport, UndoFile, UndoNote

# Pure: the undo in a session's record, in `revert` and in `metadata.undo`.


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


def with_undo(info: SessionInfo, revert: RevertState, report: RevertReport) -> SessionInfo:
    """Return the record of a session with an active undo."""
    return _noted(info, UndoNote(report=report)).changed(revert=revert)


def without_undo(info: SessionInfo) -> SessionInfo:
    """Return the record of a session without any undo."""
    return _noted(info, UndoNote()).changed(revert=None)


def as_report(report: RevertReport | None) -> Report | None:
    """Return a stored report in the form of the snapshots, None for one without files."""
    if report is None or report.before is None or report.after is None:
        return None
    return Report(
        before=report.before,
        after=report.after,
        restored=[file.path for file in report.restored],
        deleted=[file.path for file in report.deleted],
        failed=[PathNote(path=file.path, reason=file.reason or "") for file in report.failed],
    )


def _noted(info: SessionInfo, note: UndoNote) -> SessionInfo:
    metadata = {key: value for key, value in (info.metadata or {}).items() if key != UNDO_KEY}
    content = note.to_dict()
    if content:
        metadata[UNDO_KEY] = content
    return info.changed(metadata=metadata or None)


# Pure: successive changes of files, merged.

TEXT_LIMIT = 1_000_000
"""Maximum characters of a change's two texts together; above it only the counts of lines are stored."""

TOO_LARGE = "too large to show"


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
    return SessionSummary(
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


# The changes of files by a range of a conversation: the patches of its steps and of the agents that they started.

FOREIGN = "another program recorded this step; its snapshots are not available here"
CLEANED = "the snapshots have been cleaned up"
_ALL = 1 << 30


class RevertablePatches(Struct, frozen=True):
    """Patches with available snapshots, oldest first, and all other changed files with the reason."""

    patches: list[Patch]
    lost: dict[str, str]


async def patches_of(store: SessionStore, parts: Sequence[AnyPart]) -> list[Patch]:
    """Return the patches among these parts, oldest first; those of a child session replace its call, each once."""
    return [change for change in await _changes_in(store, parts, set()) if isinstance(change, Patch)]


async def _changes_in(store: SessionStore, parts: Sequence[AnyPart], seen: set[str]) -> list[Patch | UncoveredCall]:
    """Return the changes of these parts and of the child sessions that they started; messages in `seen` are skipped."""
    found: list[Patch | UncoveredCall] = []
    for change in changes_of(parts):
        if isinstance(change, PatchPart):
            found.append(Patch(hash=change.hash, files=change.files, after=change.after))
        elif isinstance(change, UncoveredCall):
            found.append(change)
        else:
            for message in work_of(change, await store.tail(change.session_id, _ALL)):
                if message.info.id not in seen:
                    seen.add(message.info.id)
                    found += await _changes_in(store, message.parts, seen)
    return found


async def usable(snapshots: "Snapshots", patches: Sequence[Patch]) -> RevertablePatches:
    """Return the patches without files for which one of them has no snapshot: reverting part of a file's changes is useless."""
    if not patches:
        return RevertablePatches([], {})
    if snapshots.unavailable is not None:
        return RevertablePatches([], {file: snapshots.unavailable for patch in patches for file in patch.files})
    missing = await snapshots.missing({name for patch in patches for name in (patch.hash, patch.after) if name})
    lost: dict[str, str] = {}
    kept: list[Patch] = []
    for patch in patches:
        if missing.intersection((patch.hash, patch.after)):
            lost.update({file: CLEANED if patch.after else FOREIGN for file in patch.files})
        else:
            kept.append(patch)
    # A step with only files without a snapshot left still reports what its snapshots do not contain.
    return RevertablePatches(
        [patch.changed(files=[file for file in patch.files if file not in lost]) for patch in kept], lost
    )


async def net_changes(snapshots: "Snapshots", patches: Sequence[Patch]) -> list[FileDiff]:
    """Return each file's change from before its first patch to after its last, without files that have no snapshot after it.

    Raises SnapshotError when a snapshot is not available.
    """
    ends: dict[str, tuple[str, str | None]] = {}
    for patch in patches:
        for file in patch.files:
            ends[file] = (ends.get(file, (patch.hash,))[0], patch.after)
    groups: dict[tuple[str, str], list[str]] = {}
    for file, (before, after) in ends.items():
        if after is not None:
            groups.setdefault((before, after), []).append(file)
    return merge([await snapshots.diff(before, after, files) for (before, after), files in groups.items()])


DIFF_LIMIT = 100_000
"""Maximum characters of `revert.diff`; above it files are listed without their lines."""


class FileRevert:
    """Reverts the files of one worktree. Raises SnapshotError and StorageError as the snapshots do."""

    def __init__(self, *, store: SessionStore, snapshots: Snapshots) -> None:
        self._store = store
        self._snapshots = snapshots

    async def collect(self, info: SessionInfo, parts: Sequence[AnyPart]) -> RevertablePatches:
        """Return the changes of files by these parts. Raises SessionError when the session belongs to another project's folder."""
        changes = await _changes_in(self._store, parts, set())
        patches = [change for change in changes if isinstance(change, Patch)]
        is_ours = any(patch.after for patch in patches)
        if is_ours and await asyncio.to_thread(_is_elsewhere, info.directory, self._snapshots.worktree):
            raise SessionError(f"session {info.id} works in {info.directory}; run undo there to revert its files")
        work = await usable(self._snapshots, patches)
        covered = {file for patch in patches for file in patch.files}
        calls = (change for change in changes if isinstance(change, UncoveredCall))
        uncovered = {file: call.reason for call in calls for file in call.files if file not in covered}
        return RevertablePatches(work.patches, {**uncovered, **work.lost})

    async def preview(
        self, work: RevertablePatches, active: RevertReport | None, *, is_redo: bool = False
    ) -> RevertPreview:
        """Return what an undo would do to files, after reverting the active one; a redo does only the latter."""
        before, gone = await self._in_force(active)
        patches = [*work.patches, *_as_patches(before)]
        found = await self._snapshots.preview(patches) if patches else Preview()
        changes = await self._changes(patches, is_redo=is_redo)
        return RevertPreview(
            restored=_files(found.restored, changes),
            deleted=_files(found.deleted, changes),
            kept=await self._kept(found.conflicts, changes),
            unprotected=_unprotected(found.unprotected, {**gone, **work.lost}, changes),
            unavailable=self._snapshots.unavailable,
        )

    async def revert(
        self, work: RevertablePatches, active: RevertReport | None, *, key: str, is_redo: bool = False
    ) -> Report | None:
        """Revert, and return the report, None when no file is concerned; `key` as in `Snapshots.revert`.

        The report of an undo includes the active one; that of a redo covers only itself.
        """
        before, _ = await self._in_force(active)
        if not work.patches and before is None:
            return None
        if is_redo and before is not None:
            return await self._snapshots.unrevert(before, key=key)
        return await self._snapshots.revert(work.patches, active=before, key=key)

    async def to_revert_report(
        self, report: Report | None, work: RevertablePatches, active: RevertReport | None, *, is_redo: bool = False
    ) -> RevertReport:
        """Return a report in the form that is shown and stored."""
        before, gone = await self._in_force(active)
        lost = {**gone, **work.lost}
        if report is None:
            return RevertReport(unprotected=_unprotected([], lost, {}), unavailable=self._snapshots.unavailable)
        changes = await self._changes([*work.patches, *_as_patches(before)], is_redo=is_redo)
        return RevertReport(
            before=report.before,
            after=report.after,
            restored=_files(report.restored, changes),
            deleted=_files(report.deleted, changes),
            kept=await self._kept(report.conflicts, changes),
            unprotected=_unprotected(report.unprotected, lost, changes),
            failed=[_file(remark.path, changes, reason=remark.reason) for remark in report.failed],
        )

    async def finished(self, key: str) -> Report | None:
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
        return await asyncio.to_thread(_as_text, changes)

    async def _in_force(self, active: RevertReport | None) -> tuple[Report | None, dict[str, str]]:
        """Return the report of the active undo, or its files with the reason when its snapshots have been cleaned up."""
        report = as_report(active)
        if report is None:
            return None, {}
        if not await self._snapshots.missing([report.before, report.after]):
            return report, {}
        return None, dict.fromkeys([*report.restored, *report.deleted], CLEANED)

    async def _changes(self, patches: Sequence[Patch], *, is_redo: bool) -> dict[str, FileDiff]:
        """Return the changes that an undo or redo reverts, by absolute path."""
        found = await net_changes(self._snapshots, [_backwards(patch) for patch in patches] if is_redo else patches)
        root = await asyncio.to_thread(self._snapshots.worktree.resolve)
        return {f"{root}/{change.file}": change for change in found}

    async def _kept(self, remarks: Sequence[PathNote], changes: Mapping[str, FileDiff]) -> list[UndoFile]:
        def changed_at(remark: PathNote) -> int | None:
            try:
                return os.lstat(remark.path).st_mtime_ns // 1_000_000 if remark.reason == CHANGED_SINCE else None
            except OSError:  # it does not exist: there is no time to report
                return None

        times = await asyncio.to_thread(lambda: [changed_at(remark) for remark in remarks])
        return [
            _file(remark.path, changes, reason=remark.reason).changed(changed_at=time)
            for remark, time in zip(remarks, times, strict=True)
        ]


def _is_elsewhere(directory: str, worktree: Path) -> bool:
    """Return whether a folder exists and is outside of the worktree."""
    return os.path.isdir(directory) and not Path(directory).resolve().is_relative_to(worktree.resolve())


def _as_patches(report: Report | None) -> list[Patch]:
    return [] if report is None else [report.as_patch()]


def _backwards(patch: Patch) -> Patch:
    """Return the inverse of a patch; one without a snapshot after it is returned unchanged."""
    return patch if patch.after is None else patch.changed(hash=patch.after, after=patch.hash)


def _files(paths: Sequence[str], changes: Mapping[str, FileDiff]) -> list[UndoFile]:
    return [_file(path, changes) for path in paths]


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


def _unprotected(
    remarks: Sequence[PathNote], lost: Mapping[str, str], changes: Mapping[str, FileDiff]
) -> list[UndoFile]:
    reasons = {**{remark.path: remark.reason for remark in remarks}, **lost}
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
