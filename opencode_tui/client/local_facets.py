"""The facets inside the process: which service of the engine answers each method. The methods are documented in `facets`.

A method that a service of the engine has with the same signature becomes an attribute; the others adapt
names, threads or services that are built on first use.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

from opencode_tui.config.auth import AuthStore
from opencode_tui.config.redact import redact_address, redact_settings
from opencode_tui.engine.engine import Engine
from opencode_tui.engine.instance import Instance
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.skill.skills import Skill
from opencode_tui.schema.api.catalog import (
    AgentSummary,
    CommandSummary,
    Notices,
    ProviderSummary,
    SandboxState,
    SkillSummary,
    StatusFacts,
    ToolSummary,
)
from opencode_tui.schema.api.project import Places, ProjectInfo
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.api.request import CommandInput, ForkSession, PromptInput
from opencode_tui.schema.error import NoSuchMessageError, ToolError
from opencode_tui.schema.event.screen_event import ScreenEvent
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.permission import PermissionRequest
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import AnyStatus, SessionInfo

if TYPE_CHECKING:
    from opencode_tui.client.facets import (
        CatalogFacet,
        ContextFacet,
        FilesFacet,
        ImportsFacet,
        MessagesFacet,
        PermissionsFacet,
        ProjectFacet,
        PromptsFacet,
        QuestionsFacet,
        RulesFacet,
        ScreenFacet,
        SearchFacet,
        SessionsFacet,
        SettingsFacet,
        SharingFacet,
        TrashFacet,
        UndoFacet,
    )
    from opencode_tui.engine.file.browser import FileBrowser
    from opencode_tui.engine.file.search import FileFinder
    from opencode_tui.schema.api.context import CompactionReport, CompactSession, ContextView, PruneReport, RequestView
    from opencode_tui.schema.api.file import ChangedFile, FileContent, FileEntry, FindKind, LineMatch
    from opencode_tui.schema.api.importing import ImportProgress, ImportReport, ImportRequest, ImportStore
    from opencode_tui.schema.api.search import SearchRequest, SearchResult
    from opencode_tui.schema.api.share import ShareStatus
    from opencode_tui.schema.api.trash import TrashedSession
    from opencode_tui.schema.api.trust import TrustReport
    from opencode_tui.schema.session.session import ForkPreview
    from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoOnly


# How the calls of a face reach an engine that runs elsewhere: one generic proxy around each facet, and one strategy that carries
# the calls. Public members of a facet are coroutine functions; readers of events belong to the client itself.

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class Calls(Protocol):
    """Carries calls from the face's event loop to that of the engine."""

    def coroutine(self, function: Callable[P, Awaitable[R]]) -> Callable[P, Coroutine[Any, Any, R]]:
        """Return a function that awaits this one of the engine; canceling the caller cancels it."""
        ...


def forward(service: S, calls: Calls | None) -> S:
    """Return a proxy with the coroutine functions of a service, called by `calls`; without `calls` the service itself."""
    return service if calls is None else cast("S", _Proxy(service, calls))


class _Proxy:
    """Looks a member up when it is first used, then keeps it."""

    def __init__(self, service: object, calls: Calls) -> None:
        self._service = service
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        """Return a coroutine function of the service; called for one that is not kept yet."""
        member = None if name.startswith("_") else getattr(self._service, name)
        if not inspect.iscoroutinefunction(member):
            raise AttributeError(f"{name!r} is not a coroutine function of {type(self._service).__name__}")
        carried = self.__dict__[name] = self._calls.coroutine(member)
        return carried


Stored = Callable[[str], None]


