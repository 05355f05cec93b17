"""What faces may ask of contexts: what the model is given of a session, and making it less."""

from collections.abc import Sequence
from typing import Protocol

from opencode_tui.schema.compaction import CompactionReport, CompactSession
from opencode_tui.schema.context import ContextView, PruneReport, RequestView


class ContextFacet(Protocol):
    """The contexts of the folder's sessions; all raise NotFoundError for an unknown one."""

    async def items(self, session_id: str) -> ContextView:
        """Return what the next request would carry, item by item; changes nothing.

        Raises ConfigError when the session's agent is gone, ModelNotFoundError when its model is.
        """
        ...

    async def request(self, session_id: str) -> RequestView:
        """Return the next request as it would be sent, keys covered; changes nothing. Raises as `items`."""
        ...

    async def prune(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> PruneReport:
        """Leave the outputs of these calls out of what the model is given, without any those that the rules choose.

        They stay on disk. With `dry_run` it is only told. Raises NoSuchMessageError for an unknown part, SessionError for one
        that is no finished call, BusyError while a run works there.
        """
        ...

    async def restore(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> PruneReport:
        """Bring the outputs of these calls, or all, back; later pruning passes them by. Raises as `prune`."""
        ...

    async def compact(self, session_id: str, wish: CompactSession) -> CompactionReport:
        """Put a summary in the place of a session's older messages, or tell what that would do.

        Raises BusyError while a run works there, SessionError when there is nothing to summarise, and what makes a call fail.
        """
        ...
