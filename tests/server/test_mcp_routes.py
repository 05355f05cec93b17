import asyncio
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest

from opencode_tui.client.remote import open_remote
from opencode_tui.schema.api.mcp import McpAdd, McpCall, McpSignInCode
from opencode_tui.schema.error import NotFoundError, SignInError
from tests.engine.mcp.conftest import COMMAND
from tests.engine.mcp.sign_in_world import browser, free_port, location, oauth_server
from tests.support.world.server import PASSWORD, served

pytestmark = pytest.mark.slow


async def test_servers_are_added_switched_and_listed_as_clients_of_opencode_expect(serve):
    async with serve() as face:
        config = {"type": "local", "command": COMMAND}
        assert (await face.http.post("/mcp", json={"name": "one", "config": config})).json() == {
            "one": {"status": "connected"}
        }
        resources = (await face.http.get("/experimental/resource")).json()
        assert resources["one:note"] == {
            "name": "note",
            "uri": "test://note",
            "mimeType": "text/plain",
            "client": "one",
        }
        assert (await face.http.post("/mcp/one/disconnect")).json() is True
        assert (await face.http.get("/mcp")).json() == {"one": {"status": "disabled"}}
        assert (await face.http.post("/mcp/one/connect")).json() is True
        assert (await face.http.post("/mcp/other/connect")).status_code == 404


@pytest.fixture
def serve_with_browser(project, environ, model, tmp_path):
    return partial(served, project.path, {**environ, "BROWSER": browser(tmp_path)}, provider=model.config())


async def test_a_sign_in_has_the_shapes_of_opencode(serve):
    oauth = {"callbackPort": free_port()}
    with oauth_server() as server:
        async with serve() as face:
            config = {"type": "remote", "url": server.mcp, "oauth": oauth}
            added = (await face.http.post("/mcp", json={"name": "one", "config": config})).json()
            assert added == {"one": {"status": "needs_auth"}}
            begun = (await face.http.post("/mcp/one/auth")).json()
            assert list(begun) == ["authorizationUrl"]
            refused = await face.http.post("/mcp/one/auth/callback", json={"code": "http://127.0.0.1/?code=x&state=y"})
            assert (refused.status_code, refused.json()["name"]) == (400, "BadRequest")
            found = await asyncio.to_thread(location, begun["authorizationUrl"])
            code = parse_qs(urlsplit(found).query)["code"][0]
            done = await face.http.post("/mcp/one/auth/callback", json={"code": code})
            assert (done.status_code, done.json()) == (200, {"status": "connected"})
            assert (await face.http.post("/mcp/one/auth")).json() == {"authorizationUrl": ""}
            assert (await face.http.delete("/mcp/one/auth")).json() == {"success": True}
            again = await face.http.post("/mcp/one/auth/callback", json={"code": code})
            assert (again.status_code, (await face.http.post("/mcp/one/auth/callback", json={})).status_code) == (
                400,
                400,
            )
            await face.http.post("/mcp", json={"name": "two", "config": {"type": "local", "command": COMMAND}})
            for path, status in (("/mcp/two/auth", 400), ("/mcp/two/auth/authenticate", 400), ("/mcp/three/auth", 404)):
                assert (await face.http.post(path)).status_code == status
            assert (await face.http.delete("/mcp/three/auth")).status_code == 404


async def test_a_sign_in_with_the_browser_answers_when_it_has_ended(serve_with_browser):
    config = {"type": "remote", "oauth": {"callbackPort": free_port()}}
    with oauth_server() as server:
        async with serve_with_browser() as face:
            await face.http.post("/mcp", json={"name": "one", "config": {**config, "url": server.mcp}})
            assert (await face.http.post("/mcp/one/auth/authenticate")).json() == {"status": "connected"}


async def test_a_client_of_a_server_signs_in_calls_and_signs_out_there(serve_with_browser):
    config = {"type": "remote", "oauth": {"callbackPort": free_port()}}
    with oauth_server() as server:
        async with (
            serve_with_browser() as face,
            open_remote(face.address.url, password=PASSWORD) as client,
        ):
            await client.mcp.add(McpAdd(name="one", config={**config, "url": server.mcp}))
            begun = await client.mcp.begin_sign_in("one")
            assert begun.authorization_url.startswith(server.issuer)
            with pytest.raises(SignInError, match="this address has no code"):
                await client.mcp.finish_sign_in("one", McpSignInCode(code="http://x/"))
            status = await client.mcp.sign_in("one")
            assert (status.state, status.sign_in) == ("connected", "signed_in")
            result = await client.mcp.call("one", McpCall(tool="echo", arguments={"text": "hello"}))
            assert result["content"] == [{"type": "text", "text": "hello"}]
            assert [await client.mcp.sign_out("one"), await client.mcp.sign_out("one")] == [True, False]
            with pytest.raises(NotFoundError):
                await client.mcp.sign_in("two")
