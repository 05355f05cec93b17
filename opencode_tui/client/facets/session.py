"""The facets of sessions; arguments and results are shapes of `schema`. How they are written: `call`.

A facet's method raises the OpencodeError that names what went wrong. The same Protocols hold for an engine in the process
(`local_facets`) and for one behind HTTP (`remote_facet`); what a method does is written here only.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from opencode_tui.client.facets.call import opencode, ours
from opencode_tui.schema.api.background import BackgroundCommand, BackgroundText
from opencode_tui.schema.api.context import (
    CompactionReport,
    CompactSession,
    ContextView,
    LedgerChange,
    LedgerView,
    PartChoice,
    PruneReport,
    RequestView,
)
from opencode_tui.schema.api.importing import ImportProgress, ImportReport, ImportRequest, ImportStore
from opencode_tui.schema.api.request import (
    CommandInput,
    CostsRequest,
    CreateSession,
    ForkSession,
    MessageNames,
    PromptInput,
    PromptPart,
    PromptText,
    ShellInput,
    UpdateSession,
)
from opencode_tui.schema.api.search import SearchRequest, SearchResult
from opencode_tui.schema.api.share import ShareStatus
from opencode_tui.schema.api.side_question import SideAnswer, SideQuestion
from opencode_tui.schema.api.trash import TrashChoice, TrashedSession
from opencode_tui.schema.api.until import RunCheck, SetCheck
from opencode_tui.schema.api.usage import ProjectUsage
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.outline import OutlinedMessage
from opencode_tui.schema.session.part import Part
from opencode_tui.schema.session.session import ForkPreview, SessionInfo, SessionStatus, Todo
from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoOnly, UndoTarget
from opencode_tui.schema.totals import SessionTotals


class SessionsFacet(Protocol):
    """The sessions of the folder's project."""

    @opencode("POST", "/session")
    async def create(self, request: CreateSession) -> SessionInfo:
        """Create a session. Raises SessionError when its id is in use."""
        ...

    @ours("GET", "/session")
    async def list(self) -> Sequence[SessionInfo]:
        """Return all, newest first."""
        ...

    @ours("GET", "/session/listed")
    async def listed(self, is_everywhere: bool = False) -> Sequence[ListedSession]:
        """Return all as lists show them, newest first, or those of all projects, one project after the other."""
        ...

    @ours("GET", "/session/everywhere")
    async def everywhere(self) -> Sequence[SessionInfo]:
        """Return those of all projects, the last used first."""
        ...

    @ours("POST", "/search")
    async def search(self, request: SearchRequest) -> SearchResult:
        """Return the sessions and parts of all projects that match a query; `project:.` in it means the folder's project.

        A result that is not complete has what is indexed so far, and the rest is being indexed: ask again. Raises nothing but the
        errors of the connection.
        """
        ...

    @opencode("GET", "/session/{session_id}")
    async def get(self, session_id: str) -> SessionInfo:
        """Return one; raises NotFoundError."""
        ...

    @ours("GET", "/session/latest")
    async def latest(self) -> SessionInfo | None:
        """Return the most recently used session, children left out; None without any."""
        ...

    @ours("GET", "/session/recent")
    async def recent(self, limit: int, is_archived: bool = False) -> Sequence[SessionInfo]:
        """Return at most `limit` sessions, archived or others, the last used first."""
        ...

    @opencode("GET", "/session/{session_id}/children")
    async def children(self, session_id: str) -> Sequence[SessionInfo]:
        """Return a session's children, newest first."""
        ...

    @ours("PATCH", "/session/{session_id}")
    async def update(self, session_id: str, request: UpdateSession) -> SessionInfo:
        """Rename, archive or pin."""
        ...

    @opencode("DELETE", "/session/{session_id}")
    async def remove(self, session_id: str) -> None:
        """Move a session with all children to the trash; raises BusyError while one of them runs."""
        ...

    @ours("POST", "/session/{session_id}/fork")
    async def fork(self, session_id: str, request: ForkSession) -> SessionInfo:
        """Create a session that begins with the messages of another up to a boundary; it can be used immediately.

        Raises NotFoundError, NoSuchMessageError, BusyError while the messages to copy are still being written.
        """
        ...

    @ours("POST", "/session/{session_id}/fork/preview")
    async def preview_fork(self, session_id: str, request: ForkSession) -> ForkPreview:
        """Return what `fork` would create; raises as it does."""
        ...

    @ours("POST", "/session/{session_id}/copied")
    async def wait_copied(self, session_id: str) -> None:
        """Return when a fork is copied completely: at once, unless version 0.3 left it half-made; raises StorageError."""
        ...

    @ours("GET", "/session/{session_id}/totals")
    async def totals(self, session_id: str) -> SessionTotals:
        """Return the tokens and the cost of a session and of its agents' sessions."""
        ...

    @ours("GET", "/session/cost")
    async def costs(self) -> dict[str, float]:
        """Return the cost of each session in USD, without its agents' sessions; free sessions are left out."""
        ...

    @ours("POST", "/session/cost", body=CostsRequest, reads=True)
    async def family_costs(self, session_ids: Sequence[str], is_archived: bool = False) -> dict[str, float]:
        """Return the cost of these sessions in USD, each with its agents' sessions; free ones are left out.

        An agent's session that is archived counts only with `is_archived`, for a caller that is archived too. Sessions of other
        projects are left out.
        """
        ...

    @ours("GET", "/session/cost/total")
    async def total_cost(self, is_archived: bool = False) -> float:
        """Return the cost in USD of all sessions that are not archived, or of those that are, themselves or with their callers."""
        ...

    @ours("GET", "/session/{session_id}/cost")
    async def cost(self, session_id: str) -> float:
        """Return the cost of a session in USD, without its agents' sessions."""
        ...

    @ours("GET", "/session/usage")
    async def usage(self, since: int = 0) -> ProjectUsage:
        """Return what all sessions used together, or those that were used since a time (ms since 1970)."""
        ...

    @ours("POST", "/session/recover")
    async def recover_all(self) -> int:
        """Finalize what killed processes left open in any session; return the number of messages that were changed."""
        ...

    @opencode("GET", "/session/{session_id}/todo")
    async def todos(self, session_id: str) -> Sequence[Todo]:
        """Return the todo list."""
        ...

    @opencode("GET", "/session/{session_id}/diff")
    async def diff(self, session_id: str, message_id: str | None = None) -> Sequence[FileDiff]:
        """Return the file changes of the session, or of the turn of one user message, without those of ignored files."""
        ...

    @ours("GET", "/session/{session_id}/diff/ignored")
    async def ignored_changes(self, session_id: str, message_id: str | None = None) -> Sequence[FileDiff]:
        """Return the changes of ignored files that `diff` leaves out: their names and kinds without the content."""
        ...


