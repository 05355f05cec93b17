"""What faces may ask of contexts: what the model is given of a session, and making it less."""

from typing import Protocol

from opencode_tui.schema.compaction import CompactionReport, CompactSession


class ContextFacet(Protocol):
    """The contexts of the folder's sessions."""

    async def compact(self, session_id: str, wish: CompactSession) -> CompactionReport:
        """Put a summary in the place of a session's older messages, or tell what that would do.

        Raises BusyError while a run works there, SessionError when there is nothing to summarise, and what makes a call fail.
        """
        ...
