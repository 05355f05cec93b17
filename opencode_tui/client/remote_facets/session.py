"""The facets of sessions over HTTP: which route of the server answers each method."""

from collections.abc import Callable, Sequence

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
from opencode_tui.client.remote_events import RemoteEvents
from opencode_tui.client.remote_link import Link, answer_failure, body_error
from opencode_tui.schema.api.background import BackgroundCommand, BackgroundText
from opencode_tui.schema.api.context import (
    CompactionReport,
    CompactSession,
    ContextView,
    PartChoice,
    PruneReport,
    RequestView,
)
from opencode_tui.schema.api.importing import ImportProgress, ImportReport, ImportRequest, ImportStore
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
from opencode_tui.schema.error import OpencodeError
from opencode_tui.schema.http_headers import MESSAGE_HEADER, OWN
from opencode_tui.schema.json_text import load_json
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


class RemoteFacet:
    """Answers its methods through a connection to a server."""

    def __init__(self, link: Link) -> None:
        self._link = link


class _Sessions(RemoteFacet):
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


class _Search(RemoteFacet):
    async def find(self, request: SearchRequest) -> SearchResult:
        return await self._link.send("POST", f"{OWN}/search", SearchResult, request)


class _Trash(RemoteFacet):
    async def list(self) -> Sequence[TrashedSession]:
        return await self._link.records(f"{OWN}/trash", TrashedSession)

    async def restore(self, wanted: str) -> SessionInfo:
        return await self._link.send("POST", f"{OWN}/trash/{wanted}/restore", SessionInfo, Record())

    async def empty(self, names: Sequence[str]) -> Sequence[TrashedSession]:
        deleted = await self._link.value("POST", f"{OWN}/trash/empty", TrashChoice(names=list(names)))
        return [TrashedSession.model_validate(entry) for entry in deleted]


class _Messages(RemoteFacet):
    async def list(self, session_id: str, limit: int | None = None) -> Sequence[MessageWithParts]:
        return await self._link.records(f"/session/{session_id}/message", MessageWithParts, {"limit": limit})

    async def get(self, session_id: str, message_id: str) -> MessageWithParts:
        return await self._link.get(f"/session/{session_id}/message/{message_id}", MessageWithParts)

    async def update_part(self, part: AnyPart) -> AnyPart:
        path = f"/session/{part.session_id}/message/{part.message_id}/part/{part.id}"
        return PART.validate_json(await self._link.bytes("PATCH", path, body=part))

    async def remove_part(self, session_id: str, message_id: str, part_id: str) -> None:
        await self._link.value("DELETE", f"/session/{session_id}/message/{message_id}/part/{part_id}")


class _Prompts(RemoteFacet):
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


class _Background(RemoteFacet):
    async def list(self, session_id: str | None = None) -> Sequence[BackgroundCommand]:
        return await self._link.records(f"{OWN}/background", BackgroundCommand, {"sessionID": session_id})

    async def output(self, command_id: str, since: int = 0) -> BackgroundText:
        return BackgroundText.model_validate_json(
            await self._link.bytes("GET", f"{OWN}/background/{command_id}/output?since={since}")
        )

    async def stop(self, command_id: str) -> BackgroundCommand:
        return await self._link.send("POST", f"{OWN}/background/{command_id}/stop", BackgroundCommand, Record())

    async def end(self) -> Sequence[BackgroundCommand]:
        content = await self._link.bytes("POST", f"{OWN}/background/end")
        return [BackgroundCommand.model_validate(one) for one in load_json(content)]


class _Context(RemoteFacet):
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


class _Undo(RemoteFacet):
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


class _Sharing(RemoteFacet):
    async def status(self) -> ShareStatus:
        return await self._link.get(f"{OWN}/share", ShareStatus)

    async def share(self, session_id: str) -> SessionInfo:
        return await self._link.send("POST", f"/session/{session_id}/share", SessionInfo, Record())

    async def unshare(self, session_id: str) -> SessionInfo:
        return await self._link.send("DELETE", f"/session/{session_id}/share", SessionInfo, Record())


class _Imports(RemoteFacet):
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


class RemoteSessionFacets:
    """The facets of sessions of a server's client."""

    def bind_session(self, link: Link, events: RemoteEvents) -> None:
        """Make the facets those of a server."""
        self.sessions: SessionsFacet = _Sessions(link)
        self.search: SearchFacet = _Search(link)
        self.trash: TrashFacet = _Trash(link)
        self.messages: MessagesFacet = _Messages(link)
        self.prompts: PromptsFacet = _Prompts(link, events)
        self.context: ContextFacet = _Context(link)
        self.background: BackgroundFacet = _Background(link)
        self.undo: UndoFacet = _Undo(link)
        self.sharing: SharingFacet = _Sharing(link)
        self.imports: ImportsFacet = _Imports(link)


def _parse_answer(body: bytes) -> MessageWithParts:
    """Return the last message of a turn; raises the error that the server sent in its place."""
    answer: JsonObject | None = load_json(body or b"null")
    if answer is None:
        raise OpencodeError("the server ended the turn without its response; see the session for the work done")
    if "info" not in answer:
        raise body_error(answer)
    return MessageWithParts.model_validate(answer)


def _choice(part_ids: Sequence[str] | None, dry_run: bool) -> PartChoice:
    return PartChoice(parts=None if part_ids is None else list(part_ids), dry_run=dry_run)
