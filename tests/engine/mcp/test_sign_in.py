"""Sign-in to MCP servers with OAuth: against a server and an authorization server in a process of their own."""

import asyncio
import importlib
import json
import logging
import re
import resource
import socket
import time
import urllib.error
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from msgspec import Struct, field

from opencode_tui.engine.mcp.callback import Callbacks
from opencode_tui.engine.mcp.credentials import McpCredentials, SignInDetails, SignInEntry, SignInTerms, Tokens
from opencode_tui.engine.mcp.lists import McpError
from opencode_tui.schema.error import ConfigError, NotFoundError, SignInError
from opencode_tui.schema.event.folder_event import McpBrowserOpenFailed
from opencode_tui.schema.event.screen_event import ScreenToastShown
from opencode_tui.storage.paths import Paths, find_paths
from tests.engine.mcp.sign_in_world import (
    OAuthServer,
    browser,
    fetch,
    free_port,
    location,
    oauth_server,
    remote_servers,
    sdk_oauth_server,
)
from tests.support.rows import each
from tests.support.world.cli import CommandLine
from tests.support.world.waiting import until


class Signed:
    """The servers of one process, with a browser."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.folder = folder
        self.environ = {**environ, "BROWSER": browser(folder)}
        self.events: list[Any] = []

    @property
    def path(self) -> Path:
        return find_paths(self.environ).mcp_auth

    @property
    def entry(self) -> dict[str, Any]:
        return json.loads(self.path.read_text())["one"]

    def change(self, **tokens: Any) -> None:
        stored = json.loads(self.path.read_text())
        stored["one"]["tokens"].update(tokens)
        self.path.write_text(json.dumps(stored))

    def servers(self, url: str, *, headers: dict[str, str] | None = None, **oauth: Any) -> Any:
        entry = {
            "url": url,
            "oauth": {"callbackPort": free_port(), **oauth},
            **({"headers": headers} if headers else {}),
        }
        return remote_servers(self.folder, self.environ, self.events, one=entry)


@pytest.fixture
def signed(tmp_path: Path, environ: dict[str, str]) -> Signed:
    return Signed(tmp_path, environ)


async def echo(servers: Any) -> str:
    return (await servers.call("one", "echo", {"text": "hello"}))["content"][0]["text"]


@pytest.mark.slow
async def test_a_sign_in_stores_tokens_as_opencode_does_and_calls_use_them(
    signed: Signed, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mcp", "httpx2", "opencode_tui"):  # a test before may have given them levels and handlers of their own
        caplog.set_level(logging.DEBUG, logger=name)
        monkeypatch.setattr(logging.getLogger(name), "handlers", [caplog.handler])
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp) as servers:
            assert (await servers.connect("one")).state == "needs_auth"
            status = await servers.sign_in("one")
            assert (status.state, status.sign_in, status.error) == ("connected", "signed_in", None)
            assert await echo(servers) == "hello"
        entry = signed.entry
        assert set(entry) == {"tokens", "clientInfo", "serverUrl", "signIn"}
        assert set(entry["tokens"]) == {"accessToken", "refreshToken", "expiresAt", "scope"}
        assert (entry["clientInfo"], entry["serverUrl"]) == ({"clientId": "client-1"}, oauth.mcp)
        assert signed.path.stat().st_mode & 0o777 == 0o600
        assert asked_scopes(oauth) == ["basic"]
        async with signed.servers(oauth.mcp) as servers:  # the next process
            assert (await servers.connect("one")).state == "connected"
        assert len(oauth.seen("/register")) == 1
    assert len(caplog.records) > 10
    assert SECRET_LOOK.search(caplog.text) is None


SECRET_LOOK = re.compile(r"(access|refresh|code)-[0-9a-f]{8}")


@pytest.mark.parametrize(
    ("protects", "issues", "scope"),
    [
        ([], ["openid", "offline_access"], "offline_access"),
        ([], [], None),
        (["read"], ["read", "offline_access"], "read offline_access"),
        (None, None, None),
    ],
)
def test_a_scope_has_no_blank_at_its_ends(
    protects: list[str] | None, issues: list[str] | None, scope: str | None
) -> None:
    from mcp.client.auth import oauth2  # a third of a second that other tests need not wait for
    from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata

    address = "https://mcp.example"
    protected = ProtectedResourceMetadata.model_validate(
        {"resource": address, "authorization_servers": [address], "scopes_supported": protects}
    )
    server = OAuthMetadata.model_validate(
        {
            "issuer": address,
            "authorization_endpoint": f"{address}/authorize",
            "token_endpoint": f"{address}/token",
            "scopes_supported": issues,
        }
    )
    importlib.import_module("opencode_tui.engine.mcp.sdk_oauth")
    choose = vars(oauth2)["get_client_metadata_scopes"]
    assert choose(None, protected, server, ["refresh_token"]) == scope


def asked_scopes(oauth: OAuthServer) -> list[str]:
    queries = [one["path"] for one in oauth.seen("/authorize")]
    return [query.partition("scope=")[2].partition("&")[0] for query in queries]


def redirect_of(url: str) -> str:
    return parse_qs(urlsplit(url).query)["redirect_uri"][0]


class Case(Struct, frozen=True):
    """A sign-in that succeeds: the server's options, the settings of the sign-in, and what the stored entry and requests show."""

    name: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    oauth: dict[str, Any] = field(default_factory=dict[str, Any])
    scope: str = "basic"
    method: str | None = None
    client: str | None = "client-1"


