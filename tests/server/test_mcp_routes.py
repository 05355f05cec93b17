from tests.engine.mcp.conftest import COMMAND


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
