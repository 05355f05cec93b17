"""The language servers of one folder: started by the first file that they are for, limited, restarted, reported.

Nothing starts with the program, and nothing waits for a server that is not ready.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from opencode_tui.engine.lsp.change import EditReport, FileChange
from opencode_tui.engine.lsp.connection import RequestError, ServerGoneError, spawn
from opencode_tui.engine.lsp.diagnostics import MOST_FILES, NewErrors, describe, stored
from opencode_tui.engine.lsp.document import MAX_BYTES, read_text
from opencode_tui.engine.lsp.known_servers import Found, KnownServer, ServerTable
from opencode_tui.engine.lsp.memory import group_memory
from opencode_tui.engine.lsp.server import LanguageServer
from opencode_tui.schema.api.language import LanguageServerState, Symbol
from opencode_tui.schema.record import JsonObject

MOST_SERVERS = 4
"""Most servers that run at the same time for a folder."""

BUDGET_S = 1.5
"""Seconds that an edit waits for the servers that are warm."""

IDLE_S = 600.0
"""Seconds without use after which a server is stopped."""

CRASHES, CRASH_WINDOW_S = 2, 300.0
"""After so many crashes in so many seconds a server stays off."""

MOST_MEMORY_BYTES = 1_500_000_000
"""A server, with its children, that uses more is stopped."""

SYMBOL_KINDS = frozenset((5, 6, 10, 11, 12, 13, 14, 23))
"""Class, method, enum, interface, function, variable, constant, struct. Source: OpenCode."""

_WATCH_S = 15.0
_MOST_SYMBOLS = 20
_SYMBOLS_S = 2.0

Mode = Literal["edit", "off"]

logger = logging.getLogger(__name__)


class _Slot:
    """One (server, root): the running server, its crashes, and why it is off."""

    def __init__(self, found: Found, root: Path) -> None:
        self.found = found
        self.root = root
        self.server: LanguageServer | None = None
        self.crashes: deque[float] = deque(maxlen=CRASHES)
        self.off = ""
        self.memory = 0
        self.last_errors = ""

    @property
    def is_off_for_crashes(self) -> bool:
        return len(self.crashes) == CRASHES and self.crashes[-1] - self.crashes[0] < CRASH_WINDOW_S


class LanguageServers:
    """The servers of a folder. `publish_updated` and `publish_diagnostics` (server, path) announce changes to clients.

    `make_table` looks for programs, in a thread; `make_environ` returns the environment of servers.
    """

    def __init__(
        self,
        *,
        make_table: Callable[[], ServerTable],
        make_environ: Callable[[], Mapping[str, str]],
        publish_updated: Callable[[], None],
        publish_diagnostics: Callable[[str, Path], None],
        mode: Mode = "edit",
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.mode: Mode = mode
        self._make_table = make_table
        self._make_environ = make_environ
        self._publish_updated = publish_updated
        self._publish_diagnostics = publish_diagnostics
        self._clock_s = clock_s
        self._table: ServerTable | None = None
        self._slots: dict[tuple[str, Path], _Slot] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None
        self._is_closed = False

    async def table(self) -> ServerTable:
        """Return the table of servers; the first call looks at the folder."""
        if self._table is None:
            self._table = await asyncio.to_thread(self._make_table)
        return self._table

    def after_read(self, path: Path) -> None:
        """Start the servers for a file that was read, and open it there, in the background."""
        if self.mode != "off" and not self._is_closed:
            spawn(self._open_read(path), self._tasks, name=f"language servers for {path.name}")

    async def after_edit(self, changes: Sequence[FileChange], *, limit_s: float = BUDGET_S) -> EditReport:
        """Make changes known, and return the errors that they brought, of warm servers in time; never raises."""
        if self.mode == "off" or self._is_closed:
            return EditReport()
        try:
            async with asyncio.timeout(limit_s):
                slots = await self._slots_of(changes)
                checked = await asyncio.gather(*(self._check(slot, its, limit_s) for slot, its in slots))
            return self._report([change.path for change in changes], checked)
        except TimeoutError:
            return EditReport()
        except Exception:  # the file is written: its edit has succeeded
            logger.exception("the errors of an edit are unknown")
            return EditReport()

    async def states(self) -> list[LanguageServerState]:
        """Return the servers that run or ran, then those that fit the project and do not run."""
        table = await self.table()
        listed = list(self._slots.values())
        for slot in listed:
            if slot.server is not None and slot.server.is_ready.is_set() and not slot.server.is_gone:
                slot.memory = await asyncio.to_thread(group_memory, slot.server.connection.pid)
        states = [self._state(slot, table) for slot in listed]
        known = {state.id for state in states}
        return [*states, *(one for one in await asyncio.to_thread(_idle, table) if one.id not in known)]

    async def restart(self, server_id: str) -> bool:
        """Stop the servers of this id and start them again; return whether there were any."""
        slots = [slot for slot in self._slots.values() if slot.found.server.id == server_id]
        for slot in slots:
            documents = list(slot.server.documents) if slot.server is not None else []
            await self._stop(slot, "")
            slot.crashes.clear()
            await self._ensure(slot)
            for path in documents[-MOST_FILES:]:
                self.after_read(path)
        return bool(slots)

    async def symbols(self, query: str) -> list[Symbol]:
        """Return the symbols of the project that match, of the servers that run; an unanswered one is left out."""
        running = [
            one.server for one in self._slots.values() if one.server is not None and one.server.is_ready.is_set()
        ]
        chosen = [server for server in running if server.can("workspaceSymbolProvider") and not server.is_gone]
        answers = await asyncio.gather(*(self._symbols(server, query) for server in chosen))
        return [symbol for answer in answers for symbol in answer][:_MOST_SYMBOLS]

    async def server_for(self, path: Path, *, limit_s: float) -> LanguageServer:
        """Return a running server that navigates in files like this one, started if need be.

        Raises ServerGoneError with the reason where there is none, TimeoutError.
        """
        table = await self.table()
        found = [one for one in await asyncio.to_thread(table.servers_of, path) if one.server.navigates]
        if not found:
            wanted = [one for one in table.servers if path.suffix in one.extensions and one.navigates]
            reasons = [f"{one.id}: {await asyncio.to_thread(table.find, one)}" for one in wanted[:3]]
            raise ServerGoneError(f"no language server for {path.name} ({'; '.join(reasons) or 'none is known'})")
        slot = await self._slot(found[0], path, table)
        server = await self._ensure(slot)
        if server is None:
            raise ServerGoneError(f"{slot.found.server.id} is off: {slot.off}")
        async with asyncio.timeout(limit_s):
            await server.start_ended.wait()
        if not server.is_ready.is_set():
            raise ServerGoneError(f"{slot.found.server.id} is off: {slot.off or 'it was stopped'}")
        server.last_used = self._clock_s()
        return server

    def running(self) -> list[LanguageServer]:
        """Return the servers that answer now."""
        servers = [slot.server for slot in self._slots.values() if slot.server is not None]
        return [server for server in servers if server.is_ready.is_set() and not server.is_gone]

    async def close(self) -> None:
        """Stop all servers; no process of them is left."""
        self._is_closed = True
        tasks = [*self._tasks, *([self._watch] if self._watch is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        servers = [slot.server for slot in self._slots.values() if slot.server is not None]
        await asyncio.gather(*(server.close() for server in servers), return_exceptions=True)

    async def _open_read(self, path: Path) -> None:
        table = await self.table()
        if not table.is_for(path) or not path.is_relative_to(table.worktree):
            return
        if not await asyncio.to_thread(table.servers_of, path):
            return
        read = await asyncio.to_thread(read_text, path)
        if read is None:
            return
        for slot, _ in await self._slots_of([FileChange(path, read[0], read[0])]):
            server = await self._ensure(slot)
            if server is not None and path not in server.documents:
                server.last_used = self._clock_s()
                server.warm_up(FileChange(path, read[0], read[0]))

    async def _slots_of(self, changes: Sequence[FileChange]) -> list[tuple[_Slot, list[FileChange]]]:
        """Return the servers for files, each with its changes."""
        table = await self.table()
        found: dict[tuple[str, Path], tuple[_Slot, list[FileChange]]] = {}
        for change in changes:
            if not table.is_for(change.path) or not change.path.is_relative_to(table.worktree):
                continue
            if max(len(change.before or ""), len(change.after or "")) > MAX_BYTES:
                continue  # as `read_text` does
            for one in await asyncio.to_thread(table.servers_of, change.path):
                slot = await self._slot(one, change.path, table)
                found.setdefault((one.server.id, slot.root), (slot, []))[1].append(change)
        return list(found.values())

    async def _slot(self, found: Found, path: Path, table: ServerTable) -> _Slot:
        root = await asyncio.to_thread(table.root_of, path, found.server)
        return self._slots.setdefault((found.server.id, root), _Slot(found, root))

    async def _check(self, slot: _Slot, changes: Sequence[FileChange], limit_s: float) -> list[NewErrors]:
        """Return the new errors of a server that is warm; a cold one gets the changes in the background."""
        server = slot.server
        if server is None or server.is_gone or not server.is_warm or server.is_frozen:
            self._in_background(slot, changes)
            return []
        server.last_used = self._clock_s()
        try:
            async with asyncio.timeout(limit_s * 0.95):
                return await server.check(changes, limit_s=limit_s * 0.85)
        except TimeoutError:
            logger.info("%s was not ready in time", slot.found.server.id)
        except ServerGoneError:
            self._in_background(slot, changes)
        except RequestError as error:
            logger.warning("%s: %s", slot.found.server.id, error)
        return []

    def _in_background(self, slot: _Slot, changes: Sequence[FileChange]) -> None:
        async def work() -> None:
            server = await self._ensure(slot)
            for change in changes if server is not None else ():
                assert server is not None
                server.warm_up(change)

        if not self._is_closed:
            spawn(work(), self._tasks, name=f"{slot.found.server.id} after an edit")

    def _report(self, edited: Sequence[Path], checked: Sequence[Sequence[NewErrors]]) -> EditReport:
        found = [one for some in checked for one in some if one.errors]
        found.sort(key=lambda one: edited.index(one.path) if one.path in edited else len(edited))
        own = [one for one in found if one.path in edited]
        shown = [*own, *[one for one in found if one.path not in edited][:MOST_FILES]]
        root = self._table.worktree if self._table is not None else Path("/")
        return EditReport(describe(shown, root), stored(shown))

    async def _ensure(self, slot: _Slot) -> LanguageServer | None:
        """Return the slot's server, started if it does not run; None where it is off. Does not wait until it is ready."""
        server = slot.server
        if server is not None and server.is_gone:
            await self._crashed(slot)
            server = None
        if server is not None or slot.off or self._is_closed:
            return server
        self._make_room()
        environ = await asyncio.to_thread(self._make_environ)
        if slot.server is not None:  # another call was quicker
            return slot.server
        server_id = slot.found.server.id
        server = slot.server = LanguageServer(
            slot.found,
            slot.root,
            environ=environ,
            noticed=lambda path: self._publish_diagnostics(server_id, path),
        )
        server.last_used = self._clock_s()
        spawn(self._start(slot, server), self._tasks, name=f"start of {server_id}")
        if self._watch is None:
            self._watch = asyncio.create_task(self._watch_servers(), name="language servers")
        return server

    async def _start(self, slot: _Slot, server: LanguageServer) -> None:
        try:
            await server.start()
        except (OSError, ServerGoneError, RequestError, TimeoutError) as error:
            reason = str(error) or ("no answer" if isinstance(error, TimeoutError) else "it ended at once")
            if slot.server is server:
                errors = server.connection.last_errors if server.is_gone else ""
                await self._stop(slot, f"it could not be started: {reason}{f' ({errors})' if errors else ''}")
            return
        self._publish_updated()

    async def _crashed(self, slot: _Slot) -> None:
        server = slot.server
        if server is None:
            return
        slot.server = None
        slot.crashes.append(self._clock_s())
        slot.last_errors = server.connection.last_errors
        await server.close()
        if slot.is_off_for_crashes:
            slot.off = "it ended twice in 5 minutes; restart it with /lsp"
        logger.warning("language server %s ended: %s", slot.found.server.id, slot.last_errors)
        self._publish_updated()

    async def _stop(self, slot: _Slot, reason: str) -> None:
        server, slot.server, slot.off, slot.memory = slot.server, None, reason, 0
        if server is not None:
            await server.close()
        self._publish_updated()

    def _make_room(self) -> None:
        """Stop the server that was not used for longest, where no more may run."""
        running = [slot for slot in self._slots.values() if slot.server is not None]
        if len(running) >= MOST_SERVERS:
            oldest = min(running, key=lambda slot: slot.server.last_used if slot.server is not None else 0)
            spawn(self._stop(oldest, ""), self._tasks, name="stop of a language server")

    async def _watch_servers(self) -> None:
        """Stop servers that are idle or large, and report those that ended."""
        while True:
            await asyncio.sleep(_WATCH_S)
            for slot in list(self._slots.values()):
                server = slot.server
                if server is None or not server.is_ready.is_set():
                    continue
                if server.is_gone:
                    await self._crashed(slot)
                    continue
                slot.memory = await asyncio.to_thread(group_memory, server.connection.pid)
                if slot.memory > MOST_MEMORY_BYTES:
                    await self._stop(slot, f"it used {slot.memory / 1e9:.1f} GB of memory; restart it with /lsp")
                elif self._clock_s() - server.last_used > IDLE_S:
                    await self._stop(slot, "")

    async def _symbols(self, server: LanguageServer, query: str) -> list[Symbol]:
        try:
            answer = await server.connection.request("workspace/symbol", {"query": query}, timeout_s=_SYMBOLS_S)
        except (ServerGoneError, RequestError, TimeoutError):
            return []
        listed = cast("list[Any]", answer) if isinstance(answer, list) else []
        found = [Symbol.of(cast("JsonObject", one)) for one in listed[:500] if isinstance(one, dict)]
        return [one for one in found if one is not None and one.kind in SYMBOL_KINDS][:_MOST_SYMBOLS]

    def _state(self, slot: _Slot, table: ServerTable) -> LanguageServerState:
        server = slot.server
        root = "." if slot.root == table.directory else _relative(slot.root, table.directory)
        if server is None:
            return LanguageServerState(
                id=slot.found.server.id,
                name=slot.found.server.id,
                root=root,
                status="error" if slot.off else "stopped",
                detail=slot.off,
            )
        is_up = server.is_ready.is_set() and not server.is_gone
        return LanguageServerState(
            id=slot.found.server.id,
            name=slot.found.server.id,
            root=root,
            status="connected" if is_up else "error" if server.is_gone else "starting",
            memory=slot.memory or None,
            files=len(server.documents),
        )


def _relative(path: Path, directory: Path) -> str:
    return str(path.relative_to(directory)) if path.is_relative_to(directory) else str(path)


def _idle(table: ServerTable) -> list[LanguageServerState]:
    """Return the fitting servers that have not been started: of each group the one that would, else the first. Blocks."""
    chosen: dict[str, tuple[KnownServer, Found | str]] = {}
    for server in table.fitting():
        found, group = table.find(server), server.group or server.id
        if group not in chosen or (isinstance(found, Found) and isinstance(chosen[group][1], str)):
            chosen[group] = (server, found)
    return [
        LanguageServerState(
            id=server.id,
            name=server.id,
            root=".",
            status="ready" if isinstance(found, Found) else "missing",
            detail="starts when a file is read" if isinstance(found, Found) else found,
        )
        for server, found in chosen.values()
    ]
