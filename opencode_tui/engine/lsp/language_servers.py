"""The language servers of one folder: started by the first file that they are for, limited, restarted, reported.

Nothing starts with the program, and nothing waits for a server that is not ready.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.lsp.change import EditReport, FileChange
from opencode_tui.engine.lsp.connection import RequestError, ServerGoneError, spawn
from opencode_tui.engine.lsp.diagnostics import MOST_FILES, NewErrors, describe, stored
from opencode_tui.engine.lsp.document import MAX_BYTES, read_text
from opencode_tui.engine.lsp.known_servers import Found, KnownServer, ServerTable
from opencode_tui.engine.lsp.server import LanguageServer
from opencode_tui.engine.lsp.symbols import MOST_SYMBOLS, FoundSymbol, find_in, search
from opencode_tui.engine.project.programs import Start, start_program
from opencode_tui.schema.api.language import LanguageServerState, Symbol

BUDGET_S = 1.5
"""Seconds that an edit waits for the servers that are warm."""

TURN_BUDGET_S = 5.0
"""Seconds that the end of a turn waits for them."""

SYMBOL_S = 1.0
"""Seconds that an attachment waits for the range of a symbol."""

_WATCH_S = 15.0
_SHOWN_CHARACTERS = 300
_SHOWN_BYTES = 10_000_000
"""A change of a server's memory by more is reported to clients."""
_AFTER_EDIT = " after an edit"
_SESSIONS = 50
"""Sessions whose unchecked changes are remembered."""

Mode = Literal["edit", "turn", "off"]
"""When errors are reported: after each edit, when the turn would end, or never."""

logger = logging.getLogger(__name__)


class ServerOptions(Struct, frozen=True):
    """When the servers of a folder report errors, and what they may use."""

    mode: Mode = "edit"
    servers: int = 4
    """Most that run at the same time."""
    idle_s: float = 600.0
    """Seconds without use after which one is stopped."""
    crashes: int = 2
    crash_window_s: float = 300.0
    """Crashes, and the window in seconds, after which a server stays off."""
    memory: int = 1_500_000_000
    """One that uses more bytes, with its children, is stopped and stays off."""


class _Slot:
    """One (server, root): the running server, its crashes, and why it is off."""

    def __init__(self, found: Found, root: Path) -> None:
        self.found = found
        self.root = root
        self.server: LanguageServer | None = None
        self.crashes: list[float] = []
        self.off = ""
        self.memory = 0
        self.last_errors = ""

    def count_crash(self, now_s: float, window_s: float) -> int:
        """Count a crash; return how many there were in the time that counts."""
        self.crashes = [one for one in self.crashes if now_s - one < window_s] + [now_s]
        return len(self.crashes)


