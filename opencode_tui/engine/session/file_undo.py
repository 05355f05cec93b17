"""The files' half of an undo: what would become of them, what became of them, told for people."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from opencode_tui.engine.session.diff_merge import status_of
from opencode_tui.engine.session.patches import CLEANED, Usable, net_changes, patches_of, usable
from opencode_tui.engine.session.store import SessionStore
from opencode_tui.engine.session.undo_note import as_report
from opencode_tui.engine.snapshot.plan import CHANGED_SINCE
from opencode_tui.engine.snapshot.report import Patch, Preview, Remark, Report
from opencode_tui.engine.snapshot.snapshot import Snapshots
from opencode_tui.engine.tool.text_diff import compare
from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.error import SessionError
from opencode_tui.schema.part import AnyPart
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.undo import RevertPreview, RevertReport, UndoFile

DIFF_LIMIT = 100_000
"""Characters of `revert.diff`: above it files are named without their lines."""


class FileUndo:
    """Undo of the files of one worktree. Raises SnapshotError and StorageError as the snapshots do."""

    def __init__(self, *, store: SessionStore, snapshots: Snapshots) -> None:
        self._store = store
        self._snapshots = snapshots

    async def collect(self, info: SessionInfo, parts: Sequence[AnyPart]) -> Usable:
        """Return what these parts did to files. Raises SessionError when the session works in another project's folder."""
        patches = await patches_of(self._store, parts)
        is_ours = any(patch.after for patch in patches)
        if is_ours and await asyncio.to_thread(_is_elsewhere, info.directory, self._snapshots.worktree):
            raise SessionError(f"session {info.id} works in {info.directory}; go there to undo what it did to files")
        return await usable(self._snapshots, patches)

    async def preview(self, work: Usable, active: RevertReport | None, *, is_redo: bool = False) -> RevertPreview:
        """Return what undoing this would do to files, with the undo in force taken back first; a redo does only the latter."""
        before, gone = await self._in_force(active)
        patches = [*work.patches, *_as_patches(before)]
        found = await self._snapshots.preview(patches) if patches else Preview()
        changes = await self._changes(patches, is_redo=is_redo)
        return RevertPreview(
            restored=_files(found.restored, changes),
            deleted=_files(found.deleted, changes),
            kept=await self._kept(found.conflicts, changes),
            unprotected=_unprotected(found.unprotected, {**gone, **work.lost}, changes),
        )

    async def revert(
        self, work: Usable, active: RevertReport | None, *, key: str, is_redo: bool = False
    ) -> Report | None:
        """Undo, and return what was done, None when there was nothing to do to files; `key` as in `Snapshots.revert`.

        The report of an undo stands for the one in force as well, that of a redo for itself.
        """
        before, _ = await self._in_force(active)
        if not work.patches and before is None:
            return None
        if is_redo and before is not None:
            return await self._snapshots.unrevert(before, key=key)
        return await self._snapshots.revert(work.patches, active=before, key=key)

    async def tell(
        self, report: Report | None, work: Usable, active: RevertReport | None, *, is_redo: bool = False
    ) -> RevertReport:
        """Return a report as it is shown and kept."""
        before, gone = await self._in_force(active)
        lost = {**gone, **work.lost}
        if report is None:
            return RevertReport(unprotected=_unprotected([], lost, {}))
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
        """Return what the act with this key did, None when it was not done, or nothing can be known of it any more."""
        return None if self._snapshots.unavailable is not None else await self._snapshots.finished(key)

    async def unwritten(self) -> list[str]:
        """Return the keys of acts that were done and perhaps not written down."""
        return [] if self._snapshots.unavailable is not None else await self._snapshots.finished_keys()

    async def forget(self, key: str) -> None:
        """Drop what was kept of a finished act."""
        if self._snapshots.unavailable is None:
            await self._snapshots.forget(key)

    async def diff_text(self, report: RevertReport) -> str | None:
        """Return what an undo did to texts, as a unified diff from before to after it; None without files."""
        if report.before is None or report.after is None:
            return None
        files = [file.path for file in (*report.restored, *report.deleted)]
        changes = await self._snapshots.diff(report.before, report.after, files)
        return await asyncio.to_thread(_as_text, changes)

    async def _in_force(self, active: RevertReport | None) -> tuple[Report | None, dict[str, str]]:
        """Return the report of the undo in force, or, when its states have been cleaned away, its files with that reason."""
        report = as_report(active)
        if report is None:
            return None, {}
        if not await self._snapshots.missing([report.before, report.after]):
            return report, {}
        return None, dict.fromkeys([*report.restored, *report.deleted], CLEANED)

    async def _changes(self, patches: Sequence[Patch], *, is_redo: bool) -> dict[str, FileDiff]:
        """Return the changes that an undo takes back, or that a redo brings back, by absolute paths."""
        found = await net_changes(self._snapshots, [_backwards(patch) for patch in patches] if is_redo else patches)
        root = await asyncio.to_thread(self._snapshots.worktree.resolve)
        return {f"{root}/{change.file}": change for change in found}

    async def _kept(self, remarks: Sequence[Remark], changes: Mapping[str, FileDiff]) -> list[UndoFile]:
        def changed_at(remark: Remark) -> int | None:
            try:
                return os.lstat(remark.path).st_mtime_ns // 1_000_000 if remark.reason == CHANGED_SINCE else None
            except OSError:  # it is gone: there is no time to tell
                return None

        times = await asyncio.to_thread(lambda: [changed_at(remark) for remark in remarks])
        return [
            _file(remark.path, changes, reason=remark.reason).changed(changed_at=time)
            for remark, time in zip(remarks, times, strict=True)
        ]


def _is_elsewhere(directory: str, worktree: Path) -> bool:
    """Tell whether a folder is there and lies outside the worktree."""
    return os.path.isdir(directory) and not Path(directory).resolve().is_relative_to(worktree.resolve())


def _as_patches(report: Report | None) -> list[Patch]:
    return [] if report is None else [report.as_patch()]


def _backwards(patch: Patch) -> Patch:
    """Return what undoes a patch; one without a state after it stays as it is, and nothing is told of it."""
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


def _unprotected(remarks: Sequence[Remark], lost: Mapping[str, str], changes: Mapping[str, FileDiff]) -> list[UndoFile]:
    reasons = {**{remark.path: remark.reason for remark in remarks}, **lost}
    return [_file(path, changes, reason=reason) for path, reason in sorted(reasons.items())]


def _as_text(changes: Sequence[FileDiff]) -> str:
    """Return changes as git writes them, which is how other programs read the field."""
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
