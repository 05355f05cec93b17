"""What faces may ask of the engine, in facets of a few methods each; arguments and results are shapes of `schema`.

A facet's method raises the OpencodeError that stands for what went wrong. The same Protocols hold for a client over HTTP.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from opencode_tui.schema.catalog import (
    AgentSummary,
    CommandSummary,
    Notices,
    ProviderSummary,
    SkillSummary,
    ToolSummary,
)
from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.event import AnyStatus, Envelope, ScreenEvent
from opencode_tui.schema.file import FileContent, FileEntry, FindKind, LineMatch
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.part import AnyPart
from opencode_tui.schema.permission import PermissionReport, PermissionRequest, PermissionRules, Reply, Rule
from opencode_tui.schema.project import Places, ProjectInfo
from opencode_tui.schema.question import QuestionRequest
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.request import CommandInput, CreateSession, PromptInput, PromptPart, UpdateSession
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.todo import Todo
from opencode_tui.schema.totals import SessionTotals


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

    async def totals(self, session_id: str) -> SessionTotals:
        """Return what a session and the sessions of its agents have used."""
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

    async def expand(self, text: str) -> Sequence[PromptPart]:
        """Return the parts of a prompt's text: itself, the files that it names with `@`, the agents."""
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


class RulesFacet(Protocol):
    """What the agent may do, and why."""

    async def list(self, agent: str | None) -> PermissionRules:
        """Return an agent's rules (the default one's without a name) and the grants of this worktree."""
        ...

    async def explain(
        self, permission: str, subject: str, *, agent: str | None = None, extra: Sequence[Rule] = ()
    ) -> PermissionReport:
        """Return why an act would be allowed, asked for or denied; `extra` rules are tried as if they stood last."""
        ...

    async def grants(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Return the grants that `revoke` would forget."""
        ...

    async def revoke(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        """Forget what was allowed for good; returns what was forgotten."""
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


class CatalogFacet(Protocol):
    """What can be chosen."""

    async def models(self) -> Sequence[Model]:
        """Return the models that can be used here."""
        ...

    async def all_models(self) -> Sequence[Model]:
        """Return the models of every known provider, with a key or without."""
        ...

    async def providers(self, *, only_ready: bool = False) -> Sequence[ProviderSummary]:
        """Return every known provider, or those that can be asked now."""
        ...

    async def commands(self) -> Sequence[CommandSummary]:
        """Return the slash commands."""
        ...

    async def tools(self) -> Sequence[ToolSummary]:
        """Return the tools in the order in which the model sees them."""
        ...

    async def skills(self) -> Sequence[SkillSummary]:
        """Return the skills by name."""
        ...

    async def default_model(self) -> ModelRef:
        """Return the model that answers when none is named."""
        ...

    async def agents(self) -> Sequence[AgentSummary]:
        """Return the agents, the default one first."""
        ...

    async def describe_agent(self, name: str) -> JsonObject:
        """Return {agent, rules, prompt, tools} of one agent; raises ConfigError for an unknown one."""
        ...


class SettingsFacet(Protocol):
    """What the settings of this folder say that a person should know."""

    async def notices(self) -> Notices:
        """Return warnings, and what is not in force because the folder is not trusted."""
        ...

    async def effective(self) -> JsonObject:
        """Return the settings in force under OpenCode's key names, secrets covered."""
        ...


class ProjectFacet(Protocol):
    """What is worked on."""

    async def current(self) -> ProjectInfo:
        """Return the folder's project."""
        ...

    async def all(self) -> Sequence[ProjectInfo]:
        """Return every project that was ever worked on."""
        ...

    async def places(self) -> Places:
        """Return the folders of the person, of the program and of the work."""
        ...

    async def branch(self) -> str | None:
        """Return the branch that is checked out; None without one."""
        ...


class FilesFacet(Protocol):
    """Files of the work tree; paths are relative to the folder."""

    async def find(self, query: str, *, kind: FindKind = "all", limit: int = 100) -> Sequence[str]:
        """Return files and folders whose names are like `query`, the most alike first; folders end with a slash."""
        ...

    async def search(self, pattern: str, *, limit: int = 100) -> Sequence[LineMatch]:
        """Return lines that match a regular expression. Raises ToolError for a wrong one."""
        ...

    async def list(self, path: str) -> Sequence[FileEntry]:
        """Return a folder's entries, folders first. Raises NotFoundError, also for what lies outside."""
        ...

    async def read(self, path: str) -> FileContent:
        """Return what a file holds. Raises NotFoundError, also for what lies outside."""
        ...


class ScreenFacet(Protocol):
    """The screens that are open for this folder."""

    async def tell(self, event: ScreenEvent) -> None:
        """Have all of them do something; nobody has to listen."""
        ...


class EventReader(Protocol):
    """All events of a folder from the moment it was opened on: iterate, or poll; leaving its context closes it."""

    def __enter__(self) -> "EventReader":
        """Return itself."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        ...

    def __aiter__(self) -> AsyncIterator[Envelope]:
        """Return itself."""
        ...

    async def __anext__(self) -> Envelope:
        """Wait for the next event."""
        ...

    def poll(self) -> Envelope | None:
        """Return the next event that already waits, or None."""
        ...


class Client(Protocol):
    """The door for one folder."""

    @property
    def directory(self) -> Path:
        """The folder, absolute, links resolved."""
        ...

    @property
    def sessions(self) -> SessionsFacet:
        """The project's sessions."""
        ...

    @property
    def messages(self) -> MessagesFacet:
        """Their messages."""
        ...

    @property
    def prompts(self) -> PromptsFacet:
        """Their conversations."""
        ...

    @property
    def permissions(self) -> PermissionsFacet:
        """Open questions."""
        ...

    @property
    def rules(self) -> RulesFacet:
        """What may be done."""
        ...

    @property
    def questions(self) -> QuestionsFacet:
        """Open questions of tools."""
        ...

    @property
    def catalog(self) -> CatalogFacet:
        """Models and agents."""
        ...

    @property
    def settings(self) -> SettingsFacet:
        """Settings."""
        ...

    @property
    def files(self) -> FilesFacet:
        """The work tree's files."""
        ...

    @property
    def screen(self) -> ScreenFacet:
        """The open screens."""
        ...

    @property
    def project(self) -> ProjectFacet:
        """The project."""
        ...

    def events(self) -> EventReader:
        """Return a reader of all events of this folder from the moment of the call on."""
        ...


class Clients(Protocol):
    """The doors for all folders of one engine, for a face that serves several."""

    async def at(self, directory: str | None = None) -> Client:
        """Return the door for a folder, without one that of the process; raises ConfigError when it cannot be opened."""
        ...

    def events(self) -> EventReader:
        """Return a reader of the events of all folders from the moment of the call on."""
        ...

    async def end_runs(self) -> None:
        """Interrupt everything that runs; returns when its records are closed, or after a grace period."""
        ...
