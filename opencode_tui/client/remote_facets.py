"""The facets over HTTP: which route of the server answers each method. The methods are documented in `facets`."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from opencode_tui.bus import Bus, Subscription
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
from opencode_tui.client.remote_events import RemoteEvents
from opencode_tui.client.remote_link import Link, answer_failure, body_error, open_link, open_terminal_link
from opencode_tui.schema.api.catalog import (
    AgentSummary,
    CommandSummary,
    Notices,
    ProviderFacts,
    ProviderSummary,
    SandboxState,
    SkillSummary,
    StatusFacts,
    ToolSummary,
)
from opencode_tui.schema.api.context import (
    CompactionReport,
    CompactSession,
    ContextView,
    PartChoice,
    PruneReport,
    RequestView,
)
from opencode_tui.schema.api.file import ChangedFile, FileContent, FileEntry, FindKind, LineMatch
from opencode_tui.schema.api.importing import ImportProgress, ImportReport, ImportRequest, ImportStore
from opencode_tui.schema.api.project import Places, ProjectInfo
from opencode_tui.schema.api.question import QuestionRequest
from opencode_tui.schema.api.request import (
    PROMPT_PARTS,
    CommandInput,
    CreateSession,
    ForkSession,
    PromptInput,
    PromptPart,
    ShellInput,
    UpdateSession,
)
from opencode_tui.schema.api.search import SearchRequest, SearchResult
from opencode_tui.schema.api.share import ShareStatus
from opencode_tui.schema.api.trash import TrashChoice, TrashedSession
from opencode_tui.schema.api.trust import TrustGrant, TrustReport
from opencode_tui.schema.error import NotFoundError, OpencodeError
from opencode_tui.schema.event.screen_event import ScreenEvent, ScreenToastShown
from opencode_tui.schema.http_headers import DEFAULT_USERNAME, MESSAGE_HEADER, OWN
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.permission import (
    Approvals,
    ApprovalsMode,
    PermissionReply,
    PermissionReport,
    PermissionRequest,
    PermissionRules,
    Reply,
    Rule,
)
from opencode_tui.schema.record import JsonObject, Record
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import PART, AnyPart
from opencode_tui.schema.session.session import STATUSES, AnyStatus, ForkPreview, SessionInfo, Todo
from opencode_tui.schema.session.undo import RevertPreview, RevertReport, UndoOnly, UndoTarget
from opencode_tui.schema.totals import SessionTotals

LAST_EVENTS_S = 1.0
"""Seconds to wait for a turn's last events after its response."""

Stored = Callable[[str], None]


class _Facet:
    def __init__(self, link: Link) -> None:
        self._link = link


class _Sessions(_Facet):
    async def create(self, request: CreateSession) -> SessionInfo:
        return await self._link.send("POST", "/session", SessionInfo, request)

    async def list(self) -> Sequence[SessionInfo]:
        return await self._link.records(f"{OWN}/session", SessionInfo)

    async def everywhere(self) -> Sequence[SessionInfo]:
        return await self._link.records(f"{OWN}/session/everywhere", SessionInfo)

    async def get(self, session_id: str) -> SessionInfo:
        return await self._link.get(f"/session/{session_id}", SessionInfo)

    async def latest(self) -> SessionInfo | None:
        found = await self._link.value("GET", f"{OWN}/session/latest")
        return None if found is None else SessionInfo.model_validate(found)

    async def children(self, session_id: str) -> Sequence[SessionInfo]:
        return await self._link.records(f"/session/{session_id}/children", SessionInfo)

    async def update(self, session_id: str, request: UpdateSession) -> SessionInfo:
        return await self._link.send("PATCH", f"{OWN}/session/{session_id}", SessionInfo, request)

    async def remove(self, session_id: str) -> None:
        await self._link.value("DELETE", f"/session/{session_id}")

    async def fork(self, session_id: str, request: ForkSession) -> SessionInfo:
        return await self._link.send("POST", f"{OWN}/session/{session_id}/fork", SessionInfo, request)

    async def preview_fork(self, session_id: str, request: ForkSession) -> ForkPreview:
        return await self._link.send("POST", f"{OWN}/session/{session_id}/fork/preview", ForkPreview, request)

    async def wait_copied(self, session_id: str) -> None:
        await self._link.value("POST", f"{OWN}/session/{session_id}/copied")

    async def totals(self, session_id: str) -> SessionTotals:
        return await self._link.get(f"{OWN}/session/{session_id}/totals", SessionTotals)

    async def costs(self) -> dict[str, float]:
        return await self._link.value("GET", f"{OWN}/session/cost")

    async def recover_all(self) -> int:
        return await self._link.value("POST", f"{OWN}/session/recover")

    async def todos(self, session_id: str) -> Sequence[Todo]:
        return await self._link.records(f"/session/{session_id}/todo", Todo)

    async def diff(self, session_id: str, message_id: str | None = None) -> Sequence[FileDiff]:
        return await self._link.records(f"/session/{session_id}/diff", FileDiff, {"messageID": message_id})


