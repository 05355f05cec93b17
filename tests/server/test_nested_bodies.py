"""A body that is nested too deeply is refused as a malformed one, by every route that reads JSON."""

import pytest

from opencode_tui.schema.json_text import MAX_DEPTH

ROUTES = ("/session", "/opencode-tui/import", "/mcp", "/tui/show-toast", "/log")


@pytest.mark.fast_cases("900")
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 150, 900, 100_000])
async def test_a_nested_body_is_malformed(serve, depth: int) -> None:
    body = '{"title": "t", "more": ' + "[" * depth + "]" * depth + "}"
    async with serve() as face:
        for route in ROUTES:
            answer = await face.http.post(route, content=body, headers={"content-type": "application/json"})
            assert (answer.status_code, answer.json()["name"]) == (400, "BadRequest"), route
        assert (await face.http.get("/session")).json() == []
