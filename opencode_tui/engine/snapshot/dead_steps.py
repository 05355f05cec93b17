"""What is known of the commands of a step whose process died: which files differ from the state before them."""

import threading
from collections.abc import Collection
from dataclasses import dataclass

from opencode_tui.engine.snapshot.claims import Ledger, OpenStep
from opencode_tui.engine.snapshot.door import Opened, WorktreeDoor
from opencode_tui.engine.snapshot.entry import Unknown
from opencode_tui.engine.snapshot.view import open_view
from opencode_tui.schema.error import SnapshotError


@dataclass(frozen=True, slots=True)
class DeadStep:
    """A step that nobody ended: the state before its commands, and the files (absolute paths) that differ from it now."""

    session: str
    message: str
    before: str
    files: list[str]


async def sessions_of_steps(door: WorktreeDoor) -> set[str]:
    """Return the sessions of all steps that nobody ended, dead or not; raises SnapshotError, StorageError."""
    return await door.do(lambda opened, stop: {step.session for step in opened.claims.read().steps.values()})


async def take_dead_steps(door: WorktreeDoor, sessions: Collection[str]) -> list[DeadStep]:
    """Return the dead steps of these sessions, each once; raises SnapshotError, StorageError. Needs the sessions' run locks.

    Files that other sessions' tools wrote since are left out.
    """

    def work(opened: Opened, stop: threading.Event) -> list[DeadStep]:
        ledger = opened.claims.read()
        found: list[DeadStep] = []
        for message, step in ledger.steps.items():
            if step.session in sessions:
                found.append(DeadStep(step.session, message, step.before, _files(opened, ledger, step, stop)))
                opened.claims.end_step(message, time=opened.clock())
        return found

    return await door.do(work)


def _files(opened: Opened, ledger: Ledger, step: OpenStep, stop: threading.Event) -> list[str]:
    try:
        _, changes = opened.worktree.changes(open_view(opened.worktree.store, step.before), stop=stop)
    except SnapshotError:  # the state before was cleaned away
        return []
    foreign = {claim.path for claim in ledger.claims if claim.session != step.session and claim.time >= step.started}
    certain = {path for path, change in changes.items() if not any(isinstance(state, Unknown) for state in change)}
    return [opened.worktree.absolute(path) for path in sorted(certain - foreign)]
