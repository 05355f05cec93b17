"""The facets inside the process: which service of the engine answers each method. The methods are documented in `facets`.

A method that a service of the engine has with the same signature becomes an attribute; the others adapt names, threads or
services that are built on first use.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from opencode_tui.client.calls import Carry, forward
from opencode_tui.config.auth import CHATGPT
from opencode_tui.config.redact import redact_address, redact_settings
from opencode_tui.engine.engine import Engine
from opencode_tui.engine.instance import Instance
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.engine.skill.skills import Skill
from opencode_tui.entry_points import load
from opencode_tui.schema.api.folder import CommandSummary, InactiveSetting, Notices
from opencode_tui.schema.api.project import Places, ProjectInfo
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.api.request import CommandInput, CreateSession, PromptInput, ShellInput
from opencode_tui.schema.error import NoSuchMessageError, NotFoundError, SessionError, ToolError
from opencode_tui.schema.model import Model, ModelRef, require_model_ref
from opencode_tui.schema.permission import OpenPermission, PermissionRequest
from opencode_tui.schema.record import JsonObject
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import AnyStatus, SessionInfo
from opencode_tui.schema.system_error import describe
from opencode_tui.storage.paths import Paths

if TYPE_CHECKING:
    from types import CoroutineType

    from opencode_tui.client.client import Client
    from opencode_tui.client.facets.folder import (
        CatalogFacet,
        FilesFacet,
        LanguagesFacet,
        McpFacet,
        PermissionsFacet,
        ProjectFacet,
        QuestionsFacet,
        RulesFacet,
        ScreenFacet,
        SettingsFacet,
        SignInsFacet,
    )
    from opencode_tui.client.facets.inbox import InboxFacet
    from opencode_tui.client.facets.review import ReviewFacet
    from opencode_tui.client.facets.session import (
        BackgroundFacet,
        ContextFacet,
        ImportsFacet,
        MessagesFacet,
        PromptsFacet,
        SessionsFacet,
        SharingFacet,
        TrashFacet,
        UndoFacet,
    )
    from opencode_tui.client.inbox import Inbox
    from opencode_tui.engine.file.browser import FileBrowser
    from opencode_tui.engine.file.search import FileFinder
    from opencode_tui.engine.mcp.servers import McpServers
    from opencode_tui.engine.sign_in.waiting import WaitingSignIns
    from opencode_tui.schema.api.background import BackgroundCommand
    from opencode_tui.schema.api.catalog import (
        AgentSummary,
        Notification,
        ProviderSummary,
        SandboxState,
        SkillSummary,
        StatusFacts,
        ToolSummary,
    )
    from opencode_tui.schema.api.context import CompactionReport, CompactSession
    from opencode_tui.schema.api.file import ChangedFile, FileContent, FileEntry, FindKind, LineMatch
    from opencode_tui.schema.api.importing import ImportReport, ImportRequest, ImportStore
    from opencode_tui.schema.api.inbox import AskedReasons, AskedSubject, Done, InboxView
    from opencode_tui.schema.api.language import Symbol
    from opencode_tui.schema.api.mcp import (
        McpAdd,
        McpCall,
        McpPrompt,
        McpResource,
        McpServerStatus,
        McpSignIn,
        McpSignInCode,
        McpStore,
        McpTool,
        McpWait,
        StoredIn,
    )
    from opencode_tui.schema.api.plugin import InstalledPlugin, PluginSwitch
    from opencode_tui.schema.api.search import SearchRequest, SearchResult
    from opencode_tui.schema.api.setting import ChangedSetting, SettingChange, SettingList
    from opencode_tui.schema.api.sign_in import SignInAccount, SignInDone, SignInRequest, SignInStarted
    from opencode_tui.schema.api.trust import TrustReport
    from opencode_tui.schema.api.until import RunCheck
    from opencode_tui.schema.api.worktree import CreateWorktree, WorktreeInfo
    from opencode_tui.schema.event.screen_event import ScreenEvent
    from opencode_tui.schema.permission import Reply
    from opencode_tui.schema.session.listed import ListedSession


Stored = Callable[[str], None]
ClientAt = Callable[[Instance], "Client"]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def late(
    service: Lazy[S], method: Callable[[S], Callable[P, Awaitable[R]]]
) -> "Callable[P, CoroutineType[Any, Any, R]]":
    """Return a method of a service that is made when it is called for the first time."""

    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return await method(service.get())(*args, **kwargs)

    return call


class _Whole:
    def __init__(self, service: Lazy[Any]) -> None:
        self._service = service

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        return late(self._service, attrgetter(name))


def whole(service: Lazy[S]) -> S:
    """Return a service that is made when one of its coroutine functions is called for the first time."""
    return cast("S", _Whole(service))


class _Sessions:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        session = instance.session
        self._core = engine.core
        self._session = session
        self._project_id = instance.folder.project.id
        self.list = session.sessions.all
        self.get = session.sessions.get
        self.latest = session.sessions.latest
        self.recent = session.sessions.recent
        self.children = engine.store.children
        self.update = session.sessions.update
        self.wait_copied = engine.core.copies.complete
        self.totals = session.sessions.totals
        self.costs = session.sessions.costs
        self.cost = session.sessions.cost
        self.family_costs = session.sessions.family_costs
        self.total_cost = session.sessions.total_cost
        self.usage = session.sessions.usage
        self.todos = instance.folder.todos.read
        self.diff = late(session.summaries, lambda one: one.diff)
        self.ignored_changes = late(session.summaries, lambda one: one.ignored)
        self.fork = late(session.forks, lambda one: one.fork)
        self.preview_fork = late(session.forks, lambda one: one.preview)

    async def create(self, request: CreateSession) -> SessionInfo:
        if request.id is not None and await self._exists(request.id):
            raise SessionError(f"there is a session {request.id} already; choose another id, or none")
        return await self._core.store.create(self._session.sessions.new(request))

    async def _exists(self, session_id: str) -> bool:
        try:
            await self._core.store.get(session_id)
        except NotFoundError:
            return False
        return True

    async def listed(self, is_everywhere: bool = False) -> "Sequence[ListedSession]":
        if not is_everywhere:
            return await self._session.sessions.listed()
        return [info for one in await self._core.projects.all() for info in await self._core.store.listed(one.id)]

    async def everywhere(self) -> Sequence[SessionInfo]:
        found = [info for one in await self._core.projects.all() for info in await self._core.store.sessions(one.id)]
        return sorted(found, key=lambda info: info.time.updated, reverse=True)

    async def remove(self, session_id: str) -> None:
        info = await self._core.store.get(session_id)
        shares = self._session.shares
        record = await shares.get().record_of(session_id) if info.share is not None else None
        await self._session.trash.get().put(session_id)
        if record is not None:
            shares.get().end(record)

    async def search(self, request: "SearchRequest") -> "SearchResult":
        return await self._core.search.get().find(request, self._project_id)

    async def recover_all(self) -> int:
        return await self._session.sessions.recover_all(self._session.runs.recover)


class _Messages:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._store = engine.store
        self.ids = engine.store.ids
        self.named = engine.store.named
        self.outlines = engine.store.outlines
        self.update_part = instance.session.parts.update
        self.remove_part = instance.session.parts.remove

    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        return await (self._store.messages(session_id) if limit is None else self._store.tail(session_id, limit))

    async def get(self, session_id: str, message_id: str) -> MessageWithParts:
        found = await self._store.named(session_id, [message_id])
        if not found and (stored := await self._store.stored_id(session_id, message_id)) != message_id:
            found = await self._store.named(session_id, [stored])
        for message in found:
            return message
        raise NoSuchMessageError(f"session {session_id} has no message {message_id}")


class _Prompts:
    def __init__(self, engine: Engine, instance: Instance, policy: Policy) -> None:
        self._statuses = engine.core.statuses
        self._publisher, self._directory = engine.core.publisher, str(instance.directory)
        self._run_shell = instance.session.shell.run
        self._prompts = instance.session.prompts
        self._checks = instance.session.until
        self._policy = policy
        self.set_check = late(instance.session.until, lambda one: one.set)
        self.remove_check = late(instance.session.until, lambda one: one.remove)
        self.expand = instance.expand
        self.withdraw = instance.session.prompts.withdraw

    async def check(self, request: PromptInput) -> None:
        self._prompts.check(request)

    async def prompt(
        self, session_id: str, request: PromptInput, *, stored: Stored | None = None, refuses_ids: bool = False
    ) -> MessageWithParts:
        self._admit(session_id)
        return await self._prompts.prompt(
            session_id, request, policy=self._policy, stored=stored, refuses_ids=refuses_ids
        )

    async def command(
        self, session_id: str, given: CommandInput, *, stored: Stored | None = None, refuses_ids: bool = False
    ) -> MessageWithParts:
        self._admit(session_id)
        return await self._prompts.command(
            session_id, given, policy=self._policy, stored=stored, refuses_ids=refuses_ids
        )

    async def run_check(self, session_id: str, request: "RunCheck") -> SessionInfo:
        self._admit(session_id)
        return await self._checks.get().check(session_id, request, prompter=self._prompts, policy=self._policy)

    async def send_now(self, session_id: str, message_id: str) -> bool:
        self._admit(session_id)
        return await self._prompts.send_now(session_id, message_id, policy=self._policy)

    async def shell(self, session_id: str, given: ShellInput, *, stored: Stored | None = None) -> MessageWithParts:
        self._admit(session_id)
        return await self._run_shell(session_id, given, stored=stored)

    async def abort(self, session_id: str) -> bool:
        return self._prompts.cancel(session_id)

    def _admit(self, session_id: str) -> None:
        """Let the readers of this folder have the events of a session that works here, wherever it was begun."""
        self._publisher.admit(session_id, self._directory)

    async def status(self) -> dict[str, AnyStatus]:
        return self._statuses.all()


class _Background:
    """The service is loaded with the first command."""

    def __init__(self, instance: Instance) -> None:
        self._commands = instance.folder.commands_in_background
        self.output = late(self._commands, lambda one: one.output)
        self.stop = late(self._commands, lambda one: one.stop)

    async def list(self, session_id: str | None = None) -> Sequence["BackgroundCommand"]:
        return [] if self._commands.made is None else await self._commands.made.list(session_id)

    async def end(self) -> Sequence["BackgroundCommand"]:
        return [] if self._commands.made is None else await self._commands.made.end()


class _Context:
    def __init__(self, instance: Instance, policy: Policy) -> None:
        self._session = instance.session
        self._policy = policy
        self.items = late(instance.session.context, lambda one: one.view)
        self.ask = late(instance.session.side_questions, lambda one: one.ask)
        self.request = late(instance.session.context, lambda one: one.request)
        self.prune = late(instance.session.pruning, lambda one: one.prune)
        self.restore = late(instance.session.pruning, lambda one: one.restore)
        self.ledger = late(instance.session.ledgers, lambda one: one.view)
        self.change_ledger = late(instance.session.ledgers, lambda one: one.change)

    async def compact(self, session_id: str, request: "CompactSession") -> "CompactionReport":
        session = self._session
        return await session.compaction.get().compact(
            session_id, request, prompter=session.prompts, policy=self._policy
        )


class _Undo:
    def __init__(self, instance: Instance) -> None:
        revert = instance.session.revert
        self.recover = late(revert, lambda one: one.recover)
        self.preview = late(revert, lambda one: one.preview)
        self.preview_unrevert = late(revert, lambda one: one.preview_unrevert)
        self.revert = late(revert, lambda one: one.revert)
        self.unrevert = late(revert, lambda one: one.unrevert)
        self.commit = late(revert, lambda one: one.commit)
        self.changes = late(instance.session.summaries, lambda one: one.since)


class _Imports:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        imports = engine.core.imports
        self._imports = imports
        self._here = str(instance.directory)
        self._core = engine.core
        self.progress = late(imports, lambda one: one.progress)
        self.cancel = late(imports, lambda one: one.cancel)

    async def available(self) -> bool:
        can_import = cast("Callable[[Paths, Mapping[str, str]], bool]", load("importing.available"))
        return await asyncio.to_thread(can_import, self._core.paths, self._core.environ)

    async def stores(self, request: "ImportRequest | None" = None) -> Sequence["ImportStore"]:
        return await self._imports.get().stores(request, here=self._here)

    async def run(self, request: "ImportRequest") -> "ImportReport":
        return await self._imports.get().run(request, here=self._here)


class _Permissions:
    def __init__(self, instance: Instance) -> None:
        self._permissions = instance.folder.permissions
        self.reply = instance.folder.permissions.reply
        self.decline = instance.folder.permissions.decline
        self.approvals = instance.folder.approvals.approvals
        self.set_approvals = instance.folder.approvals.set_approvals

    async def pending(self) -> Sequence[PermissionRequest]:
        return self._permissions.pending()

    async def open(self, given: OpenPermission) -> PermissionRequest:
        return self._permissions.open(given)


class _Questions:
    def __init__(self, instance: Instance) -> None:
        self._questions = instance.folder.questions

    async def pending(self) -> Sequence[QuestionRequest]:
        return self._questions.pending()

    async def reply(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        return self._questions.reply(request_id, [list(labels) for labels in answers])

    async def reject(self, request_id: str) -> bool:
        return self._questions.reject(request_id)


class _Catalog:
    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    async def models(self) -> Sequence[Model]:
        instance = self._instance
        return await asyncio.to_thread(
            lambda: self._shown(instance.session.context.get().with_room(instance.folder.catalog.models()))
        )

    async def all_models(self) -> Sequence[Model]:
        return await asyncio.to_thread(lambda: self._shown(self._instance.folder.catalog.all_models()))

    async def named_model(self, name: str) -> Model:
        ref, catalog = require_model_ref(name, "model"), self._instance.folder.catalog
        await catalog.look_at_local(ref)
        room = self._instance.session.context.get().with_room
        [model] = await asyncio.to_thread(lambda: self._shown(room([catalog.resolve(ref)])))
        return model

    def _shown(self, models: Sequence[Model]) -> Sequence[Model]:
        return _without_secrets(self._instance.folder.prompts.with_sources(models))

    async def refresh_models(self, *, is_forced: bool = False) -> Sequence[str]:
        return await self._instance.folder.refresh_models(is_forced=is_forced)

    async def providers(self, *, only_ready: bool = False) -> "Sequence[ProviderSummary]":
        found = await asyncio.to_thread(self._instance.folder.catalog.providers, only_ready=only_ready)
        return [provider.changed(base_url=redact_address(provider.base_url)) for provider in found]

    async def describe_access(self, provider_id: str) -> str:
        return await asyncio.to_thread(self._instance.folder.catalog.describe_access, provider_id)

    async def local_servers(self) -> Sequence[str]:
        local = self._instance.folder.catalog.local
        servers = await local.get().refresh() if local is not None else ()
        lines = [server.words for server in servers]
        for server in servers:
            advice = (local.get().advice(server.id, name) for name in server.models) if local is not None else ()
            lines += list(filter(None, advice))[:1]
        return lines

    async def try_provider(self, provider_id: str) -> str:
        return await self._instance.folder.providers.try_provider(provider_id)

    async def commands(self) -> Sequence[CommandSummary]:
        return self._instance.folder.commands.all()

    async def tools(self) -> "Sequence[ToolSummary]":
        from opencode_tui.schema.api.catalog import ToolSummary  # most runs list nothing

        specs = await asyncio.to_thread(self._instance.folder.tools.specs, lambda _name: True)
        return [ToolSummary(id=spec.name, description=spec.description, parameters=spec.parameters) for spec in specs]

    async def skills(self) -> "Sequence[SkillSummary]":
        return await asyncio.to_thread(lambda: [_skill(skill) for skill in self._instance.folder.skills.all()])

    async def default_model(self) -> ModelRef:
        return self._instance.folder.catalog.default_model()

    async def agents(self) -> "Sequence[AgentSummary]":
        from opencode_tui.schema.api.catalog import AgentSummary  # most runs list nothing

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
        self._core = engine.core
        self._paths = engine.core.paths
        self._auth = engine.core.auth

    async def notices(self) -> Notices:
        from opencode_tui.engine.snapshot.worktree_paths import why_unavailable  # only for notices

        instance, config = self._instance, self._instance.folder.config
        settings = (str(notice) for notice in config.warnings)
        warnings = [*settings, *instance.warnings, *instance.folder.skills.warnings, *instance.folder.plugins.warnings]
        of_models = await asyncio.to_thread(instance.folder.model_warnings)
        formatters = instance.folder.programs.formatters.made
        warnings += [*of_models, *(() if formatters is None else formatters.idle)]
        is_on, worktree = config.settings.snapshot is not False, instance.folder.project.worktree
        undo_off = await asyncio.to_thread(why_unavailable, worktree, self._paths, is_on=is_on)
        return Notices.trusted(
            warnings=warnings,
            ignored=[InactiveSetting(setting=one.subject, reason=one.reason) for one in config.ignored],
            undo_off=undo_off,
            of_models=of_models or None,
            sources=[one.source for one in config.warnings] or None,
        )

    async def plugins(self) -> "Sequence[InstalledPlugin]":
        from opencode_tui.config.installed.store import InstalledStore  # few users have one
        from opencode_tui.engine.plugin.describe import list_installed

        return await asyncio.to_thread(lambda: list(list_installed(InstalledStore(paths=self._paths))))

    async def switch_plugin(self, request: "PluginSwitch") -> None:
        from opencode_tui.config.installed.store import InstalledStore

        await asyncio.to_thread(InstalledStore(paths=self._paths).switch, request.name, is_on=request.is_on)

    async def newer_version(self) -> str:
        if self._instance.folder.config.settings.autoupdate != "notify":
            return ""
        from opencode_tui.engine.newest_version import find_newer  # only with that setting
        from opencode_tui.origin import find_distribution

        newer = await find_newer(self._paths, self._core.environ, self._core.clock, find_distribution())
        if newer:
            from opencode_tui.schema.event.folder_event import UpdateAvailable  # only for a newer version

            self._core.bus.publish(UpdateAvailable(version=newer), directory=str(self._instance.directory))
        return newer

    async def sandbox(self) -> "SandboxState":
        from opencode_tui.schema.api.catalog import SandboxState  # most runs list nothing

        found = await self._instance.folder.programs.sandbox.get().status()
        return SandboxState(
            tier=found.tier,
            reason=found.reason,
            mode=found.mode,
            exposed=found.exposed or None,
            spelling=found.spelling or None,
        )

    async def status_text(self, facts: "StatusFacts") -> str:
        folder, tui = self._instance.folder, self._instance.folder.config.settings.tui
        if tui is None or tui.status_line is None:
            return ""
        from opencode_tui.engine.plugin.command_hooks import run_status_command  # only with such a setting

        return await run_status_command(
            tui.status_line, facts.to_dict(), folder=self._instance.directory, environ=folder.core.environ
        )

    async def notify(self, facts: "Notification") -> None:
        tui = self._instance.folder.config.settings.tui
        if tui is not None and tui.notify is not None:
            from opencode_tui.engine.plugin.command_hooks import run_notify_command  # only with such a setting

            environ = self._instance.folder.core.environ
            await run_notify_command(tui.notify, facts, folder=self._instance.directory, environ=environ)

    async def store_key(self, provider_id: str, key: str) -> None:
        await asyncio.to_thread(self._auth.login, provider_id, key)

    async def key_override(self, provider_id: str) -> str:
        from opencode_tui.config.auth import describe_override  # loaded with the first stored key

        folder = self._instance.folder
        config, environ = folder.config, folder.core.environ
        return await asyncio.to_thread(describe_override, provider_id, config.effective, config.sources, environ)

    async def delete_key(self, provider_id: str) -> bool:
        if provider_id == CHATGPT:
            return await asyncio.to_thread(self._sign_out)
        return await asyncio.to_thread(self._auth.logout, provider_id)

    def _sign_out(self) -> bool:
        """Sign the account of ChatGPT out that is in use; its registration stays."""
        from opencode_tui.engine.provider.chatgpt.accounts import Accounts  # only for this provider

        accounts = Accounts(self._paths, self._core.environ)
        account = accounts.current()
        if account is None or not account.is_signed_in:
            return False
        accounts.sign_out(account)
        return True

    async def effective(self) -> JsonObject:
        return redact_settings(self._instance.folder.config.effective)

    async def own(self) -> JsonObject:
        from opencode_tui.config.user_file import read_user_settings  # only for clients that show or change the file

        return redact_settings(await asyncio.to_thread(read_user_settings, self._paths))

    async def change(self, change: JsonObject) -> JsonObject:
        from opencode_tui.config.user_file import change_user_settings

        core, directory, shown = self._core, self._instance.directory, self._instance.folder.config.effective
        apply = partial(change_user_settings, change, shown=shown, paths=core.paths, flags=core.flags)
        loaded = await asyncio.to_thread(apply, directory=directory, environ=core.environ)
        return redact_settings(loaded.effective)

    async def all(self) -> "SettingList":
        return await asyncio.to_thread(self._list)

    def _list(self) -> "SettingList":
        from opencode_tui.config.load import load_config
        from opencode_tui.config.setting_list import list_settings  # only for the settings page
        from opencode_tui.config.user_file import find_user_file

        core, directory = self._core, self._instance.directory
        loaded = load_config(paths=core.paths, flags=core.flags, directory=directory, environ=core.environ)
        return list_settings(loaded, user_file=find_user_file(core.paths))

    async def change_one(self, change: "SettingChange") -> "ChangedSetting":
        from opencode_tui.config.user_file import change_setting

        core, directory = self._core, self._instance.directory
        apply = partial(change_setting, change, paths=core.paths, flags=core.flags)
        return await asyncio.to_thread(apply, directory=directory, environ=core.environ)

    async def trust_report(self) -> "TrustReport":
        from opencode_tui.config.trust.inspection import report_trust  # loaded only to decide about trust

        core, directory = self._core, self._instance.directory
        report = partial(report_trust, directory, paths=self._paths, flags=core.flags, environ=core.environ)
        return await asyncio.to_thread(report)

    async def trust(self, seen: str) -> None:
        from opencode_tui.config.trust.inspection import grant_seen

        await asyncio.to_thread(grant_seen, self._instance.directory, seen, paths=self._paths)


class _SignIns:
    """Loaded with the first use; those that wait belong to the process."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._lazy = engine.core.sign_ins
        self._folder = instance.directory

    async def _loaded(self) -> "WaitingSignIns":
        return self._lazy.made or await asyncio.to_thread(self._lazy.get)

    async def accounts(self) -> Sequence["SignInAccount"]:
        return await asyncio.to_thread((await self._loaded()).accounts)

    async def begin(self, request: "SignInRequest") -> "SignInStarted":
        return await (await self._loaded()).begin(request, self._folder)

    async def wait(self, sign_in_id: str) -> "SignInDone":
        return await (await self._loaded()).wait(sign_in_id)

    async def paste(self, sign_in_id: str, address: str) -> None:
        (await self._loaded()).paste(sign_in_id, address)

    async def cancel(self, sign_in_id: str) -> None:
        await (await self._loaded()).cancel(sign_in_id)

    async def select(self, account_id: str) -> None:
        await asyncio.to_thread((await self._loaded()).select, account_id)

    async def sign_out(self, account_id: str) -> str:
        return await asyncio.to_thread((await self._loaded()).sign_out, account_id)


