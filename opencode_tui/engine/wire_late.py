"""What is built when it is first asked for: most turns end without undo, forks, costs, pruning, and the next request's view."""

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from opencode_tui.config.settings.settings import CompactionSettings
from opencode_tui.engine.core import Core
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.session.overflow import OverflowRules
from opencode_tui.engine.session.request_builder import RequestBuilder
from opencode_tui.engine.session.sessions import Sessions
from opencode_tui.engine.session.snapshot_source import SWITCHED_OFF, SnapshotSource
from opencode_tui.engine.session.step_changes import StepRecorder
from opencode_tui.engine.session.subagent import SubagentServices
from opencode_tui.engine.session.todo_store import SessionTodos
from opencode_tui.engine.session.undo import SessionUndo

if TYPE_CHECKING:
    from opencode_tui.engine.session.costs import SessionCosts
    from opencode_tui.engine.session.fork import SessionForks
    from opencode_tui.engine.session.pruning import SessionPruning
    from opencode_tui.engine.session.revert import SessionRevert
    from opencode_tui.engine.session.session_context import SessionContext
    from opencode_tui.engine.session.summary import SessionSummaries
    from opencode_tui.engine.snapshot.snapshot import Snapshots


def late_snapshots(core: Core, project: Project, *, is_on: bool) -> SnapshotSource:
    """Return what gives the snapshots of a folder's worktree."""
    return SnapshotSource(partial(_make_snapshots, core, project, is_on=is_on))


def _make_snapshots(core: Core, project: Project, *, is_on: bool) -> "Snapshots":
    from opencode_tui.engine.snapshot.snapshot import Snapshots  # not for turns that change nothing

    snapshots = Snapshots(
        worktree=project.worktree, project_id=project.id, paths=core.paths, locks=core.locks, clock=core.clock
    )
    if not is_on:
        snapshots.unavailable = SWITCHED_OFF
    return snapshots


def late_undo(core: Core, snapshots: SnapshotSource, recorder: StepRecorder) -> SessionUndo:
    """Return the undo of a folder's sessions."""

    def make_summaries() -> "SessionSummaries":
        from opencode_tui.engine.session.summary import SessionSummaries  # after a turn, not before its request

        return SessionSummaries(store=core.store, snapshots=snapshots, publish=core.publisher.publish)

    def make_revert(summaries: "SessionSummaries") -> "SessionRevert":
        from opencode_tui.engine.wire_undo import build_revert  # most processes never undo

        return build_revert(core, snapshots, summaries, undo.mend)

    undo = SessionUndo(
        store=core.store, clock=core.clock, recover=recorder.recover, summaries=make_summaries, revert=make_revert
    )
    return undo


def late_forks(
    core: Core, project: Project, *, sessions: Sessions, todos: SessionTodos, snapshots: SnapshotSource
) -> "Callable[[], SessionForks]":
    """Return what gives the verb that forks."""

    @cache
    def make() -> "SessionForks":
        from opencode_tui.engine.wire_fork import build_forks  # most processes never fork

        return build_forks(core, project, sessions=sessions, todos=todos, snapshots=snapshots)

    return make


def late_costs(core: Core, project: Project) -> "Callable[[], SessionCosts]":
    """Return what gives the costs of a project's sessions."""

    @cache
    def make() -> "SessionCosts":
        from opencode_tui.engine.session.costs import SessionCosts  # only for lists that a person reads
        from opencode_tui.storage.cost_index import CostIndex

        return SessionCosts(store=core.store, index=CostIndex(core.storage, project.id), project_id=project.id)

    return make


def overflow_rules(core: Core, settings: CompactionSettings) -> OverflowRules:
    """Return when a context counts as full."""
    return OverflowRules(
        is_automatic=settings.auto and not core.flags.is_autocompact_disabled,
        reserved=settings.reserved,
        output_max=core.flags.output_token_max,
    )


def load_pruning(core: Core, settings: CompactionSettings) -> "SessionPruning":
    """Return what prunes and restores."""
    from opencode_tui.engine.session.exclusive import Exclusive
    from opencode_tui.engine.session.pruning import SessionPruning  # not before a turn has ended

    return SessionPruning(
        store=core.store,
        exclusive=Exclusive(store=core.store, runs=core.runs, locks=core.locks, copies=core.copies),
        clock=core.clock,
        is_automatic=settings.prune and not core.flags.is_prune_disabled,
    )


def load_context(
    core: Core,
    settings: CompactionSettings,
    *,
    requests: RequestBuilder,
    subagents: SubagentServices,
    catalog: Catalog,
) -> "SessionContext":
    """Return what shows the next request."""
    from opencode_tui.engine.session.session_context import ContextServices, SessionContext  # as above

    return SessionContext(
        ContextServices(
            store=core.store,
            agents=subagents.agents,
            requests=requests,
            catalog=catalog,
            estimator=core.estimator,
            rules=overflow_rules(core, settings),
        )
    )
