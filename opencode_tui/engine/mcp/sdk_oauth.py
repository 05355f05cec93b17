"""Sign-in to remote MCP servers with OAuth, by the official SDK; imported on a thread, like `sdk.py`.

The SDK finds the authorization server, registers this program, and exchanges the code for tokens. What it does not do is here: a
sign-in begins only when the user wants one; requests use the stored token, which one process at a time refreshes, at the endpoint
that issued it and no other; a failure is one line with a remedy.
"""

import asyncio
import logging
import re
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import httpx2
import mcp.client.auth.oauth2
from mcp.client.auth import (
    AuthorizationCodeResult,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
    TokenStorage,
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
from opencode_tui.cancellation import consume_error
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

T = TypeVar("T")

_TIMEOUT_S = 20.0
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_CODE = re.compile(r"[a-z_]{1,60}")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e ]*")
_CHALLENGE_CHARACTERS = 2_000
_ABOUT_CLIENT = ("invalid_client", "unauthorized_client")


async def authorize(
    terms: SignInTerms, challenge: str, credentials: McpCredentials, show: Callable[[str], Awaitable[Redirected]]
) -> None:
    """Sign in and store the tokens. `show` gets the address for the browser, and returns what that brings back.

    `challenge` is the header with which the server demanded it. Raises McpError, McpRegistrationError, RefusedSignIn,
    ConnectionLost.
    """
    flow = _Flow(terms, credentials, show)
    try:
        await flow.run(_repeat(terms, flow.entry, challenge))
    except RefusedSignIn as error:
        if error.code == "invalid_client":  # it was registered, and is not any more: the next time another one is
            await flow.store(client_info=None)
        raise


def _repeat(terms: SignInTerms, entry: SignInEntry, header: str) -> str:
    """Return a demand for a sign-in with the scope that the settings, an earlier grant and the server name."""
    given = _refusal(header)
    scope = _plain(extract_field_from_www_auth(given, "scope"))
    if extract_field_from_www_auth(given, "error") == "insufficient_scope" and entry.tokens is not None:
        scope = union_scopes(entry.tokens.scope, scope)
    fields = {
        "scope": union_scopes(terms.scope, scope),
        "resource_metadata": _plain(extract_field_from_www_auth(given, "resource_metadata")),
    }
    return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)


def _plain(value: str | None) -> str | None:
    """Return a field of a header if it can be one of another header; the SDK reads two quotes as the value of an empty one."""
    return value if value is not None and _SCOPE.fullmatch(value) else None


def _refusal(challenge: str, request: httpx2.Request | None = None) -> httpx2.Response:
    header = challenge.encode(errors="replace")  # servers write more than ASCII into it
    return httpx2.Response(401, headers=[(b"WWW-Authenticate", header)], request=request)


class _Found(Exception):
    """The authorization server is known, which was all that was wanted."""


