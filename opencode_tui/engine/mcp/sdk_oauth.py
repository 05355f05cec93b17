"""Sign-in to remote MCP servers with OAuth, by the official SDK; imported on a thread, like `sdk.py`.

The SDK finds the authorization server, registers this program, and exchanges the code for tokens. Requests use the stored token;
one process at a time refreshes it, at the endpoint that issued it and no other.
"""

import asyncio
import logging
import re
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import cache
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import mcp.client.auth.oauth2
from mcp.client.auth import (
    AuthorizationCodeResult,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    get_client_metadata_scopes,
    is_valid_client_metadata_url,
    union_scopes,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from opencode_tui import network
from opencode_tui.engine.mcp.callback import Redirected, RefusedSignIn
from opencode_tui.engine.mcp.credentials import (
    LONGEST_REFRESH_MS,
    ClientInfo,
    McpCredentials,
    SignInDetails,
    SignInEntry,
    SignInTerms,
    Tokens,
)
from opencode_tui.engine.mcp.lists import ConnectionLost, McpError, McpRegistrationError, clean
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.json_text import load_json

# The SDK logs the answers of token endpoints when they are wrong, with the tokens in them.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL + 1)


def _clean_scopes(*given: Any, **named: Any) -> str | None:
    """Return the scope that the SDK chooses without blanks at its ends, which RFC 6749 (3.3) does not know; None without a name.

    From a server with an empty `scopes_supported` the SDK makes " offline_access", which strict servers refuse.
    """
    return " ".join((get_client_metadata_scopes(*given, **named) or "").split()) or None


setattr(mcp.client.auth.oauth2, "get_client_metadata_scopes", _clean_scopes)  # noqa: B010 - a library's function

_TIMEOUT_S = 20.0
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_CODE = re.compile(r"[a-z_]{1,60}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e ]*")
_CHALLENGE_CHARACTERS = 2_000


class _Storage:
    """The storage of one sign-in: no tokens at its begin, a client from the settings or an earlier sign-in.

    `keep` is called with a client that was registered now.
    """

    def __init__(
        self,
        client: OAuthClientInformationFull | None,
        keep: Callable[[OAuthClientInformationFull], Awaitable[None]] | None = None,
    ) -> None:
        self.client = client
        self._keep = keep
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info
        if self._keep is not None:
            await self._keep(client_info)


class _Found(Exception):
    """The authorization server is known, which was all that was wanted."""


async def authorize(
    terms: SignInTerms, challenge: str, credentials: McpCredentials, show: Callable[[str], Awaitable[Redirected]]
) -> None:
    """Sign in and store the tokens. `show` gets the address for the browser, and returns what that brings back.

    `challenge` is the header with which the server demanded it. Raises McpError, McpRegistrationError, ConnectionLost.
    """
    entry = credentials.find(terms.name, terms.url)

    async def keep(client: OAuthClientInformationFull) -> None:
        """Store a registered client, so that a sign-in that is not finished does not register another one the next time."""
        info = ClientInfo(
            client_id=client.client_id,
            client_secret=client.client_secret,
            client_id_issued_at=client.client_id_issued_at,
            client_secret_expires_at=client.client_secret_expires_at,
        )
        details = entry.details.changed(
            issuer=client.issuer, method=client.token_endpoint_auth_method, redirect=terms.redirect
        )
        await asyncio.to_thread(credentials.store, terms.name, terms.url, client_info=info, sign_in=details)

    async def redirect(url: str) -> None:
        nonlocal shown
        check_address(terms, url)
        _choose_method(provider)
        shown = url

    async def receive() -> AuthorizationCodeResult:
        found = await show(shown)
        return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)

    shown = ""
    is_known = terms.client_id is not None or _is_registered_for(terms, entry)
    storage = _Storage(_client_of(terms, entry) if is_known else None, keep)
    provider = _provider(terms, storage)
    context = provider.context
    context.redirect_handler, context.callback_handler = redirect, receive
    try:
        await _drive(provider, terms, _repeat(terms, entry, challenge))
    except RefusedSignIn as error:
        if error.code != "invalid_scope":
            raise
        raise McpError(f"{error}; {_scope_remedy(terms)}") from None
    except McpError as error:
        if "invalid_client" in str(
            error
        ):  # it was registered, and is not any more: the next sign-in registers another one
            await asyncio.to_thread(credentials.store, terms.name, terms.url, client_info=None)
        raise
    client = context.client_info
    if storage.tokens is None or client is None:
        raise McpError("it ended without a token; try again")
    details = SignInDetails(
        issuer=client.issuer,
        token_endpoint=_token_endpoint(provider),
        method=client.token_endpoint_auth_method,
        resource=context.get_resource_url() if context.protected_resource_metadata else None,
        redirect=terms.redirect,
    )
    tokens = _tokens(storage.tokens)
    await asyncio.to_thread(credentials.store, terms.name, terms.url, tokens=tokens, sign_in=details)


