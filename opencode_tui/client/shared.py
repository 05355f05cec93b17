"""One engine for all terminals in one folder: the first has it in a thread, the others use it over a Unix socket.

A terminal that finds no engine opens one; which of several does so is decided by a lock (`EngineClaim`), which the system releases
when the holder dies. Then each of the rest decides again: exactly one gets the lock and opens an engine, the others connect to it.
The screen does not change for that: its client stays, calls wait for the next engine, and `BusLagged` makes readers read again.

A terminal may leave its engine (`detach`, `stay`): the process, with all that runs in it, goes on without a screen, and the others
find it as before. The engine is never moved to another process: a response that streams, a command, a question, an MCP server and a
prompt in the queue exist in one process only, and a record of them could not bring all of them back.

Shared is what has the same store, folder, version, settings of the environment and API keys. The engine of another terminal is
waited for while its process is alive: its question can be answered nowhere else. One that does not respond for `WAIT_S` ends an
opening with an error that names the process and what to do, and a call likewise; a screen that has had an engine says that once,
stays open and waits on. Nothing is used of an engine that may still work. Only beside one that is suspended, or has no socket, this
terminal opens an engine of its own, and the locks of sessions keep them apart.
"""

import asyncio
import importlib
import logging
import secrets
import socket
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from opencode_tui.cancellation import acquired_on_thread, on_thread_for
from opencode_tui.client.client import Client, EventReader
from opencode_tui.client.join import (
    SUSPENDED_S,
    Waits,
    engine_key,
    is_reachable,
    no_answer_words,
    patience_with,
    reporting,
)
from opencode_tui.config.flags import read_flags
from opencode_tui.schema.error import LinkLostError, OpencodeError, StorageError
from opencode_tui.schema.event.event import BusLagged, Envelope, Event, SessionStatusChanged
from opencode_tui.schema.event.folder_event import BackgroundUpdated
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.storage.engine_claim import (
    PATIENCE_S,
    WAIT_S,
    EngineClaim,
    EngineRecord,
    open_terminal_socket,
    short_path,
)
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.process_identity import current_process, is_suspended

if TYPE_CHECKING:
    from opencode_tui.client.local import LocalClients
    from opencode_tui.client.remote import RemoteClient
    from opencode_tui.client.thread import EngineThread

logger = logging.getLogger(__name__)

Serve = Callable[
    ["LocalClients", socket.socket, str, Callable[[], None]], AbstractAsyncContextManager[Callable[[], int]]
]
"""Serves clients on a listening Unix socket that asks for a secret; yields a function that counts those that are connected.

The last argument is called, in the loop of the engine, when their number has changed.
"""

_LOOK_S = 0.03
"""Seconds between two looks for the engine of another terminal."""

_WARM_S = 2.0
"""Seconds after which a terminal without an engine imports it, so that it can continue soon when the other one ends."""

_AGAIN_S = 1.0
"""Seconds after which a lost request is sent again to an engine whose events still arrive."""

_WATCH_S = 1.0
"""Seconds between two looks whether the process with the engine is suspended."""

_RECORD_S = 1.0
"""Seconds that a suspension and the end of an engine wait for the disk to write or remove the record of the claim."""


class _Facet:
    """Calls the methods of one facet of the present engine; waits for the next one in between."""

    def __init__(self, shared: "SharedClient", name: str) -> None:
        self._shared = shared
        self._name = name

    def __getattr__(self, method: str) -> Any:
        """Return the method; called for one that is not kept yet."""
        if method.startswith("_"):
            raise AttributeError(method)

        async def call(*args: Any, **kwargs: Any) -> Any:
            ends_at: float | None = None
            lost: LinkLostError | None = None
            client = self._shared.present
            while True:
                if client is None or lost is not None:
                    if ends_at is None:
                        ends_at = asyncio.get_running_loop().time() + WAIT_S
                    client = await self._shared.replacement(client, lost, ends_at)
                try:
                    return await getattr(getattr(client, self._name), method)(*args, **kwargs)
                except LinkLostError as error:
                    if not error.is_repeatable:
                        raise
                    lost = error

        self.__dict__[method] = call
        return call


