"""Undo over HTTP."""

from opencode_tui.client.remote_link import Link
from opencode_tui.schema.header import OWN
from opencode_tui.schema.record import Record
from opencode_tui.schema.undo import RevertPreview, RevertReport, UndoTarget


class RemoteUndo:
    """Undo in the server's sessions."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def mend(self, session_id: str) -> None:
        """Close what a killed process left open."""
        await self._link.value("POST", f"{OWN}/session/{session_id}/mend")

    async def preview(
        self, session_id: str, message_id: str | None = None, part_id: str | None = None
    ) -> RevertPreview:
        """Return what an undo would do."""
        target = UndoTarget(message_id=message_id, part_id=part_id)
        return await self._link.send("POST", f"{OWN}/session/{session_id}/revert/preview", RevertPreview, target)

    async def preview_unrevert(self, session_id: str) -> RevertPreview:
        """Return what taking it back would do."""
        return await self._link.send("POST", f"{OWN}/session/{session_id}/unrevert/preview", RevertPreview, Record())

    async def revert(self, session_id: str, message_id: str | None = None, part_id: str | None = None) -> RevertReport:
        """Undo."""
        target = UndoTarget(message_id=message_id, part_id=part_id)
        return await self._link.send("POST", f"{OWN}/session/{session_id}/revert", RevertReport, target)

    async def unrevert(self, session_id: str) -> RevertReport:
        """Take the undo back."""
        return await self._link.send("POST", f"{OWN}/session/{session_id}/unrevert", RevertReport, Record())
