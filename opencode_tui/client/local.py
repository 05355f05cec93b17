"""The door inside the process: each facet hands on to the engine and has no logic of its own."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from opencode_tui.bus import Subscription
from opencode_tui.config.redact import redact
from opencode_tui.engine.agent_report import describe_agent
from opencode_tui.engine.engine import CLOSE_GRACE_MS, Engine, open_engine
from opencode_tui.engine.file.line_search import search_lines
from opencode_tui.engine.instance import Instance
from opencode_tui.engine.permission.policy import AskPerson, AutoApprove, Policy, RefuseQuestions
from opencode_tui.engine.session.template import expand_prompt
from opencode_tui.engine.skill.skills import Skill
from opencode_tui.schema.catalog import (
    AgentSummary,
    CommandSummary,
    Notices,
    ProviderSummary,
    SkillSummary,
    ToolSummary,
)
from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.error import ConfigError, NoSuchMessageError, ToolError
from opencode_tui.schema.event import AnyStatus, ScreenEvent
from opencode_tui.schema.file import FileContent, FileEntry, FindKind, LineMatch
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.message import UserMessage
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.part import AnyPart
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.project import Places, ProjectInfo
from opencode_tui.schema.question import QuestionRequest
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.request import CommandInput, CreateSession, PromptInput, PromptPart, UpdateSession
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.todo import Todo
from opencode_tui.schema.totals import SessionTotals


class LocalSessions:
    """Sessions of the instance's project."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._engine = engine
        self._instance = instance

    async def create(self, request: CreateSession) -> SessionInfo:
        """Make a session."""
        return await self._instance.sessions.create(request)

    async def list(self) -> Sequence[SessionInfo]:
        """Return all, newest first."""
        return await self._instance.sessions.all()

    async def get(self, session_id: str) -> SessionInfo:
        """Return one."""
        return await self._instance.sessions.get(session_id)

    async def latest(self) -> SessionInfo | None:
        """Return the one that was worked on last."""
        return await self._instance.sessions.latest()

    async def children(self, session_id: str) -> Sequence[SessionInfo]:
        """Return a session's children."""
        return await self._engine.store.children(session_id)

    async def update(self, session_id: str, request: UpdateSession) -> SessionInfo:
        """Rename or archive."""
        return await self._instance.sessions.update(session_id, request)

    async def remove(self, session_id: str) -> None:
        """Delete with all children."""
        await self._instance.sessions.remove(session_id)

    async def totals(self, session_id: str) -> SessionTotals:
        """Return what a session and the sessions of its agents have used."""
        return await self._instance.sessions.totals(session_id)

    async def mend_all(self) -> int:
        """Close what killed processes left open."""
        return await self._instance.sessions.mend_all()

    async def todos(self, session_id: str) -> Sequence[Todo]:
        """Return the todo list."""
        return await self._instance.todos.read(session_id)

    async def diff(self, session_id: str, message_id: str | None = None) -> Sequence[FileDiff]:
        """Return what was changed in files."""
        if message_id is None:
            return await self._engine.store.diff(session_id)
        messages = await self._engine.store.messages(session_id)
        info = next((message.info for message in messages if message.info.id == message_id), None)
        return info.summary.diffs if isinstance(info, UserMessage) and info.summary else []


class LocalMessages:
    """Messages of the store."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._engine = engine
        self._instance = instance

    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        """Return the newest `limit` messages, oldest first."""
        if limit is None:
            return await self._engine.store.messages(session_id)
        return await self._engine.store.tail(session_id, limit)

    async def get(self, session_id: str, message_id: str) -> MessageWithParts:
        """Return one message."""
        for message in await self._engine.store.messages(session_id):
            if message.info.id == message_id:
                return message
        raise NoSuchMessageError(f"session {session_id} has no message {message_id}")

    async def update_part(self, part: AnyPart) -> AnyPart:
        """Change one part."""
        return await self._instance.parts.update(part)

    async def remove_part(self, session_id: str, message_id: str, part_id: str) -> None:
        """Delete one part."""
        await self._instance.parts.remove(session_id, message_id, part_id)


class LocalPrompts:
    """The prompt loop."""

    def __init__(self, engine: Engine, instance: Instance, policy: Policy) -> None:
        self._engine = engine
        self._instance = instance
        self._policy = policy

    async def check(self, request: PromptInput) -> None:
        """Return when a request for a new session could be answered."""
        self._instance.prompts.check(request)

    async def prompt(
        self, session_id: str, request: PromptInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Send a request and wait for its answer."""
        return await self._instance.prompts.prompt(session_id, request, policy=self._policy, stored=stored)

    async def command(
        self, session_id: str, given: CommandInput, *, stored: Callable[[str], None] | None = None
    ) -> MessageWithParts:
        """Send the prompt that a slash command stands for."""
        return await self._instance.prompts.command(session_id, given, policy=self._policy, stored=stored)

    async def expand(self, text: str) -> Sequence[PromptPart]:
        """Return the parts of a prompt's text."""
        return await asyncio.to_thread(expand_prompt, text, self._instance.references)

    async def abort(self, session_id: str) -> bool:
        """Interrupt the session's run."""
        return self._instance.prompts.cancel(session_id)

    async def status(self) -> dict[str, AnyStatus]:
        """Return the sessions that are not idle."""
        return self._engine.core.statuses.all()


