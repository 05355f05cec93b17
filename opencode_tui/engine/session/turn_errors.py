"""The errors that the edits of a turn brought, for the model, when the turn would end: `experimental.lsp_diagnostics` "turn"."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.lsp.change import EditReport
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.ids import Clock, Identifier
from opencode_tui.schema.session.message import MessageTime, UserMessage
from opencode_tui.schema.session.part import TextPart


class TurnErrors(Struct, frozen=True):
    """Asks the model to correct the errors of a turn. `check` returns those that edits of these files brought."""

    store: SessionStore
    identifier: Identifier
    clock: Clock
    check: Callable[[Sequence[Path]], Awaitable[EditReport]]

    async def ask(self, request: UserMessage, edited: Collection[str]) -> bool:
        """Store the new errors of files as a request like this one; return whether there are any."""
        report = await self.check([Path(name) for name in edited]) if edited else EditReport()
        if not report.text:
            return False
        message = request.changed(
            id=self.identifier.ascending("msg"), time=MessageTime(created=self.clock()), summary=None
        )
        part = TextPart(
            id=self.identifier.ascending("prt"),
            session_id=message.session_id,
            message_id=message.id,
            text=f"The changes of this turn brought new errors:\n{report.text}\n\nCorrect those that the changes caused.",
            synthetic=True,
            metadata={"diagnostics": report.diagnostics},
        )
        await self.store.update_message(message)
        await self.store.update_part(part)
        return True
