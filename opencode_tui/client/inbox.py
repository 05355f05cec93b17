"""What runs, and what waits for the user, in all folders of this data folder.

Two sources: the engines of terminals, which answer over their sockets, and the owner files of sessions, which also name a process
that cannot be reached (`run`, `serve`, an editor's) or was killed. Subagents are part of the session that started them.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.client.join import Waits, reporting
from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.api.inbox import (
    ORDER,
    SAID,
    Asked,
    AskedReasons,
    AskedSubject,
    Done,
    Ended,
    InboxView,
    Running,
    State,
    Waiting,
)
from opencode_tui.schema.error import BusyError, LinkLostError, NotFoundError, OpencodeError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.permission import PermissionRequest, ToolCallRef
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import TextPart, ToolPart
from opencode_tui.schema.session.session import AnyStatus, BusyStatus, IdleStatus, RetryStatus, SessionInfo
from opencode_tui.schema.session.stored_error import describe_stored, end_state
from opencode_tui.storage.engine_claim import PATIENCE_S, EngineRecord, live_engines, short_path
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.looks import Looks
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.process_identity import current_process, is_alive, is_suspended
from opencode_tui.storage.task_folders import list_left_agents

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

logger = logging.getLogger(__name__)

_NEWEST = 200
"""Messages of a session that are examined for what it did."""

ENDED = 30
"""Sessions that ended which are listed at most."""

_LISTED_MS = 7 * 24 * 3600 * 1000
"""Milliseconds for which a session that ended is listed if the user does not look."""

_NEEDS: Sequence[str] = ("asks", "stopped", "failed", "interrupted", "retries", "works", "done")
"""The states of what sessions did, in the order in which they need the user."""

Opening = Callable[[], "AbstractAsyncContextManager[Client]"]
"""Opens an engine in this process, to read records."""


class Engine(Struct, frozen=True):
    """An engine that responds: its process, and its client for each folder in which it has sessions at work, its own first."""

    pid: int
    clients: "Sequence[Client]"


class Inbox:
    """The engines of all folders that respond; opened by `open_inbox`."""

    def __init__(
        self, environ: Mapping[str, str], engines: Sequence[Engine], silent: Sequence[int], opening: Opening
    ) -> None:
        self._environ = environ
        self._opening = opening
        self._engines = engines
        self._silent = silent
        self._engine_of: dict[str, Engine] = {}
        """The engine that listed a session."""

    async def view(self) -> InboxView:
        """Return what runs, waits, was stopped or ended, and which processes do not respond. Raises StorageError."""
        rows = await self.rows()
        ended = await self._ended({row.info.id for row in rows})
        return InboxView.trusted(rows=rows, silent=list(self._silent), ended=ended)

    async def rows(self) -> list[Running]:
        """Return what runs, waits or was stopped, in the order of `view`. Raises StorageError."""
        listed = await asyncio.gather(*map(_rows_of, self._engines))
        answers = [(engine, rows) for engine, rows in zip(self._engines, listed, strict=True) if rows is not None]
        self._engines = [engine for engine, _ in answers]
        found = [row for _, rows in answers for row in rows]
        self._engine_of = {row.info.id: engine for engine, rows in answers for row in rows}
        found += await self._others({row.info.id for row in found})
        return sorted(found, key=lambda row: (ORDER.index(row.state), -row.info.time.updated))

    async def look_at_all(self, view: InboxView) -> None:
        """Record that the user has seen what ended in a view. Raises StorageError."""
        if view.ended:
            await asyncio.to_thread(Looks(find_paths(self._environ)).look_at_all, view.ended[0].at)

    async def done(self, since: int) -> list[Done]:
        """Return what sessions did since a moment in ms: what needs the user first, then the newest. Raises StorageError."""
        states = {row.info.id: row.state for row in await self.rows()}
        found: list[Done] = []
        async with self._reader() as client:
            families: dict[str, list[SessionInfo]] = {}
            for info in await client.sessions.everywhere():
                if info.time.updated > since:
                    families.setdefault((await root_of(client, info.id)).id, []).append(info)
            for root_id, family in families.items():
                done = await _done_by(client, await client.sessions.get(root_id), family, since)
                if done.turns:
                    found.append(done.changed(state=states.get(root_id, done.state)))
        return sorted(found, key=lambda one: (_NEEDS.index(one.state), -one.info.time.updated))

    async def unknown(self, session_ids: Iterable[str]) -> list[str]:
        """Return those of the IDs that no session has. Raises StorageError."""
        async with self._reader() as client:
            known = {info.id for info in await client.sessions.everywhere()}
        return [one for one in session_ids if one not in known]

    async def find(self, request_id: str) -> "tuple[Client, Asked]":
        """Return a question that waits, with the client to answer it.

        Raises NotFoundError when it was answered, never was, or a process asks it that takes no requests; StorageError.
        """
        for client in (client for engine in self._engines for client in engine.clients):
            try:
                found = [asked for asked in await _asked(client) if asked.id == request_id]
            except LinkLostError:  # its engine has ended, and with it what it asked
                continue
            if found:
                return client, found[0]
        closed = sorted({row.pid for row in await self.rows() if row.state != "stopped" and not row.is_reachable})
        raise _nothing_asks(request_id, closed)

    async def reasons(self, request_id: str, about: AskedSubject) -> AskedReasons:
        """Return why a permission request asks. Raises NotFoundError when it was answered, or never was."""
        client, asked = await self.find(request_id)
        try:
            agent = await _agent_of(client, asked)
            try:
                report = await client.rules.explain(about.permission, about.subject, agent=agent or None)
            except OpencodeError:  # an agent that is gone: the question is put without its rules
                report = None
            return AskedReasons.trusted(
                agent=agent,
                report=report,
                places=await client.project.places(),
                no_sandbox=(await client.settings.sandbox()).reason,
            )
        except LinkLostError:
            raise _nothing_asks(request_id) from None

    async def stop(self, session_id: str, *, background: bool) -> Running:
        """Interrupt a session with its subagents, and with `background` end its background commands; return what it was.

        Raises NotFoundError when it does not run, BusyError when its process takes no requests.
        """
        found = [row for row in await self.rows() if row.info.id == session_id and row.state != "stopped"]
        if not found:
            raise NotFoundError(f"{session_id} does not run; see `opencode-tui ps`")
        [row] = found
        client = self._client_of(row)
        if client is None:
            raise BusyError(f"{session_id} is run by process {row.pid}, which takes no requests; end it there")
        await client.prompts.abort(session_id)
        if background:
            for command in row.background:
                await client.background.stop(command.id)
        return row

    def _client_of(self, row: Running) -> "Client | None":
        """Return the client for a session's folder on the engine that runs it; None when that cannot be reached."""
        by_pid = next((one for one in self._engines if row.is_reachable and one.pid == row.pid), None)
        engine = self._engine_of.get(row.info.id, by_pid)
        if engine is None:
            return None
        return next((one for one in engine.clients if str(one.directory) == row.info.directory), engine.clients[0])

    async def _others(self, known: set[str]) -> list[Running]:
        """Return the sessions whose owner files name a process and that no engine listed. Opens an engine here if there are any.

        That process cannot be reached or was killed, or it is an engine whose run began since it was asked, or has ended: its file
        says when, and until then the session is not among those that ended.
        """
        paths = find_paths(self._environ)
        owners = await asyncio.to_thread(Locks(paths).run_owners)
        left = {session_id: owner for session_id, owner in owners.items() if session_id not in known}
        reachable = {engine.pid for engine in self._engines}
        if not left:
            return []
        rows: dict[str, Running] = {}
        agents = await asyncio.to_thread(list_left_agents, paths)
        async with self._reader() as client:
            for session_id, owner in left.items():
                try:
                    root = await root_of(client, session_id)
                except NotFoundError:  # deleted since
                    continue
                if root.id in known or (root.id in rows and session_id != root.id):
                    continue
                lives = await asyncio.to_thread(is_alive, owner.process)
                doing, said = await _activity(client, root.id)
                kept = [one for one in agents if not lives and await _is_of(client, one.session_id, root.id)]
                rows[root.id] = Running.trusted(
                    info=root,
                    state="works" if lives else "stopped",
                    pid=owner.process.pid,
                    is_reachable=lives and owner.process.pid in reachable,
                    status=BusyStatus() if lives else IdleStatus(),
                    waiting=[],
                    doing=doing,
                    said=said,
                    background=[],
                    totals=await client.sessions.totals(root.id),
                    branch=None,
                    left=[str(paths.tasks / one.name) for one in kept],
                )
        return list(rows.values())

    async def _ended(self, known: set[str]) -> list[Ended]:
        """Return the sessions that ended since the user looked, the newest first. Opens an engine here if there may be any."""
        paths = find_paths(self._environ)
        unseen = await asyncio.to_thread(_unseen, paths)
        found: list[Ended] = []
        if not unseen.keys() - known:
            return found
        async with self._reader() as client:
            for session_id, seen in unseen.items():
                if len(found) == ENDED:
                    break
                if session_id in known:
                    continue
                try:
                    info = await client.sessions.get(session_id)
                except NotFoundError:  # deleted since
                    continue
                if info.parent_id is None and not info.time.archived:
                    found += await _end_of(client, info, seen)
        return sorted(found, key=lambda one: one.at, reverse=True)

    @asynccontextmanager
    async def _reader(self) -> "AsyncGenerator[Client]":
        """Yield a client that reads the records of any session: one that is open, or that of an engine opened for it."""
        if self._engines:
            yield self._engines[0].clients[0]
            return
        async with self._opening() as client:
            yield client