_START_MS = 300_000
"""Milliseconds that a start command of a worktree may take."""

_TAIL_BYTES = 4_096
_LAST_CHARACTERS = 200


class _Project:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._engine = engine
        self._core = engine.core
        self._instance = instance
        self.all = engine.core.projects.all
        self.update = engine.core.projects.change

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

    async def worktrees(self) -> Sequence[str]:
        return await self._instance.folder.worktrees.get().list()

    async def create_worktree(self, request: "CreateWorktree") -> "WorktreeInfo":
        folder = self._instance.folder
        info, made = await folder.worktrees.get().create(request)
        filling = folder.worktrees.get().fill(made, request.start_command, self._run)
        folder.background.start(filling, name=f"worktree {info.name}")
        return info

    async def remove_worktree(self, directory: str) -> None:
        await self._engine.dispose(Path(directory))
        await self._instance.folder.worktrees.get().remove(directory)

    async def reset_worktree(self, directory: str) -> None:
        folder = self._instance.folder
        await self._engine.dispose(Path(directory))
        await folder.worktrees.get().reset(directory)
        folder.background.start(folder.worktrees.get().restart(directory, self._run), name=f"worktree {directory}")

    async def _run(self, folder: Path, command: str) -> str | None:
        """Run a shell command in the sandbox of a folder; return one line about a failure."""
        from opencode_tui.engine.tool.process.process import find_shell  # only for such commands

        tail = bytearray()

        def feed(piece: bytes) -> None:
            tail.extend(piece)
            del tail[:-_TAIL_BYTES]

        instance = await self._engine.instance(folder)
        argv = [find_shell(self._core.environ, folder, instance.folder.config.settings.shell), "-c", "--", command]
        try:
            ended = await instance.run_confined(argv, folder, feed, is_read_only=False, timeout_ms=_START_MS)
        except OSError as error:
            return describe(error)
        if ended.changes:
            return f"it changed protected files: {', '.join(path for path, _ in ended.changes[:3])}"
        if ended.exit_code == 0:
            return None
        last = " ".join(tail.decode("utf-8", "replace").split())[-_LAST_CHARACTERS:]
        how = "no end within its time" if ended.exit_code is None else f"exit code {ended.exit_code}"
        return f"{how}: {last}" if last else how

    async def branch(self) -> str | None:
        return await asyncio.to_thread(lambda: self._instance.folder.project.branch)


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

    async def names(self) -> Sequence[str]:
        return await self._finder.names()

    async def search(self, pattern: str, *, limit: int = 100) -> Sequence["LineMatch"]:
        from opencode_tui.engine.file.search import search_lines

        return await search_lines(self._project.directory, pattern, limit=limit)

    async def list(self, path: str) -> Sequence["FileEntry"]:
        return await asyncio.to_thread(self._browser.entries, path)

    async def read(self, path: str) -> "FileContent":
        return await asyncio.to_thread(self._browser.read, path)

    async def read_bytes(self, path: str) -> "FileContent":
        return await asyncio.to_thread(self._browser.read_bytes, path)

    async def changed(self) -> Sequence["ChangedFile"]:
        from opencode_tui.engine.file.git_status import changed_files
        from opencode_tui.engine.project.git import SafeGit

        project = self._project
        if project.repository is None:
            return []
        git = SafeGit(project.worktree, environ=self._core.environ, repository=project.repository)
        return await changed_files(git, project.repository, directory=project.directory)