class LocalPermissions:
    """The permission service."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def pending(self) -> Sequence[PermissionRequest]:
        """Return open questions."""
        return self._instance.permissions.pending()

    async def reply(self, request_id: str, reply: Reply, message: str | None = None) -> bool:
        """Answer a question."""
        return await self._instance.permissions.reply(request_id, reply, message)


class LocalQuestions:
    """The question service."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def pending(self) -> Sequence[QuestionRequest]:
        """Return open questions."""
        return self._instance.questions.pending()

    async def reply(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        """Answer a question."""
        return self._instance.questions.reply(request_id, [list(labels) for labels in answers])

    async def reject(self, request_id: str) -> bool:
        """Dismiss a question."""
        return self._instance.questions.reject(request_id)


class LocalCatalog:
    """Models and agents of the instance."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def models(self) -> Sequence[Model]:
        """Return the models that can be used here."""
        return await asyncio.to_thread(self._instance.catalog.models)

    async def all_models(self) -> Sequence[Model]:
        """Return the models of every known provider."""
        return await asyncio.to_thread(self._instance.catalog.all_models)

    async def providers(self, *, only_ready: bool = False) -> Sequence[ProviderSummary]:
        """Return the providers."""
        return await asyncio.to_thread(self._instance.catalog.providers, only_ready=only_ready)

    async def commands(self) -> Sequence[CommandSummary]:
        """Return the slash commands."""
        return self._instance.extensions.commands.all()

    async def tools(self) -> Sequence[ToolSummary]:
        """Return the tools."""
        specs = await asyncio.to_thread(self._instance.tools.specs, lambda _name: True)
        return [ToolSummary(id=spec.name, description=spec.description, parameters=spec.parameters) for spec in specs]

    async def skills(self) -> Sequence[SkillSummary]:
        """Return the skills."""
        return await asyncio.to_thread(lambda: [_skill(skill) for skill in self._instance.extensions.skills.all()])

    async def default_model(self) -> ModelRef:
        """Return the model that answers when none is named."""
        return self._instance.catalog.default_model()

    async def agents(self) -> Sequence[AgentSummary]:
        """Return the agents, the default one first."""
        return [AgentSummary.model_validate(agent.to_dict()) for agent in self._instance.agents.all()]

    async def describe_agent(self, name: str) -> JsonObject:
        """Return what one agent is made of."""
        return describe_agent(name, agents=self._instance.agents, tools=self._instance.tools)


class LocalSettings:
    """The loaded settings."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def notices(self) -> Notices:
        """Return what a person should know of them."""
        config = self._instance.config
        settings = (str(notice) for notice in config.warnings)
        warnings = [*settings, *self._instance.warnings, *self._instance.extensions.warnings]
        return Notices(warnings=warnings, ignored=[str(notice) for notice in config.ignored])

    async def effective(self) -> JsonObject:
        """Return the settings in force, secrets covered."""
        return redact(self._instance.config.effective)


class LocalFiles:
    """The instance's work tree."""

    def __init__(self, instance: Instance) -> None:
        self._directory = instance.directory
        self._finder = instance.finder
        self._browser = instance.browser

    async def find(self, query: str, *, kind: FindKind = "all", limit: int = 100) -> Sequence[str]:
        """Find by name."""
        return await self._finder.find(query, kind=kind, limit=limit)

    async def search(self, pattern: str, *, limit: int = 100) -> Sequence[LineMatch]:
        """Find by content."""
        return await search_lines(self._directory, pattern, limit=limit)

    async def list(self, path: str) -> Sequence[FileEntry]:
        """List a folder."""
        return await asyncio.to_thread(self._browser.entries, path)

    async def read(self, path: str) -> FileContent:
        """Read a file."""
        return await asyncio.to_thread(self._browser.read, path)


class LocalScreen:
    """The bus, for those who watch the folder."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._bus = engine.bus
        self._directory = str(instance.directory)

    async def tell(self, event: ScreenEvent) -> None:
        """Have the screens do something."""
        self._bus.publish(event, directory=self._directory)


class LocalProject:
    """The instance's project, and all others."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._core = engine.core
        self._instance = instance

    async def current(self) -> ProjectInfo:
        """Return the folder's project."""
        return (await self._core.projects.open(self._instance.project)).info

    async def all(self) -> Sequence[ProjectInfo]:
        """Return every known project."""
        return await self._core.projects.all()

    async def places(self) -> Places:
        """Return the folders."""
        paths, project = self._core.paths, self._instance.project
        return Places(
            home=str(paths.home),
            state=str(paths.state),
            config=str(paths.config),
            worktree=str(project.worktree),
            directory=str(project.directory),
        )

    async def branch(self) -> str | None:
        """Return the branch that is checked out."""
        return await asyncio.to_thread(lambda: self._instance.project.branch)


class LocalClient:
    """The door for one folder, in the process."""

    def __init__(self, engine: Engine, instance: Instance, policy: Policy | None = None) -> None:
        self._engine = engine
        self.directory = instance.directory
        self.sessions = LocalSessions(engine, instance)
        self.messages = LocalMessages(engine, instance)
        self.prompts = LocalPrompts(engine, instance, policy or AskPerson())
        self.permissions = LocalPermissions(instance)
        self.rules = instance.rules
        self.questions = LocalQuestions(instance)
        self.catalog = LocalCatalog(instance)
        self.settings = LocalSettings(instance)
        self.files = LocalFiles(instance)
        self.screen = LocalScreen(engine, instance)
        self.project = LocalProject(engine, instance)

    def events(self) -> Subscription:
        """Return a reader of the folder's events from now on."""
        return self._engine.bus.subscribe(str(self.directory))


class LocalClients:
    """The doors for all folders, in the process; a folder is opened once."""

    def __init__(self, engine: Engine, directory: Path, policy: Policy | None = None) -> None:
        self._engine = engine
        self._directory = str(directory)
        self._policy = policy
        self._clients: dict[str, LocalClient] = {}

    async def at(self, directory: str | None = None) -> LocalClient:
        """Return the door for a folder. Raises ConfigError."""
        asked = directory or self._directory
        client = self._clients.get(asked)
        if client is None:
            if not Path(asked).is_absolute():
                raise ConfigError(f"the directory {asked!r} is not an absolute path; give the whole path")
            client = self._clients[asked] = LocalClient(self._engine, await self._open(asked), self._policy)
        return client

    async def _open(self, directory: str) -> Instance:
        try:
            return await self._engine.instance(Path(directory))
        except (OSError, ValueError) as error:  # a name that no folder can have
            raise ConfigError(f"the directory {directory[:100]!r} cannot be opened ({error})") from error

    def events(self) -> Subscription:
        """Return a reader of all events from now on."""
        return self._engine.bus.subscribe()

    async def end_runs(self) -> None:
        """Interrupt everything that runs."""
        await self._engine.core.runs.close(grace_ms=CLOSE_GRACE_MS)


def _skill(skill: Skill) -> SkillSummary:
    """Return a skill with its text; of one that cannot be read any more the reason stands in its place."""
    try:
        content = skill.read()
    except ToolError as error:
        content = str(error)
    return SkillSummary(name=skill.name, description=skill.description, location=str(skill.path), content=content)


def choose_policy(*, auto: bool, has_terminal: bool) -> Policy:
    """Return who answers permission questions: the person, nobody, or `--auto`."""
    otherwise: Policy = AskPerson() if has_terminal else RefuseQuestions()
    return AutoApprove(otherwise) if auto else otherwise


@asynccontextmanager
async def open_client(
    environ: Mapping[str, str], directory: Path, *, policy: Policy | None = None
) -> AsyncGenerator[LocalClient, None]:
    """Open the engine and the door for a folder; on leaving, everything ends in order."""
    async with open_engine(environ) as engine:
        yield LocalClient(engine, await engine.instance(directory), policy)


@asynccontextmanager
async def open_clients(environ: Mapping[str, str], directory: Path) -> AsyncGenerator[LocalClients, None]:
    """Open the engine and the doors for all folders, `directory` the default one; on leaving, everything ends in order."""
    async with open_engine(environ) as engine:
        yield LocalClients(engine, directory)