@asynccontextmanager
async def open_inbox(
    environ: Mapping[str, str], opening: Opening, *, own: "Sequence[Client]" = (), waits: Waits | None = None
) -> AsyncGenerator[Inbox]:
    """Yield the inbox, connected to every engine that responds within `PATIENCE_S`; reads the user's data folder only.

    `opening` is used if there is something to read and no engine. `own` are the clients of the folders that the engine of the
    caller has open, if it has one.
    """
    mine = current_process()
    records = [
        record
        for record in await asyncio.to_thread(live_engines, find_paths(environ))
        if not (record.process == mine and any(str(one.directory) == record.folder for one in own))
    ]
    async with AsyncExitStack() as stack:
        found = await asyncio.gather(*(_connect(stack, record, waits) for record in records))
        engines = [engine for engine in found if engine is not None]
        if own:
            engines.insert(0, Engine(mine.pid, own))
        silent = [record.process.pid for record, engine in zip(records, found, strict=True) if engine is None]
        yield Inbox(environ, engines, silent, opening)


async def root_of(client: "Client", session_id: str) -> SessionInfo:
    """Return the session that a subagent's session belongs to, or the session itself. Raises NotFoundError."""
    info = await client.sessions.get(session_id)
    while info.parent_id is not None:
        info = await client.sessions.get(info.parent_id)
    return info


