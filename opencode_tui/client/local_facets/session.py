"""The facets of sessions inside the process: which service of the engine answers each method."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opencode_tui.client.calls import Calls, forward
from opencode_tui.engine.engine import Engine
from opencode_tui.engine.instance import Instance
from opencode_tui.engine.permission.policy import Policy
from opencode_tui.schema.api.request import CommandInput, ForkSession, PromptInput
from opencode_tui.schema.error import NoSuchMessageError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.session import AnyStatus, SessionInfo

if TYPE_CHECKING:
    from opencode_tui.client.facets.session import (
        BackgroundFacet,
        ContextFacet,
        ImportsFacet,
        MessagesFacet,
        PromptsFacet,
        SearchFacet,
        SessionsFacet,
        SharingFacet,
        TrashFacet,
        UndoFacet,
    )
    from opencode_tui.schema.api.background import BackgroundCommand, BackgroundText
    from opencode_tui.schema.api.context import CompactionReport, CompactSession, ContextView, PruneReport, RequestView
    from opencode_tui.schema.api.importing import ImportProgress, ImportReport, ImportRequest, ImportStore
    from opencode_tui.schema.api.search import SearchRequest, SearchResult
    from opencode_tui.schema.api.share import ShareStatus
    from opencode_tui.schema.api.trash import TrashedSession
    from opencode_tui.schema.session.session import ForkPreview
    from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoOnly


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

    async def restore(self, trash_id: str) -> SessionInfo:
        return await self._trash.get().restore(trash_id)

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


class _Background:
    """The service is loaded with the first command."""

    def __init__(self, instance: Instance) -> None:
        self._commands = instance.folder.commands_in_background

    async def list(self, session_id: str | None = None) -> Sequence["BackgroundCommand"]:
        return [] if self._commands.made is None else await self._commands.made.list(session_id)

    async def output(self, command_id: str, since: int = 0) -> "BackgroundText":
        return await self._commands.get().output(command_id, since)

    async def stop(self, command_id: str) -> "BackgroundCommand":
        return await self._commands.get().stop(command_id)

    async def end(self) -> Sequence["BackgroundCommand"]:
        return [] if self._commands.made is None else await self._commands.made.end()


class _Context:
    def __init__(self, instance: Instance, policy: Policy) -> None:
        self._instance = instance
        self._policy = policy

    async def items(self, session_id: str) -> "ContextView":
        return await self._instance.session.context.get().view(session_id)

    async def request(self, session_id: str) -> "RequestView":
        return await self._instance.session.context.get().request(session_id)

    async def prune(
        self, session_id: str, parts: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> "PruneReport":
        return await self._instance.session.pruning.get().prune(session_id, parts, dry_run=dry_run)

    async def restore(
        self, session_id: str, parts: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> "PruneReport":
        return await self._instance.session.pruning.get().restore(session_id, parts, dry_run=dry_run)

    async def compact(self, session_id: str, request: "CompactSession") -> "CompactionReport":
        compaction = self._instance.session.compaction.get()
        return await compaction.compact(
            session_id, request, prompter=self._instance.session.prompts, policy=self._policy
        )


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


class _Sharing:
    def __init__(self, instance: Instance) -> None:
        self._shares = instance.session.shares

    async def status(self) -> "ShareStatus":
        return await self._shares.get().status()

    async def share(self, session_id: str) -> SessionInfo:
        return await self._shares.get().share(session_id)

    async def unshare(self, session_id: str) -> SessionInfo:
        return await self._shares.get().unshare(session_id)


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


class LocalSessionFacets:
    """The facets of sessions of a client."""

    def bind_session(self, engine: Engine, instance: Instance, *, policy: Policy, calls: Calls | None) -> None:
        """Make the facets those of an instance, each wrapped in the proxy that forwards the calls."""
        self.sessions: SessionsFacet = forward(_Sessions(engine, instance), calls)
        self.search: SearchFacet = forward(_Search(engine, instance), calls)
        self.trash: TrashFacet = forward(_Trash(instance), calls)
        self.messages: MessagesFacet = forward(_Messages(engine, instance), calls)
        self.prompts: PromptsFacet = forward(_Prompts(engine, instance, policy), calls)
        self.context: ContextFacet = forward(_Context(instance, policy), calls)
        self.background: BackgroundFacet = forward(_Background(instance), calls)
        self.undo: UndoFacet = forward(_Undo(instance), calls)
        self.sharing: SharingFacet = forward(_Sharing(instance), calls)
        self.imports: ImportsFacet = forward(_Imports(engine, instance), calls)
