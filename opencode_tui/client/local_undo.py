"""Undo inside the process: each verb hands on to the engine."""

from typing import TYPE_CHECKING

from opencode_tui.engine.instance import Instance

if TYPE_CHECKING:
    from opencode_tui.schema.undo import RevertPreview, RevertReport


class LocalUndo:
    """Undo in the sessions of an instance."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def mend(self, session_id: str) -> None:
        """Close what a killed process left open."""
        await self._instance.undo.revert.mend(session_id)

    async def preview(
        self, session_id: str, message_id: str | None = None, part_id: str | None = None
    ) -> "RevertPreview":
        """Return what an undo would do."""
        return await self._instance.undo.revert.preview(session_id, message_id, part_id)

    async def preview_unrevert(self, session_id: str) -> "RevertPreview":
        """Return what taking it back would do."""
        return await self._instance.undo.revert.preview_unrevert(session_id)

    async def revert(
        self, session_id: str, message_id: str | None = None, part_id: str | None = None
    ) -> "RevertReport":
        """Undo."""
        return await self._instance.undo.revert.revert(session_id, message_id, part_id)

    async def unrevert(self, session_id: str) -> "RevertReport":
        """Take the undo back."""
        return await self._instance.undo.revert.unrevert(session_id)
