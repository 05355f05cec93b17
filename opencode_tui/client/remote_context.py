"""Contexts over HTTP."""

from opencode_tui.client.remote_link import Link
from opencode_tui.schema.compaction import CompactionReport, CompactSession
from opencode_tui.schema.header import OWN


class RemoteContext:
    """Contexts of the server's sessions."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def compact(self, session_id: str, wish: CompactSession) -> CompactionReport:
        """Summarise a session."""
        return await self._link.send("POST", f"{OWN}/session/{session_id}/compact", CompactionReport, wish)
