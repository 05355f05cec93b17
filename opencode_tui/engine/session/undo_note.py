"""Pure: what a session's record holds of its undo, in `revert` and in `metadata.undo`."""

from pydantic import ValidationError

from opencode_tui.engine.snapshot.report import Remark, Report
from opencode_tui.schema.session import UNDO_KEY, RevertState, SessionInfo
from opencode_tui.schema.undo import PendingUndo, RevertReport, UndoNote


def read_note(info: SessionInfo) -> UndoNote:
    """Return the note; one that cannot be read counts as none, so that a damaged one blocks nothing."""
    try:
        return UndoNote.model_validate((info.metadata or {}).get(UNDO_KEY) or {})
    except ValidationError:
        return UndoNote()


def with_pending(info: SessionInfo, pending: PendingUndo) -> SessionInfo:
    """Return the record of a session in which an undo, or its taking back, is about to begin."""
    return _noted(info, read_note(info).changed(pending=pending))


def without_pending(info: SessionInfo) -> SessionInfo:
    """Return the record of a session whose act was not done after all."""
    return _noted(info, read_note(info).changed(pending=None))


def with_undo(info: SessionInfo, revert: RevertState, report: RevertReport) -> SessionInfo:
    """Return the record of a session with an undo in force."""
    return _noted(info, UndoNote(report=report)).changed(revert=revert)


def without_undo(info: SessionInfo) -> SessionInfo:
    """Return the record of a session without any undo."""
    return _noted(info, UndoNote()).changed(revert=None)


def as_report(report: RevertReport | None) -> Report | None:
    """Return a kept report as the snapshots read it, None for one that had no files."""
    if report is None or report.before is None or report.after is None:
        return None
    return Report(
        before=report.before,
        after=report.after,
        restored=[file.path for file in report.restored],
        deleted=[file.path for file in report.deleted],
        failed=[Remark(path=file.path, reason=file.reason or "") for file in report.failed],
    )


def _noted(info: SessionInfo, note: UndoNote) -> SessionInfo:
    metadata = {key: value for key, value in (info.metadata or {}).items() if key != UNDO_KEY}
    content = note.to_dict()
    if content:
        metadata[UNDO_KEY] = content
    return info.changed(metadata=metadata or None)
