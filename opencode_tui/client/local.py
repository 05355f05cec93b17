"""The door inside the process: each facet hands on to the engine and has no logic of its own."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from opencode_tui.bus import Subscription
from opencode_tui.engine.agent_report import describe_agent
from opencode_tui.engine.engine import Engine, open_engine
from opencode_tui.engine.instance import Instance
from opencode_tui.engine.permission.policy import AskPerson, AutoApprove, Policy, RefuseQuestions
from opencode_tui.schema.catalog import AgentSummary, Notices
from opencode_tui.schema.event import AnyStatus
from opencode_tui.schema.history import MessageWithParts
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.permission import PermissionRequest, Reply
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.request import CreateSession, PromptInput, UpdateSession
from opencode_tui.schema.session import SessionInfo
from opencode_tui.schema.todo import Todo


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

    async def mend_all(self) -> int:
        """Close what killed processes left open."""
        return await self._instance.sessions.mend_all()

    async def todos(self, session_id: str) -> Sequence[Todo]:
        """Return the todo list."""
        return await self._instance.todos.read(session_id)


class LocalMessages:
    """Messages of the store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        """Return the newest `limit` messages, oldest first."""
        if limit is None:
            return await self._engine.store.messages(session_id)
        return await self._engine.store.tail(session_id, limit)


class LocalPrompts:
    """The prompt loop."""

    def __init__(self, engine: Engine, instance: Instance, policy: Policy) -> None:
        self._engine = engine
        self._instance = instance
        self._policy = policy

    async def check(self, request: PromptInput) -> None:
        """Return when a request for a new session could be answered."""
        self._instance.prompts.check(request)

    async def prompt(self, session_id: str, request: PromptInput) -> MessageWithParts:
        """Send a request and wait for its answer."""
        return await self._instance.prompts.prompt(session_id, request, policy=self._policy)

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


class LocalCatalog:
    """Models and agents of the instance."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def models(self) -> Sequence[Model]:
        """Return the models that can be used here."""
        return self._instance.catalog.models()

    async def all_models(self) -> Sequence[Model]:
        """Return the models of every known provider."""
        return self._instance.catalog.all_models()

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
        warnings = [*(str(notice) for notice in config.warnings), *self._instance.warnings]
        return Notices(warnings=warnings, ignored=[str(notice) for notice in config.ignored])


class LocalClient:
    """The door for one folder, in the process."""

    def __init__(self, engine: Engine, instance: Instance, policy: Policy | None = None) -> None:
        self._engine = engine
        self.directory = instance.directory
        self.sessions = LocalSessions(engine, instance)
        self.messages = LocalMessages(engine)
        self.prompts = LocalPrompts(engine, instance, policy or AskPerson())
        self.permissions = LocalPermissions(instance)
        self.catalog = LocalCatalog(instance)
        self.settings = LocalSettings(instance)

    def events(self) -> Subscription:
        """Return a reader of the folder's events from now on."""
        return self._engine.bus.subscribe(str(self.directory))


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