class _Languages:
    """Loaded with the first use; a listing starts no server."""

    def __init__(self, instance: Instance) -> None:
        self._languages = instance.folder.programs.languages
        self.servers = late(self._languages, lambda one: one.states)
        self.describe_left_out = late(self._languages, lambda one: one.describe_left_out)
        self.restart = late(self._languages, lambda one: one.restart)
        self.formatters = late(instance.folder.programs.formatters, lambda one: one.states)

    async def symbols(self, query: str) -> Sequence["Symbol"]:
        running = self._languages.made
        return [] if running is None else await running.symbols(query)


class _Screen:
    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._bus = engine.bus
        self._directory = str(instance.directory)

    async def publish(self, event: "ScreenEvent") -> None:
        self._bus.publish(event, directory=self._directory)


class _Mcp:
    """The servers are loaded with the first use."""

    def __init__(self, engine: Engine, instance: Instance) -> None:
        self._programs = instance.folder.programs
        self._servers = self._programs.mcp
        self._paths = engine.core.paths
        self._directory = instance.directory

    async def store(self, request: "McpStore") -> "StoredIn":
        from opencode_tui.config.user_file import add_mcp_server  # only for a new server
        from opencode_tui.schema.api.mcp import StoredIn

        folder = self._paths.config if request.is_global else self._directory
        write = partial(add_mcp_server, folder, request.name, request.config, paths=self._paths)
        return StoredIn(file=str(await asyncio.to_thread(write)))

    async def _loaded(self) -> "McpServers":
        return self._servers.made or await asyncio.to_thread(self._servers.get)

    async def servers(self) -> Sequence["McpServerStatus"]:
        return (await self._loaded()).status()

    async def tools(self, name: str) -> Sequence["McpTool"]:
        return (await self._loaded()).tools(name)

    async def prompts(self) -> Sequence["McpPrompt"]:
        return (await self._loaded()).prompts()

    async def resources(self) -> Sequence["McpResource"]:
        return (await self._loaded()).resources()

    async def connect(self, name: str) -> "McpServerStatus":
        return await (await self._loaded()).connect(name)

    async def wait_listed(self, request: "McpWait") -> Sequence["McpServerStatus"]:
        if not self._programs.uses_mcp:  # most folders have no server
            return ()
        servers = await self._loaded()
        return [servers.status_of(name) for name in await servers.wait_listed(request.seconds)]

    async def disconnect(self, name: str) -> "McpServerStatus":
        return await (await self._loaded()).disconnect(name)

    async def restart(self, name: str) -> "McpServerStatus":
        return await (await self._loaded()).restart(name)

    async def add(self, request: "McpAdd") -> "McpServerStatus":
        return await (await self._loaded()).add(request.name, request.config)

    async def begin_sign_in(self, name: str) -> "McpSignIn":
        from opencode_tui.schema.api.mcp import McpSignIn

        return McpSignIn(authorization_url=await (await self._loaded()).begin_sign_in(name))

    async def sign_in(self, name: str) -> "McpServerStatus":
        return await (await self._loaded()).sign_in(name)

    async def finish_sign_in(self, name: str, request: "McpSignInCode") -> "McpServerStatus":
        return await (await self._loaded()).finish_sign_in(name, request.code)

    async def sign_out(self, name: str) -> bool:
        return await (await self._loaded()).sign_out(name)

    async def call(self, name: str, request: "McpCall") -> "JsonObject":
        return await (await self._loaded()).call(name, request.tool, request.arguments)


