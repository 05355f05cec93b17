"""Connections to MCP servers by the official SDK: the only module that imports it, which takes half a second and 30 MB.

It is imported on a thread, when the first server starts. What it returns are the protocol's JSON objects.
"""

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client._transport import ReadStream, TransportStreams, WriteStream  # the types of what a transport yields
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from msgspec import Struct

from opencode_tui import __version__
from opencode_tui.engine.mcp.answers import TASK_KEY, repair_answer
from opencode_tui.engine.mcp.lists import (
    MAX_TOOLS,
    ConnectionLost,
    McpError,
    McpSignInError,
    ServerLists,
    SessionEnded,
    clean,
    clean_list,
)
from opencode_tui.engine.mcp.process import ServerProcess
from opencode_tui.engine.mcp.sdk_oauth import TokenAuth, client_options
from opencode_tui.schema.json_text import decode_foreign
from opencode_tui.schema.record import JsonObject
from opencode_tui.tasks import first_error

Progress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Called with the progress of a call, its total and a text."""

# What the SDK and its libraries log goes where our lines go: without a handler of theirs Python prints it over the screen.
for _name in ("mcp", "client", "httpx2", "httpcore2"):
    logging.getLogger(_name).parent = logging.getLogger("opencode_tui")

MOST_REQUESTS = 100
"""Requests of a server that may wait for our answer; further ones are dropped, as it does not read the answers."""

MOST_EMPTY_PAGES = 10
"""Pages of a list one after the other without a new member after which it ends."""

_HTTP_TIMEOUT_S = 30.0
_READ_TIMEOUT_S = 300.0


class Handlers(Struct, frozen=True):
    """What a server may ask for: the user's input (the protocol's `elicitation/create`), the roots; and what it reports.

    `elicit` gets the request's parameters and returns the protocol's result; `changed` is called when a list changed.
    """

    elicit: Callable[[JsonObject], Awaitable[JsonObject]]
    roots: Sequence[Path]
    changed: Callable[[], None]


class RemoteAddress(Struct, frozen=True):
    """The address of a remote server."""

    url: str
    headers: Mapping[str, str]


class Connection:
    """A connection to a server. All methods raise ConnectionLost, and McpError for an error that the server reports.

    They raise McpSignInError where the server demands a sign-in, or one with more rights.
    """

    def __init__(self, client: Client, exchange: "_Exchange", auth: TokenAuth | None = None) -> None:
        self._client = client
        self._exchange = exchange
        self._auth = auth
        self._only_as_tasks: frozenset[str] = frozenset()
        """The tools that the server runs only as tasks (`taskSupport: required` of the protocol of 2025-11-25)."""
        self._ending: set[asyncio.Task[None]] = set()
        # A result that does not fit its schema would be lost: the model can read it all the same.
        setattr(client.session, "validate_tool_result", _accept)  # noqa: B010 - the attribute is a method

    async def lists(self) -> ServerLists:
        """Return all lists, without the members beyond a limit, and what was left out of them."""
        can = self._client.server_capabilities
        ends: list[str] = []
        tools = await self._all("tools", self._client.list_tools, ends) if can.tools else []
        prompts = await self._all("prompts", self._client.list_prompts, ends) if can.prompts else []
        resources = await self._all("resources", self._client.list_resources, ends) if can.resources else []
        templates = (
            await self._all("resourceTemplates", self._client.list_resource_templates, ends) if can.resources else []
        )
        self._only_as_tasks = frozenset(tool["name"] for tool in tools if _is_only_a_task(tool))
        faults = [fault for faults in self._exchange.faults.values() for fault in faults]
        return ServerLists(
            tools=clean_list(tools),
            prompts=clean_list(prompts),
            resources=clean_list(resources, key="uri"),
            templates=clean_list(templates, key="uriTemplate"),
            instructions=str(clean(self._client.instructions or "")),
            faults=[str(clean(fault)) for fault in dict.fromkeys([*faults, *ends])],
        )

    async def call(self, tool: str, arguments: JsonObject, report: Progress) -> JsonObject:
        """Return the result of a tool."""

        async def forward(progress: float, total: float | None, message: str | None) -> None:
            await report(progress, total, message)

        if tool not in self._only_as_tasks:
            return await self._ask(self._client.call_tool(tool, arguments, progress_callback=forward))
        params = types.CallToolRequestParams(name=tool, arguments=arguments, task=types.TaskMetadata())
        request = types.CallToolRequest(params=params)
        session = self._client.session
        started = await self._ask(session.send_request(request, types.CallToolResult, progress_callback=forward))
        return await self._wait_for_task(tool, started)

    async def _wait_for_task(self, tool: str, started: JsonObject) -> JsonObject:
        """Return the result of a call that the server runs as a task; the end of this request ends the task."""
        task: Any = cast("JsonObject", started.get("_meta") or {}).get(TASK_KEY)
        if task is None:
            return started  # it has run the tool at once
        wanted = types.GetTaskPayloadRequest(params=types.GetTaskPayloadRequestParams(task_id=task))
        try:
            return await self._ask(self._client.session.send_request(wanted, types.CallToolResult))
        except asyncio.CancelledError:
            ending = asyncio.create_task(self._cancel_task(task), name=f"end of the task of {tool}")
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            raise

    async def _cancel_task(self, task: str) -> None:
        request = types.CancelTaskRequest(params=types.CancelTaskRequestParams(task_id=task))
        with suppress(McpError, ConnectionLost):
            await self._ask(self._client.session.send_request(request, types.EmptyResult))

    async def prompt(self, name: str, arguments: dict[str, str]) -> JsonObject:
        """Return the messages of a prompt."""
        return await self._ask(self._client.get_prompt(name, arguments))

    async def resource(self, uri: str) -> JsonObject:
        """Return the contents of a resource."""
        return await self._ask(self._client.read_resource(uri, cache_mode="bypass"))

    async def ping(self) -> None:
        """Return when the server answers: to a list, because newer servers know no ping."""
        await self._ask(self._client.list_tools(cache_mode="bypass"))

    async def _all(self, name: str, fetch: Callable[..., Awaitable[Any]], ends: list[str]) -> list[JsonObject]:
        """Return the members of a list with all its pages; what stopped it early is added to `ends`."""
        key = {"resources": "uri", "resourceTemplates": "uriTemplate"}.get(name, "name")
        found: dict[str, JsonObject] = {}
        cursor: str | None = None
        cursors: set[str] = set()
        empty = 0
        while len(found) < MAX_TOOLS:
            try:
                page = await self._ask(fetch(cursor=cursor, cache_mode="bypass"))
            except McpError:  # it announced a list that it does not have
                if name == "tools" and cursor is None:
                    raise
                if cursor is not None:
                    ends.append(f"a page of its list of {name} cannot be read, so the list ends there")
                break
            before = len(found)
            for member in cast("list[JsonObject]", page.get(name) or []):
                found.setdefault(str(member[key]), member)
            empty = empty + 1 if len(found) == before else 0
            cursor = page.get("nextCursor")
            if not cursor:
                break
            if cursor in cursors or empty >= MOST_EMPTY_PAGES:
                ends.append(f"the pages of its list of {name} repeat without an end, so the list ends there")
                break
            cursors.add(cursor)
        return list(found.values())

    async def _ask(self, request: Awaitable[Any]) -> JsonObject:
        try:
            result = await request
        except MCPError as error:
            _check_challenge(self._auth)
            if "session terminated" in error.message.lower():  # a remote server that was restarted
                raise SessionEnded(error.message) from error
            raise _translated(error) from error
        except (
            httpx2.HTTPError,
            anyio.ClosedResourceError,
            anyio.BrokenResourceError,
            OSError,
            ValueError,
            RuntimeError,
        ) as error:
            _check_challenge(self._auth)
            raise _translated(error) from error
        return cast("JsonObject", result.model_dump(mode="json", by_alias=True, exclude_none=True))


def _is_only_a_task(tool: JsonObject) -> bool:
    return cast("JsonObject", tool.get("execution") or {}).get("taskSupport") == "required"


async def _accept(_name: str, _result: object) -> None:
    """Accept a result."""


@asynccontextmanager
async def connect_local(process: ServerProcess, handlers: Handlers) -> AsyncGenerator[Connection]:
    """Yield the connection to a started server. Must be entered and left by one task. Raises McpError, ConnectionLost."""
    async with _opened(_over_pipes(process), handlers) as connection:
        yield connection


@asynccontextmanager
async def connect_remote(
    address: RemoteAddress, handlers: Handlers, sign_in: TokenAuth | None
) -> AsyncGenerator[Connection]:
    """Yield the connection to a remote server, over streamable HTTP, else over SSE. Must be entered and left by one task.

    Raises McpError, McpSignInError for one that refuses without a sign-in, ConnectionLost. Without `sign_in` there is no sign-in.
    """
    statuses: list[int] = []
    options = await asyncio.to_thread(client_options, address.url)

    async def record(response: httpx2.Response) -> None:
        statuses.append(response.status_code)
        if response.status_code == 200 and "content-encoding" not in response.headers:
            await _complete(response)

    def make(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> httpx2.AsyncClient:
        """Return the client of either transport; the parameters are those of the SDK, and not used."""
        return httpx2.AsyncClient(
            headers=dict(address.headers),
            auth=sign_in,
            timeout=httpx2.Timeout(_HTTP_TIMEOUT_S, read=_READ_TIMEOUT_S),
            event_hooks={"response": [record]},
            **options,
        )

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(make())
        try:
            inner = AsyncExitStack()
            connection = await inner.enter_async_context(
                _opened(streamable_http_client(address.url, http_client=client), handlers, sign_in)
            )
        except (McpError, ConnectionLost) as error:
            _check_refusal(statuses, sign_in)
            if not any(status in (400, 404, 405, 406) for status in statuses):
                raise
            first = error
            inner = AsyncExitStack()
            try:
                connection = await inner.enter_async_context(
                    _opened(sse_client(address.url, httpx_client_factory=make), handlers, sign_in)
                )
            except (McpError, ConnectionLost):
                _check_refusal(statuses, sign_in)
                raise first from None
        stack.push_async_exit(inner)
        yield connection


_BOM = b"\xef\xbb\xbf"
_EVENTS = "text/event-stream"


async def _complete(response: httpx2.Response) -> None:
    """Give an answer what the SDK demands of it: a content type, no byte order mark, and a blank line after the last event."""
    given = response.stream
    if not isinstance(given, httpx2.AsyncByteStream):
        return
    chunks = aiter(given)
    begin = b""
    if "content-type" not in response.headers and response.request.method == "POST":
        while len(begin) <= len(_BOM) and (chunk := await anext(chunks, None)) is not None:
            begin += chunk
        kind = "application/json" if begin.removeprefix(_BOM).lstrip()[:1] in (b"{", b"[") else _EVENTS
        response.headers["content-type"] = kind
    is_stream = response.headers.get("content-type", "").lower().startswith(_EVENTS)
    response.stream = _Completed(given, begin, chunks, is_stream=is_stream)


class _Completed(httpx2.AsyncByteStream):
    """The bytes of an answer without a byte order mark, with a blank line at the end of a stream of events."""

    def __init__(
        self, given: httpx2.AsyncByteStream, begin: bytes, chunks: AsyncIterator[bytes], *, is_stream: bool
    ) -> None:
        self._given = given
        self._begin = begin
        self._chunks = chunks
        self._is_stream = is_stream

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        begin = self._begin
        while len(begin) < len(_BOM) and (chunk := await anext(self._chunks, None)) is not None:
            begin += chunk
        yield begin.removeprefix(_BOM)
        async for chunk in self._chunks:
            yield chunk
        if self._is_stream:
            yield b"\n\n"

    async def aclose(self) -> None:
        await self._given.aclose()


def _check_refusal(statuses: Sequence[int], auth: TokenAuth | None) -> None:
    _check_challenge(auth)
    if auth is None and 401 in statuses:
        raise McpSignInError(
            "it refuses access (401); check the `Authorization` of its headers, or remove `oauth: false`"
        )
    if 403 in statuses:
        raise McpError("it refuses access (403); check its headers in the settings")


def _check_challenge(auth: TokenAuth | None) -> None:
    """Raise McpSignInError where the last request was refused for lack of a sign-in, ConnectionLost where it had no token."""
    if auth is not None and auth.failure is not None:
        raise ConnectionLost(auth.failure)
    if auth is None or auth.challenge is None:
        return
    is_more = "insufficient_scope" in auth.challenge
    raise McpSignInError("it demands more rights" if is_more else "it demands a sign-in", auth.challenge)


@asynccontextmanager
async def _opened(
    transport: AbstractAsyncContextManager[TransportStreams], handlers: Handlers, auth: TokenAuth | None = None
) -> AsyncGenerator[Connection]:
    """Yield a connection over a transport of the SDK; its errors become ours."""

    async def elicit(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        answer = await handlers.elicit(params.model_dump(mode="json", by_alias=True, exclude_none=True))
        return types.ElicitResult.model_validate(answer)

    async def roots(context: object) -> types.ListRootsResult:
        return types.ListRootsResult(
            roots=[types.Root.model_validate({"uri": one.as_uri(), "name": one.name}) for one in handlers.roots]
        )

    async def heard(message: object) -> None:
        changes = (
            types.ToolListChangedNotification,
            types.PromptListChangedNotification,
            types.ResourceListChangedNotification,
        )
        if isinstance(message, changes):
            handlers.changed()

    exchange = _Exchange()
    client = Client(
        _repaired(transport, exchange),
        elicitation_callback=elicit,
        list_roots_callback=roots,
        message_handler=heard,
        client_info=types.Implementation(name="opencode-tui", version=__version__),
        cache=None,
    )
    try:
        async with client:
            yield Connection(client, exchange, auth)
    except (BaseExceptionGroup, MCPError, httpx2.HTTPError, OSError, ValueError, RuntimeError) as error:
        raise _translated(first_error(error)) from None


def _translated(error: BaseException) -> BaseException:
    """Return our exception for one of the SDK or its libraries, any other as it is."""
    if isinstance(error, MCPError):
        return (
            ConnectionLost(error.message)
            if error.code == types.CONNECTION_CLOSED
            else McpError(str(clean(error.message)))
        )
    if isinstance(error, (httpx2.HTTPError, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)):
        return ConnectionLost(str(error) or type(error).__name__)
    if isinstance(error, (ValueError, RuntimeError)):
        return McpError(f"it does not follow the protocol: {' '.join(str(error).split())[:300]}")
    return error


class _Exchange:
    """The messages of a connection: each answer passes here in the form that the protocol demands (`answers.py`).

    `faults` are the lines about what was left out of the newest answers, by the methods that asked for them.
    """

    def __init__(self) -> None:
        self.faults: dict[str, list[str]] = {}
        self._asked: dict[str, tuple[str, str | None]] = {}
        """The method and the cursor of each request without an answer, by its id as a text."""
        self._cursors: dict[str, Any] = {}
        """The cursors of a server that are no texts, by the texts that stand for them."""

    def sent(self, message: SessionMessage) -> SessionMessage:
        """Record a request, and return it with the cursor that the server gave."""
        request = message.message
        if isinstance(request, types.JSONRPCRequest):
            cursor: Any = (request.params or {}).get("cursor")
            self._asked[str(request.id)] = (request.method, cursor)
            if request.params is not None and cursor in self._cursors:
                request.params["cursor"] = self._cursors[cursor]
        elif isinstance(request, types.JSONRPCNotification) and request.method == "notifications/cancelled":
            self._asked.pop(str((request.params or {}).get("requestId")), None)
        return message

    def received(self, message: SessionMessage | Exception) -> SessionMessage | Exception:
        """Return a message of the server with its result repaired."""
        if not isinstance(message, SessionMessage):
            return message
        answer = message.message
        if isinstance(answer, types.JSONRPCError):
            self._asked.pop(str(answer.id), None)
        if not isinstance(answer, types.JSONRPCResponse):
            return message
        answer.result.setdefault("resultType", "complete")  # the protocol of 2026-07-28 says so, but the SDK refuses it
        method, asked_cursor = self._asked.pop(str(answer.id), ("", None))
        cursor: Any = answer.result.get("nextCursor")
        if cursor and not isinstance(cursor, str):
            answer.result["nextCursor"] = name = json.dumps(cursor)
            self._cursors[name] = cursor
        repaired = repair_answer(method, answer.result)
        answer.result = repaired.result
        if asked_cursor is None:
            self.faults[method] = []
        self.faults.setdefault(method, []).extend(repaired.faults)
        return message


@asynccontextmanager
async def _repaired(
    transport: AbstractAsyncContextManager[TransportStreams], exchange: _Exchange
) -> AsyncGenerator[TransportStreams]:
    """Yield the streams of a transport, with all messages passed through the exchange."""
    async with transport as (read, write):
        yield _Incoming(read, exchange), _Outgoing(write, exchange)


class _Incoming:
    """The messages of the server."""

    def __init__(self, messages: ReadStream[SessionMessage | Exception], exchange: _Exchange) -> None:
        self._messages = messages
        self._exchange = exchange

    async def receive(self) -> SessionMessage | Exception:
        return self._exchange.received(await self._messages.receive())

    async def aclose(self) -> None:
        await self._messages.aclose()

    def __aiter__(self) -> "_Incoming":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._exchange.received(await self._messages.__anext__())

    async def __aenter__(self) -> "_Incoming":
        await self._messages.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._messages.__aexit__(exc_type, exc_val, exc_tb)

    @property
    def last_context(self) -> object:
        """The context of the last sender, which the SDK asks for; its stream may have none."""
        return getattr(self._messages, "last_context", None)


class _Outgoing:
    """The messages to the server."""

    def __init__(self, messages: WriteStream[SessionMessage], exchange: _Exchange) -> None:
        self._messages = messages
        self._exchange = exchange

    async def send(self, item: SessionMessage, /) -> None:
        await self._messages.send(self._exchange.sent(item))

    async def aclose(self) -> None:
        await self._messages.aclose()

    async def __aenter__(self) -> "_Outgoing":
        await self._messages.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._messages.__aexit__(exc_type, exc_val, exc_tb)


@asynccontextmanager
async def _over_pipes(process: ServerProcess) -> AsyncGenerator[TransportStreams]:
    """Yield the streams of a process. The SDK's own transport waits 2 s for servers that ignore the end of their input."""
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    waiting: set[types.RequestId] = set()
    """The requests to the server that have no answer yet."""
    asked = 0  # requests of the server that have none

    async def read_lines() -> None:
        nonlocal asked
        async with incoming:
            async for line in process.lines():
                for message in _read_line(line, waiting):
                    if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)) and message.id is not None:
                        waiting.discard(message.id)
                    elif isinstance(message, types.JSONRPCRequest):
                        if asked >= MOST_REQUESTS:
                            continue
                        asked += 1
                    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        await incoming.send(SessionMessage(message))

    async def write_lines() -> None:
        nonlocal asked
        async with outgoing:
            async for message in outgoing:
                if isinstance(message.message, types.JSONRPCRequest):
                    waiting.add(message.message.id)
                elif isinstance(message.message, types.JSONRPCNotification):
                    if message.message.method == "notifications/cancelled":
                        waiting.discard((message.message.params or {}).get("requestId", ""))
                else:
                    asked -= 1
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await process.write(f"{text}\n".encode())
                except OSError:
                    await incoming.aclose()
                    return

    async with anyio.create_task_group() as group:
        group.start_soon(read_lines)
        group.start_soon(write_lines)
        try:
            yield read, write
        finally:
            group.cancel_scope.cancel()
            read.close()
            write.close()


