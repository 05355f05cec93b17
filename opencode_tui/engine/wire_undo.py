"""Undo in the sessions of one folder, built from its parts; loaded when somebody asks for it."""

from collections.abc import Awaitable, Callable

from opencode_tui.engine.core import Core
from opencode_tui.engine.session.cleanup import Cleanup
from opencode_tui.engine.session.exclusive import Exclusive
from opencode_tui.engine.session.file_undo import FileUndo
from opencode_tui.engine.session.revert import SessionRevert
from opencode_tui.engine.session.snapshot_source import SnapshotSource
from opencode_tui.engine.session.summary import SessionSummaries


def build_revert(
    core: Core, snapshots: SnapshotSource, summaries: SessionSummaries, mend: Callable[[str], Awaitable[object]]
) -> SessionRevert:
    """Return the undo of a worktree's sessions; `mend` as `SessionRevert` says."""
    return SessionRevert(
        store=core.store,
        exclusive=Exclusive(store=core.store, runs=core.runs, locks=core.locks, copies=core.copies),
        files=FileUndo(store=core.store, snapshots=snapshots.get()),
        summaries=summaries,
        cleanup=Cleanup(store=core.store, runs=core.runs, locks=core.locks, copies=core.copies),
        mend=mend,
    )