class _Flow(TokenStorage):
    """The exchange with an authorization server: the SDK's provider, with the storage and the handlers that it wants.

    A sign-in begins without tokens, with the client of the settings or of an earlier sign-in. A client that was registered is
    stored at once, so that a sign-in that is not finished does not register another one the next time. Without `show` there is
    no one to ask: `run` ends when the authorization server is known.
    """

    def __init__(
        self,
        terms: SignInTerms,
        credentials: McpCredentials,
        show: Callable[[str], Awaitable[Redirected]] | None = None,
    ) -> None:
        """Blocks for a small file. Raises ConfigError."""
        self.entry = credentials.find(terms.name, terms.url)
        self._terms = terms
        self._credentials = credentials
        self._show = show
        self._url = ""
        metadata = OAuthClientMetadata(
            client_name="opencode-tui",
            redirect_uris=[AnyUrl(terms.redirect)],
            token_endpoint_auth_method="client_secret_post" if terms.client_secret else "none",
            scope=terms.scope,
        )
        document = terms.client_id if is_valid_client_metadata_url(terms.client_id) else None
        self._provider = OAuthClientProvider(
            terms.url, metadata, self, self._redirect, self._receive, client_metadata_url=document
        )
        self._context = self._provider.context

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        details = SignInDetails(redirect=self._terms.redirect)
        await self.store(tokens=_make_tokens(tokens), sign_in=self._complete(details))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        info, redirect = self.entry.client_info, self.entry.details.redirect
        may_ask = info is not None and not info.is_expired and redirect in (None, self._terms.redirect)
        is_known = may_ask or self._terms.client_id is not None or self._show is None
        return _client_of(self._terms, self.entry) if is_known else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        info = ClientInfo.model_validate(client_info.model_dump(include=set(ClientInfo.model_fields)))
        details = self.entry.details.changed(
            issuer=client_info.issuer, method=client_info.token_endpoint_auth_method, redirect=self._terms.redirect
        )
        await self.store(client_info=info, sign_in=details)

    async def store(self, **fields: object) -> None:
        """Replace fields of the server's entry. Raises OpencodeError."""
        await asyncio.to_thread(self._credentials.store, self._terms.name, self._terms.url, **fields)

    async def _redirect(self, url: str) -> None:
        self._choose_method()
        if self._show is None:
            raise _Found
        check_address(self._terms, url)
        self._url = url

    async def _receive(self) -> AuthorizationCodeResult:
        assert self._show is not None
        try:
            found = await self._show(self._url)
        except RefusedSignIn as error:
            if error.code != "invalid_scope":
                raise
            raise McpError(f"{error}; {_scope_remedy(self._terms)}") from None
        return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)

    def _choose_method(self) -> None:
        """Let a client with a secret identify itself as the server supports it; RFC 8414: without a list, by HTTP Basic."""
        client, metadata = self._context.client_info, self._context.oauth_metadata
        if client is None or client.client_secret is None or client.token_endpoint_auth_method is not None:
            return
        supported = (metadata.token_endpoint_auth_methods_supported if metadata else None) or ["client_secret_basic"]
        known = [method for method in ("client_secret_basic", "client_secret_post") if method in supported]
        client.token_endpoint_auth_method = known[0] if known else None

    def _complete(self, details: SignInDetails) -> SignInDetails:
        """Return details with what the servers have said: what a later refresh needs."""
        context = self._context
        client, metadata = context.client_info, context.oauth_metadata
        fallback = f"{context.get_authorization_base_url(context.server_url)}/token"
        return details.changed(
            issuer=client.issuer if client else None,
            token_endpoint=str(metadata.token_endpoint) if metadata else fallback,
            method=client.token_endpoint_auth_method if client else None,
            resource=context.get_resource_url() if context.protected_resource_metadata else None,
        )

    async def run(self, challenge: str) -> None:
        """Let the SDK sign in, as if the server had answered 401 with this challenge. Raises McpError, ConnectionLost.

        A refusal of the authorization server is a RefusedSignIn.
        """
        terms = self._terms
        request = httpx2.Request("POST", terms.url)
        answer = _refusal(challenge, request)
        flow = self._provider.async_auth_flow(request)
        try:
            await anext(flow)
            while (outgoing := await flow.asend(answer)) is not request:
                answer = await _send(terms, outgoing, "{}, where one signs in, cannot be reached: {}")
        except OAuthRegistrationError as error:
            code, said = _read_error(answer)
            if _is_about_scope(code, said):
                raise McpError(f"it refuses the scope: {said}; {_scope_remedy(terms)}") from None
            why = said if answer.status_code >= 400 else _short(error)
            remedy = f"give `oauth.clientId` in the settings of mcp.{terms.name}"
            raise McpRegistrationError(f"it does not register this program by itself: {why}; {remedy}") from None
        except (OAuthTokenError, ValidationError):
            code, said = _read_error(answer)
            remedy = _scope_remedy(terms) if _is_about_scope(code, said) else _client_remedy(terms, code, "try again")
            raise RefusedSignIn(f"{said}; {remedy}", code) from None
        except OAuthFlowError as error:
            raise McpError(_short(error)) from None
        finally:
            await flow.aclose()

    async def refresh(self, tokens: Tokens, refresh_token: str) -> Tokens | None:
        """Return the new tokens, those of a sign-in that ended in the meantime, or None.

        Only `invalid_grant` (RFC 6749, 5.2) says that the refresh token is not accepted any more, which deletes it. Any other
        answer may be that of a proxy, or about the client: the tokens stay. Raises McpError for it, ConnectionLost.
        """
        terms, details, client = self._terms, self.entry.details, _client_of(self._terms, self.entry)
        if client is None:
            return None
        if details.token_endpoint is None:  # stored by another program
            with suppress(_Found):
                await self.run("Bearer")
            details = self._complete(details)
        client.token_endpoint_auth_method = details.method
        self._context.client_info = client
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": client.client_id}
        if details.resource is not None:
            form["resource"] = details.resource
        form, headers = self._context.prepare_token_auth(form, {})
        request = httpx2.Request("POST", details.token_endpoint or "", data=form, headers=headers)
        answer = await _send(terms, request, "its token cannot be refreshed: {}: {}")
        code, said = _read_error(answer)
        if answer.status_code >= 500 or answer.status_code == 429:
            raise McpError(f"its token cannot be refreshed now: {said}; try again later")
        fields: dict[str, object] = {"tokens": None}
        try:
            if answer.status_code != 200:
                raise ValueError
            renewed = OAuthToken.model_validate_json(answer.content)
        except ValueError:
            if code != "invalid_grant":
                anew = f"sign in anew with `opencode-tui mcp logout {terms.name}`, then `opencode-tui mcp auth {terms.name}`"
                otherwise = anew if code in _ABOUT_CLIENT else f"try again later, or {anew}"
                remedy = _client_remedy(terms, code, otherwise)
                raise McpError(f"its token cannot be refreshed: {said}; {remedy}") from None
        else:
            fields = {"tokens": _make_tokens(renewed, before=tokens), "sign_in": details}
        renew = self._credentials.renew
        return (await asyncio.to_thread(renew, terms.name, terms.url, refresh_token, **fields)).tokens


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