_ID = re.compile(rb'"id"\s*:\s*(\d+)')
_METHOD = re.compile(rb'"method"\s*:')


def _read_line(line: bytes, waiting: Collection[types.RequestId]) -> list[types.JSONRPCMessage]:
    """Return the messages that a line of a server stands for: none for a print for debugging, else its own.

    For one that cannot be read these are errors as the answers to the requests that it answers: nothing else would end them.
    """
    if not line.lstrip().startswith(b"{"):
        return []
    value: object = None
    try:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            value = decode_foreign(line)
            message = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        return [_error(f"its answer cannot be read: {reason}", one) for one in _answered(line, value) if one in waiting]
    if isinstance(message, types.JSONRPCError) and message.id is None and message.error.code == types.PARSE_ERROR:
        return [_error(message.error.message, one) for one in tuple(waiting)]  # it could not read one of them
    return [message]


def _answered(line: bytes, value: object) -> list[types.RequestId]:
    """Return the request that a line answers which is no message; `value` is what it holds as JSON, None where it is none."""
    if isinstance(value, dict):
        given = cast("JsonObject", value)
        number: Any = given.get("id")
        is_answer = "jsonrpc" in given and "method" not in given  # else a line of a log
        return [number] if is_answer and isinstance(number, int | str) else []
    found = _ID.search(line) if b'"jsonrpc"' in line and not _METHOD.search(line) else None
    return [] if found is None else [int(found[1])]


def _error(text: str, request: types.RequestId) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=request, error=types.ErrorData(code=types.PARSE_ERROR, message=text))
