"""What faces may ask of sessions: the sessions, their messages, the conversation, and the questions that it raises."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.part import AnyPart
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.question import QuestionRequest
from opencode_tui.schema.request import (
    CommandInput,
    CreateSession,
    ForkSession,
    PromptInput,
    PromptPart,
    ShellInput,
    UpdateSession,
)
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.status import AnyStatus
from opencode_tui.schema.todo import Todo
from opencode_tui.schema.totals import SessionTotals

if TYPE_CHECKING:
    from opencode_tui.schema.fork import ForkPreview


class SessionsFacet(Protocol):
    """The sessions of the folder's project."""

    async def create(self, request: CreateSession) -> SessionInfo:
        """Make a session."""
        ...

    async def list(self) -> Sequence[SessionInfo]:
        """Return all, newest first."""
        ...

    async def get(self, session_id: str) -> SessionInfo:
        """Return one; raises NotFoundError."""
        ...

    async def latest(self) -> SessionInfo | None:
        """Return the one that was worked on last, children left out."""
        ...

    async def children(self, session_id: str) -> Sequence[SessionInfo]:
        """Return a session's children, newest first."""
        ...

    async def update(self, session_id: str, request: UpdateSession) -> SessionInfo:
        """Rename or archive."""
        ...

    async def remove(self, session_id: str) -> None:
        """Delete with all children; raises BusyError while one is worked on."""
        ...

    async def fork(self, session_id: str, request: ForkSession) -> SessionInfo:
        """Make a session that begins with the messages of another up to a boundary; it can be used at once.

        Raises NotFoundError, NoSuchMessageError, BusyError while what it would take over is still being written.
        """
        ...

    async def preview_fork(self, session_id: str, request: ForkSession) -> "ForkPreview":
        """Return what `fork` would make; raises as it does."""
        ...

    async def settled(self, session_id: str) -> None:
        """Return when a fork has been copied whole, and no fork of it needs its records any more; raises StorageError."""
        ...

    async def totals(self, session_id: str) -> SessionTotals:
        """Return what a session and the sessions of its agents have used."""
        ...

    async def costs(self) -> dict[str, float]:
        """Return what each session has cost by itself, without its agents' sessions, in USD; free ones are left out."""
        ...

    async def mend_all(self) -> int:
        """Close what killed processes left open in any session; returns how many messages that were."""
        ...

    async def todos(self, session_id: str) -> Sequence[Todo]:
        """Return the todo list."""
        ...

    async def diff(self, session_id: str, message_id: str | None = None) -> Sequence[FileDiff]:
        """Return what the session, or the turn of one user message, changed in files."""
        ...


class MessagesFacet(Protocol):
    """The messages of a session."""

    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        """Return the newest `limit` messages (all without one), oldest first."""
        ...

    async def get(self, session_id: str, message_id: str) -> MessageWithParts:
        """Return one; raises NoSuchMessageError."""
        ...

    async def update_part(self, part: AnyPart) -> AnyPart:
        """Put a part in the place of the one with its id; raises NoSuchMessageError, BusyError while a run works there."""
        ...

    async def remove_part(self, session_id: str, message_id: str, part_id: str) -> None:
        """Delete a part; raises as `update_part` does."""
        ...


class PromptsFacet(Protocol):
    """The conversation."""

    async def check(self, request: PromptInput) -> None:
        """Return when a request for a new session could be answered; raises ConfigError or ModelNotFoundError otherwise."""
        ...

    async def prompt(
        self, session_id: str, request: PromptInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Send a request; returns the last message of its answer when the session is idle.

        `stored` is told the request's id when it is on disk: from then on it will not be lost.
        """
        ...

    async def command(
        self, session_id: str, given: CommandInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Send the prompt that a slash command stands for; returns as `prompt` does. Raises ConfigError for an unknown one."""
        ...

    async def shell(
        self, session_id: str, given: ShellInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Run a command line of the person's; returns the message with its call. Raises BusyError while a run works there."""
        ...

    async def expand(self, text: str) -> Sequence[PromptPart]:
        """Return the parts of a prompt's text: itself, the files that it names with `@`, the agents."""
        ...

    async def withdraw(self, session_id: str, message_id: str) -> bool:
        """Take a request back that waits for the turn before it; tells whether it still could be: no step has read it."""
        ...

    async def abort(self, session_id: str) -> bool:
        """Interrupt the session's run; tells whether there was one."""
        ...

    async def status(self) -> dict[str, AnyStatus]:
        """Return the sessions that are not idle."""
        ...


class PermissionsFacet(Protocol):
    """Questions that wait for the person."""

    async def pending(self) -> Sequence[PermissionRequest]:
        """Return them, oldest first."""
        ...

    async def reply(self, request_id: str, reply: Reply, message: str | None = None) -> bool:
        """Answer one; tells whether it was still open."""
        ...


class QuestionsFacet(Protocol):
    """Questions of tools that wait for the person."""

    async def pending(self) -> Sequence[QuestionRequest]:
        """Return them, oldest first."""
        ...

    async def reply(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        """Answer: for each question the labels that were chosen, or words of one's own; tells whether it was still open."""
        ...

    async def reject(self, request_id: str) -> bool:
        """Dismiss, which ends the turn; tells whether it was still open."""
        ...
