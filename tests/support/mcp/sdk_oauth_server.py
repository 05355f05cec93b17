"""An MCP server and its authorization server, both by the official SDK and each on a port of its own: a process of its own.

It prints one line of JSON with both addresses, and ends with its standard input. Every user is signed in at once. A token counts
only for the server that it was asked for, a code and a refresh token count once. `GET /counts` of the authorization server returns
how many clients were registered, codes exchanged and tokens refreshed; `GET /revoke` makes all refresh tokens invalid.
"""

import asyncio
import json
import secrets
import socket
import sys
import threading
import time
from collections import Counter

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    ProviderTokenVerifier,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

LIFETIME_S = 3600


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """What the SDK leaves to an authorization server: its clients, codes and tokens, in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access_tokens: dict[str, AccessToken] = {}
        self.refresh_tokens: dict[str, RefreshToken] = {}
        self.counts: Counter[str] = Counter()

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.counts["registered"] += 1
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self.counts["exchanged"] += 1
        del self.codes[authorization_code.code]
        return self._issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh_tokens.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.counts["refreshed"] += 1
        del self.refresh_tokens[refresh_token.token]
        return self._issue(client, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access_tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access_tokens.pop(token.token, None)
        self.refresh_tokens.pop(token.token, None)

    def _issue(self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = secrets.token_hex(20), secrets.token_hex(20)
        whose = {"client_id": client.client_id, "scopes": scopes, "resource": resource}
        ends = int(time.time()) + LIFETIME_S
        self.access_tokens[access] = AccessToken.model_validate({**whose, "token": access, "expires_at": ends})
        self.refresh_tokens[refresh] = RefreshToken.model_validate({**whose, "token": refresh})
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=LIFETIME_S, scope=" ".join(scopes) or None
        )


async def serve() -> None:
    """Serve both until the end of the standard input."""
    provider, sockets = Provider(), [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    here, issuer = (f"http://127.0.0.1:{one.getsockname()[1]}" for one in sockets)
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(issuer),
        resource_server_url=AnyHttpUrl(f"{here}/mcp"),
        required_scopes=["basic"],
        validate_token_resource=True,
    )
    server = MCPServer("small", auth=settings, token_verifier=ProviderTokenVerifier(provider), log_level="CRITICAL")

    @server.tool()
    def echo(text: str) -> str:
        return text

    async def counts(request: Request) -> JSONResponse:
        return JSONResponse(dict(provider.counts))

    async def revoke(request: Request) -> JSONResponse:
        provider.refresh_tokens.clear()
        return JSONResponse(True)

    registration = ClientRegistrationOptions(enabled=True, valid_scopes=["basic"], default_scopes=["basic"])
    routes = create_auth_routes(provider, settings.issuer_url, client_registration_options=registration)
    authorization = Starlette(routes=[*routes, Route("/counts", counts), Route("/revoke", revoke)])
    apps = [server.streamable_http_app(), authorization]
    running = [uvicorn.Server(uvicorn.Config(app, log_level="critical")) for app in apps]

    def end() -> None:
        sys.stdin.read()
        for one in running:
            one.should_exit = one.force_exit = True

    threading.Thread(target=end, daemon=True).start()
    print(json.dumps({"mcp": f"{here}/mcp", "issuer": issuer}), flush=True)
    await asyncio.gather(*(one.serve(sockets=[own]) for one, own in zip(running, sockets, strict=True)))


if __name__ == "__main__":
    asyncio.run(serve())
