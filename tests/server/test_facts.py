"""What clients ask for at their start."""

import pytest
from fastapi.routing import APIRoute

from opencode_tui.server.app import ROUTERS


async def test_the_start_of_a_client_finds_what_it_needs(serve, project):
    settings = {
        "model": "fake/fake-model",
        "command": {"greet": {"template": "Say $2 to $1: $ARGUMENTS", "description": "Greets"}},
    }
    async with serve(settings=settings) as face:
        facts = {
            path: (await face.http.get(path)).json()
            for path in (
                "/config",
                "/agent",
                "/command",
                "/path",
                "/project",
                "/project/current",
                "/vcs",
                "/permission",
            )
        }
    assert (facts["/config"]["model"], facts["/permission"]) == ("fake/fake-model", [])
    assert facts["/config"]["provider"]["fake"]["options"]["apiKey"] == "[hidden]"
    names = {agent["name"]: agent for agent in facts["/agent"]}
    assert (facts["/agent"][0]["name"], names["title"]["hidden"], names["general"]["mode"]) == (
        "build",
        True,
        "subagent",
    )
    assert {"permission", "pattern", "action"} == set(names["build"]["permission"][0])
    commands = {command["name"]: command for command in facts["/command"]}
    assert {"init", "review"} < set(commands)
    assert [commands["greet"]] == [
        {"name": "greet", "description": "Greets", "source": "command", "template": "Say $2 to $1: $ARGUMENTS",
         "hints": ["$1", "$2", "$ARGUMENTS"]}
    ]  # fmt: skip
    assert facts["/path"]["directory"] == facts["/path"]["worktree"] == str(project.path)
    assert facts["/project"] == [facts["/project/current"]]
    assert facts["/project/current"]["vcs"] == "git" and facts["/vcs"]["branch"] == project.git(
        "branch", "--show-current"
    )


@pytest.mark.slow
async def test_models_come_with_prices_and_limits_and_never_with_a_key(serve):
    async with serve(settings={"enabled_providers": ["fake", "anthropic", "openai"]}) as face:
        ready = await face.http.get("/config/providers")
        known = await face.http.get("/provider")
    fake = next(provider for provider in ready.json()["providers"] if provider["id"] == "fake")
    model = fake["models"]["fake-model"]
    assert (model["id"], model["providerID"], model["limit"]["context"]) == ("fake-model", "fake", 200_000)
    assert model["cost"] == {"input": 1.0, "output": 2.0, "cache": {"read": 0.1, "write": 0.0}}
    assert model["capabilities"]["toolcall"] is True and model["capabilities"]["input"]["image"] is True
    assert ready.json()["default"]["fake"] in fake["models"]
    assert {"anthropic", "openai", "fake", "demo"} <= {provider["id"] for provider in known.json()["all"]}
    assert "fake" in known.json()["connected"] and "openai" not in known.json()["connected"]
    assert "fake-key-for-tests" not in ready.text + known.text


@pytest.mark.slow
async def test_the_description_names_every_route(serve):
    async with serve() as face:
        health = (await face.http.get("/global/health")).json()
        described = (await face.http.get("/doc")).json()
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    listed = {(path, method.upper()) for path, methods in described["paths"].items() for method in methods}
    assert listed == {
        (route.path, method) for route in routes for method in route.methods or () if route.include_in_schema
    }
    assert described["openapi"].startswith("3.") and health["healthy"] is True
    body = described["paths"]["/session/{sessionID}/message"]["post"]["requestBody"]
    assert body["content"]["application/json"]["schema"]["$ref"].endswith("/PromptInput")