async def _is_of(client: "Client", session_id: str, root_id: str) -> bool:
    """Return whether a session belongs to another one, or is it."""
    try:
        return (await root_of(client, session_id)).id == root_id
    except NotFoundError:
        return False


async def call_of(client: "Client", session_id: str, call: ToolCallRef | None) -> ToolPart | None:
    """Return the tool call that asks; None when it cannot be read."""
    if call is None:
        return None
    try:
        message = await client.messages.get(session_id, call.message_id)
    except OpencodeError:
        return None
    calls = (part for part in message.parts if isinstance(part, ToolPart))
    return next((part for part in calls if part.call_id == call.call_id), None)


async def _connect(stack: AsyncExitStack, record: EngineRecord, waits: Waits | None) -> Engine | None:
    """Return an engine with clients that close with the stack; None when it does not respond."""
    from opencode_tui.client.remote import visit_terminal  # only where a terminal is open

    if not record.socket or is_suspended(record.process.pid):
        return None
    try:
        path = stack.enter_context(short_path(record.socket))
        with reporting(lambda: record.process.pid, waits):
            async with asyncio.timeout(PATIENCE_S):
                client = await stack.enter_async_context(visit_terminal(path, record.secret, Path(record.folder)))
                statuses = await client.prompts.status()
                infos = await asyncio.gather(*map(client.sessions.get, statuses))
        others = sorted({info.directory for info in infos} - {record.folder})
        clients = [
            await stack.enter_async_context(visit_terminal(path, record.secret, Path(folder))) for folder in others
        ]
    except (OpencodeError, OSError, TimeoutError) as error:
        logger.info("%s does not respond: %s", record.process, error)
        return None
    return Engine(record.process.pid, [client, *clients])