class _Search(_Facet):
    async def find(self, request: SearchRequest) -> SearchResult:
        return await self._link.send("POST", f"{OWN}/search", SearchResult, request)


class _Trash(_Facet):
    async def list(self) -> Sequence[TrashedSession]:
        return await self._link.records(f"{OWN}/trash", TrashedSession)

    async def restore(self, wanted: str) -> SessionInfo:
        return await self._link.send("POST", f"{OWN}/trash/{wanted}/restore", SessionInfo, Record())

    async def empty(self, names: Sequence[str]) -> Sequence[TrashedSession]:
        deleted = await self._link.value("POST", f"{OWN}/trash/empty", TrashChoice(names=list(names)))
        return [TrashedSession.model_validate(entry) for entry in deleted]


class _Messages(_Facet):
    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        return await self._link.records(f"/session/{session_id}/message", MessageWithParts, {"limit": limit})

    async def get(self, session_id: str, message_id: str) -> MessageWithParts:
        return await self._link.get(f"/session/{session_id}/message/{message_id}", MessageWithParts)

    async def update_part(self, part: AnyPart) -> AnyPart:
        path = f"/session/{part.session_id}/message/{part.message_id}/part/{part.id}"
        return PART.validate_json(await self._link.bytes("PATCH", path, body=part))

    async def remove_part(self, session_id: str, message_id: str, part_id: str) -> None:
        await self._link.value("DELETE", f"/session/{session_id}/message/{message_id}/part/{part_id}")


class _Prompts(_Facet):
    def __init__(self, link: Link, events: RemoteEvents) -> None:
        super().__init__(link)
        self._events = events

    async def check(self, request: PromptInput) -> None:
        await self._link.value("POST", f"{OWN}/prompt/check", request, reads=True)

    async def prompt(self, session_id: str, request: PromptInput, *, stored: Stored | None = None) -> MessageWithParts:
        return await self._turn(f"/session/{session_id}/message", session_id, request, stored)

    async def command(self, session_id: str, given: CommandInput, *, stored: Stored | None = None) -> MessageWithParts:
        return await self._turn(f"/session/{session_id}/command", session_id, given, stored)

    async def shell(self, session_id: str, given: ShellInput, *, stored: Stored | None = None) -> MessageWithParts:
        return await self._turn(f"/session/{session_id}/shell", session_id, given, stored)

    async def expand(self, text: str) -> Sequence[PromptPart]:
        return PROMPT_PARTS.validate_json(
            await self._link.bytes("POST", f"{OWN}/prompt/expand", body={"text": text}, reads=True)
        )

    async def withdraw(self, session_id: str, message_id: str) -> bool:
        return await self._link.value("DELETE", f"{OWN}/session/{session_id}/queued/{message_id}")

    async def send_now(self, session_id: str, message_id: str) -> bool:
        return await self._link.value("POST", f"{OWN}/session/{session_id}/queued/{message_id}/send")

    async def abort(self, session_id: str) -> bool:
        return await self._link.value("POST", f"{OWN}/session/{session_id}/abort")

    async def status(self) -> dict[str, AnyStatus]:
        return STATUSES.validate_json(await self._link.bytes("GET", "/session/status"))

    async def _turn(self, path: str, session_id: str, request: Record, stored: Stored | None) -> MessageWithParts:
        """Send a request that starts a turn and return its last message; raises the error that ended the turn.

        Waits a moment for the turn's last events, because in the process they always come before the answer.
        """
        self._events.expect_idle(session_id)
        async with self._link.stream("POST", path, request) as answer:
            message_id = answer.headers.get(MESSAGE_HEADER)
            if stored is not None and message_id:
                stored(message_id)
            body = await answer.aread()
        answered = _parse_answer(body)
        if not (isinstance(request, PromptInput) and request.no_reply):
            await self._events.idle(session_id, seconds=LAST_EVENTS_S)
        if isinstance(answered.info, AssistantMessage) and answered.info.error is not None:
            failure = answer_failure(answered.info.error)
            if failure is not None:
                raise failure
        return answered