def _make_tokens(token: OAuthToken, *, before: Tokens | None = None) -> Tokens:
    """Return tokens as they are stored; what an answer leaves out stays as it was."""
    return Tokens(
        access_token=token.access_token,
        refresh_token=token.refresh_token or (before.refresh_token if before else None),
        expires_at=None if token.expires_in is None else time.time() + token.expires_in,
        scope=token.scope or (before.scope if before else None),
    )


class TokenAuth(httpx2.Auth):
    """Adds the stored token to the requests to a server, and to none of another origin.

    `challenge` is the header of a refusal, None while requests are accepted; an empty text where there was no header. `failure`
    says why there was no token for the last request, where that ended the connection.
    """

    def __init__(self, terms: SignInTerms, credentials: McpCredentials) -> None:
        self._terms = terms
        self._credentials = credentials
        self._origin = _origin(httpx2.URL(terms.url))
        self.challenge: str | None = None
        self.failure: str | None = None

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token; refused once, with a refreshed one."""
        if _origin(request.url) != self._origin:
            yield request
            return
        token = await self._add_token(request)
        response = yield request
        if response.status_code == 401 and token is not None and await self._add_token(request, refused=token):
            response = yield request
        wants_more = (
            response.status_code == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope"
        )
        if response.status_code == 401 or wants_more:
            header: str | None = response.headers.get("WWW-Authenticate")
            self.challenge = str(clean(header or ""))[:_CHALLENGE_CHARACTERS]
        elif response.status_code < 400:
            self.challenge = None

    async def _add_token(self, request: httpx2.Request, refused: str | None = None) -> str | None:
        """Add a token that is not expired, and not the refused one, to a request, and return it; None without one."""
        try:
            token = await self._find_token(refused)
        except (OpencodeError, ConnectionLost) as error:
            self.failure = str(error)
            raise httpx2.ConnectError(str(error), request=request) from None  # which the SDK expects of a request
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        return token

    async def _find_token(self, refused: str | None) -> str | None:
        terms, credentials = self._terms, self._credentials
        try:
            tokens = credentials.find(terms.name, terms.url).tokens
        except ConfigError:
            return None  # a damaged file must not stop servers that demand no sign-in; a sign-in reports it
        if credentials.is_unsaved(terms.name, terms.url):
            # What fails is tried again with the next use; the tokens stay in memory until then.
            save = asyncio.to_thread(credentials.save, terms.name, terms.url)
            _in_background(save, f"storing of the token of {terms.name}")
        token = _usable(tokens, refused)
        if token is not None or tokens is None or tokens.refresh_token is None:
            return token
        # What a server answers replaces the refresh token: with an answer that is lost, the user would have to sign in again.
        refresh = _in_background(self._refresh(refused), f"refresh of the token of {terms.name}")
        return await asyncio.shield(refresh)

    async def _refresh(self, refused: str | None) -> str | None:
        lock = self._credentials.refreshing(self._terms.name)
        await lock.acquire(LONGEST_REFRESH_MS)
        try:
            flow = _Flow(self._terms, self._credentials)  # another process may have refreshed it in the meantime
            tokens = flow.entry.tokens
            token = _usable(tokens, refused)
            if token is not None or tokens is None or tokens.refresh_token is None:
                return token
            renewed = await flow.refresh(tokens, tokens.refresh_token)
            return renewed.access_token if renewed is not None else None
        finally:
            lock.release()


def _usable(tokens: Tokens | None, refused: str | None) -> str | None:
    if tokens is None or tokens.is_expired or tokens.access_token == refused:
        return None
    return tokens.access_token


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


_background: set["asyncio.Task[Any]"] = set()


def _in_background(work: Coroutine[Any, Any, T], name: str) -> "asyncio.Task[T]":
    """Return a task that continues although what waits for it was canceled; its error is raised there only."""
    task = asyncio.create_task(work, name=name)
    _background.add(task)
    task.add_done_callback(_background.discard)
    task.add_done_callback(consume_error)
    return task


async def _send(terms: SignInTerms, request: httpx2.Request, unreachable: str) -> httpx2.Response:
    """Return the answer to a request of a sign-in. Raises McpError, ConnectionLost with the words for a host and a reason.

    The request has no headers of the settings, which are for the MCP server only, and no redirect is followed here. Each address
    may need another proxy, or none.
    """
    url = str(request.url)
    check_address(terms, url)
    try:
        async with (
            asyncio.timeout(_TIMEOUT_S),  # that of httpx is for each byte
            httpx2.AsyncClient(timeout=_TIMEOUT_S, **client_options(url)) as http,
        ):
            return await http.send(request)
    except (httpx2.HTTPError, TimeoutError) as error:
        reason = str(error) or f"no complete answer within {_TIMEOUT_S:g} s"
        raise ConnectionLost(unreachable.format(_host(url), network.explain(reason, url))) from None


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


def _read_error(answer: httpx2.Response) -> tuple[str, str]:
    """Return the error of OAuth in an answer, empty without one, and a line on the answer that has no more of its body."""
    body: Any = None
    with suppress(ValueError):
        body = load_json(answer.content)
    given = cast("dict[str, object]", body) if isinstance(body, dict) else {}
    code, said = given.get("error"), f"{_host(str(answer.request.url))} answered {answer.status_code}"
    if isinstance(code, str) and _CODE.fullmatch(code):
        about = str(clean(str(given.get("error_description") or "")))[:200]
        return code, f"{said}: {code}{f' ({about})' if about else ''}"
    return "", f"{said} with something else than a token" if answer.status_code in (200, 201) else said


def _is_about_scope(code: str, said: str) -> bool:
    """Return whether an answer refuses the scope; a registration has no error of its own for that (RFC 7591, 3.2.2)."""
    return code == "invalid_scope" or (code == "invalid_client_metadata" and "scope" in said.lower())


def _scope_remedy(terms: SignInTerms) -> str:
    verb = "correct" if terms.scope else "give one that it accepts as"
    return f"{verb} `oauth.scope` in the settings of mcp.{terms.name}"


def _client_remedy(terms: SignInTerms, code: str, otherwise: str) -> str:
    """Return what the user can do about an error: correct the client of the settings if it is not accepted, else something else."""
    if terms.client_id is None or code not in _ABOUT_CLIENT:
        return otherwise
    return f"correct `oauth.clientId` and `oauth.clientSecret` in the settings of mcp.{terms.name}"


def _short(error: Exception) -> str:
    return " ".join(str(clean(str(error))).split())[:300]
