import pytest

from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.session.message import OutputFormat
from tests.engine.session.test_subagent import MODEL, opened
from tests.support.provider.model_script import Answer, Call

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
GOOD, BAD = Call("StructuredOutput", {"n": 3}), Call("StructuredOutput", {"n": "three"})


async def ask(client, **form):
    session = await client.sessions.create(CreateSession())
    wanted = OutputFormat.model_validate({"type": "json_schema", "schema": SCHEMA, **form})
    answer = await client.prompts.prompt(
        session.id, PromptInput(model=MODEL, format=wanted, parts=[TextInput(text="n?")])
    )
    return answer.info


async def test_the_answer_comes_in_the_form_that_was_asked_for(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(calls=(GOOD,))) as (server, client):
        info = await ask(client)
        assert (info.structured, info.error, info.finish) == ({"n": 3}, None, "tool-calls")
        assert server.bodies[0]["tool_choice"] == "required"
        assert len(server.bodies) == 1


async def test_an_answer_that_does_not_fit_is_asked_for_again(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(calls=(BAD,)), Answer(calls=(GOOD,))) as (server, client):
        assert (await ask(client)).structured == {"n": 3}
        assert "does not match" in str(server.bodies[1]["messages"])


@pytest.mark.parametrize(("retries", "requests"), [(0, 1), (2, 3)])
async def test_a_model_that_never_gives_the_form_ends_with_an_error(environ, tmp_path, retries, requests):
    async with opened(environ, tmp_path, *[Answer(text="just text")] * 5) as (server, client):
        info = await ask(client, retryCount=retries)
        assert info.error.name == "StructuredOutputError"
        assert len(server.bodies) == requests
