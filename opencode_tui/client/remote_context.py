"""Contexts over HTTP."""

from collections.abc import Sequence

from opencode_tui.client.remote_link import Link
from opencode_tui.schema.compaction import CompactionReport, CompactSession
from opencode_tui.schema.context import ContextView, PartChoice, PruneReport, RequestView
from opencode_tui.schema.header import OWN


class RemoteContext:
    """Contexts of the server's sessions."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def items(self, session_id: str) -> ContextView:
        """Return what the next request would carry."""
        return await self._link.get(f"{OWN}/session/{session_id}/context", ContextView)

    async def request(self, session_id: str) -> RequestView:
        """Return the next request."""
        return await self._link.get(f"{OWN}/session/{session_id}/request", RequestView)

    async def prune(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> PruneReport:
        """Leave outputs out."""
        return await self._link.send(
            "POST", f"{OWN}/session/{session_id}/prune", PruneReport, _choice(part_ids, dry_run)
        )

    async def restore(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> PruneReport:
        """Bring outputs back."""
        path = f"{OWN}/session/{session_id}/restore"
        return await self._link.send("POST", path, PruneReport, _choice(part_ids, dry_run))

    async def compact(self, session_id: str, wish: CompactSession) -> CompactionReport:
        """Summarise a session."""
        return await self._link.send("POST", f"{OWN}/session/{session_id}/compact", CompactionReport, wish)


def _choice(part_ids: Sequence[str] | None, dry_run: bool) -> PartChoice:
    return PartChoice(parts=None if part_ids is None else list(part_ids), dry_run=dry_run)