def _repeat(terms: SignInTerms, entry: SignInEntry, header: str) -> str:
    """Return a demand for a sign-in with the scope that the settings, an earlier grant and the server name."""
    given = httpx2.Response(401, headers={"WWW-Authenticate": header})
    scope = _plain(extract_field_from_www_auth(given, "scope"))
    if extract_field_from_www_auth(given, "error") == "insufficient_scope" and entry.tokens is not None:
        scope = union_scopes(entry.tokens.scope, scope)
    scope = union_scopes(terms.scope, scope) if terms.scope else scope
    fields = {"scope": scope, "resource_metadata": _plain(extract_field_from_www_auth(given, "resource_metadata"))}
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)


def _plain(value: str | None) -> str | None:
    return value if value is not None and _SCOPE.fullmatch(value) else None


class TokenAuth(httpx2.Auth):
    """Adds the stored token to the requests to a server, and to none of another origin.

    `challenge` is the header of a refusal, None while requests are accepted; an empty text where there was no header. `failure`
    says why there was no token for the last request, where that ended the connection.
    """

    def __init__(self, terms: SignInTerms, credentials: McpCredentials) -> None:
        self._tokens = _StoredTokens(terms, credentials)
        self._origin = _origin(httpx2.URL(terms.url))
        self.challenge: str | None = None
        self.failure: str | None = None

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token; refused once, with a refreshed one."""
        if _origin(request.url) != self._origin:
            yield request
            return
        token = await self._token(request)
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401 and token is not None:
            newer = await self._token(request, refused=token)
            if newer is not None:
                request.headers["Authorization"] = f"Bearer {newer}"
                response = yield request
        wants_more = (
            response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope"
        )
        if response.status_code == 401 or wants_more:
            header: str | None = response.headers.get("WWW-Authenticate")
            self.challenge = str(clean(header or ""))[:_CHALLENGE_CHARACTERS]
        elif response.status_code < 400:
            self.challenge = None

    async def _token(self, request: httpx2.Request, refused: str | None = None) -> str | None:
        try:
            return await self._tokens.get(refused)
        except (OpencodeError, ConnectionLost) as error:
            self.failure = str(error)
            raise httpx2.ConnectError(str(error), request=request) from None  # which the SDK expects of a request


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


_refreshes: set[asyncio.Task[str | None]] = set()
"""Those that go on although what waited for them was canceled."""


def _end_refresh(task: "asyncio.Task[str | None]") -> None:
    _refreshes.discard(task)
    if not task.cancelled():
        task.exception()  # raised where it is waited for


class _StoredTokens:
    """The stored token of a server, refreshed when it must be."""

    def __init__(self, terms: SignInTerms, credentials: McpCredentials) -> None:
        self._terms = terms
        self._credentials = credentials
        self._saving: asyncio.Task[None] | None = None

    async def get(self, refused: str | None = None) -> str | None:
        """Return a token that is not expired, and not the refused one; None without one. Raises McpError, ConnectionLost."""
        try:
            tokens = self._current().tokens
        except (
            ConfigError
        ):  # a damaged file must not stop servers that demand no sign-in; the sign-in to others reports it
            return None
        self._save()
        token = _usable(tokens, refused)
        if token is not None or tokens is None or tokens.refresh_token is None:
            return token
        # What a server answers replaces the refresh token: with an answer that is lost, the user would have to sign in again.
        refresh = asyncio.create_task(self._refresh(refused), name=f"refresh of the token of {self._terms.name}")
        _refreshes.add(refresh)
        refresh.add_done_callback(_end_refresh)
        return await asyncio.shield(refresh)

    def _save(self) -> None:
        """Write in the background what could not be written after a refresh; a failure is tried again with the next use."""
        terms, is_busy = self._terms, self._saving is not None and not self._saving.done()
        if is_busy or not self._credentials.is_unsaved(terms.name, terms.url):
            return

        async def save() -> None:
            with suppress(OpencodeError):  # logged by the first attempt; the tokens stay in memory
                await asyncio.to_thread(self._credentials.save, terms.name, terms.url)

        self._saving = asyncio.create_task(save(), name=f"storing of the token of {terms.name}")

    def _current(self) -> SignInEntry:
        return self._credentials.find(self._terms.name, self._terms.url)

    async def _refresh(self, refused: str | None) -> str | None:
        lock = self._credentials.refreshing(self._terms.name)
        await lock.acquire(LONGEST_REFRESH_MS)
        try:
            entry = self._current()  # another process may have refreshed it meanwhile
            token = _usable(entry.tokens, refused)
            if token is not None or entry.tokens is None or entry.tokens.refresh_token is None:
                return token
            renewed = await self._exchange(entry, entry.tokens, entry.tokens.refresh_token)
            return renewed.access_token if renewed is not None else None
        finally:
            lock.release()

    async def _exchange(self, entry: SignInEntry, tokens: Tokens, refresh_token: str) -> Tokens | None:
        """Return the new tokens, those of a sign-in that ended meanwhile, or None.

        Only `invalid_grant` (RFC 6749, 5.2) says that the refresh token is not accepted any more, which deletes it. Any other
        answer may be that of a proxy, or about the client: the tokens stay. Raises McpError for it, ConnectionLost.
        """
        terms = self._terms
        client = _client_of(terms, entry)
        if client is None:
            return None
        details = entry.details
        if details.token_endpoint is None:  # stored by another program
            details = await _discover(terms, client, entry)
        assert details.token_endpoint is not None
        check_address(terms, details.token_endpoint)
        client.token_endpoint_auth_method = details.method
        context = _provider(terms, _Storage(client)).context
        context.client_info = client
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": client.client_id}
        if details.resource is not None:
            form["resource"] = details.resource
        form, headers = context.prepare_token_auth(form, {})
        async with _plain_client(details.token_endpoint) as http:
            try:
                response = await http.post(details.token_endpoint, data=form, headers=headers)
            except httpx2.HTTPError as error:
                reason = network.explain(str(error), details.token_endpoint)
                raise ConnectionLost(
                    f"its token cannot be refreshed: {_host(details.token_endpoint)}: {reason}"
                ) from None
        if response.status_code >= 500 or response.status_code == 429:
            raise McpError(f"its token cannot be refreshed now: {_describe(response)}; try again later")
        try:
            if response.status_code != 200:
                raise ValueError
            renewed = OAuthToken.model_validate_json(response.content)
        except ValueError:
            code = _error_code(response)
            if code != "invalid_grant":
                raise McpError(
                    f"its token cannot be refreshed: {_describe(response)}; {_remedy(terms, code)}"
                ) from None
            fields: dict[str, object] = {"tokens": None}
        else:
            fields = {"tokens": _tokens(renewed, before=tokens), "sign_in": details}
        return (await asyncio.to_thread(self._credentials.renew, terms.name, terms.url, refresh_token, **fields)).tokens


def _usable(tokens: Tokens | None, refused: str | None) -> str | None:
    if tokens is None or tokens.is_expired or tokens.access_token == refused:
        return None
    return tokens.access_token


async def _discover(terms: SignInTerms, client: OAuthClientInformationFull, entry: SignInEntry) -> SignInDetails:
    """Return where the tokens of a server are refreshed. Raises McpError, ConnectionLost."""
    provider = _provider(terms, _Storage(client))

    async def stop(_url: str) -> None:
        raise _Found

    provider.context.redirect_handler = provider.context.callback_handler = cast("Any", stop)
    with suppress(_Found):
        await _drive(provider, terms, "Bearer")
    _choose_method(provider)
    context = provider.context
    return entry.details.changed(
        token_endpoint=_token_endpoint(provider),
        method=context.client_info.token_endpoint_auth_method if context.client_info else None,
        resource=context.get_resource_url() if context.protected_resource_metadata else None,
    )


def _provider(terms: SignInTerms, storage: _Storage) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(
        client_name="opencode-tui",
        redirect_uris=[AnyUrl(terms.redirect)],
        token_endpoint_auth_method="client_secret_post" if terms.client_secret else "none",
        scope=terms.scope,
    )
    document = terms.client_id if is_valid_client_metadata_url(terms.client_id) else None
    return OAuthClientProvider(terms.url, metadata, storage, client_metadata_url=document)


def _client_of(terms: SignInTerms, entry: SignInEntry) -> OAuthClientInformationFull | None:
    """Return the client of the settings, else that of an earlier sign-in, None without one."""
    if terms.client_id is not None and not is_valid_client_metadata_url(terms.client_id):
        return OAuthClientInformationFull(client_id=terms.client_id, client_secret=terms.client_secret)
    info, details = entry.client_info, entry.details
    if info is None:
        return None
    return OAuthClientInformationFull(
        client_id=info.client_id,
        client_secret=info.client_secret,
        client_secret_expires_at=int(info.client_secret_expires_at or 0) or None,
        token_endpoint_auth_method=details.method,
        issuer=details.issuer,
    )


def _is_registered_for(terms: SignInTerms, entry: SignInEntry) -> bool:
    """Return whether a sign-in may use the stored client: its secret is valid, and the browser comes back to the same address."""
    info, redirect = entry.client_info, entry.details.redirect
    return info is not None and not info.is_expired and redirect in (None, terms.redirect)


def _choose_method(provider: OAuthClientProvider) -> None:
    """Let a client with a secret identify itself as the server supports it; RFC 8414: without a list, by HTTP Basic."""
    client, metadata = provider.context.client_info, provider.context.oauth_metadata
    if client is None or client.client_secret is None or client.token_endpoint_auth_method is not None:
        return
    supported = (metadata.token_endpoint_auth_methods_supported if metadata else None) or ["client_secret_basic"]
    known = [method for method in ("client_secret_basic", "client_secret_post") if method in supported]
    client.token_endpoint_auth_method = known[0] if known else None


def _token_endpoint(provider: OAuthClientProvider) -> str:
    context = provider.context
    if context.oauth_metadata is not None:
        return str(context.oauth_metadata.token_endpoint)
    return f"{context.get_authorization_base_url(context.server_url)}/token"


def _tokens(token: OAuthToken, *, before: Tokens | None = None) -> Tokens:
    """Return tokens as they are stored; what an answer leaves out stays as it was."""
    return Tokens(
        access_token=token.access_token,
        refresh_token=token.refresh_token or (before.refresh_token if before else None),
        expires_at=None if token.expires_in is None else time.time() + token.expires_in,
        scope=token.scope or (before.scope if before else None),
    )


async def _drive(provider: OAuthClientProvider, terms: SignInTerms, challenge: str) -> None:
    """Run the SDK's sign-in, as if the server had answered 401 with this challenge. Raises McpError, ConnectionLost."""
    request = httpx2.Request("POST", terms.url)
    answer = httpx2.Response(401, headers={"WWW-Authenticate": challenge}, request=request)
    flow = provider.async_auth_flow(request)
    last: httpx2.Response | None = None
    try:
        await anext(flow)
        while (outgoing := await flow.asend(answer)) is not request:
            check_address(terms, str(outgoing.url))
            async with _plain_client(str(outgoing.url)) as http:  # each address may need another proxy, or none
                last = answer = await http.send(outgoing)
    except OAuthRegistrationError as error:
        if last is not None and _is_about_scope(last):
            raise McpError(f"it refuses the scope: {_describe(last)}; {_scope_remedy(terms)}") from None
        why = f": {_describe(last)}" if last is not None and last.status_code >= 400 else f": {_short(error)}"
        raise McpRegistrationError(
            f"it does not register this program by itself{why}; give `oauth.clientId` in the settings of mcp.{terms.name}"
        ) from None
    except (OAuthTokenError, ValidationError):
        raise McpError(f"{_describe(last)}; {_sign_in_remedy(terms, last)}") from None
    except OAuthFlowError as error:
        raise McpError(_short(error)) from None
    except httpx2.HTTPError as error:
        address = str(error.request.url)
        raise ConnectionLost(
            f"{_host(address)}, where one signs in, cannot be reached: {network.explain(str(error), address)}"
        ) from None
    finally:
        await flow.aclose()