class TrashFacet(Protocol):
    """Deleted sessions of all projects."""

    @ours("GET", "/trash")
    async def list(self) -> Sequence[TrashedSession]:
        """Return them, the last deleted first."""
        ...

    @ours("POST", "/trash/{trash_id}/restore")
    async def restore(self, trash_id: str) -> SessionInfo:
        """Restore one by its session ID, or by its name in the trash; return the session.

        Raises NotFoundError, SessionError when its folder is gone or the session exists again, BusyError; then it stays.
        """
        ...

    @ours("POST", "/trash/empty", body=TrashChoice)
    async def empty(self, names: Sequence[str]) -> Sequence[TrashedSession]:
        """Delete these permanently, by their names; return those that were still there."""
        ...


class MessagesFacet(Protocol):
    """The messages of a session."""

    @opencode("GET", "/session/{session_id}/message")
    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        """Return the newest `limit` messages (all without one), oldest first."""
        ...

    @ours("GET", "/session/{session_id}/message/ids")
    async def ids(self, session_id: str) -> Sequence[str]:
        """Return the IDs of all messages, oldest first, without reading them."""
        ...

    @ours("POST", "/session/{session_id}/message/named", body=MessageNames, reads=True)
    async def named(self, session_id: str, ids: Sequence[str]) -> Sequence[MessageWithParts]:
        """Return the messages with these IDs, in this order, without reading others; those that do not exist are left out."""
        ...

    @ours("POST", "/session/{session_id}/message/outlines", body=MessageNames, reads=True)
    async def outlines(self, session_id: str, ids: Sequence[str]) -> Sequence[OutlinedMessage]:
        """Return the messages with these IDs in outline, in this order; of those that do not exist, too, all has to be read."""
        ...

    @opencode("GET", "/session/{session_id}/message/{message_id}")
    async def get(self, session_id: str, message_id: str) -> MessageWithParts:
        """Return one; raises NoSuchMessageError."""
        ...

    @opencode("PATCH", "/session/{part.session_id}/message/{part.message_id}/part/{part.id}")
    async def update_part(self, part: Part) -> Part:
        """Replace the part with the same id; raises NoSuchMessageError, BusyError while the session runs."""
        ...

    @opencode("DELETE", "/session/{session_id}/message/{message_id}/part/{part_id}")
    async def remove_part(self, session_id: str, message_id: str, part_id: str) -> None:
        """Delete a part; raises as `update_part` does."""
        ...


