"""The facet of what runs and what waits for the user in all folders. How it is written: `call`."""

from collections.abc import Sequence
from typing import Protocol

from opencode_tui.client.facets.call import ours
from opencode_tui.schema.api.inbox import AskedReasons, AskedSubject, Done, InboxView, Look, StopSession
from opencode_tui.schema.api.question import QuestionAnswers
from opencode_tui.schema.permission import PermissionReply, Reply


class InboxFacet(Protocol):
    """The sessions of all folders with the data folder of this engine: its own, and those of other processes with a socket."""

    @ours("GET", "/inbox")
    async def list(self) -> InboxView:
        """Return what runs, waits, was stopped, or ended since the user looked. Raises StorageError."""
        ...

    @ours("POST", "/inbox/look", body=Look)
    async def look(self, session_id: str | None = None, until: int = 0) -> None:
        """Record that the user has seen a session as it is now, or without one all that ended up to `until`, in ms.

        Raises NotFoundError for what is no ID of a session, StorageError.
        """
        ...

    @ours("GET", "/inbox/done")
    async def done(self, since: int) -> Sequence[Done]:
        """Return what sessions of all folders did since a moment in ms, by their records, in the order of `list`."""
        ...

    @ours("POST", "/inbox/{request_id}/reasons", reads=True)
    async def reasons(self, request_id: str, about: AskedSubject) -> AskedReasons:
        """Return why a permission request asks. Raises NotFoundError when it was answered, or never was."""
        ...

    @ours("POST", "/inbox/{request_id}/reply", body=PermissionReply, is_false_if_gone=True)
    async def reply(
        self,
        request_id: str,
        reply: Reply,
        message: str | None = None,
        *,
        always: Sequence[str] | None = None,
        host: bool = False,
    ) -> bool:
        """Answer a permission request of any folder as `permissions.reply` does; return whether it was still open."""
        ...

    @ours("POST", "/inbox/{request_id}/answer", body=QuestionAnswers, is_false_if_gone=True)
    async def answer(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        """Answer the questions of a tool of any folder as `questions.reply` does; return whether they were still open."""
        ...

    @ours("POST", "/inbox/session/{session_id}/stop", body=StopSession)
    async def stop(self, session_id: str, *, background: bool = False) -> None:
        """Interrupt a session with its subagents, and with `background` end what it started in the background.

        Raises NotFoundError when it does not run, BusyError when its process takes no requests.
        """
        ...
