"""Sign-ins to MCP servers: what one needs and what is stored of it, and those that wait for the user.

A sign-in that waits has an address for the browser, and ends when that comes back.
"""

import asyncio
import errno
import importlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from opencode_tui.cancellation import consume_error
from opencode_tui.config.settings.settings import McpLocalSettings, McpOauthSettings, McpRemoteSettings
from opencode_tui.engine.mcp.callback import Callbacks, Redirected, UnavailablePort, read_redirect, redirect_address
from opencode_tui.engine.mcp.credentials import McpCredentials, SignInEntry, SignInTerms
from opencode_tui.engine.mcp.lists import McpError
from opencode_tui.schema.error import OpencodeError

LONGEST_S = 300.0
"""Seconds in which the user must have signed in."""


class ServerSignIn:
    """The sign-in to one server: what it needs, and whether the server demands one."""

    def __init__(self, name: str, entry: McpLocalSettings | McpRemoteSettings, credentials: McpCredentials) -> None:
        self._credentials = credentials
        self.terms = _terms(name, entry)
        """What a sign-in needs, None for a server to which there is none."""
        self.challenge: str | None = None
        """The header with which the server last demanded one."""
        self._refused: str | None = None

    def read(self) -> SignInEntry | None:
        """Return what is stored, None for a server to which there is no sign-in. Raises ConfigError. Blocks for a small file."""
        return None if self.terms is None else self._credentials.find(self.terms.name, self.terms.url)

    def record_challenge(self, challenge: str, *, is_call: bool) -> None:
        """Record that the server demands a sign-in; what a start would not show again, also for other processes. Blocks."""
        self.challenge = challenge
        with suppress(OpencodeError):  # a damaged file: a sign-in says so
            entry = self.read()
            if entry is None or self.terms is None:
                return
            self._refused = entry.tokens.access_token if entry.tokens else None
            if (is_call or entry.tokens is not None) and entry.details.challenge != challenge:
                details = entry.details.changed(challenge=challenge)
                self._credentials.store(self.terms.name, self.terms.url, sign_in=details)

    def evict(self) -> None:
        """Drop what is known about a demand: the tokens were deleted."""
        self.challenge = self._refused = None

    def is_newer(self) -> bool:
        """Return whether this or another process signed in after the server demanded it. Blocks for a small file."""
        try:
            entry = self.read()
        except OpencodeError:
            return False
        return entry is not None and entry.tokens is not None and entry.tokens.access_token != self._refused


def _terms(name: str, entry: McpLocalSettings | McpRemoteSettings) -> SignInTerms | None:
    if not isinstance(entry, McpRemoteSettings) or entry.oauth is False:
        return None
    if any(header.lower() == "authorization" for header in entry.headers or {}):
        return None
    own = entry.oauth if isinstance(entry.oauth, McpOauthSettings) else McpOauthSettings()
    return SignInTerms(
        name=name,
        url=entry.url,
        redirect=redirect_address(own.callbackPort),
        client_id=own.clientId,
        client_secret=own.clientSecret,
        scope=own.scope,
    )


class _Pending:
    """A sign-in that waits for the user."""

    task: asyncio.Task[None]

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.url: asyncio.Future[str] = loop.create_future()
        self.found: asyncio.Future[Redirected] = loop.create_future()
        self.state = ""


class SignIns:
    """The sign-ins that wait. Call all methods on the event loop."""

    def __init__(self, credentials: McpCredentials) -> None:
        self._credentials = credentials
        self._callbacks = Callbacks()
        self._pending: dict[str, _Pending] = {}

    def is_pending(self, name: str) -> bool:
        """Return whether a sign-in to a server waits for the user."""
        return name in self._pending

    async def begin(
        self, terms: SignInTerms, challenge: str, finished: Callable[[Exception | None], Awaitable[None]]
    ) -> str:
        """Return the address for the browser, that of a sign-in that waits already if there is one.

        `finished` is awaited at the end of the sign-in, with its error. Raises McpError, SignInError, ConnectionLost.
        """
        pending = self._pending.get(terms.name)
        if pending is None:
            pending = self._pending[terms.name] = _Pending()
            work = self._run(pending, terms, challenge, finished)
            pending.task = asyncio.create_task(work, name=f"sign-in to the MCP server {terms.name}")
            pending.task.add_done_callback(consume_error)  # which `finished` has got
        await asyncio.wait({pending.task, pending.url}, return_when=asyncio.FIRST_COMPLETED)
        if not pending.url.done():
            pending.task.result()
        return pending.url.result()

    async def wait(self, name: str) -> None:
        """Wait for the end of a sign-in; the caller's cancellation does not end it. Raises as `begin`."""
        pending = self._pending.get(name)
        if pending is None:
            raise McpError("none waits for the user; begin it again")
        try:
            await asyncio.shield(pending.task)
        except asyncio.CancelledError:
            if pending.task.cancelled():
                raise McpError("it was canceled") from None
            raise

    async def finish(self, name: str, code: str) -> None:
        """End a sign-in with a code, or with the whole address to which the browser was sent. Raises as `begin`."""
        pending = self._pending.get(name)
        if pending is None or not pending.state:
            raise McpError("none waits for the user; begin it again")
        redirected = Redirected(code.strip(), pending.state)
        if "://" in code:
            try:
                redirected = read_redirect(code.strip())
            except ValueError:
                raise McpError("this address has no code; paste the one that the browser shows at the end") from None
            if redirected.state != pending.state:
                raise McpError("this address belongs to another sign-in; paste the one of this")
        if not pending.found.done():
            pending.found.set_result(redirected)
        await self.wait(name)

    async def cancel(self, name: str | None = None) -> None:
        """Cancel the sign-in to a server, or all."""
        tasks = {one.task for key, one in self._pending.items() if name in (None, key)}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(
        self,
        pending: _Pending,
        terms: SignInTerms,
        challenge: str,
        finished: Callable[[Exception | None], Awaitable[None]],
    ) -> None:
        port = urlsplit(terms.redirect).port or 0

        async def show(url: str) -> Redirected:
            pending.state = parse_qs(urlsplit(url).query)["state"][0]
            async with self._callbacks.expecting(pending.state, pending.found):
                pending.url.set_result(url)
                return await pending.found

        failure: Exception | None = None
        try:
            try:
                sdk = await asyncio.to_thread(importlib.import_module, "opencode_tui.engine.mcp.sdk_oauth")
                async with asyncio.timeout(LONGEST_S), self._callbacks.listening(port):
                    await sdk.authorize(terms, challenge, self._credentials, show)
            except TimeoutError:
                failure = McpError(f"it was not finished within {LONGEST_S:g} s; begin it again")
            except UnavailablePort as error:
                why = "another program uses it" if error.errno == errno.EADDRINUSE else error.strerror
                failure = McpError(
                    f"the local port {port} for the browser's redirect is not free: {why}; "
                    f"end that program, or set another one in `oauth.callbackPort` of mcp.{terms.name}"
                )
            except Exception as error:  # noqa: BLE001 - raised below
                failure = error
            await finished(failure)
            if failure is not None:
                raise failure
        finally:
            del self._pending[terms.name]
