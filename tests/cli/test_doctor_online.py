"""`doctor --online` tries each configured provider with its cheapest request, and says what failed."""

import json
from typing import Any

import pytest

from tests.support.provider.json_server import always, serve_json
from tests.support.world.in_process import Commands

LISTED = {"object": "list", "data": [{"id": "small", "object": "model"}]}
NO_KEY = {
    "error": {"message": "Incorrect API key provided", "type": "invalid_request_error", "code": "invalid_api_key"}
}
NO_REGION = {
    "error": {"message": "Country, region, or territory not supported", "code": "unsupported_country_region_territory"}
}


def configure(commands: Commands, **providers: dict[str, Any]) -> None:
    settings = {"provider": providers, "model": f"{next(iter(providers))}/small"}
    (commands.folder / "opencode.json").write_text(json.dumps(settings))
    assert commands.run("trust", "--yes").code == 0


def provider(url: str, model: str = "small", **options: str) -> dict[str, Any]:
    sized = {model: {"limit": {"context": 8000, "output": 1000}, "cost": {"input": 0, "output": 0}}}
    return {"options": {"baseURL": f"{url}/v1", "apiKey": "fake-key", **options}, "models": sized}


@pytest.mark.slow
def test_each_provider_is_tried_with_its_list_and_says_what_failed(commands: Commands) -> None:
    with (
        serve_json({"GET /v1/models": always(LISTED)}) as well,
        serve_json({"GET /v1/models": always(NO_KEY, 401)}) as closed,
        serve_json({"GET /v1/models": always(NO_REGION, 403)}) as elsewhere,
        serve_json({}) as without_list,
    ):
        configure(
            commands,
            well=provider(well.url),
            renamed=provider(well.url, "old"),
            closed=provider(closed.url),
            elsewhere=provider(elsewhere.url),
            plain=provider(without_list.url),
            away=provider("http://127.0.0.1:9"),
            behind=provider("https://api.company.test", proxy="http://127.0.0.1:9"),
        )
        done = commands.run("doctor", "--online")
        asked = [one.asked for one in (well, closed, elsewhere, without_list)]
    assert done.code == 1
    lines = [line.strip() for line in done.stdout.partition("online")[2].splitlines()]
    assert lines[0] == "7 providers"
    assert lines[1] == "✓ well answers"
    assert lines[2].startswith("✗ renamed: the key is accepted, but the provider does not list the model 'old'")
    assert lines[3].startswith("✗ closed rejected the API key: Incorrect API key provided (HTTP 401)")
    assert "region" in lines[4] and lines[4].startswith("✗ elsewhere: ")
    assert lines[5] == "✓ plain answers"
    assert lines[6].startswith("✗ away: cannot reach 127.0.0.1:9 (")
    assert "check provider.behind.options.proxy" in lines[7]
    assert asked == [["GET /v1/models"] * 2, ["GET /v1/models"], ["GET /v1/models"], ["GET /v1/models"]]


def test_nothing_is_asked_without_the_option(commands: Commands) -> None:
    with serve_json({"GET /v1/models": always(LISTED)}) as server:
        configure(commands, well=provider(server.url))
        done = commands.run("doctor")
    assert server.asked == [] and "online" not in done.stdout