class _Permissions(_Facet):
    async def pending(self) -> Sequence[PermissionRequest]:
        return await self._link.records("/permission", PermissionRequest)

    async def reply(
        self,
        request_id: str,
        reply: Reply,
        message: str | None = None,
        *,
        always: Sequence[str] | None = None,
        host: bool = False,
    ) -> bool:
        patterns = None if always is None else list(always)
        answer = PermissionReply(reply=reply, message=message, always=patterns, host=host or None)
        return await _was_open(self._link, f"/permission/{request_id}/reply", answer.to_dict())

    async def approvals(self, session_id: str) -> Approvals:
        return (await self._link.get(f"{OWN}/session/{session_id}/approvals", ApprovalsMode)).approvals

    async def set_approvals(self, session_id: str, mode: Approvals) -> None:
        await self._link.value("PUT", f"{OWN}/session/{session_id}/approvals", ApprovalsMode(approvals=mode))


class _Questions(_Facet):
    async def pending(self) -> Sequence[QuestionRequest]:
        return await self._link.records("/question", QuestionRequest)

    async def reply(self, request_id: str, answers: Sequence[Sequence[str]]) -> bool:
        given = {"answers": [list(labels) for labels in answers]}
        return await _was_open(self._link, f"/question/{request_id}/reply", given)

    async def reject(self, request_id: str) -> bool:
        return await _was_open(self._link, f"/question/{request_id}/reject", {})


