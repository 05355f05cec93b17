"""The connection to a server: requests, and reported errors as the exceptions of the engine."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, Literal, TypeVar, cast
from urllib.parse import quote

import httpx

from opencode_tui.schema.error import (
    AuthError,
    BusyError,
    ConfigError,
    ContextOverflowError,
    Failure,
    LinkLostError,
    LockTimeoutError,
    ModelNotFoundError,
    NoSuchMessageError,
    NotFoundError,
    NothingToRevertError,
    OpencodeError,
    PermissionRefused,
    ProviderError,
    RunAborted,
    SessionError,
    SignInError,
    SnapshotError,
    ToolError,
    TrustError,
)
from opencode_tui.schema.http_headers import DEFAULT_USERNAME, KIND_HEADER
from opencode_tui.schema.json_text import JsonError, load_json
from opencode_tui.schema.record import JsonObject, Record
from opencode_tui.schema.session.stored_error import (
    StoredAbortedError,
    StoredApiError,
    StoredAuthError,
    StoredError,
    StoredOverflowError,
    StoredUnknownError,
)

_KINDS: dict[str, type[OpencodeError]] = {
    kind.__name__: kind
    for kind in (
        BusyError,
        ConfigError,
        LockTimeoutError,
        NoSuchMessageError,
        NotFoundError,
        NothingToRevertError,
        OpencodeError,
        PermissionRefused,
        SessionError,
        SignInError,
        SnapshotError,
        ToolError,
        TrustError,
    )
}
_REFUSED = "the server refuses this password; set OPENCODE_SERVER_PASSWORD to the one that it was started with"


def status_error(status: int, kind: str | None, body: bytes) -> OpencodeError:
    """Return the exception for an answer whose status is not a success."""
    if status == 401:
        return OpencodeError(_REFUSED)
    return body_error(_parsed(body), kind, status=status)


def body_error(body: JsonObject, kind: str | None = None, *, status: int = 500) -> OpencodeError:
    """Return the exception for an error body."""
    data = body.get("data")
    details = cast("JsonObject", data) if isinstance(data, dict) else {}
    message = details.get("message")
    if not isinstance(message, str):
        message = _defects(body) or f"the server answered {status}"
    if body.get("name") == "ProviderModelNotFoundError":
        return ModelNotFoundError(
            str(details.get("providerID")), str(details.get("modelID")), list(details.get("suggestions") or [])
        )
    return _KINDS.get(kind or "", SessionError if status == 400 else OpencodeError)(message)


def answer_failure(stored: StoredError) -> OpencodeError | None:
    """Return the exception that a turn with this error raises in the process; None if the error is part of its answer."""
    match stored:
        case StoredAbortedError():
            return RunAborted(stored.data.message)
        case StoredAuthError():
            return AuthError(stored.data.message, provider_id=stored.data.provider_id)
        case StoredOverflowError():
            return ContextOverflowError(stored.data.message, provider_id="", failure=Failure(kind="overflow"))
        case StoredApiError(data=data):
            failure = Failure(status=data.status_code, retryable=data.is_retryable, body=data.response_body)
            return ProviderError(data.message, provider_id="", failure=failure)
        case StoredUnknownError():
            return OpencodeError(stored.data.message)
        case _:
            return None


def _parsed(body: bytes) -> JsonObject:
    try:
        parsed: Any = load_json(body)
    except ValueError:
        return {}
    return cast("JsonObject", parsed) if isinstance(parsed, dict) else {}


def _defects(body: JsonObject) -> str:
    """Return the defects of an input as one line."""
    listed = body.get("error")
    if not isinstance(listed, list):
        return ""
    issues = cast("list[JsonObject]", listed)
    return "; ".join(f"{'.'.join(map(str, issue.get('path', [])))}: {issue.get('message')}" for issue in issues)


R = TypeVar("R", bound=Record)
Query = Mapping[str, str | int | bool | None]

ANSWER_S = 60
"""Seconds that a server has for any answer but that of a turn."""

CONNECT_S = 5

NAMED_AFTER_S = 1.0
"""Seconds without an answer after which a server that does not respond is named."""


class Link:
    """Requests to one server for one folder, by default the folder that it was started in."""

    def __init__(self, http: httpx.AsyncClient, directory: str | None, *, is_terminal: bool = False) -> None:
        self._http = http
        self._is_terminal = is_terminal
        self.url = str(http.base_url).rstrip("/")
        self._headers = {"x-opencode-directory": quote(os.fsencode(directory))} if directory else {}
        self._unanswered = 0
        self._asked = asyncio.Event()

    async def silence(self) -> None:
        """Return when a request has had no answer for about `NAMED_AFTER_S`, and the server does not answer another one either."""
        while True:
            if not self._unanswered:
                self._asked.clear()
                await self._asked.wait()
            await asyncio.sleep(NAMED_AFTER_S / 2)
            if self._unanswered and await self.ask(NAMED_AFTER_S / 2) == "silent":
                return

    async def ask(self, limit_s: float) -> Literal["answers", "silent", "gone"]:
        """Return how the server responds within `limit_s` seconds; it is gone when there is no connection."""
        try:
            await self._http.get("/global/health", timeout=limit_s)
        except httpx.TimeoutException:
            return "silent"
        except httpx.HTTPError:
            return "gone"
        return "answers"

    @contextmanager
    def _unanswered_request(self) -> Generator[None]:
        self._unanswered += 1
        self._asked.set()
        try:
            yield
        finally:
            self._unanswered -= 1

    async def get(self, path: str, kind: type[R], query: Query | None = None) -> R:
        """Return a record."""
        return kind.model_validate_json(await self.bytes("GET", path, query=query))

    async def value(self, method: str, path: str, body: object = None, query: Query | None = None) -> Any:
        """Return plain JSON data."""
        content = await self.bytes(method, path, body=body, query=query)
        try:
            return load_json(content or b"null")
        except JsonError as error:
            raise OpencodeError(
                f"{self.url}{path} answered with something else than JSON ({error}); check the address"
            ) from error

    async def bytes(
        self, method: str, path: str, *, body: object = None, query: Query | None = None, reads: bool = False
    ) -> bytes:
        """Return the answer's body; raises OpencodeError for a status that is not a success, LinkLostError for no answer.

        `reads` says of another method than GET that it changes nothing.
        """
        try:
            with self._unanswered_request():
                answer = await self._http.request(
                    method, path, content=_encoded(body), params=_query(query), headers=self._headers_for(body)
                )
        except httpx.HTTPError as error:
            raise self._lost(error, reads=reads or method == "GET") from error
        if answer.is_success:
            return answer.content
        if answer.status_code == 503:
            self._raise_if_ending()
        raise status_error(answer.status_code, answer.headers.get(KIND_HEADER), answer.content)

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, body: object = None, *, silence_s: float | None = None
    ) -> AsyncGenerator[httpx.Response]:
        """Yield an answer before its body has arrived; raises as `bytes`. After `silence_s` without a byte it is lost."""
        limits = httpx.Timeout(silence_s, connect=CONNECT_S)
        try:
            async with AsyncExitStack() as stack:
                with self._unanswered_request():
                    answer = await stack.enter_async_context(
                        self._http.stream(
                            method, path, content=_encoded(body), headers=self._headers_for(body), timeout=limits
                        )
                    )
                if answer.status_code == 503:
                    self._raise_if_ending()
                if not answer.is_success:
                    raise status_error(answer.status_code, answer.headers.get(KIND_HEADER), await answer.aread())
                yield answer
        except httpx.HTTPError as error:
            raise self._lost(error) from error

    def _raise_if_ending(self) -> None:
        """Raise LinkLostError when this server is another terminal, which refuses requests only while it ends."""
        if self._is_terminal:
            raise LinkLostError("the terminal with the engine is ending; try again in a moment", is_repeatable=True)

    def _headers_for(self, body: object) -> dict[str, str]:
        return {**self._headers, "content-type": "application/json"} if body is not None else self._headers

    def _lost(self, error: httpx.HTTPError, *, reads: bool = False) -> LinkLostError:
        reason = str(error) or type(error).__name__
        if not self._is_terminal:
            from opencode_tui.network import explain

            reason = explain(reason, self.url)
        is_repeatable = reads or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        if self._is_terminal:
            words = (
                f"the terminal with the engine has ended ({reason}); what it had stored is kept, send the rest again"
            )
            return LinkLostError(words, is_repeatable=is_repeatable)
        return LinkLostError(
            f"no connection to {self.url} ({reason}); is the server running there?", is_repeatable=is_repeatable
        )


@asynccontextmanager
async def open_link(url: str, *, password: str | None, username: str, directory: str | None) -> AsyncGenerator[Link]:
    """Yield the connection to a server; nothing is sent yet. Raises OpencodeError for an invalid address.

    Without a password that of the address is used, with its user; no message has either.
    """
    from opencode_tui.network import client_options, without_credentials  # only for servers elsewhere

    shown = without_credentials(url)
    try:
        given = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise OpencodeError(f"{shown!r} is not an address; give one like http://127.0.0.1:4096") from error
    if given.scheme not in ("http", "https") or not given.host:
        raise OpencodeError(f"{shown!r} is not the address of a server; give one like http://127.0.0.1:4096")
    if not password:
        username, password = given.username or username, given.password
    base = given.copy_with(username="", password="")
    auth = httpx.BasicAuth(username, password) if password else None
    options = await asyncio.to_thread(client_options, str(base))
    async with httpx.AsyncClient(
        base_url=base,
        auth=auth,
        **options,
        timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
    ) as http:
        yield Link(http, directory)


TERMINAL_URL = "http://localhost"
"""The address of a server on a Unix socket, which has no host or port."""

_REUSE_S = 2.0
"""Seconds after which an idle connection is not used again: the server closes it after 5."""


@asynccontextmanager
async def open_terminal_link(socket: str, secret: str, directory: str) -> AsyncGenerator[Link]:
    """Yield the connection to the engine of another terminal, on a Unix socket; nothing is sent yet."""
    limits = httpx.Limits(keepalive_expiry=_REUSE_S)
    transport = httpx.AsyncHTTPTransport(uds=socket, limits=limits, verify=False)  # no TLS on this socket
    async with httpx.AsyncClient(
        base_url=TERMINAL_URL,
        auth=httpx.BasicAuth(DEFAULT_USERNAME, secret),
        transport=transport,
        timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S),
    ) as http:
        yield Link(http, directory, is_terminal=True)


def _encoded(body: object) -> bytes | None:
    if body is None:
        return None
    return json.dumps(body.to_dict() if isinstance(body, Record) else body).encode()


def _query(query: Query | None) -> dict[str, str]:
    """Return a query without the values that are None; booleans as in JSON."""
    given = {name: value for name, value in (query or {}).items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
