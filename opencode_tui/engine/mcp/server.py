"""One MCP server: it starts on its first use, restarts after a crash, and ends with all its processes.

One task enters and leaves the connection, because the SDK demands that; calls come from any task. The next call after a crash
starts the server again, after 1, 5 and 25 seconds; then it has failed until the user restarts it. What waits for a server waits at
most `START_S` for its start, and the entry's timeout for each answer, from the last progress on.
"""

import asyncio
import importlib
import logging
import os
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from opencode_tui import network
from opencode_tui.cancellation import consume_error
from opencode_tui.config.settings.settings import McpLocalSettings, McpRemoteSettings
from opencode_tui.config.sources.substitute import resolve_file
from opencode_tui.engine.mcp.credentials import McpCredentials
from opencode_tui.engine.mcp.lists import (
    ConnectionLost,
    ListCache,
    McpError,
    McpRegistrationError,
    McpSignInError,
    ServerLists,
    SessionEnded,
)
from opencode_tui.engine.mcp.process import ServerProcess, server_environment
from opencode_tui.engine.mcp.sign_in import ServerSignIn
from opencode_tui.programs import find_program, is_below, safe_environ
from opencode_tui.schema.api.mcp import McpState
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.paths import ensure

if TYPE_CHECKING:
    from opencode_tui.engine.mcp.sdk import Connection

logger = logging.getLogger(__name__)

T = TypeVar("T")

START_S = 30.0
"""Seconds for the start of a server and its lists, unless its entry has a longer timeout."""

CALL_S = 60.0
"""Seconds for an answer without progress, unless the settings say otherwise."""

BACKOFF_S = (1.0, 5.0, 25.0)
"""Seconds before a crashed server is started again; after one more crash it has failed."""

CANCEL_S = 0.1
"""Seconds for the end of a canceled request; what is left of it ends by itself."""

PING_S = 5.0
"""Seconds for the answer to a ping after a call without an answer; each next one has twice as long, up to a minute."""

NOT_ANSWERING = "it does not answer; restart it, or wait until it does"

GATHER_S = 0.2
"""Seconds in which several announced changes of lists count as one."""

SHOWN_LINES = 5
"""Lines of a server's standard error in the message about its end."""

McpEntry = McpLocalSettings | McpRemoteSettings
Elicit = Callable[[JsonObject, int], Coroutine[Any, Any, JsonObject]]
"""Asks the user for what a server requests; returns the protocol's result of an elicitation.

The number is that of the calls to which the question may belong.
"""

Report = Callable[[str | None, float | None], None]
"""Called with the text of a call's progress and its share from 0 to 1."""

MOST_QUESTIONS = 10
"""Questions of a server that may wait for the user at the same time; further ones are declined."""

DECLINED: JsonObject = {"action": "decline"}
CANCELED: JsonObject = {"action": "cancel"}


_FROM_FOLDER = frozenset({"-m", "-c"})
"""Options with which Python looks for modules in the folder that it starts in, before all others."""


class ServerWorld(Struct, frozen=True):
    """What all servers of a folder share: its path and roots, our environment, the cached lists and the credentials.

    `is_trusted` returns whether the user trusts the folder, and may block for a file; until then servers start in `home`. Only the
    servers `of_repository`, which its settings name, may have modules in it. `data` has folders that are made before a server of
    this name starts.
    """

    folder: Path
    home: Path
    is_trusted: Callable[[], bool]
    roots: Sequence[Path]
    environ: Mapping[str, str]
    cache: ListCache
    credentials: McpCredentials
    default_timeout_s: float | None = None
    of_repository: frozenset[str] = frozenset()
    data: Mapping[str, Path] = {}


class McpStopped(McpError):
    """A server was stopped while something waited for its start, or its folder was closed."""


class _Live(Struct, frozen=True):
    """An open connection, with the task that keeps it open and the process of a local server."""

    connection: "Connection"
    task: asyncio.Task[None]
    process: ServerProcess | None