class _Events:
    """The events of the present engine, and then of the next one."""

    def __init__(self, reader: EventReader, first: Sequence[Event], closed: Callable[["_Events"], None]) -> None:
        self._reader = reader
        self._own = deque(Envelope("", event) for event in first)
        self._was_replaced = asyncio.Event()
        self._is_closed = False
        self._closed = closed

    def replace(self, reader: EventReader, reason: str) -> None:
        """Read from another reader from now on."""
        old, self._reader = self._reader, reader
        self._own.append(Envelope("", BusLagged(reason)))
        self._was_replaced.set()
        old.__exit__(None, None, None)

    def __enter__(self) -> "_Events":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        self._reader.__exit__(kind, error, trace)
        self._closed(self)

    def __aiter__(self) -> AsyncIterator[Envelope]:
        return self

    async def __anext__(self) -> Envelope:
        while True:
            if self._own:
                return self._own.popleft()
            self._was_replaced.clear()
            try:
                return await anext(self._reader)
            except StopAsyncIteration:
                if self._is_closed:
                    raise
                await self._was_replaced.wait()

    def report(self, event: Event) -> None:
        """Read this event, and nothing more of the engine that is gone."""
        self._own.append(Envelope("", event))
        self._was_replaced.set()
        self._reader.__exit__(None, None, None)

    def poll(self) -> Envelope | None:
        """Return the next event if one is waiting."""
        return self._own.popleft() if self._own else self._reader.poll()


