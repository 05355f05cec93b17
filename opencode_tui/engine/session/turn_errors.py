"""The errors that the edits of a turn brought, for the model, when the turn would end: `experimental.lsp_diagnostics` "turn"."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.lsp.change import EditReport
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.step.processor import NewMessages
from opencode_tui.schema.session.message import UserMessage


class TurnErrors(Struct, frozen=True):
    """Asks the model to correct the errors of a turn. `check` returns those that edits of these files brought."""

    store: SessionStore
    messages: NewMessages
    check: Callable[[Sequence[Path]], Awaitable[EditReport]]

    async def ask(self, request: UserMessage, edited: Collection[str]) -> bool:
        """Store the new errors of files as a request like this one; return whether there are any."""
        report = await self.check([Path(name) for name in edited]) if edited else EditReport()
        if not report.text:
            return False
        message = self.messages.request_like(request)
        text = f"The changes of this turn brought new errors:\n{report.text}\n\nCorrect those that the changes caused."
        part = self.messages.text(message, text)
        await self.store.writer(message.session_id).add_message(
            message, [part.changed(metadata={"diagnostics": report.diagnostics})]
        )
        return True