class _Call:
    """A call in flight, with its timer and the way to ask the user."""

    def __init__(self, limit_s: float, elicit: Elicit | None) -> None:
        self.timer = asyncio.timeout(None)
        self.elicit = elicit
        self.asking: set[asyncio.Task[JsonObject]] = set()
        """The questions to the user that it waits for."""
        self._limit_s = limit_s

    def extend(self) -> None:
        """Restart the timer, unless it is over or the user is asked."""
        if not self.asking:
            with suppress(RuntimeError):
                self.timer.reschedule(asyncio.get_running_loop().time() + self._limit_s)

    async def ask(self, elicit: Elicit, params: JsonObject, count: int) -> JsonObject:
        """Return the answer of the user; the timer rests in the meantime, and the end of the call cancels the question."""
        task = asyncio.create_task(elicit(params, count), name="a question of an MCP server")
        self.asking.add(task)
        with suppress(RuntimeError):
            self.timer.reschedule(None)
        try:
            await asyncio.wait({task})
            return CANCELED if task.cancelled() else task.result()
        finally:
            task.cancel()
            self.asking.discard(task)
            self.extend()

    def end(self) -> None:
        """Cancel its questions."""
        for task in self.asking:
            task.cancel()


_current_call: ContextVar[_Call | None] = ContextVar("current_call", default=None)
"""The call that a task works on, also in what the SDK does for it."""


