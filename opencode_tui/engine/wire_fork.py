"""Forks of one folder's sessions, built from their parts; loaded when somebody forks."""

from opencode_tui.engine.core import Core
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.session.fork import SessionForks
from opencode_tui.engine.session.fork_source import ForkSource
from opencode_tui.engine.session.fork_worktree import ForkWorktrees
from opencode_tui.engine.session.sessions import Sessions
from opencode_tui.engine.session.snapshot_source import SnapshotSource
from opencode_tui.engine.session.todo_store import SessionTodos


def build_forks(
    core: Core, project: Project, *, sessions: Sessions, todos: SessionTodos, snapshots: SnapshotSource
) -> SessionForks:
    """Return the verb."""
    return SessionForks(
        store=core.store,
        sessions=sessions,
        source=ForkSource(
            store=core.store,
            storage=core.storage,
            runs=core.runs,
            statuses=core.statuses,
            locks=core.locks,
            clock=core.clock,
        ),
        copies=core.copies,
        todos=todos,
        locks=core.locks,
        worktrees=ForkWorktrees(project=project, snapshots=snapshots, environ=core.environ),
        identifier=core.identifier,
        clock=core.clock,
        project=project,
    )