class _Sessions:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._core = engine.core
        self._instance = instance
        self.create = instance.session.sessions.create
        self.list = instance.session.sessions.all
        self.get = instance.session.sessions.get
        self.latest = instance.session.sessions.latest
        self.children = engine.store.children
        self.update = instance.session.sessions.update
        self.wait_copied = engine.core.copies.wait_until_copied
        self.totals = instance.session.sessions.totals
        self.costs = instance.session.sessions.costs
        self.todos = instance.folder.todos.read

    async def everywhere(self) -> Sequence[SessionInfo]:
        found = [info for one in await self._core.projects.all() for info in await self._core.store.sessions(one.id)]
        return sorted(found, key=lambda info: info.time.updated, reverse=True)

    async def remove(self, session_id: str) -> None:
        info = await self._core.store.get(session_id)
        shares = self._instance.session.shares
        record = await shares.get().record_of(session_id) if info.share is not None else None
        await self._instance.session.trash.get().put(session_id)
        if record is not None:
            shares.get().end(record)

    async def diff(self, session_id: str, message_id: str | None = None) -> Sequence[FileDiff]:
        return await self._instance.session.summaries.get().diff(session_id, message_id)

    async def fork(self, session_id: str, request: ForkSession) -> SessionInfo:
        return await self._instance.session.forks.get().fork(session_id, request)

    async def preview_fork(self, session_id: str, request: ForkSession) -> "ForkPreview":
        return await self._instance.session.forks.get().preview(session_id, request)

    async def recover_all(self) -> int:
        return await self._instance.session.sessions.recover_all(self._instance.session.maintenance.recover)


class _Search:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._search = engine.core.search
        self._project_id = instance.folder.project.id

    async def find(self, request: "SearchRequest") -> "SearchResult":
        return await self._search.get().find(request, self._project_id)


class _Trash:
    def __init__(self, instance: Instance) -> None:
        self._trash = instance.session.trash

    async def list(self) -> Sequence["TrashedSession"]:
        return await self._trash.get().list()

    async def restore(self, wanted: str) -> SessionInfo:
        return await self._trash.get().restore(wanted)

    async def empty(self, names: Sequence[str]) -> Sequence["TrashedSession"]:
        return await self._trash.get().empty(names)


class _Messages:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._store = engine.store
        self.update_part = instance.session.parts.update
        self.remove_part = instance.session.parts.remove

    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        return await (self._store.messages(session_id) if limit is None else self._store.tail(session_id, limit))

    async def get(self, session_id: str, message_id: str) -> MessageWithParts:
        for message in await self._store.messages(session_id):
            if message.info.id == message_id:
                return message
        raise NoSuchMessageError(f"session {session_id} has no message {message_id}")


class _Prompts:
    def __init__(self, engine: Engine, instance: Instance, policy: Policy) -> None:
        self._statuses = engine.core.statuses
        self._prompts = instance.session.prompts
        self._policy = policy
        self.shell = instance.session.shell.run
        self.expand = instance.expand
        self.withdraw = instance.session.prompts.withdraw

    async def check(self, request: PromptInput) -> None:
        self._prompts.check(request)

    async def prompt(self, session_id: str, request: PromptInput, *, stored: Stored | None = None) -> MessageWithParts:
        return await self._prompts.prompt(session_id, request, policy=self._policy, stored=stored)

    async def command(self, session_id: str, given: CommandInput, *, stored: Stored | None = None) -> MessageWithParts:
        return await self._prompts.command(session_id, given, policy=self._policy, stored=stored)

    async def send_now(self, session_id: str, message_id: str) -> bool:
        return await self._prompts.send_now(session_id, message_id, policy=self._policy)

    async def abort(self, session_id: str) -> bool:
        return self._prompts.cancel(session_id)

    async def status(self) -> dict[str, AnyStatus]:
        return self._statuses.all()


class _Permissions:
    def __init__(self, instance: Instance) -> None:
        self._permissions = instance.folder.permissions
        self.reply = instance.folder.permissions.reply
        self.approvals = instance.folder.approvals.approvals
        self.set_approvals = instance.folder.approvals.set_approvals

    async def pending(self) -> Sequence[PermissionRequest]:
        return self._permissions.pending()