class LanguageServers:
    """The servers of a folder. `publish_updated` and `publish_diagnostics` (server, path) announce changes to clients.

    `make_table` looks for programs, in a thread; `make_environ` returns the environment of servers, by whether they are confined;
    `start_confined` starts those that are.
    """

    def __init__(
        self,
        *,
        make_table: Callable[[], ServerTable],
        make_environ: Callable[[bool], Mapping[str, str]],
        start_confined: Start,
        publish_updated: Callable[[], None],
        publish_diagnostics: Callable[[str, Path], None],
        options: ServerOptions | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._options = options or ServerOptions()
        self._make_table = make_table
        self._make_environ = make_environ
        self._start_confined = start_confined
        self._publish_updated = publish_updated
        self._publish_diagnostics = publish_diagnostics
        self._clock_s = clock_s
        self._table: ServerTable | None = None
        self._slots: dict[tuple[str, Path], _Slot] = {}
        self._late: dict[str, dict[_Slot, set[Path]]] = {}
        """By session: the files whose changes a server was not ready to check."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None
        self._is_closed = False

    async def table(self) -> ServerTable:
        """Return the table of servers; the first call reads the folder."""
        if self._table is None:
            self._table = await asyncio.to_thread(self._make_table)
        return self._table

    def after_read(self, path: Path) -> None:
        """Start the servers for a file that was read, and open it there, in the background."""
        if self._options.mode != "off" and not self._is_closed:
            spawn(self._open_read(path), self._tasks, name=f"language servers for {path.name}")

    async def after_edit(
        self, changes: Sequence[FileChange], session_id: str, *, limit_s: float = BUDGET_S
    ) -> EditReport:
        """Make changes known, and return the errors that they brought, of warm servers in time; never raises.

        Servers that are not warm are named; what they find is in `postponed_errors` of the session.
        """
        if self._options.mode == "off" or self._is_closed:
            return EditReport()

        async def check() -> EditReport:
            slots = await self._slots_of(changes)
            if self._options.mode == "turn":
                for slot, its in slots:
                    self._in_background(slot, its)
                return EditReport()
            checked = await asyncio.gather(*(self._check(slot, its, limit_s) for slot, its in slots))
            late = [(slot, its) for (slot, its), errors in zip(slots, checked, strict=True) if errors is None]
            report = self._report([change.path for change in changes], [errors or () for errors in checked])
            return replace(report, unchecked=self._postpone(session_id, late))

        return await _guarded(check(), limit_s)

    async def postponed_errors(self, session_id: str, *, limit_s: float = BUDGET_S) -> EditReport:
        """Return, once, the errors that earlier edits of a session brought, of servers that are warm meanwhile; never raises."""
        waiting = self._late.get(session_id)
        if not waiting or self._is_closed:
            return EditReport()

        async def check() -> EditReport:
            checked = await asyncio.gather(
                *(self._check_late(waiting, slot, limit_s) for slot in list(waiting) if slot in waiting)
            )
            return self._report([], checked)

        return await _guarded(check(), limit_s)

    async def after_turn(self, paths: Sequence[Path], session_id: str, *, limit_s: float = TURN_BUDGET_S) -> EditReport:
        """Return the errors that the edits of a turn brought and that no edit has reported; never raises.

        With mode "turn" those of all its files, `paths`; with "edit" those that servers could not check when the edits were made.
        Servers that are starting are waited for, at most `limit_s` in all; `unchecked` names those that were not ready.
        """
        if self._is_closed or not paths:
            return EditReport()
        match self._options.mode:
            case "turn":
                work = self._check_turn(paths, limit_s)
            case "edit" if session_id in self._late:
                work = self._check_rest(session_id, limit_s)
            case _:
                return EditReport()
        return await _guarded(work, limit_s + BUDGET_S)

    async def _check_turn(self, paths: Sequence[Path], limit_s: float) -> EditReport:
        end = asyncio.get_running_loop().time() + limit_s
        if making := {task for task in self._tasks if task.get_name().endswith(_AFTER_EDIT)}:
            await asyncio.wait(making, timeout=limit_s)  # edits that servers do not know yet
        its = {slot: [path for path in paths if path.is_relative_to(slot.root)] for slot in self._slots.values()}
        its = {slot: below for slot, below in its.items() if below and (slot.server is not None or slot.off)}
        late = await self._wait_warm([*its], end - asyncio.get_running_loop().time())
        left = max(BUDGET_S, end - asyncio.get_running_loop().time())
        checked = await asyncio.gather(*(self._check_again(slot, below, left) for slot, below in its.items()))
        return replace(self._report(paths, checked), unchecked=late)

    async def _check_rest(self, session_id: str, limit_s: float) -> EditReport:
        waiting = self._late[session_id]
        late = await self._wait_warm([*waiting], limit_s)
        checked = await asyncio.gather(
            *(self._check_late(waiting, slot, BUDGET_S) for slot in list(waiting) if slot in waiting)
        )
        return replace(self._report([], checked), unchecked=late)

    async def _wait_warm(self, slots: Sequence[_Slot], limit_s: float) -> list[str]:
        """Wait until servers know the changes that were made; return those that do not after `limit_s`, with the reason."""
        waits = {slot: asyncio.ensure_future(self._warm(slot)) for slot in slots if not slot.off}
        if waits:
            await asyncio.wait(waits.values(), timeout=max(0.0, limit_s))
        for wait in waits.values():
            wait.cancel()
        await asyncio.gather(*waits.values(), return_exceptions=True)
        return [
            f"{slot.found.server.id} ({slot.off or 'it is still starting'})"
            for slot in slots
            if slot.server is None or not slot.server.is_warm
        ]

    async def _warm(self, slot: _Slot) -> None:
        name = f"{slot.found.server.id}{_AFTER_EDIT}"
        if making := {task for task in self._tasks if task.get_name() == name}:
            await asyncio.wait(making)
        if slot.server is not None and not slot.server.is_gone:
            await slot.server.wait_warm()

    def files_changed(self, paths: Sequence[Path]) -> None:
        """Report files that a command changed, made or deleted to the servers that run, in the background."""
        for slot in self._slots.values() if not self._is_closed else ():
            server, below = slot.server, [path for path in paths if path.is_relative_to(slot.root)]
            if server is not None and below and server.is_ready.is_set() and not server.is_gone:
                server.follow_files(below)

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

    async def describe_left_out(self) -> str:
        """Return the folders that `states` does not examine for lack of time, empty if there is none."""
        table = await self.table()
        return (await asyncio.to_thread(table.folders)).describe_left_out()

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
        if self._table is None:
            return []
        answers = await asyncio.gather(*(search(one, query, self._table.worktree) for one in self.running()))
        return [symbol for answer in answers for symbol in answer][:MOST_SYMBOLS]

    async def find_symbol(
        self, path: Path, *, name: str, line: int | None, limit_s: float = SYMBOL_S
    ) -> FoundSymbol | None:
        """Return a symbol of a file by the line where it begins, from 1, or by its name, as a server that runs knows it.

        None without one, and when no server answers in time; never raises.
        """
        for server in self.running():
            if path.suffix not in server.found.server.extensions or not path.is_relative_to(server.root):
                continue
            with suppress(TimeoutError, ServerGoneError, RequestError):
                async with asyncio.timeout(limit_s):
                    if (found := await find_in(server, path, name=name, line=line)) is not None:
                        return found
        return None

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

    async def _check(self, slot: _Slot, changes: Sequence[FileChange], limit_s: float) -> list[NewErrors] | None:
        """Return the new errors of a server that is warm; a cold one gets the changes in the background: None."""
        server = slot.server
        if server is None or server.is_gone or not server.is_warm or server.is_frozen:
            self._in_background(slot, changes)
            return None
        try:
            return await self._ask(server, server.check(changes, limit_s=limit_s * 0.85), limit_s)
        except ServerGoneError:
            self._in_background(slot, changes)
            return None

    def _postpone(self, session_id: str, late: Sequence[tuple[_Slot, Sequence[FileChange]]]) -> list[str]:
        """Record what servers could not check yet; return their ids, without those that are off."""
        named: list[str] = []
        for slot, changes in late:
            written = [change.path for change in changes if change.after is not None]
            if slot.off or not written:
                continue
            waiting = self._late.pop(session_id, {})
            waiting.setdefault(slot, set()).update(written)
            self._late[session_id] = waiting  # the newest last
            named.append(slot.found.server.id)
        while len(self._late) > _SESSIONS:
            del self._late[next(iter(self._late))]
        return named

    async def _check_late(self, waiting: dict[_Slot, set[Path]], slot: _Slot, limit_s: float) -> list[NewErrors]:
        """Return the new errors of changes that a server could not check when they were made, and record what is left."""
        server, name, paths = slot.server, f"{slot.found.server.id}{_AFTER_EDIT}", waiting[slot]
        if slot.off or (server is not None and server.is_gone):
            waiting.pop(slot, None)
            return []
        if server is None or not server.is_warm or server.is_warming:
            return []
        if any(task.get_name() == name for task in self._tasks):
            return []
        known = list(paths)
        found = await self._check_again(slot, server.unchecked_of(known), limit_s)
        paths -= {path for path in known if path not in server.unchecked_of(known)}
        if not paths:
            waiting.pop(slot, None)
        return found

    async def _check_again(self, slot: _Slot, paths: Sequence[Path], limit_s: float) -> list[NewErrors]:
        """Return the new errors of files whose changes a warm server knows."""
        server = slot.server
        if server is None or server.is_gone or not server.is_warm or server.is_frozen or not paths:
            return []
        with suppress(ServerGoneError):
            return await self._ask(server, server.check_again(paths, limit_s=limit_s * 0.85), limit_s)
        return []

    async def _ask(
        self, server: LanguageServer, check: Coroutine[Any, Any, list[NewErrors]], limit_s: float
    ) -> list[NewErrors]:
        """Return the result of a check, nothing when it takes too long or fails. Raises ServerGoneError."""
        server.last_used = self._clock_s()
        try:
            async with asyncio.timeout(limit_s * 0.95):
                return await check
        except TimeoutError:
            logger.info("%s was not ready in time", server.found.server.id)
        except RequestError as error:
            logger.warning("%s: %s", server.found.server.id, error)
        return []

    def _in_background(self, slot: _Slot, changes: Sequence[FileChange]) -> None:
        async def work() -> None:
            server = await self._ensure(slot)
            for change in changes if server is not None else ():
                assert server is not None
                server.warm_up(change)

        if not self._is_closed:
            spawn(work(), self._tasks, name=f"{slot.found.server.id}{_AFTER_EDIT}")

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
        environ = await asyncio.to_thread(self._make_environ, slot.found.is_confined)
        if slot.server is not None:  # another call was quicker
            return slot.server
        server_id = slot.found.server.id
        server = slot.server = LanguageServer(
            slot.found,
            slot.root,
            environ=environ,
            noticed=lambda path: self._publish_diagnostics(server_id, path),
            start_process=self._start_confined if slot.found.is_confined else start_program,
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
                errors = " ".join(server.connection.last_errors.split())[-_SHOWN_CHARACTERS:] if server.is_gone else ""
                await self._stop(slot, f"it could not be started: {reason}{f' ({errors})' if errors else ''}")
            return
        self._publish_updated()

    async def _crashed(self, slot: _Slot) -> None:
        server = slot.server
        if server is None:
            return
        slot.server = None
        slot.last_errors = server.connection.last_errors
        await server.close()
        options = self._options
        if slot.count_crash(self._clock_s(), options.crash_window_s) >= options.crashes:
            minutes = f"{options.crash_window_s / 60:g} minutes"
            slot.off = f"it ended {options.crashes} times in {minutes}; restart it with /lsp"
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
        if len(running) >= self._options.servers:
            oldest = min(running, key=lambda slot: slot.server.last_used if slot.server is not None else 0)
            spawn(self._stop(oldest, ""), self._tasks, name="stop of a language server")

    async def _watch_servers(self) -> None:
        while True:
            await asyncio.sleep(_WATCH_S)
            await self.apply_limits()

    async def apply_limits(self) -> None:
        """Stop servers that are idle or large, and report those that ended."""
        for slot in list(self._slots.values()):
            server = slot.server
            if server is None or not server.is_ready.is_set():
                continue
            if server.is_gone:
                await self._crashed(slot)
                continue
            used = await asyncio.to_thread(group_memory, server.connection.pid)
            slot.memory, was = used, slot.memory
            if used > self._options.memory:
                reason = f"it used {used / 1e9:.1f} GB of memory, more than {self._options.memory / 1e9:g} GB"
                await self._stop(slot, f"{reason}; restart it with /lsp")
            elif self._clock_s() - server.last_used > self._options.idle_s:
                await self._stop(slot, "")
            elif abs(used - was) > _SHOWN_BYTES:
                self._publish_updated()

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


async def _guarded(work: Coroutine[Any, Any, EditReport], limit_s: float) -> EditReport:
    """Return a report, an empty one when it fails or takes too long: the files are written, their edits have succeeded."""
    try:
        async with asyncio.timeout(limit_s):
            return await work
    except TimeoutError:
        return EditReport()
    except Exception:
        logger.exception("the errors of an edit are unknown")
        return EditReport()


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


def group_memory(pid: int) -> int:
    """Return the memory of a server and its descendants in bytes: their share (PSS) where the system knows it. Blocks."""
    import psutil  # only where a server runs

    total = 0
    with suppress(psutil.Error):
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            with suppress(psutil.Error):
                if sys.platform == "linux":
                    total += process.memory_full_info().pss
                else:
                    total += process.memory_info().rss
    return total
