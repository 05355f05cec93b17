"""What steps recorded of files, and undoing it, as a command of its own would."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.snapshot import Snapshots, WorktreeLock
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.session.part import AnyPart, PatchPart
from opencode_tui.schema.session.undo import RevertReport
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import find_paths


def patches_in(parts: Sequence[AnyPart]) -> list[PatchPart]:
    return [part for part in parts if isinstance(part, PatchPart)]


def names_in(part: PatchPart) -> set[str]:
    """Return the names of the files of a patch."""
    return {os.path.basename(file) for file in part.files}


def open_snapshots(environ: Mapping[str, str], folder: Path, *, clock: Clock = system_clock) -> Snapshots:
    """Return the snapshots of a folder as another process has them."""
    paths = find_paths(environ)
    project = discover(Path(os.path.realpath(folder)), paths=paths, environ=environ)
    return Snapshots(
        WorktreeLock(worktree=project.worktree, project_id=project.id, paths=paths, locks=Locks(paths), clock=clock)
    )


async def undo(environ: Mapping[str, str], folder: Path, parts: Sequence[AnyPart]) -> RevertReport:
    """Undo the patches among these parts."""
    patches = [Patch(hash=part.hash, files=part.files, after=part.after) for part in patches_in(parts)]
    return await open_snapshots(environ, folder).revert(patches)
