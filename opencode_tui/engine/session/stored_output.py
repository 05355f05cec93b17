"""The completed tool calls of a session as the recall tool reads them, cleared ones and those before a summary too."""

from collections.abc import Sequence

from opencode_tui.engine.session.store import SessionStore
from opencode_tui.engine.tool.recall import StoredOutput
from opencode_tui.schema.part import ToolPart
from opencode_tui.schema.tool_state import ToolStateCompleted


class SessionOutputs:
    """Reads them from the store."""

    def __init__(self, *, store: SessionStore) -> None:
        self._store = store

    async def all(self, session_id: str) -> Sequence[StoredOutput]:
        """Return a session's completed calls, oldest first."""
        return [
            StoredOutput(
                call_id=part.call_id,
                tool=part.tool,
                title=part.state.title,
                output=part.state.output,
                is_cleared=part.state.time.compacted is not None,
            )
            for message in await self._store.messages(session_id)
            for part in message.parts
            if isinstance(part, ToolPart) and isinstance(part.state, ToolStateCompleted)
        ]
