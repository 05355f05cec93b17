"""Pruning and the view of the next request, built when they are first asked for: most turns end without."""

from typing import TYPE_CHECKING

from opencode_tui.config.settings import CompactionSettings
from opencode_tui.engine.core import Core
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.session.overflow import OverflowRules
from opencode_tui.engine.session.request_builder import RequestBuilder
from opencode_tui.engine.session.subagent import SubagentServices

if TYPE_CHECKING:
    from opencode_tui.engine.session.pruning import SessionPruning
    from opencode_tui.engine.session.session_context import SessionContext


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
            calibration=core.meter.calibration,
            rules=overflow_rules(core, settings),
        )
    )
