"""The shared sessions of a folder: creates and removes shares, and sends what changes, gathered for a second.

A run never waits for a server: events are collected, and redacted, encoded and sent later. A server that cannot be reached is tried
again, less and less often; what changed meanwhile is sent then. The secret is in the share's record only, never in the session.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from msgspec import Struct

from opencode_tui.bus import Bus, Subscription
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.share.queue import FindModels, Pending
from opencode_tui.engine.share.record import KnownServers, ShareRecord
from opencode_tui.engine.share.server import ShareServer, ShareServerError, encode_items
from opencode_tui.redaction.session import Redactor
from opencode_tui.schema.api.share import ShareStatus
from opencode_tui.schema.error import NotFoundError, OpencodeError, SessionError, StorageError
from opencode_tui.schema.event.event import (
    BusLagged,
    Event,
    SessionCreated,
    SessionDeleted,
    SessionUpdated,
    session_of,
)
from opencode_tui.schema.record import ValidationError
from opencode_tui.schema.session.session import SessionInfo, SessionShare
from opencode_tui.storage.storage import Storage

logger = logging.getLogger(__name__)

GATHER_S = 1.0
"""Seconds for which changes are gathered. Source: docs/internals/http.md#share-servers."""

MAX_WAIT_S = 60.0
"""Most seconds between two attempts to reach a server."""

CLOSE_S = 3.0
"""Seconds that the last changes may take when the folder is closed; what is not sent then is sent the next time."""

BATCH_BYTES = 4_000_000
"""Bytes of one request, about."""

_KIND = "share"


class ShareRules(Struct, frozen=True):
    """What the settings say: the server's address, and whether sessions are shared when asked for, always, or never."""

    server: str | None
    mode: str

    @property
    def obstacle(self) -> str | None:
        """Why nothing can be shared, with the remedy; None when it can."""
        if self.mode == "disabled":
            return 'sharing is disabled by the setting "share" or OPENCODE_DISABLE_SHARE'
        if self.server is None:
            return (
                "no share server is set; set enterprise.url to one that you trust (`opencode-tui share serve` is one), "
                "or write a page with /export or `opencode-tui export --html FILE`"
            )
        return None


@dataclass(slots=True)
class _Shared:
    """A shared session while the folder is open. `sending` is held by the one that sends."""

    record: ShareRecord
    pending: Pending = field(default_factory=Pending)
    task: "asyncio.Task[None] | None" = None
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)