class SharedClient:
    """The client of a folder whose engine this terminal shares with others; opened by `open_shared`."""

    def __init__(self, environ: Mapping[str, str], directory: Path, serve: Serve, waits: Waits | None = None) -> None:
        self._environ = environ
        self._serve = serve
        self._waits = waits
        self._paths = find_paths(environ)
        self._claim: EngineClaim | None = None
        self._is_holder = False
        self._thread: EngineThread | None = None
        self._current: Client | None = None
        self._previous: EngineRecord | None = None
        self._changed = asyncio.Event()
        self._leave = asyncio.Event()
        self._limit: asyncio.Timeout | None = None
        """Ends the opening of an engine."""
        self._failure: OpencodeError | None = None
        self._count: Callable[[], int] | None = None
        self._record: EngineRecord | None = None
        self._clients: LocalClients | None = None
        self._news = asyncio.Event()
        """Set in the loop of the engine, which is the only one to use it: what keeps the engine may have changed."""
        self._readers: list[_Events] = []
        self._reason = ""
        self._directory = directory
        for name in Client.__annotations__:
            setattr(self, name, _Facet(self, name))

    @property
    def directory(self) -> Path:
        """Return the folder."""
        return self._directory

    @property
    def present(self) -> Client | None:
        """Return the client of the present engine; None while there is none."""
        return self._current

    @property
    def ends_runs(self) -> bool:
        """Return whether the end of this process ends the runs."""
        return self._thread is not None

    @property
    def terminals(self) -> int:
        """Return how many other terminals use the engine of this process."""
        return 0 if self._count is None else self._count()

    @property
    def can_detach(self) -> bool:
        """Return whether the engine of this process can continue without a terminal, where others reach it."""
        return self._thread is not None and self._record is not None

    def detach(self) -> None:
        """Let what runs, and the calls that wait for it, continue when the screen of this process ends; `stay` follows."""
        if self._thread is not None:
            self._thread.leave_calls(self._news.set)

    async def leave_terminal(self, leaving: Callable[[], object]) -> None:
        """Call `leaving`, which may suspend this process; other terminals wait for it until then."""
        await self._publish(is_leaving=True)
        leaving()

    async def _publish(self, *, is_detached: bool = False, is_leaving: bool = False) -> None:
        if self._claim is None or self._record is None:
            return
        self._record = replace(self._record, is_detached=is_detached, is_leaving=is_leaving)
        try:
            await on_thread_for(partial(self._claim.publish, self._record), _RECORD_S)
        except StorageError as error:
            logger.warning("other terminals do not learn that this engine has no screen: %s", error)

    async def stay(self, rest_s: float) -> None:
        """Return when the engine of this process has ended, or nothing has needed it for `rest_s` seconds.

        What needs it: a run, a command in the background, a terminal or editor that is connected, a call that `detach` has left.
        """
        thread, clients = self._thread, self._clients
        if thread is None or clients is None or self._claim is None or self._record is None:
            return
        await self._publish(is_detached=True)
        resting = asyncio.create_task(thread.coroutine(self._wait_for_rest)(thread, clients, rest_s))
        try:
            await asyncio.wait({resting, thread.ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            resting.cancel()

    async def _wait_for_rest(self, thread: "EngineThread", clients: "LocalClients", rest_s: float) -> None:
        """Return, in the loop of the engine, when nothing has needed it for `rest_s` seconds. At rest nothing wakes it earlier."""
        with clients.events() as events:
            following = asyncio.create_task(self._follow(events), name="what keeps the engine")
            try:
                while True:
                    self._news.clear()
                    is_needed = thread.has_left_calls or clients.is_working or self.terminals > 0
                    try:
                        async with asyncio.timeout(None if is_needed else rest_s):
                            await self._news.wait()
                    except TimeoutError:
                        return
            finally:
                following.cancel()

    async def _follow(self, events: EventReader) -> None:
        async for envelope in events:
            if isinstance(envelope.event, SessionStatusChanged | BackgroundUpdated | BusLagged):
                self._news.set()

    def events(self) -> EventReader:
        """Return a reader of the folder's events from now on."""
        assert self._current is not None
        first = [ScreenToastShown.model_validate({"message": self._reason, "variant": "info"})] if self._reason else []
        reader = _Events(self._current.events(), first, self._readers.remove)
        self._reason = ""
        self._readers.append(reader)
        return reader

    async def reopen(self) -> None:
        """Make the engine open the folder again."""
        ends_at = asyncio.get_running_loop().time() + WAIT_S
        await (self.present or await self.replacement(None, None, ends_at)).reopen()

    async def after(self, client: Client | None) -> Client:
        """Return the client of the present engine; wait for the one after `client`. Raises the error that prevented opening."""
        while self._current is None or self._current is client:
            if self._failure is not None:
                raise self._failure
            self._changed.clear()
            await self._changed.wait()
        return self._current

    async def replacement(self, client: Client | None, lost: LinkLostError | None, ends_at: float) -> Client:
        """Return the client of the engine after that of `client`, whose call was lost if there was one.

        It is the same one if its events still arrive: then only that request was lost.
        Raises LinkLostError, from `lost`, when there is none before the time `ends_at` of the event loop.
        """
        loop = asyncio.get_running_loop()
        while (now := loop.time()) < ends_at:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(ends_at, now + _AGAIN_S)):
                    return await self.after(client)
            if client is not None and self.present is client:
                return client
        raise LinkLostError(await self._late_words()) from lost

    async def _late_words(self) -> str:
        """Return what has kept this terminal without an engine for `WAIT_S`, and what to do."""
        if self._claim is None or self._is_holder:  # no one else is waited for
            return (
                f"this process did not open the engine of {self.directory} within {WAIT_S:.0f} s; "
                "try again, or quit and start opencode-tui again"
            )
        return no_answer_words(self.directory, await asyncio.to_thread(self._claim.holder))

    def leave(self) -> None:
        """Make `keep` end, also while it waits for the engine of another terminal, or for a disk that hangs."""
        self._leave.set()
        if self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time())

    async def keep(self) -> None:
        """Have an engine, or use that of another terminal, until `leave`; raises the error that kept the first from opening."""
        leaving = asyncio.create_task(self._leave.wait())
        self._directory = await asyncio.to_thread(self._directory.resolve)
        if not read_flags(self._environ).is_shared_engine_disabled and hasattr(socket, "AF_UNIX"):
            self._claim = EngineClaim(self._paths, engine_key(self._paths, self.directory, self._environ))
        while not self._leave.is_set():
            async with AsyncExitStack() as stack:
                try:
                    async with asyncio.timeout(None) as self._limit:
                        ended = await self._open(stack)
                except Exception as error:
                    if self._leave.is_set():
                        logger.info("the opening of an engine has ended with its terminal: %r", error)
                        break
                    if self._previous is None:  # the first one
                        raise
                    logger.exception("no engine can be opened")
                    self._fail(error)
                    ended = leaving
                finally:
                    self._limit = None
                await asyncio.wait({ended, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if self._thread is not None and not self._leave.is_set():  # it has failed: its calls say so from now on
                    await self._release()
                    await leaving
                elif not self._leave.is_set():
                    self._current = None
        leaving.cancel()

    async def _open(self, stack: AsyncExitStack) -> "asyncio.Future[Any]":
        """Open an engine or a connection and return what is done when it has ended."""
        claim = self._claim
        if claim is not None:
            try:
                if not await self._acquire(claim):
                    with reporting(claim.holder, self._waits):
                        ended = await self._reach(stack, claim)
                    if ended is not None:
                        return ended
                if self._is_holder:
                    return await self._open_own(stack, claim)
            except StorageError as error:  # such as a store that can only be read
                logger.warning("the engine is not shared: %s", error)
        return await self._open_own(stack, None)

    async def _acquire(self, claim: EngineClaim) -> bool:
        """Acquire the claim if no process has it, on a thread, which the disk may hold; return whether it is ours."""
        self._is_holder = await acquired_on_thread(
            claim.try_acquire, lambda is_ours: claim.release() if is_ours else None
        )
        return self._is_holder

    async def _reach(self, stack: AsyncExitStack, claim: EngineClaim) -> "asyncio.Future[Any] | None":
        """Connect to the engine of another terminal; None when this one has the claim now, or is to open an engine of its own.

        Raises OpencodeError when a process that is alive has not responded for `WAIT_S`, and no engine was used before.
        """
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + WAIT_S
        unreachable_from: float | None = None
        is_said = False
        while True:
            record = claim.read()
            if record is not None and (ended := await self._connect(stack, record)) is not None:
                return ended
            if record is None or is_reachable(record):
                unreachable_from = None
            elif unreachable_from is None:
                unreachable_from = loop.time()
            elif loop.time() - unreachable_from > patience_with(record):
                why = "is suspended" if is_suspended(record.process.pid) else "does not respond"
                self._reason = f"Process {record.process.pid} has this folder open and {why}: not shared live."
                self._claim = None
                return None
            if loop.time() >= ends_at and not is_said:
                late = await self._late_words()
                if self._previous is None:
                    raise OpencodeError(late)
                logger.warning("%s", late)  # a screen that has had an engine keeps waiting
                for reader in self._readers:
                    reader.report(ScreenToastShown.model_validate({"message": late, "variant": "error"}))
                is_said = True
            await asyncio.sleep(_LOOK_S)
            if await self._acquire(claim):
                return None

    async def _connect(self, stack: AsyncExitStack, record: EngineRecord) -> "asyncio.Future[Any] | None":
        """Connect to the engine of another terminal; None when it does not respond."""
        if not is_reachable(record):
            return None
        from opencode_tui.client.remote import open_terminal  # only for a second terminal

        try:
            async with AsyncExitStack() as opened, asyncio.timeout(PATIENCE_S):
                path = opened.enter_context(short_path(record.socket))
                client, reading = await opened.enter_async_context(open_terminal(path, record.secret, self.directory))
                stack.push_async_exit(opened.pop_all())
        except (OpencodeError, OSError, TimeoutError) as error:
            logger.info("%s does not respond: %s", record.process, error)
            return None
        if self._previous is None:
            other = "the engine in the background" if record.is_detached else "another terminal"
            self._reason = f"Shared live with {other} (process {record.process.pid})."
        elif self._previous != record:
            self._reason = f"The other terminal closed. Now shared with process {record.process.pid}."
        self._previous = record
        for work in (_warm(), _watch(record.process.pid, client)):
            stack.callback(asyncio.create_task(work).cancel)
        self._use(client)
        return reading

    async def _open_own(self, stack: AsyncExitStack, claim: EngineClaim | None) -> "asyncio.Future[Any]":
        module = await asyncio.to_thread(importlib.import_module, "opencode_tui.client.thread")
        thread: EngineThread = module.EngineThread()

        async def close() -> None:
            self._count, self._thread, self._record, self._clients = None, None, None, None
            try:
                await thread.close()
            finally:
                if thread.has_ended:
                    await self._release()
                elif self._is_holder and self._claim is not None:  # this process may live for long after that engine
                    self._is_holder = False
                    thread.when_ended(self._claim.release)

        stack.push_async_callback(close)
        share = None if claim is None else partial(self._share, claim)
        client = await thread.open(self._environ, self.directory, share=share)
        if self._previous is not None:
            closed = "The engine in the background ended" if self._previous.is_detached else "The other terminal closed"
            self._reason = f"{closed}. This one took over."
        self._previous, self._thread = None, thread
        self._use(client)
        if claim is not None:
            cleaning = asyncio.create_task(asyncio.to_thread(claim.remove_stale))
            stack.callback(cleaning.cancel)
        return thread.ended

    async def _release(self) -> None:
        """Let another terminal have the engine."""
        if self._is_holder and self._claim is not None:
            self._is_holder = False
            await on_thread_for(self._claim.release, _RECORD_S)

    @asynccontextmanager
    async def _share(self, claim: EngineClaim, clients: "LocalClients") -> AsyncGenerator[None]:
        """Let other terminals use the engine, in whose loop this runs. What serves them is imported when the first one connects."""
        process, secret, opened = current_process(), secrets.token_urlsafe(32), None
        try:
            opened, path = open_terminal_socket(self._paths, secrets.token_hex(6))
            record = EngineRecord(process, str(self.directory), path, secret)
            claim.publish(record)
            self._record, self._clients = record, clients
        except (OSError, StorageError) as error:
            logger.warning("other terminals cannot use this engine: %s", error)
            with suppress(StorageError):
                claim.publish(EngineRecord(process, str(self.directory), "", ""))
        if opened is None:
            yield
            return
        leave = asyncio.Event()
        serving = asyncio.create_task(self._serve_when_called(clients, opened, secret, leave))
        try:
            yield
        finally:
            leave.set()
            await asyncio.wait({serving})
            opened.close()

    async def _serve_when_called(
        self, clients: "LocalClients", opened: socket.socket, secret: str, leave: asyncio.Event
    ) -> None:
        loop, called = asyncio.get_running_loop(), asyncio.Event()
        waits = {asyncio.create_task(called.wait()), asyncio.create_task(leave.wait())}
        loop.add_reader(opened.fileno(), called.set)
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            loop.remove_reader(opened.fileno())
        try:
            if not leave.is_set():
                async with self._serve(clients, opened, secret, self._news.set) as self._count:
                    self._news.set()
                    await leave.wait()
        except Exception:
            logger.exception("other terminals cannot use this engine")
        finally:
            for wait in waits:
                wait.cancel()

    def _use(self, client: Client) -> None:
        """Make this the present engine."""
        self._current = client
        for reader in self._readers:
            reader.replace(client.events(), self._reason)
        self._reason = "" if self._readers else self._reason
        self._changed.set()

    def _fail(self, error: Exception) -> None:
        self._failure = OpencodeError(f"the terminal with the engine has ended, and none can be opened here: {error}")
        self._changed.set()


async def _watch(pid: int, client: "RemoteClient") -> None:
    """Report each time that the process with the engine is suspended: nothing responds until it continues."""
    was_suspended = False
    while True:
        await asyncio.sleep(_WATCH_S)
        if is_suspended(pid) and not was_suspended:
            await asyncio.sleep(SUSPENDED_S)
        if is_suspended(pid) and not was_suspended:
            client.report(f"The terminal with the engine (process {pid}) is suspended; `fg` there continues it.")
        was_suspended = is_suspended(pid)


async def _warm() -> None:
    await asyncio.sleep(_WARM_S)
    await asyncio.to_thread(importlib.import_module, "opencode_tui.client.thread")


@asynccontextmanager
async def open_shared(
    environ: Mapping[str, str], directory: Path, *, serve: Serve, waits: Waits | None = None
) -> AsyncGenerator[Client]:
    """Open the client of a folder, with an engine in a thread or with that of another terminal; on leaving, what is ours ends."""
    shared = SharedClient(environ, directory, serve, waits)
    keeping = asyncio.create_task(shared.keep(), name="shared engine")
    opened = asyncio.create_task(shared.after(None))
    try:
        await asyncio.wait({keeping, opened}, return_when=asyncio.FIRST_COMPLETED)
        if keeping.done():
            await keeping
        yield cast("Client", shared)  # its facets are set by name
    finally:
        opened.cancel()
        shared.leave()
        await keeping
