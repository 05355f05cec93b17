"""What happened since the model of a session was asked last: ends of background commands, late errors, work of killed agents."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.request.reminder import as_reminder

if TYPE_CHECKING:
    from opencode_tui.engine.lsp.language_servers import LanguageServers
    from opencode_tui.engine.sandbox.environment import Secrets
    from opencode_tui.engine.tool.process.background import BackgroundCommands


class Unread(Struct, frozen=True):
    """The sources of what a model does not know yet."""

    background: "Lazy[BackgroundCommands]"
    languages: "Lazy[LanguageServers]"
    secrets: "Lazy[Secrets]"
    left: Callable[[str], Awaitable[Sequence[str]]]
    """Returns what killed agents of a session left."""

    async def consume(self, session_id: str) -> list[str]:
        """Return texts for the model, each once; waits for language servers only as long as after an edit."""
        texts: list[str] = []
        if self.background.made is not None and (ended := self.background.made.consume_messages(session_id)):
            texts.append(as_reminder("\n".join(ended)))
        if self.languages.made is not None and (found := await self.languages.made.postponed_errors(session_id)).text:
            texts.append(self.secrets.get().redact(f"Earlier changes brought new errors:\n{found.text}"))
        if left := await self.left(session_id):
            texts.append(as_reminder("\n".join(left)))
        return texts