class _Context(_Facet):
    async def items(self, session_id: str) -> ContextView:
        return await self._link.get(f"{OWN}/session/{session_id}/context", ContextView)

    async def request(self, session_id: str) -> RequestView:
        return await self._link.get(f"{OWN}/session/{session_id}/request", RequestView)

    async def prune(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> PruneReport:
        return await self._link.send(
            "POST", f"{OWN}/session/{session_id}/prune", PruneReport, _choice(part_ids, dry_run)
        )

    async def restore(
        self, session_id: str, part_ids: Sequence[str] | None = None, *, dry_run: bool = False
    ) -> PruneReport:
        path = f"{OWN}/session/{session_id}/restore"
        return await self._link.send("POST", path, PruneReport, _choice(part_ids, dry_run))

    async def compact(self, session_id: str, request: CompactSession) -> CompactionReport:
        return await self._link.send("POST", f"{OWN}/session/{session_id}/compact", CompactionReport, request)


class _Undo(_Facet):
    async def recover(self, session_id: str) -> None:
        await self._link.value("POST", f"{OWN}/session/{session_id}/recover")

    async def preview(
        self,
        session_id: str,
        message_id: str | None = None,
        part_id: str | None = None,
        *,
        only: UndoOnly | None = None,
    ) -> RevertPreview:
        target = UndoTarget(message_id=message_id, part_id=part_id, only=only)
        return await self._link.send("POST", f"{OWN}/session/{session_id}/revert/preview", RevertPreview, target)

    async def changes(self, session_id: str, message_id: str, part_id: str | None = None) -> Sequence[FileDiff]:
        query = {"messageID": message_id, "partID": part_id}
        return await self._link.records(f"{OWN}/session/{session_id}/revert/diff", FileDiff, query)

    async def preview_unrevert(self, session_id: str) -> RevertPreview:
        return await self._link.send("POST", f"{OWN}/session/{session_id}/unrevert/preview", RevertPreview, Record())

    async def revert(
        self,
        session_id: str,
        message_id: str | None = None,
        part_id: str | None = None,
        *,
        only: UndoOnly | None = None,
    ) -> RevertReport:
        target = UndoTarget(message_id=message_id, part_id=part_id, only=only)
        return await self._link.send("POST", f"{OWN}/session/{session_id}/revert", RevertReport, target)

    async def unrevert(self, session_id: str) -> RevertReport:
        return await self._link.send("POST", f"{OWN}/session/{session_id}/unrevert", RevertReport, Record())


class _Rules(_Facet):
    async def list(self, agent: str | None) -> PermissionRules:
        return await self._link.get(f"{OWN}/rules", PermissionRules, {"agent": agent})

    async def explain(
        self, permission: str, subject: str, *, agent: str | None = None, extra: Sequence[Rule] = ()
    ) -> PermissionReport:
        asked = {"permission": permission, "subject": subject, "extra": [rule.to_dict() for rule in extra]}
        named = {"agent": agent} if agent is not None else {}
        return await self._link.send("POST", f"{OWN}/rules/explain", PermissionReport, {**asked, **named})

    async def grants(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        return await self._link.records(f"{OWN}/rules/grants", Rule, {"permission": permission, "pattern": pattern})

    async def revoke(self, permission: str, pattern: str | None) -> Sequence[Rule]:
        query = {"permission": permission, "pattern": pattern}
        return [
            Rule.model_validate(rule) for rule in await self._link.value("DELETE", f"{OWN}/rules/grants", query=query)
        ]


class _Catalog(_Facet):
    async def models(self) -> Sequence[Model]:
        return await self._link.records(f"{OWN}/model", Model)

    async def all_models(self) -> Sequence[Model]:
        return await self._link.records(f"{OWN}/model", Model, {"all": True})

    async def providers(self, *, only_ready: bool = False) -> Sequence[ProviderSummary]:
        facts = await self._link.records(f"{OWN}/provider", ProviderFacts, {"only_ready": only_ready})
        return [fact.whole() for fact in facts]

    async def commands(self) -> Sequence[CommandSummary]:
        return await self._link.records("/command", CommandSummary)

    async def tools(self) -> Sequence[ToolSummary]:
        return await self._link.records("/experimental/tool", ToolSummary)

    async def skills(self) -> Sequence[SkillSummary]:
        return await self._link.records("/skill", SkillSummary)

    async def default_model(self) -> ModelRef:
        return await self._link.get(f"{OWN}/model/default", ModelRef)

    async def agents(self) -> Sequence[AgentSummary]:
        return await self._link.records("/agent", AgentSummary)

    async def describe_agent(self, name: str) -> JsonObject:
        return await self._link.value("GET", f"{OWN}/agent", query={"name": name})


class _Settings(_Facet):
    async def notices(self) -> Notices:
        return await self._link.get(f"{OWN}/notices", Notices)

    async def sandbox(self) -> SandboxState:
        return await self._link.get(f"{OWN}/sandbox", SandboxState)

    async def status_text(self, facts: StatusFacts) -> str:
        return await self._link.value("POST", f"{OWN}/status-text", facts)

    async def store_key(self, provider_id: str, key: str) -> None:
        await self._link.value("PUT", f"/auth/{provider_id}", {"type": "api", "key": key})

    async def delete_key(self, provider_id: str) -> bool:
        return await self._link.value("DELETE", f"{OWN}/auth/{provider_id}")

    async def effective(self) -> JsonObject:
        return await self._link.value("GET", f"{OWN}/config")

    async def trust_report(self) -> TrustReport:
        return await self._link.get(f"{OWN}/trust", TrustReport)

    async def trust(self, seen: str) -> None:
        await self._link.value("POST", f"{OWN}/trust", TrustGrant(seen=seen))


class _Files(_Facet):
    async def find(self, query: str, *, kind: FindKind = "all", limit: int = 100) -> Sequence[str]:
        asked = {"query": query, "type": None if kind == "all" else kind, "limit": limit}
        return await self._link.value("GET", "/find/file", query=asked)

    async def search(self, pattern: str, *, limit: int = 100) -> Sequence[LineMatch]:
        return await self._link.records(f"{OWN}/find", LineMatch, {"pattern": pattern, "limit": limit})

    async def list(self, path: str) -> Sequence[FileEntry]:
        return await self._link.records("/file", FileEntry, {"path": path})

    async def read(self, path: str) -> FileContent:
        return await self._link.get("/file/content", FileContent, {"path": path})

    async def changed(self) -> Sequence[ChangedFile]:
        return await self._link.records("/file/status", ChangedFile)


class _Screen(_Facet):
    async def publish(self, event: ScreenEvent) -> None:
        properties = event.to_dict()
        kind = properties.pop("type")
        await self._link.value("POST", "/tui/publish", {"type": kind, "properties": properties})


class _Sharing(_Facet):
    async def status(self) -> ShareStatus:
        return await self._link.get(f"{OWN}/share", ShareStatus)

    async def share(self, session_id: str) -> SessionInfo:
        return await self._link.send("POST", f"/session/{session_id}/share", SessionInfo, Record())

    async def unshare(self, session_id: str) -> SessionInfo:
        return await self._link.send("DELETE", f"/session/{session_id}/share", SessionInfo, Record())


class _Project(_Facet):
    async def current(self) -> ProjectInfo:
        return await self._link.get("/project/current", ProjectInfo)

    async def all(self) -> Sequence[ProjectInfo]:
        return await self._link.records("/project", ProjectInfo)

    async def places(self) -> Places:
        return await self._link.get("/path", Places)

    async def branch(self) -> str | None:
        return (await self._link.value("GET", "/vcs")).get("branch")


class _Imports(_Facet):
    async def available(self) -> bool:
        return await self._link.value("GET", f"{OWN}/import/available")

    async def stores(self, request: ImportRequest | None = None) -> Sequence[ImportStore]:
        found = await self._link.value("POST", f"{OWN}/import/stores", request or ImportRequest())
        return [ImportStore.model_validate(one) for one in found]

    async def run(self, request: ImportRequest) -> ImportReport:
        async with self._link.stream("POST", f"{OWN}/import", request) as answer:
            return ImportReport.model_validate_json(await answer.aread())

    async def progress(self) -> ImportProgress | None:
        found = await self._link.value("GET", f"{OWN}/import/progress")
        return None if found is None else ImportProgress.model_validate(found)

    async def cancel(self) -> bool:
        return await self._link.value("POST", f"{OWN}/import/cancel")


class RemoteFacets:
    """All facets of one folder of a server."""

    def __init__(self, link: Link, events: RemoteEvents) -> None:
        self.sessions: SessionsFacet = _Sessions(link)
        self.search: SearchFacet = _Search(link)
        self.trash: TrashFacet = _Trash(link)
        self.messages: MessagesFacet = _Messages(link)
        self.prompts: PromptsFacet = _Prompts(link, events)
        self.context: ContextFacet = _Context(link)
        self.undo: UndoFacet = _Undo(link)
        self.permissions: PermissionsFacet = _Permissions(link)
        self.rules: RulesFacet = _Rules(link)
        self.questions: QuestionsFacet = _Questions(link)
        self.catalog: CatalogFacet = _Catalog(link)
        self.settings: SettingsFacet = _Settings(link)
        self.files: FilesFacet = _Files(link)
        self.sharing: SharingFacet = _Sharing(link)
        self.screen: ScreenFacet = _Screen(link)
        self.project: ProjectFacet = _Project(link)
        self.imports: ImportsFacet = _Imports(link)


async def _was_open(link: Link, path: str, body: object) -> bool:
    try:
        await link.value("POST", path, body)
    except NotFoundError:
        return False
    return True


def _parse_answer(body: bytes) -> MessageWithParts:
    """Return the last message of a turn; raises the error that the server sent in its place."""
    answer: JsonObject | None = json.loads(body or b"null")
    if answer is None:
        raise OpencodeError("the server ended the turn without its response; see the session for the work done")
    if "info" not in answer:
        raise body_error(answer)
    return MessageWithParts.model_validate(answer)


def _choice(part_ids: Sequence[str] | None, dry_run: bool) -> PartChoice:
    return PartChoice(parts=None if part_ids is None else list(part_ids), dry_run=dry_run)


class RemoteClient(RemoteFacets):
    """The client of one folder of a server."""

    def __init__(self, link: Link, events: RemoteEvents, *, bus: Bus, directory: Path) -> None:
        super().__init__(link, events)
        self._bus = bus
        self._link = link
        self.directory = directory

    @property
    def ends_runs(self) -> bool:
        """Return whether the end of this process ends the runs."""
        return False

    @property
    def terminals(self) -> int:
        """Return how many other terminals use the engine of this process."""
        return 0

    def events(self) -> Subscription:
        """Return a reader of the folder's events from now on."""
        return self._bus.subscribe()

    def report(self, message: str) -> None:
        """Show a message to the readers of the events in this process."""
        self._bus.publish(ScreenToastShown.model_validate({"message": message, "variant": "warning"}))

    async def reopen(self) -> None:
        """Make the server open the folder again."""
        await self._link.value("POST", "/instance/dispose")


@asynccontextmanager
async def open_remote(
    url: str, *, password: str | None = None, username: str = DEFAULT_USERNAME, directory: str | None = None
) -> AsyncGenerator[RemoteClient]:
    """Yield the client of a folder of the server at `url`, by default the folder that it was started in.

    On leaving only the connection ends: runs continue. Raises OpencodeError when there is no server or it refuses.
    """
    async with (
        open_link(url, password=password, username=username, directory=directory) as link,
        _follow(link, Path((await link.get("/path", Places)).directory), tries_again=True) as (client, _),
    ):
        yield client


@asynccontextmanager
async def open_terminal(
    socket: str, secret: str, directory: Path
) -> AsyncGenerator[tuple[RemoteClient, "asyncio.Task[None]"]]:
    """Yield the client of a folder on the engine of another terminal, and a task that ends when the connection is lost.

    Raises OpencodeError when there is no such terminal.
    """
    async with (
        open_terminal_link(socket, secret, str(directory)) as link,
        _follow(link, Path((await link.get("/path", Places)).directory), tries_again=False) as opened,
    ):
        yield opened


@asynccontextmanager
async def _follow(
    link: Link, directory: Path, *, tries_again: bool
) -> AsyncGenerator[tuple[RemoteClient, "asyncio.Task[None]"]]:
    """Yield the client of a server's folder and the task that reads the events; raises OpencodeError if they cannot be read."""
    bus = Bus()
    events = RemoteEvents(link, bus, tries_again=tries_again)
    reading = asyncio.create_task(events.run(), name="remote events")
    connected = asyncio.create_task(events.connected())
    try:
        await asyncio.wait({reading, connected}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            reading.result()
        yield RemoteClient(link, events, bus=bus, directory=directory), reading
    finally:
        for task in (reading, connected):
            task.cancel()
        await asyncio.gather(reading, connected, return_exceptions=True)