class McpServer:
    """A configured server."""

    def __init__(
        self, name: str, entry: McpEntry, world: ServerWorld, *, changed: Callable[[str], None], is_enabled: bool
    ) -> None:
        """Blocks for one file, the cached lists.

        `changed` is called on the event loop with the name when the lists differ from those known before.
        """
        self.name = name
        self.entry = entry
        self.state: McpState = "known" if is_enabled else "disabled"
        self.error: str | None = None
        self._world = world
        self._changed = changed
        self._key = {name: value for name, value in entry.to_dict().items() if name not in ("enabled", "timeout")}
        cached = world.cache.read(self._key)
        self.lists: ServerLists = cached.lists if cached else ServerLists()
        self.listed_at = cached.time if cached else None
        self._output: list[str] = []
        self._process: ServerProcess | None = None
        self._task: asyncio.Task[None] | None = None
        self._opening: asyncio.Future[_Live] | None = None
        self._refresh: asyncio.Task[None] | None = None
        self._pinging: asyncio.Task[None] | None = None
        self._is_stale = False
        self._is_closed = False
        self._calls: list[_Call] = []
        self._ending: set[asyncio.Future[Any]] = set()
        """Canceled requests that the SDK reports to the server."""
        self._failures = 0
        self._not_before = 0.0
        self.sign_in = ServerSignIn(name, entry, world.credentials)

    @property
    def is_enabled(self) -> bool:
        """Whether it may be used."""
        return self.state != "disabled"

    @property
    def is_listed(self) -> bool:
        """Whether its lists are known, from the cache or from the server."""
        return self.listed_at is not None

    @property
    def output(self) -> list[str]:
        """The last lines of its standard error, oldest first; of its last start if it does not run."""
        return self._process.output if self._process is not None else self._output

    @property
    def retry_in(self) -> float | None:
        """Seconds until its next call may start it again, None when nothing is waited for."""
        if not self._failures or self.state not in ("known", "starting"):
            return None
        return max(0.0, self._not_before - asyncio.get_running_loop().time()) or None

    def enable(self) -> None:
        """Let it be used from now on, also after it failed."""
        is_ended = self.state in ("disabled", "failed", "needs_auth", "needs_client_registration")
        self.state, self.error = "known" if is_ended else self.state, None
        self._failures, self._not_before = 0, 0.0

    async def start(self) -> None:
        """Start it unless it runs, and wait for its lists. Raises McpError."""
        await self._connection()

    async def stop(self, *, disable: bool = False, close: bool = False) -> None:
        """End it with its processes; with `disable` it starts only after `enable`, with `close` never again."""
        self._is_closed = self._is_closed or close
        if disable:
            self.state, self.error = "disabled", None
        while running := {
            task for task in (self._refresh, self._pinging, self._task) if task is not None and not task.done()
        }:
            for task in running:
                task.cancel()
            await asyncio.wait(running)
        if self.state in ("connected", "starting"):
            self.state = "known"

    async def call(
        self,
        tool: str,
        arguments: JsonObject,
        *,
        report: Report | None = None,
        elicit: Elicit | None = None,
        limit_s: float = CALL_S,
    ) -> JsonObject:
        """Return a tool's result as the protocol writes it. Raises McpError.

        `limit_s` are the seconds without progress after which it has failed, unless the settings say otherwise.
        """

        async def progress(done: float, total: float | None, text: str | None) -> None:
            call.extend()
            if report is not None:
                report(text, done / total if total else None)

        call = self._new_call(elicit, limit_s)
        return await self._request(lambda connection: connection.call(tool, arguments, progress), call)

    async def prompt(self, name: str, arguments: dict[str, str]) -> JsonObject:
        """Return the messages of a prompt as the protocol writes them. Raises McpError."""
        return await self._request(lambda connection: connection.prompt(name, arguments), self._new_call(None))

    async def resource(self, uri: str) -> JsonObject:
        """Return the contents of a resource as the protocol writes them. Raises McpError."""
        return await self._request(lambda connection: connection.resource(uri), self._new_call(None))

    def _new_call(self, elicit: Elicit | None, limit_s: float = CALL_S) -> _Call:
        own = self.entry.timeout
        return _Call(own / 1000 if own else self._world.default_timeout_s or limit_s, elicit)

    async def _request(self, ask: "Callable[[Connection], Awaitable[JsonObject]]", call: _Call) -> JsonObject:
        """Return the answer to a request; one that finds its session ended is sent once more in a new one."""
        live = await self._connection()
        try:
            return await self._request_over(live, ask, call)
        except SessionEnded:
            await self._end_connection(live)
        live = await self._connection()
        try:
            return await self._request_over(live, ask, call)
        except SessionEnded as ended:
            raise McpError(await self._describe_loss(live, str(ended))) from None

    async def _end_connection(self, live: _Live) -> None:
        """End a connection whose session is over, so that the next request opens another one at once."""
        live.task.cancel()
        await asyncio.wait({live.task})
        if self._task is live.task and self.state == "connected":
            self.state = "known"

    async def _request_over(
        self, live: _Live, ask: "Callable[[Connection], Awaitable[JsonObject]]", call: _Call
    ) -> JsonObject:
        self._calls.append(call)
        mark = _current_call.set(call)
        try:
            async with call.timer:
                call.extend()
                result = await self._asked(ask(live.connection))
            self._failures = 0
            self._record_answer()
            return result
        except SessionEnded:
            call.timer = asyncio.timeout(None)  # one that was entered cannot be entered again
            raise
        except TimeoutError:
            if live.process is not None and (self._pinging is None or self._pinging.done()):
                self._pinging = asyncio.create_task(self._ping(live), name=f"pings of the MCP server {self.name}")
            raise McpError(
                f"the MCP server {self.name} did not answer in time; set a longer `timeout` in its settings or restart it"
            ) from None
        except ConnectionLost as lost:
            raise McpError(await self._describe_loss(live, str(lost))) from None
        except McpSignInError as refusal:
            raise McpError(await self._refuse(live, refusal)) from None
        except McpError as error:
            raise McpError(f"the MCP server {self.name} reports: {error}") from error
        finally:
            _current_call.reset(mark)
            self._calls.remove(call)
            call.end()

    async def _ping(self, live: _Live) -> None:
        """Name a server that does not answer, until it does: a call may only be slow, so it is asked for an answer."""
        seconds = PING_S
        while not live.task.done():
            try:
                async with asyncio.timeout(seconds):
                    await self._asked(live.connection.ping())
            except TimeoutError:
                if self.state == "connected" and self._task is live.task:
                    self.error = NOT_ANSWERING
                seconds = min(2 * seconds, 60.0)
                continue
            except ConnectionLost:
                return
            except McpError:  # an answer too
                pass
            self._record_answer()
            return

    def _record_answer(self) -> None:
        if self.error == NOT_ANSWERING:
            self.error = None

    async def _asked(self, request: Awaitable[T]) -> T:
        """Return the answer to a request of the SDK; a cancellation waits for the SDK no longer than `CANCEL_S`.

        The SDK notifies the server of it, and waits 5 s for one that reads nothing.
        """
        task = asyncio.ensure_future(request)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.add_done_callback(consume_error)
            await asyncio.wait({task}, timeout=CANCEL_S)
            raise

    async def _refuse(self, live: _Live, refusal: McpSignInError) -> str:
        """Return the message for a call that the server refused for lack of a sign-in, and end the connection."""
        await self._demand(refusal, is_call=True)
        live.task.cancel()
        await asyncio.wait({live.task})
        return f"the MCP server {self.name} refused the call: {self.error}"

    async def _demand(self, refusal: McpSignInError, *, is_call: bool = False) -> None:
        """Record that it can be used only after a sign-in; what a start would not show again, also for other processes."""
        if self.state == "disabled":
            return
        if self.sign_in.terms is None or refusal.challenge is None:
            self.state, self.error = "failed", str(refusal)
            return
        self.state, self.error = "needs_auth", f"{refusal}; sign in with `opencode-tui mcp auth {self.name}`"
        await asyncio.to_thread(self.sign_in.record_challenge, refusal.challenge, is_call=is_call)

    def record_sign_in_failure(self, failure: Exception) -> None:
        """Record why a sign-in did not succeed; it cannot be used until another one does."""
        if self.state == "disabled":
            return
        needs_client = isinstance(failure, McpRegistrationError)
        self.state, self.error = "needs_client_registration" if needs_client else "needs_auth", str(failure)

    def refuse_tokens(self) -> None:
        """Start with a new sign-in only if the server demands one: its tokens were deleted."""
        self.sign_in.evict()
        if self.state != "disabled":
            self.enable()

    async def use_new_sign_in(self) -> bool:
        """Let it be used again if another process has signed in since it demanded that, and return whether one has."""
        waits = self.state in ("needs_auth", "needs_client_registration")
        if not waits or not await asyncio.to_thread(self.sign_in.is_newer):
            return False
        self.enable()
        return True

    async def _describe_loss(self, live: _Live, reason: str) -> str:
        """Return the message for a call during which its connection ended; ends what is left of that."""
        how = f"was lost ({reason})"
        if live.process is not None:
            await live.process.wait_exit(0.2)
            how = live.process.exit_text
        await asyncio.wait({live.task}, timeout=0.3 if live.process is not None else 0)
        live.task.cancel()
        await asyncio.wait({live.task})
        if self._task is live.task and self.state == "connected":  # no other call or command has changed it
            self._back_off("the connection was lost")
        output = self.output[-SHOWN_LINES:]
        lines = f" Its last output:\n{chr(10).join(output)}" if output else ""
        return f"the MCP server {self.name} {how} during the call; the next call starts it again.{lines}"

    async def _connection(self) -> _Live:
        """Return the open connection, or that of a new start. Raises McpError."""
        if self._is_closed:
            raise McpStopped(f"the MCP server {self.name} cannot start: its folder was closed")
        if self.state == "disabled":
            raise McpError(f"the MCP server {self.name} is switched off; switch it on with /mcps or in the settings")
        await self.use_new_sign_in()
        if self.state in ("failed", "needs_auth", "needs_client_registration"):
            raise McpError(f"the MCP server {self.name} cannot be used: {self.error}")
        if self._opening is None:
            self._opening = asyncio.get_running_loop().create_future()
            self._opening.add_done_callback(consume_error)
            self._task = asyncio.create_task(self._run(self._opening), name=f"MCP server {self.name}")
            # A task that is canceled before its first step runs none of its code.
            self._task.add_done_callback(partial(self._end_opening, self._opening))
        return await asyncio.shield(self._opening)

    async def _run(self, opening: asyncio.Future[_Live]) -> None:
        """Start the server, hand its connection over, and keep it open until it ends or the task is canceled."""
        task = asyncio.current_task()
        assert task is not None
        is_lost = False
        try:
            if (wait := self._not_before - asyncio.get_running_loop().time()) > 0:
                await asyncio.sleep(wait)
            self.state = "starting"
            async with AsyncExitStack() as stack:
                seconds = max(START_S, (self.entry.timeout or 0) / 1000)
                try:
                    async with asyncio.timeout(seconds):
                        connection = await self._open(stack)
                        self._is_stale = False
                        await self._accept(await connection.lists())
                except TimeoutError:
                    raise McpError(f"it did not start within {seconds:g} s") from None
                self.state, self.error = "connected", None
                opening.set_result(_Live(connection, task, self._process))
                if self._is_stale:
                    self._schedule_refresh()
                if self._process is None:
                    await asyncio.Event().wait()  # a remote server, until a request fails
                else:
                    await self._process.ended.wait()
                is_lost = True
        except Exception as error:  # noqa: BLE001 - whatever a server or the SDK does, only this server fails
            await self._record_failure(error, opening)
        finally:
            self._end_opening(opening)
            if is_lost:
                self._back_off("it ended unexpectedly")

    def _end_opening(self, opening: asyncio.Future[_Live], *_: object) -> None:
        """Let the next call start it again, and fail those that wait for this start."""
        self._opening = self._opening if self._opening is not opening else None
        if not opening.done():
            opening.set_exception(McpStopped(f"the MCP server {self.name} was stopped"))

    async def _open(self, stack: AsyncExitStack) -> "Connection":
        sdk = await asyncio.to_thread(importlib.import_module, "opencode_tui.engine.mcp.sdk")
        handlers = sdk.Handlers(elicit=self._elicit, roots=self._world.roots, changed=self._schedule_refresh)
        try:
            if isinstance(self.entry, McpLocalSettings):
                command, folder, environ = await asyncio.to_thread(self._find_program, self.entry)
                process = await ServerProcess.start(command, folder, environ)
                self._process = process
                stack.push_async_callback(self._end_process, process)
                return await stack.enter_async_context(sdk.connect_local(process, handlers))
            address = sdk.RemoteAddress(self.entry.url, self.entry.headers or {})
            terms = self.sign_in.terms
            auth = None if terms is None else sdk.TokenAuth(terms, self._world.credentials)
            return await stack.enter_async_context(sdk.connect_remote(address, handlers, auth))
        except ConnectionLost as lost:
            process = self._process
            if process is not None and await process.wait_exit(0.2):
                raise McpError(f"it {process.exit_text} while it started") from None
            reason = str(lost)
            if not isinstance(self.entry, McpLocalSettings):
                reason = network.explain(reason, self.entry.url)
            raise McpError(f"it cannot be reached: {reason}") from None

    def _find_program(self, entry: McpLocalSettings) -> tuple[list[str], Path, dict[str, str]]:
        """Return the command, the folder and the environment of a local server. Raises McpError. Blocks.

        A server is not confined, so its program must not be one that a confined command may have written: PATH is used without
        the folders of the project. Nothing in the folder may become a module of the server where the user does not trust it, nor of
        one of the user's own that Python would look for there first.
        """
        folder = self._world.folder
        given = safe_environ(self._world.environ, folder)
        if (active := given.get("VIRTUAL_ENV")) and is_below(active, folder, given):
            del given["VIRTUAL_ENV"]
        environ = server_environment(given, entry.environment)
        program, *arguments = entry.command
        if self.name not in self._world.of_repository and not _FROM_FOLDER.isdisjoint(arguments):
            environ.setdefault("PYTHONSAFEPATH", "1")
        if os.path.dirname(program):
            found = program
        elif "PATH" in (entry.environment or {}):  # the settings name these folders
            found = shutil.which(program, path=environ["PATH"])
        else:
            found = find_program(program, environ, folder)
        if found is None:
            raise McpError(
                f"`{program}` is not on PATH, without the folders of the project; install it, or give its absolute path"
            )
        return [found, *arguments], self._find_folder(entry), environ

    def _find_folder(self, entry: McpLocalSettings) -> Path:
        """Return the folder that a local server starts in. Raises McpError. Blocks."""
        if (data := self._world.data.get(self.name)) is not None:
            ensure(data)
        if entry.cwd is None:
            return self._world.folder if self._world.is_trusted() else self._world.home
        folder = resolve_file(entry.cwd, self._world.folder, self._world.home)
        if not folder.is_dir():
            raise McpError(f"its folder {folder} does not exist; create it, or correct `cwd`")
        return folder

    async def _end_process(self, process: ServerProcess) -> None:
        self._output = process.output
        self._process = None
        await process.stop()
        self._output = process.output

    async def _record_failure(self, error: Exception, opening: "asyncio.Future[Any]") -> None:
        if not isinstance(error, McpError):
            logger.exception("the MCP server %s failed", self.name, exc_info=error)
        text = str(error) if isinstance(error, McpError) else f"{type(error).__name__}: {error}"
        if isinstance(error, McpSignInError):
            await self._demand(error)
        else:
            self._back_off(text)
        if not opening.done():
            lines = self._output[-SHOWN_LINES:]
            shown = f". Its last output:\n{chr(10).join(lines)}" if lines else ""
            opening.set_exception(McpError(f"the MCP server {self.name} cannot be used: {self.error or text}{shown}"))

    def _back_off(self, reason: str) -> None:
        """Record a crash or a failed start: the next start waits, after too many there is none."""
        if self.state == "disabled":
            return
        self.error = reason
        if self._failures >= len(BACKOFF_S):
            self.state = "failed"
            return
        self.state = "known"
        self._not_before = asyncio.get_running_loop().time() + BACKOFF_S[self._failures]
        self._failures += 1

    async def _accept(self, lists: ServerLists) -> None:
        """Use new lists from the next turn on, and cache them."""
        is_new = lists != self.lists or not self.is_listed
        self.lists = lists
        self.listed_at = await asyncio.to_thread(self._world.cache.write, self._key, lists)
        if is_new:
            self._changed(self.name)

    def _schedule_refresh(self) -> None:
        self._is_stale = True
        if self.state == "connected" and (self._refresh is None or self._refresh.done()):
            self._refresh = asyncio.create_task(self._refresh_lists(), name=f"lists of the MCP server {self.name}")

    async def _refresh_lists(self) -> None:
        while self._is_stale:  # also after a change that is announced while the lists are read
            await asyncio.sleep(GATHER_S)
            self._is_stale = False
            if self._opening is None:
                return
            with suppress(ConnectionLost, McpError, TimeoutError):
                async with asyncio.timeout(START_S):
                    await self._accept(await (await self._opening).connection.lists())

    async def _elicit(self, params: JsonObject) -> JsonObject:
        """Ask the user through the call that the question belongs to, else the newest; without a call it is declined.

        Over HTTP a question comes with the answer to its call, whose context the SDK keeps; over pipes nothing says so.
        """
        asking = [one for one in self._calls if one.elicit is not None]
        own = _current_call.get()
        call = own if own in asking else next(reversed(asking), None)
        if call is None or call.elicit is None or sum(len(one.asking) for one in asking) >= MOST_QUESTIONS:
            return DECLINED
        return await call.ask(call.elicit, params, 1 if call is own else len(asking))