class _Inbox:
    """The folders of this engine are read directly, those of other processes over their sockets; loaded with the first use."""

    def __init__(self, engine: Engine, at: ClientAt) -> None:
        self._engine = engine
        self._at = at

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator["Inbox"]:
        from opencode_tui.client.inbox import open_inbox

        own = [self._at(one) for one in self._engine.instances]
        async with open_inbox(self._engine.core.environ, lambda: nullcontext(own[0]), own=own) as inbox:
            yield inbox

    async def list(self) -> "InboxView":
        async with self._opened() as inbox:
            return await inbox.view()

    async def look(self, session_id: str | None = None, until: int = 0) -> None:
        from opencode_tui.schema.ids import is_identifier, system_clock
        from opencode_tui.storage.looks import Looks

        looks = Looks(self._engine.core.paths)
        if session_id is None:
            return await asyncio.to_thread(looks.look_at_all, until)
        if not is_identifier(session_id, "ses"):
            raise NotFoundError(f"there is no session {session_id!r}")
        return await asyncio.to_thread(looks.look_at, session_id, system_clock())

    async def done(self, since: int) -> Sequence["Done"]:
        async with self._opened() as inbox:
            return await inbox.done(since)

    async def reasons(self, request_id: str, about: "AskedSubject") -> "AskedReasons":
        async with self._opened() as inbox:
            return await inbox.reasons(request_id, about)

    async def reply(
        self,
        request_id: str,
        reply: "Reply",
        message: str | None = None,
        *,
        always: Sequence[str] | None = None,
        host: bool = False,
    ) -> bool:
        async with self._opened() as inbox:
            try:
                client, asked = await inbox.find(request_id)
            except NotFoundError:
                return False
            return await client.permissions.reply(asked.id, reply, message, always=always, host=host)

    async def answer(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        async with self._opened() as inbox:
            try:
                client, asked = await inbox.find(request_id)
            except NotFoundError:
                return False
            return await client.questions.reply(asked.id, answers)

    async def stop(self, session_id: str, *, background: bool = False) -> None:
        async with self._opened() as inbox:
            await inbox.stop(session_id, background=background)


class LocalFacets:
    """The facets of a client."""

    def bind(self, engine: Engine, instance: Instance, *, policy: Policy, carry: Carry | None, at: ClientAt) -> None:
        """Make the facets those of an instance, each wrapped in the proxy that forwards the calls.

        `at` returns the client of another instance, for the loop of the engine.
        """
        session = instance.session
        self.sessions: SessionsFacet = forward(_Sessions(engine, instance), carry)
        self.trash: TrashFacet = forward(whole(session.trash), carry)
        self.messages: MessagesFacet = forward(_Messages(engine, instance), carry)
        self.prompts: PromptsFacet = forward(_Prompts(engine, instance, policy), carry)
        self.context: ContextFacet = forward(_Context(instance, policy), carry)
        self.background: BackgroundFacet = forward(_Background(instance), carry)
        self.undo: UndoFacet = forward(_Undo(instance), carry)
        self.sharing: SharingFacet = forward(whole(session.shares), carry)
        self.imports: ImportsFacet = forward(_Imports(engine, instance), carry)
        self.permissions: PermissionsFacet = forward(_Permissions(instance), carry)
        self.questions: QuestionsFacet = forward(_Questions(instance), carry)
        self.rules: RulesFacet = forward(instance.folder.rules, carry)
        self.catalog: CatalogFacet = forward(_Catalog(instance), carry)
        self.settings: SettingsFacet = forward(_Settings(engine, instance), carry)
        self.sign_ins: SignInsFacet = forward(_SignIns(engine, instance), carry)
        self.project: ProjectFacet = forward(_Project(engine, instance), carry)
        self.review: ReviewFacet = forward(whole(session.review), carry)
        self.files: FilesFacet = forward(_Files(engine, instance), carry)
        self.mcp: McpFacet = forward(_Mcp(engine, instance), carry)
        self.languages: LanguagesFacet = forward(_Languages(instance), carry)
        self.screen: ScreenFacet = forward(_Screen(engine, instance), carry)
        self.inbox: InboxFacet = forward(_Inbox(engine, at), carry)


def _skill(skill: Skill) -> "SkillSummary":
    """Return a skill with its text, or with the reason why it cannot be read any more."""
    from opencode_tui.schema.api.catalog import SkillSummary  # most runs list nothing

    try:
        content = skill.read()
    except ToolError as error:
        content = str(error)
    return SkillSummary(name=skill.name, description=skill.description, location=str(skill.path), content=content)
