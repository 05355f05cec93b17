"""What runs, and what waits for the user, in all folders of this data folder.

Two sources: the engines of terminals, which answer over their sockets, and the owner files of sessions, which also name a process
that cannot be reached (`run`, `serve`, an editor's) or was killed. Subagents are part of the session that started them.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.client.shared import PATIENCE_S
from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.api.inbox import ORDER, Asked, Running, State
from opencode_tui.schema.error import NotFoundError, OpencodeError
from opencode_tui.schema.permission import ToolCallRef
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.session import AnyStatus, BusyStatus, IdleStatus, RetryStatus, SessionInfo
from opencode_tui.storage.engine_claim import EngineRecord, live_engines, short_path
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.process_identity import is_alive, is_suspended

if TYPE_CHECKING:
    from opencode_tui.client.client import Client
    from opencode_tui.client.remote import RemoteClient

logger = logging.getLogger(__name__)


class Engine(Struct, frozen=True):
    """An engine that responds: its record, and its client for each folder in which it has sessions at work, its own first."""

    record: EngineRecord
    clients: Sequence["RemoteClient"]
    statuses: Mapping[str, AnyStatus]


class Inbox:
    """The engines of all folders that respond; opened by `open_inbox`."""

    def __init__(self, environ: Mapping[str, str], engines: Sequence[Engine], silent: Sequence[EngineRecord]) -> None:
        self._environ = environ
        self._engines = engines
        self.silent = silent

    async def read(self) -> list[Running]:
        """Return what runs, waits or was stopped: what needs the user first, then the newest. Raises StorageError."""
        found = [row for rows in await asyncio.gather(*map(_rows_of, self._engines)) for row in rows]
        found += await self._others({row.info.id for row in found})
        return sorted(found, key=lambda row: (ORDER.index(row.state), -row.info.time.updated))

    async def find(self, request_id: str) -> "tuple[RemoteClient, Asked]":
        """Return a question that waits, with the client to answer it. Raises NotFoundError when it was answered, or never was."""
        for engine in self._engines:
            for client in engine.clients:
                for asked in await _asked(client):
                    if asked.id == request_id:
                        return client, asked
        raise NotFoundError(f"nothing asks {request_id}: it was answered, or its run ended; see `opencode-tui ps`")

    async def client_of(self, row: Running) -> "RemoteClient | None":
        """Return the client for a session's folder on the engine that runs it; None when that cannot be reached."""
        for engine in self._engines:
            if row.is_reachable and engine.record.process.pid == row.pid:
                return next(
                    (one for one in engine.clients if str(one.directory) == row.info.directory), engine.clients[0]
                )
        return None

    async def _others(self, known: set[str]) -> list[Running]:
        """Return the sessions of processes that cannot be reached or were killed. Opens an engine here if there are any."""
        owners = await asyncio.to_thread(Locks(find_paths(self._environ)).run_owners)
        theirs = {one for engine in self._engines for one in engine.statuses}
        reachable = {
            engine.record.process.pid for engine in self._engines
        }  # it may have begun after the look at its engine
        left = {session_id: owner for session_id, owner in owners.items() if session_id not in known | theirs}
        if not left:
            return []
        from opencode_tui.client.local import open_client  # only here: slow

        rows: dict[str, Running] = {}
        async with open_client(self._environ, Path.cwd()) as client:
            for session_id, owner in left.items():
                try:
                    root = await root_of(client, session_id)
                except NotFoundError:  # deleted since
                    continue
                if root.id in known or (root.id in rows and session_id != root.id):
                    continue
                lives = await asyncio.to_thread(is_alive, owner.process)
                rows[root.id] = Running(
                    info=root,
                    state="works" if lives else "stopped",
                    pid=owner.process.pid,
                    is_reachable=lives and owner.process.pid in reachable,
                    status=BusyStatus() if lives else IdleStatus(),
                    asked=(),
                    last=await _last(client, root.id),
                    background=(),
                    totals=await client.sessions.totals(root.id),
                    branch=None,
                )
        return list(rows.values())


@asynccontextmanager
async def open_inbox(environ: Mapping[str, str]) -> AsyncGenerator[Inbox]:
    """Yield the inbox, connected to every engine that responds; reads the user's data folder only."""
    records = await asyncio.to_thread(live_engines, find_paths(environ))
    async with AsyncExitStack() as stack:
        found = await asyncio.gather(*(_connect(stack, record) for record in records))
        silent = [record for record, engine in zip(records, found, strict=True) if engine is None]
        yield Inbox(environ, [engine for engine in found if engine is not None], silent)


async def root_of(client: "Client", session_id: str) -> SessionInfo:
    """Return the session that a subagent's session belongs to, or the session itself. Raises NotFoundError."""
    info = await client.sessions.get(session_id)
    while info.parent_id is not None:
        info = await client.sessions.get(info.parent_id)
    return info


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


async def _connect(stack: AsyncExitStack, record: EngineRecord) -> Engine | None:
    """Return an engine with clients that close with the stack; None when it does not respond."""
    from opencode_tui.client.remote import visit_terminal  # only where a terminal is open

    if not record.socket or is_suspended(record.process.pid):
        return None
    try:
        path = stack.enter_context(short_path(record.socket))
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
    return Engine(record, [client, *clients], statuses)


async def _rows_of(engine: Engine) -> list[Running]:
    """Return the sessions of one engine that run or wait."""
    first = engine.clients[0]
    roots: dict[str, SessionInfo] = {}
    states: dict[str, AnyStatus] = {}
    for session_id, status in engine.statuses.items():
        root = await root_of(first, session_id)
        roots[root.id] = root
        if root.id == session_id or root.id not in states:
            states[root.id] = status
    waiting: dict[str, list[tuple[Asked, ToolPart | None]]] = {}
    background: dict[str, list[BackgroundCommand]] = {}
    for client in engine.clients:
        for asked in await _asked(client):
            root = await root_of(client, asked.session_id)
            roots[root.id] = root
            waiting.setdefault(root.id, []).append((asked, await call_of(client, asked.session_id, asked.tool)))
        for command in await client.background.list():
            if command.is_running:
                root = await root_of(client, command.session_id)
                roots[root.id] = root
                background.setdefault(root.id, []).append(command)
    branches = {str(client.directory): await client.project.branch() for client in engine.clients}
    return [
        Running(
            info=root,
            state=_state(states.get(root.id), waiting.get(root.id, ())),
            pid=engine.record.process.pid,
            is_reachable=True,
            status=states.get(root.id, IdleStatus()),
            asked=waiting.get(root.id, ()),
            last=await _last(first, root.id),
            background=background.get(root.id, ()),
            totals=await first.sessions.totals(root.id),
            branch=branches.get(root.directory),
        )
        for root in roots.values()
    ]


def _state(status: AnyStatus | None, asked: Sequence[object]) -> State:
    if asked:
        return "asks"
    return "retries" if isinstance(status, RetryStatus) else "works"


async def _asked(client: "Client") -> list[Asked]:
    """Return what waits for the user in a folder, oldest first."""
    permissions, questions = await asyncio.gather(client.permissions.pending(), client.questions.pending())
    return [*permissions, *questions]


async def _last(client: "Client", session_id: str) -> MessageWithParts | None:
    messages = await client.messages.list(session_id, 1)
    return messages[-1] if messages else None
