"""The snapshots of one folder without an engine, for the commands that measure, clean and inspect them."""

from collections.abc import Mapping
from pathlib import Path

from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.session.revert.retention import clean_unneeded
from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.snapshot import Snapshots, WorktreeLock
from opencode_tui.schema.ids import system_clock
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths

__all__ = ["Patch", "Snapshots", "clean_unneeded", "open_snapshots"]


def open_snapshots(
    environ: Mapping[str, str], directory: Path, *, paths: Paths, is_on: bool, limits: tuple[int, int] | None = None
) -> Snapshots:
    """Return the snapshots of the folder's worktree; `unavailable` is set unless `is_on`. Blocks on git.

    `limits` are the bytes of the largest ignored file that is recorded, and of all that is kept before a command discards it.
    """
    project = discover(directory, paths=paths, environ=environ)
    return Snapshots(
        WorktreeLock(
            worktree=project.worktree,
            project_id=project.id,
            paths=paths,
            locks=Locks(paths),
            clock=system_clock,
            settings=SnapshotSettings(is_on).limited(limits),
        )
    )