def _nothing_asks(request_id: str, closed: Sequence[int] = ()) -> NotFoundError:
    """Return the error for a question that no engine asks; `closed` are processes that run sessions and take no requests."""
    if not closed:
        return NotFoundError(f"nothing asks {request_id}: it was answered, or its run ended; see `opencode-tui ps`")
    named = " or ".join(f"process {pid}" for pid in closed)
    return NotFoundError(
        f"no open terminal asks {request_id}: it was answered, its run ended, or {named} asks it; "
        f"answer it there, because that process takes no requests"
    )


async def _rows_of(engine: Engine) -> list[Running] | None:
    """Return the sessions of one engine that run or wait; None when it has ended since it responded.

    The owner files name its sessions then. The error may not reach the caller's client: it would wait for its own engine to change.
    """
    try:
        return await _running_rows(engine)
    except LinkLostError as error:
        logger.info("the engine of process %s has ended: %s", engine.pid, error)
        return None


async def _running_rows(engine: Engine) -> list[Running]:
    first = engine.clients[0]
    roots: dict[str, SessionInfo] = {}
    waiting: dict[str, list[Waiting]] = {}
    background: dict[str, list[BackgroundCommand]] = {}
    for client in engine.clients:
        for asked in await _asked(client):
            root = await root_of(client, asked.session_id)
            roots[root.id] = root
            call = await call_of(client, asked.session_id, asked.tool)
            kind = "permission" if isinstance(asked, PermissionRequest) else "question"
            waiting.setdefault(root.id, []).append(Waiting.trusted(**{kind: asked}, call=call))
        for command in await client.background.list():
            if command.is_running:
                root = await root_of(client, command.session_id)
                roots[root.id] = root
                background.setdefault(root.id, []).append(command)
    states: dict[str, AnyStatus] = {}
    statuses = await first.prompts.status()  # those of runs that began since the engine responded, too
    for session_id, status in statuses.items():
        root = await root_of(first, session_id)
        roots[root.id] = root
        if root.id == session_id or root.id not in states:
            states[root.id] = status
    branches = {str(client.directory): await client.project.branch() for client in engine.clients}
    rows: list[Running] = []
    for root in roots.values():
        doing, said = await _activity(first, root.id)
        rows.append(
            Running.trusted(
                info=root,
                state=_state(states.get(root.id), waiting.get(root.id, ())),
                pid=engine.pid,
                is_reachable=True,
                status=states.get(root.id, IdleStatus()),
                waiting=waiting.get(root.id, []),
                doing=doing,
                said=said,
                background=background.get(root.id, []),
                totals=await first.sessions.totals(root.id),
                branch=branches.get(root.directory),
            )
        )
    return rows


