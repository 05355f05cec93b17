"""The search over HTTP, with the client that the TUI uses."""

import pytest

from opencode_tui.schema.api.search import SearchRequest

OWN = "/opencode-tui"


@pytest.mark.slow
async def test_the_content_of_sessions_is_searched(serve):
    async with serve() as face:
        session_id = await face.session()
        await face.say(session_id, "look for the needle")
        found = (await face.http.post(f"{OWN}/search", json={"query": "needle role:user"})).json()
        assert [(one["sessionID"], one["count"]) for one in found["groups"]] == [(session_id, 1)]
        assert found["indexed"] == found["sessions"] == 1
        titles = (await face.http.get("/session", params={"search": "needle role:user"})).json()
        assert titles == []


async def test_a_wrong_request_is_refused(serve):
    async with serve() as face:
        assert (await face.http.post(f"{OWN}/search", json={"query": "x" * 5_000})).status_code == 400
        assert (await face.http.post(f"{OWN}/search", json={})).status_code == 400
        assert SearchRequest(query="x").limit == 50