class Shares:
    """Shares of the sessions of one folder. Call all methods on the event loop of the engine."""

    def __init__(
        self,
        *,
        rules: ShareRules,
        store: SessionStore,
        storage: Storage,
        known: KnownServers,
        new_redactor: Callable[[], Redactor],
        find_models: FindModels,
    ) -> None:
        self._rules = rules
        self._store = store
        self._storage = storage
        self._known = known
        self._new_redactor = new_redactor
        self._find_models = find_models
        self._servers: dict[str, ShareServer] = {}
        self._shared: dict[str, _Shared | None] = {}
        self._events: Subscription | None = None
        self._following: asyncio.Task[None] | None = None
        self._creating: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def status(self) -> ShareStatus:
        """Return where sessions can be shared from here."""
        server, obstacle = self._rules.server, self._rules.obstacle
        is_known = server is not None and await asyncio.to_thread(self._known.has, server)
        return ShareStatus(server=server, obstacle=obstacle, is_known=is_known)

    async def share(self, session_id: str) -> SessionInfo:
        """Share a session and return its record with the address; one that is shared already stays as it is.

        Raises NotFoundError, SessionError when sharing is off, ShareServerError.
        """
        info = await self._store.get(session_id)
        if self._rules.obstacle is not None or self._rules.server is None:
            raise SessionError(self._rules.obstacle or "no share server is set")
        async with self._creating.setdefault(session_id, asyncio.Lock()):
            shared = await self._find(session_id)
            if shared is None:
                record = await self._server(self._rules.server).create(session_id)
                await self._write(session_id, record.changed(behind=True), durable=True)
                shared = self._shared[session_id] = _Shared(record.changed(behind=True))
            elif shared.record.ended:
                shared.record = shared.record.changed(ended=None, behind=True)
                await self._write(session_id, shared.record)
            url = shared.record.url
            if info.share is None or info.share.to_dict() != {"url": url}:
                info = await self._store.update(
                    session_id, lambda one: one.changed(share=SessionShare(url=url)), touch=False
                )
            await asyncio.to_thread(self._known.add, shared.record.server)
            await self._add_everything(session_id, shared, info)
            await self._send(session_id, shared)
        return info

    async def unshare(self, session_id: str) -> SessionInfo:
        """Remove a session from its server and return its record. Raises NotFoundError, SessionError.

        When the server cannot be reached nothing is sent to it any more, and the secret stays for another attempt.
        """
        info = await self._store.get(session_id)
        shared = await self._find(session_id)
        if shared is None:
            return await self._clear(session_id) if info.share is not None else info
        shared.record = shared.record.changed(ended=True)
        if shared.task is not None:
            shared.task.cancel()
        await self._write(session_id, shared.record)
        async with shared.sending:
            shared.pending = Pending()
        try:
            await self._server(shared.record.server).remove(shared.record)
        except ShareServerError as error:
            raise SessionError(
                f"{error}; nothing is sent there any more, but {shared.record.url} still shows the session: unshare it again later"
            ) from error
        return await self._clear(session_id)

    async def record_of(self, session_id: str) -> ShareRecord | None:
        """Return the share of a session, to end it after the session is deleted; None for one that is not shared."""
        shared = await self._find(session_id)
        return None if shared is None else shared.record

    def end(self, record: ShareRecord) -> None:
        """Remove the share of a deleted session in the background; a failure is logged."""

        async def work() -> None:
            try:
                await self._server(record.server).remove(record)
            except ShareServerError as error:
                logger.warning("a deleted session stays visible at %s: %s", record.url, error)

        self._start(work())

    def follow(self, bus: Bus, directory: str) -> None:
        """Keep the shared sessions of a folder up to date from now on, if it has a server."""
        if self._rules.obstacle is None and self._events is None:
            self._events = bus.subscribe(directory)
            self._following = asyncio.create_task(self._follow(self._events), name="shares")
            self._start(self._resume(directory))

    async def close(self) -> None:
        """Send the last changes, for a few seconds at most, and close the connections."""
        if self._events is not None and self._following is not None:
            self._events.close()
            await asyncio.wait({self._following}, timeout=CLOSE_S)
            self._following.cancel()
        try:
            async with asyncio.timeout(CLOSE_S):
                for task in tuple(self._tasks):
                    await asyncio.wait({task})
                for session_id, shared in tuple(self._shared.items()):
                    if shared is not None and not shared.record.ended:
                        await self._finish(session_id, shared)
        except TimeoutError:
            logger.warning("the share server is slow; what it did not get is sent the next time")
        for task in (*self._tasks, *(one.task for one in self._shared.values() if one is not None and one.task)):
            task.cancel()
        for server in self._servers.values():
            await server.close()

    async def _follow(self, events: Subscription) -> None:
        async for envelope in events:
            event = envelope.event
            try:
                await self._apply(event)
            except OpencodeError as error:
                logger.warning("a change was not noticed for sharing: %s", error)

    async def _apply(self, event: Event) -> None:
        match event:
            case BusLagged():
                for session_id, shared in tuple(self._shared.items()):
                    if shared is not None:
                        await self._catch_up(session_id, shared)
                return
            case SessionCreated() if self._rules.mode == "auto" and event.info.parent_id is None:
                self._start(self._share_new(event.info.id))
                return
            case SessionDeleted():
                self._shared.pop(event.info.id, None)
                return
            case SessionUpdated() if event.info.share is not None and self._shared.get(event.info.id, 0) is None:
                del self._shared[event.info.id]  # another process has shared it
            case _:
                pass
        session_id = session_of(event)
        if not session_id:
            return
        shared = self._shared[session_id] if session_id in self._shared else await self._find(session_id)
        if shared is not None and not shared.record.ended and shared.pending.put(event):
            self._schedule(session_id, shared)

    async def _share_new(self, session_id: str) -> None:
        try:
            await self.share(session_id)
        except OpencodeError as error:
            logger.warning("the session %s is not shared: %s", session_id, error)

    async def _resume(self, directory: str) -> None:
        """Send what an earlier process could not send."""
        try:
            keys = await self._storage.list((_KIND,))
        except StorageError as error:
            logger.warning("shared sessions cannot be listed: %s", error)
            return
        for key in keys:
            try:
                shared = await self._find(key[-1])
            except OpencodeError as error:
                logger.warning("the share of the session %s cannot be read: %s", key[-1], error)
                continue
            if shared is not None and shared.record.behind and not shared.record.ended:
                await self._catch_up(key[-1], shared, directory)

    async def _catch_up(self, session_id: str, shared: _Shared, directory: str | None = None) -> None:
        """Schedule all of a session, if it is one of the folder; a failure is logged."""
        try:
            info = await self._store.get(session_id)
            if directory is None or info.directory == directory:
                await self._add_everything(session_id, shared, info)
                self._schedule(session_id, shared)
        except OpencodeError as error:
            logger.warning("the shared session %s is not brought up to date: %s", session_id, error)

    async def _find(self, session_id: str) -> _Shared | None:
        if session_id not in self._shared:
            record = await self._read(session_id)
            if session_id not in self._shared:  # another task may have been faster
                self._shared[session_id] = None if record is None else _Shared(record)
        return self._shared[session_id]

    async def _read(self, session_id: str) -> ShareRecord | None:
        try:
            return ShareRecord.model_validate_json(await self._storage.read((_KIND, session_id)))
        except (
            NotFoundError,
            ValidationError,
        ):  # an older program's record has no server: it cannot be kept up to date
            return None

    async def _write(self, session_id: str, record: ShareRecord, *, durable: bool = False) -> None:
        await self._storage.write((_KIND, session_id), record.to_json(), durable=durable)

    async def _clear(self, session_id: str) -> SessionInfo:
        """Delete what is stored about a share; return the session's record without it."""
        self._shared[session_id] = None
        info = await self._store.update(session_id, lambda one: one.changed(share=None), touch=False)
        await self._storage.remove((_KIND, session_id))
        return info

    async def _add_everything(self, session_id: str, shared: _Shared, info: SessionInfo) -> None:
        messages, diff = await self._store.messages(session_id), await self._store.diff(session_id)
        whole = Pending.everything(info, messages, diff)
        shared.pending.restore(whole)

    def _schedule(self, session_id: str, shared: _Shared) -> None:
        if shared.task is None or shared.task.done():
            shared.task = asyncio.create_task(self._send_later(session_id, shared), name=f"share {session_id}")

    async def _send_later(self, session_id: str, shared: _Shared) -> None:
        """Send until nothing is left; wait longer after each failure."""
        wait = GATHER_S
        while shared.pending and not shared.record.ended:
            if not shared.record.behind:
                shared.record = shared.record.changed(behind=True)
                self._storage.write_behind((_KIND, session_id), lambda: shared.record.to_json())
            await asyncio.sleep(wait)
            try:
                await self._send(session_id, shared)
                wait = GATHER_S
            except ShareServerError as error:
                if error.is_gone or error.is_final:
                    return
                wait = min(MAX_WAIT_S, wait * 2)
                logger.info("%s; trying again in %.0f s", error, wait)
            except OpencodeError as error:
                logger.warning("the shared session %s is not up to date: %s", session_id, error)
                return

    async def _send(self, session_id: str, shared: _Shared) -> None:
        """Send what is pending. Raises ShareServerError; then it is pending again, unless trying again cannot help."""
        async with shared.sending:
            pending, shared.pending = shared.pending, Pending()
            if not pending or shared.record.ended:
                return
            try:
                batches = await asyncio.to_thread(self._encode, pending, removes=bool(shared.record.removes))
                for batch in batches:
                    await self._server(shared.record.server).sync(shared.record, batch)
            except ShareServerError as error:
                if error.is_gone:
                    logger.warning("%s has no share of %s any more", shared.record.server, session_id)
                    await self._clear(session_id)
                elif error.is_final:
                    shared.record = shared.record.changed(ended=True)
                    await self._write(session_id, shared.record)
                    logger.warning("the shared session %s is not kept up to date any more: %s", session_id, error)
                else:
                    shared.pending.restore(pending)
                raise
            except BaseException:
                shared.pending.restore(pending)
                raise

    def _encode(self, pending: Pending, *, removes: bool) -> list[bytes]:
        items = pending.items(self._new_redactor(), self._find_models, removes=removes)
        return encode_items(items, limit=BATCH_BYTES)

    async def _finish(self, session_id: str, shared: _Shared) -> None:
        """Send the rest without waiting, and record that everything was sent."""
        try:
            if shared.pending or shared.sending.locked():
                await self._send(session_id, shared)
        except OpencodeError as error:
            logger.warning("the rest of the shared session %s is sent the next time: %s", session_id, error)
            return
        if shared.record.behind and not shared.pending and self._shared.get(session_id) is shared:
            shared.record = shared.record.changed(behind=None)
            await self._write(session_id, shared.record)

    def _server(self, base: str) -> ShareServer:
        return self._servers.setdefault(base, ShareServer(base))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