SECRET = ["mine", "s3cr:et/%"]
SUCCEEDING = [
    Case("a client that registers itself"),
    Case("a registered client with a secret, by HTTP Basic", {"secret": "basic"}, method="client_secret_basic"),
    Case("a registered client with a secret, in the form", {"secret": "post"}, method="client_secret_post"),
    Case("a client of the settings without a secret", {"client": ["mine", None]}, {"clientId": "mine"}, client=None),
    Case(
        "a client of the settings where none may register",
        {"client": SECRET, "secret": "basic", "registers": False},
        {"clientId": "mine", "clientSecret": SECRET[1]},
        method="client_secret_basic",
        client=None,
    ),
    Case(
        "a client of the settings, in the form",
        {"client": SECRET, "secret": "post", "registers": False},
        {"clientId": "mine", "clientSecret": SECRET[1]},
        method="client_secret_post",
        client=None,
    ),
    Case("scopes of the settings", {"scope": "a"}, {"scope": "x y"}, scope="x+y+a"),
    Case("no scope at all", {"scope": ""}, scope=""),
    Case("a demand with words that are not ASCII", {"scope": 'basic", error_description="für alle'}),
    Case("addresses at the root, without metadata", {"metadata": False}),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", SUCCEEDING, ids=lambda case: case.name)
async def test_a_sign_in_works_with(signed: Signed, case: Case) -> None:
    with oauth_server(**case.options) as oauth:
        async with signed.servers(oauth.mcp, **case.oauth) as servers:
            status = await servers.sign_in("one")
            assert (status.state, status.error, await echo(servers)) == ("connected", None, "hello")
        assert asked_scopes(oauth) == [case.scope]
        assert signed.entry["signIn"].get("method") == case.method
        assert signed.entry.get("clientInfo", {}).get("clientId") == case.client
        stored = signed.path.read_text()
        assert SECRET[1] not in stored  # it is in the settings already
        signed.change(expiresAt=1)
        async with signed.servers(oauth.mcp, **case.oauth) as servers:  # a refresh by the next process
            assert (await servers.connect("one")).error is None
            assert await echo(servers) == "hello"
        assert len(oauth.seen("/token", grant_type="refresh_token")) == 1


@pytest.mark.slow
async def test_a_sign_in_to_a_server_of_the_official_sdk_is_used_refreshed_and_begun_anew(signed: Signed) -> None:
    def counts() -> dict[str, int]:
        return json.loads(fetch(f"{oauth.issuer}/counts"))

    port = free_port()
    with sdk_oauth_server() as oauth:
        async with signed.servers(oauth.mcp, callbackPort=port) as servers:
            assert (await servers.connect("one")).state == "needs_auth"
            assert (await servers.sign_in("one")).state == "connected"
            assert await echo(servers) == "hello"
        details = signed.entry["signIn"]
        assert (details["resource"], details["tokenEndpoint"]) == (oauth.mcp, f"{oauth.issuer}/token")
        signed.change(expiresAt=1)
        async with signed.servers(oauth.mcp, callbackPort=port) as servers:  # the next process
            assert await echo(servers) == "hello"
        assert counts() == {"registered": 1, "exchanged": 1, "refreshed": 1}
        fetch(f"{oauth.issuer}/revoke")
        signed.change(expiresAt=1)
        async with signed.servers(oauth.mcp, callbackPort=port) as servers:
            assert ((await servers.connect("one")).state, "tokens" in signed.entry) == ("needs_auth", False)
            assert (await servers.sign_in("one")).state == "connected"
        assert counts() == {"registered": 1, "exchanged": 2, "refreshed": 1}


FAILING = [
    ({"registers": False}, "needs_client_registration", r"give `oauth.clientId` in the settings of mcp.one"),
    ({"refuses": True}, "needs_auth", r"it was refused: access_denied \(not <b>today</b>\)"),
    (
        {"refuses_scope": "register"},
        "needs_auth",
        r"refuses the scope: .*; give one that it accepts as `oauth.scope` in",
    ),
    ({"refuses_scope": "authorize"}, "needs_auth", r"it was refused: invalid_scope; give one that it accepts as"),
    ({"refuses_scope": "token"}, "needs_auth", r"answered 400: invalid_scope; give one that it accepts as"),
    ({"odd_token": True}, "needs_auth", r"answered 200 with something else than a token"),
    ({"client": ["mine", "x"], "secret": "basic"}, "needs_auth", r"invalid_client; correct `oauth.clientId` and"),
]


@pytest.mark.fast_cases(
    "options5-needs_auth-answered 200 with something ..", "options3-needs_auth-it was refused: invalid_scop.."
)
@pytest.mark.parametrize(("options", "state", "words"), FAILING)
async def test_a_sign_in_that_fails_says_why_in_one_line_without_secrets(
    signed: Signed, caplog: pytest.LogCaptureFixture, options: dict[str, Any], state: str, words: str
) -> None:
    caplog.set_level(logging.DEBUG)
    given: dict[str, Any] = {"clientId": "mine", "clientSecret": "wrong-canary"} if options.get("client") else {}
    with oauth_server(**options) as oauth:
        async with signed.servers(oauth.mcp, **given) as servers:
            with pytest.raises(SignInError, match=words) as caught:
                await servers.sign_in("one")
            assert servers.status_of("one").state == state
            assert "\n" not in str(caught.value)
    logged = "\n".join(f"{one.getMessage()}{one.exc_text}" for one in caplog.records)
    assert "canary" not in str(caught.value) + logged
    assert SECRET_LOOK.search(logged) is None


@pytest.mark.slow
async def test_a_token_is_refreshed_once_by_two_processes(signed: Signed) -> None:
    with oauth_server(slow_s=1) as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
        before = signed.entry["tokens"]
        signed.change(expiresAt=1)
        given = {"mcp": {"one": {"type": "remote", "url": oauth.mcp}}}
        line = CommandLine(signed.folder, signed.environ, settings=given)
        process = line.start("mcp", "debug", "one", "--call", "echo", "--arguments", '{"text": "hi"}')
        try:
            while process.poll() is None and not oauth.seen("/token", grant_type="refresh_token"):
                await asyncio.sleep(0.02)
            async with signed.servers(oauth.mcp) as servers:  # while the other process waits for its new token
                assert await echo(servers) == "hello"
        finally:
            ended = await asyncio.to_thread(process.communicate)
        assert process.returncode == 0, ended
        assert len(oauth.seen("/token", grant_type="refresh_token")) == 1
        after = signed.entry["tokens"]
        assert {before["accessToken"], before["refreshToken"]}.isdisjoint({after["accessToken"], after["refreshToken"]})
        assert after["scope"] == "basic"


@pytest.mark.slow
async def test_calls_at_once_with_a_token_that_the_server_ended_refresh_it_once(signed: Signed) -> None:
    with oauth_server(slow_s=0.2) as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
            oauth.expire()
            assert await asyncio.gather(*(echo(servers) for _ in range(8))) == ["hello"] * 8
        assert len(oauth.seen("/token", grant_type="refresh_token")) == 1


@pytest.mark.slow
async def test_a_canceled_call_does_not_wait_for_a_refresh_and_its_token_is_kept(signed: Signed) -> None:
    with oauth_server(slow_s=1.5) as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
            before = signed.entry["tokens"]
            oauth.expire()
            call = asyncio.create_task(echo(servers))
            await until(lambda: bool(oauth.seen("/token", grant_type="refresh_token")))
            call.cancel()
            await asyncio.wait({call})
            assert signed.entry["tokens"] == before  # the answer has not come yet
            await until(lambda: signed.entry["tokens"] != before)
            assert await echo(servers) == "hello"
        assert len(oauth.seen("/token", grant_type="refresh_token")) == 1


@pytest.mark.slow
async def test_a_refresh_that_fails_during_a_session_costs_that_call_only(signed: Signed) -> None:
    with oauth_server(refresh_status=503) as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
            token = signed.entry["tokens"]["accessToken"]
            signed.change(expiresAt=1)
            with pytest.raises(McpError, match=r"was lost \(its token cannot be refreshed now: .* answered 503"):
                await echo(servers)
            signed.change(expiresAt=None, accessToken=token)
            assert await echo(servers) == "hello"


@pytest.mark.slow
async def test_a_token_of_opencode_is_used_and_refreshed(signed: Signed) -> None:
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
        stored = json.loads(signed.path.read_text())
        del stored["one"]["signIn"]  # its file has no such field
        stored["one"] |= {"codeVerifier": "v", "oauthState": "s"}
        stored["one"]["tokens"]["expiresAt"] = 1
        signed.path.write_text(json.dumps(stored))
        async with signed.servers(oauth.mcp) as servers:
            assert (await servers.connect("one")).error is None
        assert [one["server"] for one in oauth.seen("/token")] == ["authorization"] * 2
        assert (signed.entry["codeVerifier"], signed.entry["oauthState"]) == ("v", "s")


@pytest.mark.slow
async def test_a_refresh_that_is_refused_demands_another_sign_in_and_one_that_fails_does_not(signed: Signed) -> None:
    with oauth_server(refresh_status=503) as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
            signed.change(expiresAt=1)
            status = await servers.restart("one")
            assert (status.state, "refreshToken" in signed.entry["tokens"]) == ("failed", True)
            assert "its token cannot be refreshed now" in (status.error or "")
            await servers.sign_out("one")  # the next server may have the same address
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
            signed.change(expiresAt=1, refreshToken="dead")
            assert ((await servers.restart("one")).state, "tokens" in signed.entry) == ("needs_auth", False)
            assert (await servers.sign_in("one")).state == "connected"
        assert len(oauth.seen("/register")) == 1


@pytest.mark.slow
async def test_tokens_reach_only_the_address_that_they_are_for(signed: Signed) -> None:
    with oauth_server() as oauth, oauth_server() as other, oauth_server(elsewhere=True) as leading:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
        async with signed.servers(other.mcp) as servers:  # the same name, another address
            assert (await servers.connect("one")).state == "needs_auth"
        assert [one for one in other.seen() if "authorization" in one["headers"]] == []
        stored = json.loads(signed.path.read_text())
        stored["one"]["serverUrl"] = leading.mcp
        signed.path.write_text(json.dumps(stored))
        async with signed.servers(leading.mcp, headers={"X-Key": "canary"}) as servers:
            assert (await servers.connect("one")).state in ("failed", "known")
        sent = leading.seen()
        assert {one["server"] for one in sent if "x-key" in one["headers"] or "authorization" in one["headers"]} == {
            "mcp"
        }


@pytest.mark.slow
async def test_a_refused_call_and_an_unfinished_sign_in_to_a_server_of_the_same_name_keep_the_tokens(
    signed: Signed,
) -> None:
    with oauth_server() as oauth, oauth_server(anonymous=True) as other:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
        before = signed.path.read_text()
        environ = {**signed.environ, "BROWSER": "false"}
        entry = {"url": other.mcp, "oauth": {"callbackPort": free_port()}}
        async with remote_servers(signed.folder, environ, [], one=entry) as servers:  # in another folder, say
            with pytest.raises(McpError, match="it demands a sign-in"):
                await echo(servers)
            assert signed.path.read_text() == before
            url = await servers.begin_sign_in("one")
            assert (len(other.seen("/register")), signed.path.read_text()) == (1, before)
            await servers.finish_sign_in("one", await asyncio.to_thread(location, url))  # this one does replace them
            assert await echo(servers) == "hello"
        assert (signed.entry["serverUrl"], signed.entry["clientInfo"]) == (other.mcp, {"clientId": "client-1"})


NOT_A_TOKEN = [
    (302, "", "answered 302; try again later, or sign in anew with `opencode-tui mcp logout one`, then"),
    (400, "{}", "answered 400; try again later"),
    (400, '{"error": "invalid_request"}', "answered 400: invalid_request; try again later"),
    (400, '{"error": ["invalid_grant"]}', "answered 400; try again later"),
    (400, "invalid_grant", "answered 400; try again later"),
    (
        401,
        '{"error": "invalid_client"}',
        "answered 401: invalid_client; correct `oauth.clientId` and `oauth.clientSecret` in",
    ),
    (400, '{"error": "unauthorized_client"}', "answered 400: unauthorized_client; correct `oauth.clientId` and"),
    (403, "<html>invalid_grant</html>", "answered 403; try again later"),
    (404, '{"error": "not_found"}', "answered 404: not_found; try again later"),
    (407, "", "answered 407; try again later"),
    (408, "", "answered 408; try again later"),
    (200, "<html>Sign in to the hotel</html>", "answered 200 with something else than a token; try again later"),
    (200, "", "answered 200 with something else than a token; try again later"),
    (200, "{}", "answered 200 with something else than a token; try again later"),
    (200, "[]", "answered 200 with something else than a token; try again later"),
    (200, '{"error": "bad_refresh_token"}', "answered 200: bad_refresh_token; try again later"),
    (200, '{"access_token": ["canary"]}', "answered 200 with something else than a token; try again later"),
    (204, "", "answered 204; try again later"),
    (429, '{"error": "slow_down"}', "now: .* answered 429: slow_down; try again later"),
    (502, "<html>", "now: .* answered 502; try again later"),
    (503, '{"error": "invalid_grant"}', "now: .* answered 503: invalid_grant; try again later"),
]


def stored_sign_in(paths: Paths, oauth: OAuthServer) -> tuple[McpCredentials, httpx2.AsyncClient]:
    """Store an expired token of a client of the settings; return the credentials and a client that uses it."""
    from opencode_tui.engine.mcp import sdk_oauth  # takes a second, which each process that collects tests would need

    credentials = McpCredentials(paths)
    terms = SignInTerms(
        name="one", url=oauth.mcp, redirect="http://127.0.0.1:1/", client_id=SECRET[0], client_secret=SECRET[1]
    )
    expired = Tokens(access_token="old", refresh_token="kept", expires_at=1)
    details = SignInDetails(token_endpoint=f"{oauth.issuer}/token", method="client_secret_post")
    credentials.store("one", oauth.mcp, tokens=expired, sign_in=details)
    return credentials, httpx2.AsyncClient(auth=sdk_oauth.TokenAuth(terms, credentials), verify=sdk_oauth.tls_context())


@pytest.mark.fast_cases("200-__-answered 200 with something ..", "200--answered 200 with something ..")
@pytest.mark.parametrize(("status", "text", "words"), NOT_A_TOKEN)
async def test_a_refresh_that_is_answered_oddly_keeps_the_tokens(
    paths: Paths, status: int, text: str, words: str
) -> None:
    with oauth_server(client=SECRET, refresh_answer=[status, text]) as oauth:
        credentials, client = stored_sign_in(paths, oauth)
        async with client:
            with pytest.raises(httpx2.ConnectError, match=rf"^its token cannot be refreshed.*{words}") as caught:
                await client.post(oauth.mcp, json={})
        tokens = credentials.find("one", oauth.mcp).tokens
    assert tokens is not None
    assert tokens.refresh_token == "kept"
    assert "\n" not in str(caught.value) and "canary" not in str(caught.value)


@pytest.mark.parametrize("status", [200, 400, 401, 403])
async def test_a_refresh_token_that_is_not_accepted_is_deleted(paths: Paths, status: int) -> None:
    with oauth_server(client=SECRET, refresh_answer=[status, '{"error": "invalid_grant"}']) as oauth:
        credentials, client = stored_sign_in(paths, oauth)
        async with client:
            assert (await client.post(oauth.mcp, json={"method": "ping"})).status_code == 401
        assert credentials.find("one", oauth.mcp).tokens is None


@pytest.mark.slow
@pytest.mark.parametrize("changed", [{"refreshToken": "dead"}, {}], ids=["refused", "answered"])
async def test_a_sign_in_that_ends_during_a_refresh_is_kept(signed: Signed, changed: dict[str, str]) -> None:
    with oauth_server(slow_s=2) as oauth:
        other = {**signed.environ, "BROWSER": "false"}
        entry = {"url": oauth.mcp, "oauth": {"callbackPort": free_port()}}
        async with (
            signed.servers(oauth.mcp) as here,
            remote_servers(signed.folder, other, [], one=entry) as there,
        ):
            url = await there.begin_sign_in("one")
            await here.sign_in("one")
            signed.change(expiresAt=1, **changed)
            call = asyncio.create_task(echo(here))
            await until(lambda: bool(oauth.seen("/token", grant_type="refresh_token")))
            await there.finish_sign_in("one", await asyncio.to_thread(location, url))
            newer = signed.entry["tokens"]
            assert await call == "hello"
            assert signed.entry["tokens"] == newer


@contextmanager
def full_disk() -> Generator[None]:
    """Let this process write no file of more than 2000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
async def test_tokens_of_a_refresh_that_cannot_be_stored_are_used_and_stored_later(signed: Signed) -> None:
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
            signed.change(expiresAt=1)
            before = json.dumps({"one": {**signed.entry, "codeVerifier": "v" * 2_000}})
            signed.path.write_text(before)
            with full_disk():
                assert await echo(servers) == "hello"
                oauth.expire()
                assert [await echo(servers), await echo(servers)] == ["hello"] * 2
                assert signed.path.read_text() == before
            assert await echo(servers) == "hello"
            await until(lambda: signed.path.read_text() != before)
        async with signed.servers(oauth.mcp) as servers:  # the next process
            assert await echo(servers) == "hello"
        assert len(oauth.seen("/token", grant_type="refresh_token")) == 2
        assert signed.entry["serverUrl"] == oauth.mcp


def test_a_sign_in_replaces_tokens_of_a_refresh_that_could_not_be_stored(paths: Paths) -> None:
    credentials = McpCredentials(paths)
    credentials.store("one", HTTPS, tokens=Tokens(access_token="a", refresh_token="1"))
    refreshed = Tokens(access_token="b", refresh_token="2", scope="x" * 2_000)
    with full_disk():
        kept = credentials.renew("one", HTTPS, "1", tokens=refreshed)
    assert (kept.tokens, credentials.find("one", HTTPS)) == (refreshed, kept)
    assert credentials.secrets() == ["a", "1", "b", "2"]
    newer = Tokens(access_token="c", refresh_token="3")
    McpCredentials(paths).store("one", HTTPS, tokens=newer)  # of another process
    credentials.save("one", HTTPS)
    assert (credentials.find("one", HTTPS).tokens, credentials.is_unsaved("one", HTTPS)) == (newer, False)
    assert McpCredentials(paths).find("one", HTTPS).tokens == newer


@pytest.mark.slow
async def test_two_sign_ins_that_begin_at_once_share_a_port(signed: Signed) -> None:
    entry = {"oauth": {"callbackPort": free_port()}}
    with oauth_server() as oauth, oauth_server() as other:
        entries = {"one": {"url": oauth.mcp, **entry}, "two": {"url": other.mcp, **entry}}
        async with remote_servers(signed.folder, signed.environ, [], **entries) as servers:
            statuses = await asyncio.gather(servers.sign_in("one"), servers.sign_in("two"))
            assert [status.state for status in statuses] == ["connected"] * 2


async def test_a_port_is_started_once_by_all_that_listen_on_it_at_the_same_moment() -> None:
    callbacks, port = Callbacks(), free_port()

    async def listen() -> None:
        async with callbacks.listening(port):
            await asyncio.sleep(0.01)

    await asyncio.gather(*(listen() for _ in range(8)))
    with socket.socket() as one:  # free again
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", port))


NO_SIGN_IN = [
    (b"GET http://[ HTTP/1.1", b"400"),
    (b"GET //[ HTTP/1.1", b"400"),
    (b"GET http://[::1/mcp/oauth/callback HTTP/1.1", b"400"),
    (b"POST http://[ HTTP/1.1", b"400"),
    (b"GET / HTTP/1.1", b"404"),
    (b"GET", b"404"),
    (b"", b"404"),
    (b"\xff\xfe", b"404"),
    (b"POST /mcp/oauth/callback?state=a HTTP/1.1", b"404"),
    (b"GET /mcp/oauth/callback?state=%ff HTTP/1.1", b"400"),
]


@pytest.mark.parametrize(("line", "status"), NO_SIGN_IN)
async def test_a_request_that_no_sign_in_waits_for_is_answered(line: bytes, status: bytes) -> None:
    callbacks, port = Callbacks(), free_port()
    async with callbacks.listening(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(line + b"\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 " + status)
        writer.close()


async def test_the_headers_of_the_settings_do_not_reach_the_authorization_server(signed: Signed) -> None:
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp, headers={"X-Key": "canary"}) as servers:
            await servers.sign_in("one")
        with_key = [one["server"] for one in oauth.seen() if "x-key" in one["headers"]]
        assert len(with_key) > 2
        assert set(with_key) == {"mcp"}
        assert len(oauth.seen("/token")) == 1


@pytest.mark.slow
async def test_a_call_that_demands_more_rights_leads_to_a_sign_in_with_all_of_them(signed: Signed) -> None:
    with oauth_server(wants_more=True) as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
            with pytest.raises(McpError, match=r"it demands more rights; sign in with `opencode-tui mcp auth one`"):
                await echo(servers)
            assert servers.status_of("one").state == "needs_auth"
        async with signed.servers(oauth.mcp) as servers:  # as `mcp auth` does
            await servers.sign_in("one")
            assert await echo(servers) == "hello"
            assert await servers.begin_sign_in("one") == ""
        assert asked_scopes(oauth) == ["basic", "basic+write"]


@pytest.mark.slow
async def test_a_server_that_demands_a_sign_in_only_for_calls(signed: Signed) -> None:
    with oauth_server(anonymous=True) as oauth:
        async with signed.servers(oauth.mcp) as servers:
            assert (await servers.connect("one")).state == "connected"
            assert await servers.begin_sign_in("one") == ""
            with pytest.raises(McpError, match="it demands a sign-in"):
                await echo(servers)
            await servers.sign_in("one")
            assert await echo(servers) == "hello"


@pytest.mark.slow
async def test_a_sign_in_of_another_process_is_used_by_the_next_call(signed: Signed) -> None:
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp) as here, signed.servers(oauth.mcp) as there:
            assert (await here.connect("one")).state == "needs_auth"
            await there.sign_in("one")
            assert await echo(here) == "hello"


async def test_a_port_in_use_is_one_line_and_nothing_is_registered(signed: Signed) -> None:
    with oauth_server() as oauth, socket.socket() as used:
        used.bind(("127.0.0.1", 0))
        used.listen()
        port = used.getsockname()[1]
        async with signed.servers(oauth.mcp, callbackPort=port) as servers:
            with pytest.raises(SignInError, match=rf"port {port} .* is not free: .*`oauth.callbackPort` of mcp.one$"):
                await servers.sign_in("one")
        assert oauth.seen("/register") == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"oauth": False}, "it refuses access \\(401\\)"),
        ({"headers": {"authorization": "Bearer mine"}}, "it refuses access \\(401\\)"),
    ],
)
async def test_without_a_sign_in_a_refusal_is_a_failure(signed: Signed, settings: dict[str, Any], words: str) -> None:
    with oauth_server() as oauth:
        async with remote_servers(signed.folder, signed.environ, [], one={"url": oauth.mcp, **settings}) as servers:
            status = await servers.connect("one")
            assert (status.state, status.sign_in) == ("failed", None)
            assert re.search(words, status.error or "")
            with pytest.raises(ConfigError, match="there is no sign-in to the MCP server one"):
                await servers.sign_in("one")
        assert oauth.seen("/.well-known") == []


async def test_a_code_can_be_handed_over_by_hand_and_a_wrong_one_ends_nothing_else(signed: Signed) -> None:
    signed.environ["BROWSER"] = "false"
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp) as servers:
            url = await servers.begin_sign_in("one")
            assert await servers.begin_sign_in("one") == url  # the one that waits
            waiting = asyncio.create_task(servers.sign_in("one"))
            await until(lambda: any(isinstance(event, McpBrowserOpenFailed) for event in signed.events))
            answer = await asyncio.to_thread(location, url)
            redirect = redirect_of(url)
            for wrong in (f"{redirect}?state=x&code=y", f"{redirect}?state=x", "https://nowhere.example/"):
                with pytest.raises(SignInError, match="this address"):
                    await servers.finish_sign_in("one", wrong)
            for wrong in ("?code=x&state=guess", "?code=x", "", "/../x"):
                with pytest.raises(urllib.error.HTTPError):
                    await asyncio.to_thread(fetch, redirect + wrong)
            assert not waiting.done()
            assert (await servers.finish_sign_in("one", answer)).state == "connected"
            assert (await waiting).state == "connected"
            with pytest.raises(SignInError, match="none waits"):
                await servers.finish_sign_in("one", "again")
        assert signed.events[0] == McpBrowserOpenFailed(mcp_name="one", url=url)


async def test_a_browser_that_fails_while_the_sign_in_waits_is_reported(
    signed: Signed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    started, left, browser = outside / "started", outside / "left", outside / "browser"
    browser.write_text(f"#!/bin/sh\ntouch {started}; until [ -e {left} ]; do sleep 0.05; done; exit 3\n")
    browser.chmod(0o755)
    signed.environ["BROWSER"] = str(browser)
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp) as servers:
            waiting = asyncio.create_task(servers.sign_in("one"))
            await until(started.exists)
            url = await servers.begin_sign_in("one")
            assert [one for one in signed.events if isinstance(one, McpBrowserOpenFailed)] == []
            left.touch()
            await until(lambda: McpBrowserOpenFailed(mcp_name="one", url=url) in signed.events)
            answer = await asyncio.to_thread(location, url)
            assert (await servers.finish_sign_in("one", answer)).state == "connected"
            assert (await waiting).state == "connected"


@pytest.mark.slow
async def test_a_client_that_the_server_dropped_is_registered_again(signed: Signed) -> None:
    with oauth_server() as oauth:
        signed.environ["BROWSER"] = "false"
        async with signed.servers(oauth.mcp) as servers:
            back = await asyncio.to_thread(location, await servers.begin_sign_in("one"))
            fetch(f"{oauth.issuer}/drop")  # while the user signs in
            with pytest.raises(SignInError, match="answered 401: invalid_client; try again"):
                await servers.finish_sign_in("one", back)
            back = await asyncio.to_thread(location, await servers.begin_sign_in("one"))
            assert (await servers.finish_sign_in("one", back)).state == "connected"
        assert len(oauth.seen("/register")) == 2


async def test_the_screen_names_servers_that_demand_a_sign_in_once(signed: Signed) -> None:
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.start_unknown()
            await servers.connect("one")
        shown = [one.message for one in signed.events if isinstance(one, ScreenToastShown)]
        assert shown == ["MCP server one: it demands a sign-in; sign in with `opencode-tui mcp auth one`"]


@pytest.mark.slow
async def test_a_sign_out_deletes_the_tokens_and_ends_a_sign_in_that_waits(signed: Signed) -> None:
    with oauth_server() as oauth:
        async with signed.servers(oauth.mcp) as servers:
            await servers.sign_in("one")
            assert [await servers.sign_out("one"), await servers.sign_out("one")] == [True, False]
            assert (await servers.connect("one")).state == "needs_auth"
            signed.environ["BROWSER"] = "false"
            waiting = asyncio.create_task(servers.sign_in("one"))
            await until(lambda: len(signed.events) > 0 and isinstance(signed.events[-1], McpBrowserOpenFailed))
            await servers.sign_out("one")
            with pytest.raises(SignInError, match="it was canceled"):
                await waiting
            with pytest.raises(NotFoundError):
                await servers.sign_out("other")
        assert json.loads(signed.path.read_text()) == {}


@pytest.mark.fast_cases("__")
@pytest.mark.parametrize("text", ['{"one": 5}', "[]", "{", '{"one": {"tokens": 5, "serverUrl": "URL"}}'])
async def test_a_damaged_file_of_tokens_fails_nothing_but_the_sign_in(signed: Signed, text: str) -> None:
    signed.path.parent.mkdir(parents=True)
    with oauth_server() as oauth:
        signed.path.write_text(text.replace("URL", oauth.mcp))
        async with signed.servers(oauth.mcp) as servers:
            assert (await servers.connect("one")).state == "needs_auth"
            if "tokens" in text:
                assert (await servers.sign_in("one")).state == "connected"
            else:
                with pytest.raises((SignInError, ConfigError), match=r"mcp-auth\.json"):
                    await servers.sign_in("one")
                assert signed.path.read_text() == text


HTTPS, HTTP = "https://mcp.example/mcp", "http://mcp.example/mcp"
ADDRESSES = [
    (HTTPS, "https://login.example/token", True),
    (HTTPS, "https://127.0.0.1/token", True),
    (HTTPS, "http://login.example/token", False),
    (HTTPS, "http://mcp.example/token", False),
    (HTTPS, "http://127.0.0.1.example/token", False),
    (HTTPS, "http://localhost@login.example/token", False),
    (HTTPS, "http://10.0.0.1/token", False),
    (HTTPS, "ftp://login.example/token", False),
    (HTTPS, "http://localhost:8080/token", True),
    (HTTPS, "http://127.0.0.1:8080/token", True),
    (HTTPS, "http://[::1]:8080/token", True),
    (HTTP, "http://login.example/token", True),
    (HTTP, "https://login.example/token", True),
    ("http://127.0.0.1:1/mcp", "http://127.0.0.1:2/token", True),
]


@each(("server", "address", "is_right"), ADDRESSES)
def test_a_sign_in_to_an_encrypted_server_sends_nothing_in_the_clear(server: str, address: str, is_right: bool) -> None:
    from opencode_tui.engine.mcp import sdk_oauth  # as above

    terms = SignInTerms(name="one", url=server, redirect="http://127.0.0.1:19876/")
    with nullcontext() if is_right else pytest.raises(McpError, match=r"without encryption$"):
        sdk_oauth.check_address(terms, address)


OURS = [
    ("one", HTTPS, True),
    ("one", HTTPS + "/", False),
    ("one", HTTPS.upper(), False),
    ("one", "https://mcp.example:444/mcp", False),
    ("one", "https://other.example/mcp", False),
    ("one", HTTP, False),
    ("One", HTTPS, False),
]


@pytest.mark.parametrize(("name", "url", "is_ours"), OURS)
def test_stored_tokens_count_only_for_their_server(paths: Paths, name: str, url: str, is_ours: bool) -> None:
    McpCredentials(paths).store("one", HTTPS, tokens=Tokens(access_token="a"))
    assert (McpCredentials(paths).find(name, url).tokens is not None) == is_ours
    McpCredentials(paths).store(name, url, client_info=None)  # what is not tokens leaves those of another address
    assert McpCredentials(paths).find("one", HTTPS).tokens == Tokens(access_token="a")
    McpCredentials(paths).store(name, url, tokens=Tokens(access_token="b"))
    assert ("tokens" in McpCredentials(paths).find("one", HTTPS).to_dict()) == (is_ours or name != "one")


EXPIRY = [
    (None, None, "signed_in"),
    (None, "r", "signed_in"),
    (60, None, "signed_in"),
    (3, None, "expired"),
    (-1, "r", "signed_in"),
]


@pytest.mark.parametrize(("seconds", "refresh", "state"), EXPIRY)
def test_a_sign_in_is_expired_only_if_it_cannot_be_refreshed(
    seconds: int | None, refresh: str | None, state: str
) -> None:
    ends = None if seconds is None else time.time() + seconds
    entry = SignInEntry(tokens=Tokens(access_token="a", refresh_token=refresh, expires_at=ends))
    assert (entry.state, SignInEntry().state) == (state, "none")