class _Questions:
    def __init__(self, instance: Instance) -> None:
        self._questions = instance.folder.questions

    async def pending(self) -> Sequence[QuestionRequest]:
        return self._questions.pending()

    async def reply(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        return self._questions.reply(request_id, [list(labels) for labels in answers])

    async def reject(self, request_id: str) -> bool:
        return self._questions.reject(request_id)


class _Context:
    def __init__(self, instance: Instance, policy: Policy) -> None:
        self._instance = instance
        self._policy = policy

    async def items(self, session_id: str) -> "ContextView":
        return await self._instance.session.context.get().view(session_id)

    async def request(self, session_id: str) -> "RequestView":
        return await self._instance.session.context.get().request(session_id)

    async def prune(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> "PruneReport":
        return await self._instance.session.pruning.get().prune(session_id, part_ids, dry_run=dry_run)

    async def restore(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> "PruneReport":
        return await self._instance.session.pruning.get().restore(session_id, part_ids, dry_run=dry_run)

    async def compact(self, session_id: str, request: "CompactSession") -> "CompactionReport":
        compaction = self._instance.session.compaction.get()
        return await compaction.compact(
            session_id, request, prompter=self._instance.session.prompts, policy=self._policy
        )


class _Catalog:
    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def models(self) -> Sequence[Model]:
        instance = self._instance
        return await asyncio.to_thread(
            lambda: _without_secrets(instance.session.context.get().with_room(instance.folder.catalog.models()))
        )

    async def all_models(self) -> Sequence[Model]:
        return await asyncio.to_thread(lambda: _without_secrets(self._instance.folder.catalog.all_models()))

    async def providers(self, *, only_ready: bool = False) -> Sequence[ProviderSummary]:
        found = await asyncio.to_thread(self._instance.folder.catalog.providers, only_ready=only_ready)
        return [provider.changed(base_url=redact_address(provider.base_url)) for provider in found]

    async def commands(self) -> Sequence[CommandSummary]:
        return self._instance.folder.commands.all()

    async def tools(self) -> Sequence[ToolSummary]:
        specs = await asyncio.to_thread(self._instance.folder.tools.specs, lambda _name: True)
        return [ToolSummary(id=spec.name, description=spec.description, parameters=spec.parameters) for spec in specs]

    async def skills(self) -> Sequence[SkillSummary]:
        return await asyncio.to_thread(lambda: [_skill(skill) for skill in self._instance.folder.skills.all()])

    async def default_model(self) -> ModelRef:
        return self._instance.folder.catalog.default_model()

    async def agents(self) -> Sequence[AgentSummary]:
        return [AgentSummary.model_validate(agent.to_dict()) for agent in self._instance.folder.agents.all()]

    async def describe_agent(self, name: str) -> JsonObject:
        return self._instance.folder.rules.describe(name)


def _without_secrets(models: Sequence[Model]) -> list[Model]:
    """Return the models as a client may see them: keys in their options are redacted."""
    return [
        model.changed(options=redact_settings(model.options), variants=redact_settings(model.variants))
        if model.options or model.variants
        else model
        for model in models
    ]


class _Settings:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._instance = instance
        self._paths = engine.core.paths
        self._auth = AuthStore(paths=engine.core.paths)

    async def notices(self) -> Notices:
        from opencode_tui.engine.snapshot.worktree_paths import why_unavailable  # only for notices

        instance, config = self._instance, self._instance.folder.config
        settings = (str(notice) for notice in config.warnings)
        warnings = [*settings, *instance.warnings, *instance.folder.skills.warnings, *instance.folder.plugins.warnings]
        is_on, worktree = config.settings.snapshot is not False, instance.folder.project.worktree
        undo_off = await asyncio.to_thread(why_unavailable, worktree, self._paths, is_on=is_on)
        return Notices(warnings=warnings, ignored=[str(notice) for notice in config.ignored], undo_off=undo_off)

    async def sandbox(self) -> SandboxState:
        found = await self._instance.folder.sandbox.get().status()
        return SandboxState(tier=found.tier, reason=found.reason, mode=found.mode)

    async def status_text(self, facts: StatusFacts) -> str:
        folder, tui = self._instance.folder, self._instance.folder.config.settings.tui
        if tui is None or tui.status_line is None:
            return ""
        from opencode_tui.engine.plugin.command_hooks import run_status_command  # only with such a setting

        return await run_status_command(
            tui.status_line, facts.to_dict(), folder=self._instance.directory, environ=folder.core.environ
        )

    async def store_key(self, provider_id: str, key: str) -> None:
        await asyncio.to_thread(self._auth.login, provider_id, key)

    async def delete_key(self, provider_id: str) -> bool:
        return await asyncio.to_thread(self._auth.logout, provider_id)

    async def effective(self) -> JsonObject:
        return redact_settings(self._instance.folder.config.effective)

    async def trust_report(self) -> "TrustReport":
        from opencode_tui.config.trust.inspection import report_trust  # loaded only to decide about trust

        return await asyncio.to_thread(report_trust, self._instance.directory, paths=self._paths)

    async def trust(self, seen: str) -> None:
        from opencode_tui.config.trust.inspection import grant_seen

        await asyncio.to_thread(grant_seen, self._instance.directory, seen, paths=self._paths)


class _Files:
    """Modules that read the work tree are loaded with the first use."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._core = engine.core
        self._project = instance.folder.project

    @cached_property
    def _finder(self) -> "FileFinder":
        from opencode_tui.engine.file.search import FileFinder

        return FileFinder(directory=self._project.directory, clock=self._core.clock)

    @cached_property
    def _browser(self) -> "FileBrowser":
        from opencode_tui.engine.file.browser import FileBrowser

        return FileBrowser(directory=self._project.directory, worktree=self._project.worktree)

    async def find(self, query: str, *, kind: "FindKind" = "all", limit: int = 100) -> Sequence[str]:
        return await self._finder.find(query, kind=kind, limit=limit)

    async def search(self, pattern: str, *, limit: int = 100) -> Sequence["LineMatch"]:
        from opencode_tui.engine.file.search import search_lines

        return await search_lines(self._project.directory, pattern, limit=limit)

    async def list(self, path: str) -> Sequence["FileEntry"]:
        return await asyncio.to_thread(self._browser.entries, path)

    async def read(self, path: str) -> "FileContent":
        return await asyncio.to_thread(self._browser.read, path)

    async def changed(self) -> Sequence["ChangedFile"]:
        from opencode_tui.engine.file.git_status import changed_files
        from opencode_tui.engine.project.git import SafeGit

        project = self._project
        if project.repository is None:
            return []
        git = SafeGit(project.worktree, environ=self._core.environ)
        return await changed_files(git, project.repository, directory=project.directory)


class _Screen:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._bus = engine.bus
        self._directory = str(instance.directory)

    async def publish(self, event: ScreenEvent) -> None:
        self._bus.publish(event, directory=self._directory)


class _Project:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._core = engine.core
        self._instance = instance
        self.all = engine.core.projects.all

    async def current(self) -> ProjectInfo:
        return (await self._core.projects.open(self._instance.folder.project)).info

    async def places(self) -> Places:
        paths, project = self._core.paths, self._instance.folder.project
        return Places(
            home=str(paths.home),
            state=str(paths.state),
            config=str(paths.config),
            data=str(paths.data),
            worktree=str(project.worktree),
            directory=str(project.directory),
        )

    async def branch(self) -> str | None:
        return await asyncio.to_thread(lambda: self._instance.folder.project.branch)


class _Sharing:
    def __init__(self, instance: Instance) -> None:
        self._shares = instance.session.shares

    async def status(self) -> "ShareStatus":
        return await self._shares.get().status()

    async def share(self, session_id: str) -> SessionInfo:
        return await self._shares.get().share(session_id)

    async def unshare(self, session_id: str) -> SessionInfo:
        return await self._shares.get().unshare(session_id)


class _Undo:
    def __init__(self, instance: Instance) -> None:
        self._revert = instance.session.revert
        self._summaries = instance.session.summaries

    async def recover(self, session_id: str) -> None:
        await self._revert.get().recover(session_id)

    async def preview(
        self,
        session_id: str,
        message_id: str | None = None,
        part_id: str | None = None,
        *,
        only: "UndoOnly | None" = None,
    ) -> "RevertPreview":
        return await self._revert.get().preview(session_id, message_id, part_id, only=only)

    async def changes(self, session_id: str, message_id: str, part_id: str | None = None) -> Sequence[FileDiff]:
        return await self._summaries.get().since(session_id, message_id, part_id)

    async def preview_unrevert(self, session_id: str) -> "RevertPreview":
        return await self._revert.get().preview_unrevert(session_id)

    async def revert(
        self,
        session_id: str,
        message_id: str | None = None,
        part_id: str | None = None,
        *,
        only: "UndoOnly | None" = None,
    ) -> "RevertReport":
        return await self._revert.get().revert(session_id, message_id, part_id, only=only)

    async def unrevert(self, session_id: str) -> "RevertReport":
        return await self._revert.get().unrevert(session_id)


class _Imports:
    """The service is loaded with the first use."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._imports = engine.core.imports
        self._here = str(instance.directory)

    async def available(self) -> bool:
        return await self._imports.get().available()

    async def stores(self, request: "ImportRequest | None" = None) -> Sequence["ImportStore"]:
        return await self._imports.get().stores(request, here=self._here)

    async def run(self, request: "ImportRequest") -> "ImportReport":
        return await self._imports.get().run(request, here=self._here)

    async def progress(self) -> "ImportProgress | None":
        return await self._imports.get().progress()

    async def cancel(self) -> bool:
        return await self._imports.get().cancel()


class LocalFacets:
    """All facets of one folder, each wrapped in the proxy that forwards the calls."""

    def bind(self, engine: Engine, instance: Instance, *, policy: Policy, calls: Calls | None) -> None:
        """Make the facets those of an instance."""
        self.sessions: SessionsFacet = forward(_Sessions(engine, instance), calls)
        self.search: SearchFacet = forward(_Search(engine, instance), calls)
        self.trash: TrashFacet = forward(_Trash(instance), calls)
        self.messages: MessagesFacet = forward(_Messages(engine, instance), calls)
        self.prompts: PromptsFacet = forward(_Prompts(engine, instance, policy), calls)
        self.context: ContextFacet = forward(_Context(instance, policy), calls)
        self.undo: UndoFacet = forward(_Undo(instance), calls)
        self.permissions: PermissionsFacet = forward(_Permissions(instance), calls)
        self.rules: RulesFacet = forward(instance.folder.rules, calls)
        self.questions: QuestionsFacet = forward(_Questions(instance), calls)
        self.catalog: CatalogFacet = forward(_Catalog(instance), calls)
        self.settings: SettingsFacet = forward(_Settings(engine, instance), calls)
        self.files: FilesFacet = forward(_Files(engine, instance), calls)
        self.sharing: SharingFacet = forward(_Sharing(instance), calls)
        self.screen: ScreenFacet = forward(_Screen(engine, instance), calls)
        self.project: ProjectFacet = forward(_Project(engine, instance), calls)
        self.imports: ImportsFacet = forward(_Imports(engine, instance), calls)


def _skill(skill: Skill) -> SkillSummary:
    """Return a skill with its text, or with the reason why it cannot be read any more."""
    try:
        content = skill.read()
    except ToolError as error:
        content = str(error)
    return SkillSummary(name=skill.name, description=skill.description, location=str(skill.path), content=content)
