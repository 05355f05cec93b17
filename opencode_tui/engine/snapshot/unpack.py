"""Copies a recorded state of one worktree into another folder: bytes, modes and links unchanged, without git's filters.

Existing files are not overwritten. A link keeps its target text, also when the target is outside of the worktree.
"""

import threading
from pathlib import Path

from opencode_tui.engine.snapshot.entry import Entry
from opencode_tui.engine.snapshot.objects.changes import is_partial, known_paths
from opencode_tui.engine.snapshot.objects.view import View, open_view
from opencode_tui.engine.snapshot.revert.plan import Plan, Step
from opencode_tui.engine.snapshot.revert.restore import Restore
from opencode_tui.engine.snapshot.worktree_lock import LockedWorktree, WorktreeLock
from opencode_tui.schema.error import SnapshotError
from opencode_tui.storage.safe_folder import Disk

_TEMPORARY = ".opencode-tui-unpack.tmp"


async def unpack(lock: WorktreeLock, snapshot: str, folder: Path) -> int:
    """Write all paths of a snapshot into a folder, verify them, and return their number.

    Raises SnapshotError with the first path that could not be written.
    """

    def work(opened: LockedWorktree, stop: threading.Event) -> int:
        store = opened.worktree.store
        view = open_view(store, snapshot)
        if is_partial(view):
            raise SnapshotError(f"the files were not recorded: {view.manifest.skipped['']}")
        plan = _plan(view)
        outcome = Restore(plan, disk=Disk(str(folder)), store=store, temporary=_TEMPORARY).apply()
        for path, reason in {**outcome.failed, **outcome.conflicts}.items():
            raise SnapshotError(f"{folder / path} cannot be written: {reason}")
        return len(plan.steps)

    return await lock.run(work)


def _plan(view: View) -> Plan:
    plan = Plan()
    for path in sorted(known_paths(view)):
        state = view.state(path)
        if isinstance(state, Entry):
            plan.steps.append(Step(path, None, state))
            if state.kind == "folder":
                plan.folder_modes[path] = state.mode
    return plan
