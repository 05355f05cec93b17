"""The websearch tool is among the tools of a request only with a key for it."""

from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened


def tool_names(body) -> set[str]:
    return {tool["function"]["name"] for tool in body["tools"]}


async def test_without_a_key_the_tools_are_those_without_it(environ, tmp_path):
    async with opened(environ, tmp_path) as world:
        await world.prompt("go")
        assert "websearch" not in tool_names(world.server.bodies[0]) >= {"webfetch", "bash"}


async def test_with_a_key_it_is_offered_and_a_rule_denies_it(environ, tmp_path):
    environ = {**environ, "BRAVE_API_KEY": "not-a-key-12345"}
    call = Answer(calls=(Call("websearch", {"query": "x"}),))
    settings = {"permission": {"websearch": {"x": "deny"}}}
    async with opened(environ, tmp_path, call, settings=settings) as world:
        session = await world.prompt("go")
        assert tool_names(world.server.bodies[0]) >= {"webfetch", "websearch"}
        (done,) = await world.calls(session)
        assert done.state.status == "error" and "denies websearch" in done.state.error


async def test_the_setting_switches_it_off_and_chooses_the_service(environ, tmp_path):
    environ = {**environ, "BRAVE_API_KEY": "not-a-key-12345"}
    for chosen in ("off", "tavily"):
        async with opened(environ, tmp_path, settings={"experimental": {"websearch": chosen}}) as world:
            await world.prompt("go")
            assert "websearch" not in tool_names(world.server.bodies[0])