def _plain_client(url: str) -> httpx2.AsyncClient:
    """Return a client without the headers of the settings, which are for the MCP server only; it follows no redirects.

    `url` decides about the proxy. Raises McpError.
    """
    return httpx2.AsyncClient(timeout=_TIMEOUT_S, **client_options(url))


def client_options(url: str) -> dict[str, Any]:
    """Return the TLS settings and the proxy of a client for an address. Blocks at first. Raises McpError."""
    try:
        proxy = network.find_route(url).proxy
        return {"verify": tls_context(), "trust_env": False, "proxy": proxy}
    except ConfigError as error:
        raise McpError(str(error)) from None


def tls_context() -> ssl.SSLContext:
    """Return the TLS settings of all connections to servers and their sign-ins. Blocks at first: loads the certificates."""
    return network.tls_context() if network.certificate_words() else _system_context()


@cache
def _system_context() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def check_address(terms: SignInTerms, url: str) -> None:
    """Raise McpError where a sign-in of an encrypted server would go over a connection that is not."""
    parts = urlsplit(url)
    if urlsplit(terms.url).scheme == "https" and parts.scheme != "https" and parts.hostname not in _LOCAL:
        raise McpError(f"it would send secrets to {_host(url)} without encryption")


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"


def _describe(response: httpx2.Response | None) -> str:
    """Return what a server answered, of its body only the error of OAuth."""
    if response is None:
        return "no answer"
    text = f"{_host(str(response.request.url))} answered {response.status_code}"
    try:
        body: Any = load_json(response.content)
    except ValueError:
        return text if response.status_code != 200 else f"{text} with something else than a token"
    code = _error_code(response)
    if code is None:
        return text if response.status_code >= 400 else f"{text} with something else than a token"
    about = str(clean(str(cast("dict[str, Any]", body).get("error_description") or "")))[:200]
    return f"{text}: {code}{f' ({about})' if about else ''}"


