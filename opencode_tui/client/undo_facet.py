"""What faces may ask of undo: look first, do it, take it back."""

from typing import Protocol

from opencode_tui.schema.undo import RevertPreview, RevertReport


class UndoFacet(Protocol):
    """Undo in the folder's sessions.

    All raise NotFoundError for an unknown session, BusyError while somebody works on it, SnapshotError when files cannot be read.
    """

    async def mend(self, session_id: str) -> None:
        """Close what a killed process left open in a session, in its records and in what it did to files."""
        ...

    async def preview(
        self, session_id: str, message_id: str | None = None, part_id: str | None = None
    ) -> RevertPreview:
        """Return what `revert` with these arguments would do; changes nothing. Raises as `revert`."""
        ...

    async def preview_unrevert(self, session_id: str) -> RevertPreview:
        """Return what `unrevert` would do; changes nothing. Raises as `unrevert`."""
        ...

    async def revert(self, session_id: str, message_id: str | None = None, part_id: str | None = None) -> RevertReport:
        """Undo everything from a message on, or from a part of it; without one the person's last turn.

        Messages stay, hidden, until the conversation goes on. Raises NoSuchMessageError, NothingToRevertError.
        """
        ...

    async def unrevert(self, session_id: str) -> RevertReport:
        """Bring back what the undo in force undid. Raises NothingToRevertError."""
        ...