class PromptsFacet(Protocol):
    """Prompts, slash commands and shell commands.

    `stored` is called with the request's id once it is on disk: from then on it cannot be lost. An id of the caller that is in
    use is replaced by one of ours; with `refuses_ids`, and by a server, such a request is refused with an IdInUseError.
    """

    @ours("POST", "/prompt/check", reads=True)
    async def check(self, request: PromptInput) -> None:
        """Raise ConfigError or ModelNotFoundError when a request for a new session could not be answered."""
        ...

    @opencode("POST", "/session/{session_id}/message")
    async def prompt(
        self,
        session_id: str,
        request: PromptInput,
        *,
        stored: Callable[[str], None] | None = None,
        refuses_ids: bool = False,
    ) -> MessageWithParts:
        """Send a request; return the last message of its answer when the session is idle."""
        ...

    @opencode("POST", "/session/{session_id}/command")
    async def command(
        self,
        session_id: str,
        given: CommandInput,
        *,
        stored: Callable[[str], None] | None = None,
        refuses_ids: bool = False,
    ) -> MessageWithParts:
        """Send the prompt that a slash command expands to; return as `prompt` does. Raises ConfigError for an unknown one."""
        ...

    @opencode("POST", "/session/{session_id}/shell")
    async def shell(
        self, session_id: str, given: ShellInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Run a shell command of the user; return the message with its call. Raises BusyError while the session runs."""
        ...

    @ours("POST", "/prompt/expand", body=PromptText, reads=True)
    async def expand(self, text: str) -> Sequence[PromptPart]:
        """Return the parts of a prompt's text: the text, and the files and agents that it names with `@`."""
        ...

    @ours("DELETE", "/session/{session_id}/queued/{message_id}")
    async def withdraw(self, session_id: str, message_id: str) -> bool:
        """Remove a request that waits for the turn before it; return whether no step had read it yet."""
        ...

    @ours("POST", "/session/{session_id}/queued/{message_id}/send")
    async def send_now(self, session_id: str, message_id: str) -> bool:
        """Let the session read a request that waits at once; return False when it does not wait any more.

        While tools run it joins the turn after them; a response that is being written is interrupted.
        """
        ...

    @ours("POST", "/session/{session_id}/abort")
    async def abort(self, session_id: str) -> bool:
        """Interrupt the session's run; return whether there was one."""
        ...

    @ours("PUT", "/session/{session_id}/check")
    async def set_check(self, session_id: str, request: SetCheck) -> SessionInfo:
        """Set the session's check, in place of any other; it first runs after the present or the next turn.

        The check is in the session's metadata, with what it did last. Raises SessionError.
        """
        ...

    @ours("DELETE", "/session/{session_id}/check")
    async def remove_check(self, session_id: str) -> SessionInfo:
        """Remove the session's check."""
        ...

    @ours("POST", "/session/{session_id}/check/run")
    async def run_check(self, session_id: str, request: RunCheck) -> SessionInfo:
        """Run the session's check now; return the session, with `goes_on` after the turns that its failures start.

        Raises SessionError without a check, BusyError while the session runs.
        """
        ...

    @opencode("GET", "/session/status")
    async def status(self) -> dict[str, SessionStatus]:
        """Return the sessions that are not idle."""
        ...


class BackgroundFacet(Protocol):
    """The commands that agents run in the background, in this folder. They end with their session, and with the engine."""

    @ours("GET", "/background")
    async def list(self, session_id: str | None = None) -> Sequence[BackgroundCommand]:
        """Return those of a session and its agents, or of all sessions: running ones first, then the newest."""
        ...

    @ours("GET", "/background/{command_id}/output")
    async def output(self, command_id: str, since: int = 0) -> BackgroundText:
        """Return the end of the output of one, from a position on. Raises NotFoundError."""
        ...

    @ours("POST", "/background/{command_id}/stop")
    async def stop(self, command_id: str) -> BackgroundCommand:
        """End one with all its processes; return it. Raises NotFoundError."""
        ...

    @ours("POST", "/background/end")
    async def end(self) -> Sequence[BackgroundCommand]:
        """End all without questions, as the end of the engine does; return those that ran, when their changes are recorded."""
        ...


class ContextFacet(Protocol):
    """The context of a session, and its pruning and compaction. All raise NotFoundError for an unknown session."""

    @ours("GET", "/session/{session_id}/context")
    async def items(self, session_id: str) -> ContextView:
        """Return the content of the next request, item by item; changes nothing.

        Raises ConfigError when the session's agent is gone, ModelNotFoundError when its model is.
        """
        ...

    @ours("GET", "/session/{session_id}/request")
    async def request(self, session_id: str) -> RequestView:
        """Return the next request as it would be sent, keys redacted; changes nothing. Raises as `items`."""
        ...

    @ours("POST", "/session/{session_id}/side-question", reads=True, waits=True)
    async def ask(self, session_id: str, question: SideQuestion) -> SideAnswer:
        """Return the answer to a question about a session that is not a part of it, also while its turn runs.

        The cost is that of the session, which keeps nothing else. Raises as `items`, BudgetError, AuthError, ProviderError.
        """
        ...

    @ours("POST", "/session/{session_id}/prune", body=PartChoice)
    async def prune(self, session_id: str, parts: Sequence[str] | None = None, *, dry_run: bool = False) -> PruneReport:
        """Leave the outputs of these calls out of later requests; without `parts` those that the rules choose.

        The outputs stay on disk; `dry_run` changes nothing. Raises NoSuchMessageError for an unknown part, SessionError for one
        that is not a finished call, BusyError while the session runs.
        """
        ...

    @ours("POST", "/session/{session_id}/restore", body=PartChoice)
    async def restore(
        self, session_id: str, parts: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> PruneReport:
        """Send the outputs of these calls, or of all, again; later pruning skips them. Raises as `prune`."""
        ...

    @ours("GET", "/session/{session_id}/ledger")
    async def ledger(self, session_id: str) -> LedgerView:
        """Return what a compaction would keep word for word now; changes nothing. Raises ModelNotFoundError."""
        ...

    @ours("POST", "/session/{session_id}/ledger")
    async def change_ledger(self, session_id: str, change: LedgerChange) -> LedgerView:
        """Add, replace, remove or restore an entry of the ledger, which the next request has; return the ledger.

        Raises NotFoundError for an unknown entry, SessionError for a text that is too long, BusyError while the session runs.
        """
        ...

    @ours("POST", "/session/{session_id}/compact")
    async def compact(self, session_id: str, request: CompactSession) -> CompactionReport:
        """Replace a session's older messages by a summary, or report what that would do.

        Raises BusyError while the session runs, SessionError when there is nothing to summarize, and the errors of the model call.
        """
        ...


class UndoFacet(Protocol):
    """Undo in the folder's sessions.

    All raise NotFoundError for an unknown session, BusyError while it runs, SnapshotError when files cannot be read.
    """

    @ours("POST", "/session/{session_id}/recover")
    async def recover(self, session_id: str) -> None:
        """Finalize what a killed process left open in a session: its records and an unfinished undo."""
        ...

    @ours("POST", "/session/{session_id}/revert/preview", body=UndoTarget)
    async def preview(
        self,
        session_id: str,
        message_id: str | None = None,
        part_id: str | None = None,
        *,
        only: UndoOnly | None = None,
    ) -> RevertPreview:
        """Return what `revert` with these arguments would do; changes nothing. Raises as `revert`."""
        ...

    @ours("GET", "/session/{session_id}/revert/diff")
    async def changes(self, session_id: str, message_id: str, part_id: str | None = None) -> Sequence[FileDiff]:
        """Return the file changes that `revert` with these arguments is for, over all its turns. Raises NoSuchMessageError."""
        ...

    @ours("POST", "/session/{session_id}/unrevert/preview")
    async def preview_unrevert(self, session_id: str) -> RevertPreview:
        """Return what `unrevert` would do; changes nothing. Raises as `unrevert`."""
        ...

    @ours("POST", "/session/{session_id}/revert", body=UndoTarget)
    async def revert(
        self,
        session_id: str,
        message_id: str | None = None,
        part_id: str | None = None,
        *,
        only: UndoOnly | None = None,
    ) -> RevertReport:
        """Undo everything from a message on, or from a part of it; without one the user's last turn.

        `only` limits it to the conversation or to files. Messages stay, hidden, until the conversation continues. Raises
        NoSuchMessageError, NothingToRevertError.
        """
        ...

    @ours("POST", "/session/{session_id}/unrevert")
    async def unrevert(self, session_id: str) -> RevertReport:
        """Redo what the current undo reverted. Raises NothingToRevertError."""
        ...

    @ours("POST", "/session/{session_id}/revert/commit")
    async def commit(self, session_id: str) -> bool:
        """Remove what the current undo hides, as the next prompt does; return whether there was an undo."""
        ...


class SharingFacet(Protocol):
    """Sessions on a share server, where everyone who has the address can read them."""

    @ours("GET", "/share")
    async def status(self) -> ShareStatus:
        """Return where sessions can be shared, or why they cannot."""
        ...

    @opencode("POST", "/session/{session_id}/share")
    async def share(self, session_id: str) -> SessionInfo:
        """Publish a session, without secrets and personal data, and keep it up to date; return it with its address.

        Raises NotFoundError, SessionError when sharing is off, OpencodeError when the server refuses or cannot be reached.
        """
        ...

    @opencode("DELETE", "/session/{session_id}/share")
    async def unshare(self, session_id: str) -> SessionInfo:
        """Remove a session from its server; return it without an address.

        Raises NotFoundError, SessionError when the server cannot be reached: it can be tried again.
        """
        ...


class ImportsFacet(Protocol):
    """The import of sessions of OpenCode, Claude Code and Codex; of a server, of those on its machine."""

    @ours("GET", "/import/available")
    async def available(self) -> bool:
        """Return whether the store of another program was found and nothing was imported yet; reads no session."""
        ...

    @ours("POST", "/import/stores")
    async def stores(self, request: ImportRequest | None = None) -> Sequence[ImportStore]:
        """Return the stores with the number of sessions that are not here yet; with a request those that it names.

        Raises ConfigError for a path without a store. A store that cannot be read has its error in `problems`.
        """
        ...

    @ours("POST", "/import", waits=True)
    async def run(self, request: ImportRequest) -> ImportReport:
        """Import sessions, and return what was done. Canceling it ends it after the session that it works on.

        Raises ConfigError for a path without a store, StorageError, and BusyError while another import runs.
        """
        ...

    @ours("GET", "/import/progress")
    async def progress(self) -> ImportProgress | None:
        """Return how far the running import is; None when none runs."""
        ...

    @ours("POST", "/import/cancel")
    async def cancel(self) -> bool:
        """End the running import after the session that it works on; return whether there is one."""
        ...