def _error_code(response: httpx2.Response) -> str | None:
    """Return the error of OAuth in an answer, None without one."""
    try:
        body: Any = load_json(response.content)
    except ValueError:
        return None
    code = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    return code if isinstance(code, str) and _CODE.fullmatch(code) else None


def _remedy(terms: SignInTerms, code: str | None) -> str:
    """Return what the user can do about a refresh that failed."""
    anew = f"sign in anew with `opencode-tui mcp logout {terms.name}`, then `opencode-tui mcp auth {terms.name}`"
    if code in ("invalid_client", "unauthorized_client"):
        own = f"correct `oauth.clientId` and `oauth.clientSecret` in the settings of mcp.{terms.name}"
        return own if terms.client_id is not None else anew
    return f"try again later, or {anew}"


def _sign_in_remedy(terms: SignInTerms, response: httpx2.Response | None) -> str:
    """Return what the user can do about a code that was not exchanged for a token."""
    if response is not None and _is_about_scope(response):
        return _scope_remedy(terms)
    code = None if response is None else _error_code(response)
    is_own = terms.client_id is not None and code in ("invalid_client", "unauthorized_client")
    return _remedy(terms, code) if is_own else "try again"


def _is_about_scope(response: httpx2.Response) -> bool:
    """Return whether an answer refuses the scope; a registration has no error of its own for that (RFC 7591, 3.2.2)."""
    code = _error_code(response)
    return code == "invalid_scope" or (code == "invalid_client_metadata" and "scope" in _describe(response).lower())


def _scope_remedy(terms: SignInTerms) -> str:
    verb = "correct" if terms.scope else "give one that it accepts as"
    return f"{verb} `oauth.scope` in the settings of mcp.{terms.name}"


def _short(error: Exception) -> str:
    return " ".join(str(clean(str(error))).split())[:300]