def _state(status: AnyStatus | None, asked: Sequence[object]) -> State:
    if asked:
        return "asks"
    return "retries" if isinstance(status, RetryStatus) else "works"


async def _asked(client: "Client") -> list[Asked]:
    """Return what waits for the user in a folder, oldest first."""
    permissions, questions = await asyncio.gather(client.permissions.pending(), client.questions.pending())
    return [*permissions, *questions]


async def _done_by(client: "Client", root: SessionInfo, family: Sequence[SessionInfo], since: int) -> Done:
    """Return what a session did since a moment, `family` being itself and its subagents as far as they were used since.

    Of each the newest `_NEWEST` messages are read.
    """
    turns: set[str] = set()
    cost, state = 0.0, end_state(None)
    changes: dict[str, list[FileDiff]] = {}
    for info in family:
        messages = [one.info for one in await client.messages.list(info.id, _NEWEST)]
        steps = [one for one in messages if isinstance(one, AssistantMessage)]
        recent = [one for one in steps if (one.time.completed or one.time.created) > since]
        cost += sum(one.cost for one in recent)
        if info.id == root.id:
            turns = {one.parent_id for one in recent}
            state = end_state(recent[-1].failure if recent else None)
            for one in messages:
                if isinstance(one, UserMessage) and one.id in turns and one.summary is not None:
                    for change in one.summary.diffs:
                        changes.setdefault(change.file, []).append(change)
    every = [change for each in changes.values() for change in each]
    return Done.trusted(
        info=root,
        state=state,
        turns=len(turns),
        files=len(changes),
        additions=sum(one.additions for one in every),
        deletions=sum(one.deletions for one in every),
        cost=cost,
    )


def _unseen(paths: Paths) -> dict[str, int]:
    """Return sessions that may have ended since the user looked, the last one first, with when that was in ms. Blocks."""
    looks = Looks(paths)
    seen = max(looks.at_all(), system_clock() - _LISTED_MS)
    ended = Locks(paths).ended_runs(seen)
    own = {session_id: max(seen, looks.at(session_id)) for session_id in ended}
    return {session_id: own[session_id] for session_id, at in ended.items() if at > own[session_id]}


async def _end_of(client: "Client", info: SessionInfo, seen: int) -> list[Ended]:
    """Return how the last turn of a session ended if that was after a moment in ms; else nothing."""
    for message in await client.messages.list(info.id, 1):
        answer = message.info
        if isinstance(answer, AssistantMessage) and (at := answer.time.completed or 0) > seen:
            error = answer.shown_error
            state = end_state(error)
            texts = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
            said = "" if state == "failed" else _last_line(texts)
            if error is not None and not said:
                said = describe_stored(error, answer.provider_id, answer.model_id)
            cost = await client.sessions.cost(info.id)
            return [Ended.trusted(info=info, state=state, at=at, said=said[:SAID], cost=cost)]
    return []


async def _activity(client: "Client", session_id: str) -> tuple[ToolPart | None, str]:
    """Return what the newest message of a session does: the call that runs, else the last line of its text."""
    for message in await client.messages.list(session_id, 1):
        for part in reversed(message.parts):
            match part:
                case ToolPart() if part.state.status in ("pending", "running"):
                    return part, ""
                case TextPart() if line := _last_line(part.text):
                    return None, line[:SAID]
                case _:
                    pass
    return None, ""


def _last_line(text: str) -> str:
    """Return the last line with a letter or a digit, which a code fence alone has not; empty if there is none."""
    return next((line.strip() for line in reversed(text.splitlines()) if any(map(str.isalnum, line))), "")


async def _agent_of(client: "Client", asked: Asked) -> str:
    """Return the agent that asks; empty when its message cannot be read."""
    if asked.tool is None:
        return ""
    try:
        info = (await client.messages.get(asked.session_id, asked.tool.message_id)).info
    except OpencodeError:
        return ""
    return (info.agent or info.mode) if isinstance(info, AssistantMessage) else ""
