import json

import pytest

from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.message import AssistantMessage, OutputFormat
from tests.engine.session.test_subagent import MODEL, opened
from tests.support.provider import strict_anthropic
from tests.support.provider.model_script import Answer, Call
from tests.support.world.engine import opened as world_opened
from tests.support.world.pages import Pages, serve

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


@pytest.mark.fast_cases("claude-sonnet-5-5-None", "claude-fable-5-choice6")
@pytest.mark.parametrize(
    ("model", "choice"),
    [
        ("claude-sonnet-5-5", None),
        ("claude-opus-5-5", None),
        ("claude-fable-5-1", None),
        ("claude-mythos-5-1", None),
        ("claude-haiku-5-5", {"type": "any"}),
        ("claude-sonnet-5", {"type": "any"}),
        ("claude-fable-5", {"type": "any"}),
    ],
)
async def test_a_model_that_rejects_a_demand_for_a_call_is_asked_without_it_and_asked_again(
    environ, tmp_path, model, choice
):
    """Source: https://platform.claude.com/docs/en/models/sonnet-5-5/whats-new-sonnet-5-5 (2026-10)."""
    known = {"fake-anthropic": {model: {"limit": {"context": 200_000, "output": 8_000}, "tool_call": True}}}
    answers = (Answer(text="Three."), Answer(calls=(GOOD,)))
    async with world_opened(environ, tmp_path, *answers, models=known) as world:
        session = await world.new_session()
        wanted = OutputFormat.model_validate({"type": "json_schema", "schema": SCHEMA})
        ref = ModelRef(provider_id="fake-anthropic", model_id=model)
        answer = await world.client.prompts.prompt(
            session.id, PromptInput(model=ref, format=wanted, parts=[TextInput(text="n?")])
        )
        bodies = world.server.bodies
    assert isinstance(answer.info, AssistantMessage) and answer.info.structured == {"n": 3}
    assert [body.get("tool_choice") for body in bodies] == [choice] * 2
    assert [strict_anthropic.violations(body) for body in bodies] == [[], []]


async def test_an_answer_that_does_not_fit_is_asked_for_again(environ, tmp_path):
    async with opened(environ, tmp_path, Answer(calls=(BAD,)), Answer(calls=(GOOD,))) as (server, client):
        assert (await ask(client)).structured == {"n": 3}
        assert "does not match" in str(server.bodies[1]["messages"])


@pytest.mark.fast_cases("0-1")
@pytest.mark.parametrize(("retries", "requests"), [(0, 1), (1, 2), (2, 3), (None, 3)])
async def test_a_model_that_never_gives_a_valid_answer_ends_with_an_error(environ, tmp_path, retries, requests):
    answers = [Answer(calls=(BAD,)), Answer(calls=(BAD, BAD)), *[Answer(calls=(BAD,))] * 5]
    async with opened(environ, tmp_path, *answers) as (server, client):
        info = await ask(client, retryCount=retries)
        assert info.error.name == "StructuredOutputError" and info.structured is None
        assert info.error.data.message == "n: 'three' is not of type 'integer'"
        assert len(server.bodies) == requests


async def test_steps_without_an_answer_are_no_attempts(environ, tmp_path):
    (tmp_path / "a").write_text("3")
    look = Answer(calls=(Call("read", {"filePath": "a"}),))
    answers = (look, Answer(calls=(BAD,)), look, Answer(text="just text"), look, Answer(calls=(BAD, GOOD)))
    async with opened(environ, tmp_path, *answers) as (server, client):
        info = await ask(client)
        assert (info.structured, info.error, len(server.bodies)) == ({"n": 3}, None, 6)


LOOP = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "properties": {"n": {"$ref": "#/$defs/a"}}}


@pytest.mark.fast_cases("schema4-is not a 'regex'", "schema6-refers to itself without an ..")
@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"properties": {"n": {"$ref": "#/$defs/missing"}}}, "'/$defs/missing' does not exist"),
        ({"properties": {"n": {"$ref": "#missing"}}}, "'missing' does not exist"),
        ({"properties": {"n": {"$ref": "SITE/a.json"}}}, "/a.json; put everything that it refers to below $defs"),
        ({"properties": {"n": {"$ref": "file:///dev/null"}}}, "file:///dev/null; put everything"),
        ({"properties": {"n": {"pattern": "("}}}, "is not a 'regex'"),
        ({"type": 3}, "3 is not valid"),
        (LOOP, "refers to itself without an end"),
    ],
)
async def test_a_schema_that_cannot_be_used_ends_the_turn_with_its_problem(environ, tmp_path, schema, words):
    fetched = []

    class Trap(Pages):
        def do_GET(self) -> None:
            fetched.append(self.path)
            self.answer(200, "application/json", b"{}")

    with serve(Trap) as site:
        schema = json.loads(json.dumps({"type": "object", **schema}).replace("SITE", site))
        async with opened(environ, tmp_path, *[Answer(calls=(GOOD,))] * 5) as (server, client):
            info = await ask(client, schema=schema)
            assert info.error.name == "StructuredOutputError"
            assert "the schema is invalid: " in info.error.data.message and words in info.error.data.message
            assert (len(server.bodies), fetched) == (1, [])


@pytest.mark.fast_cases("schema0")
@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"n": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/n"}}},
        {"properties": {"n": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}}},
        {"properties": {"schema": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}},
    ],
)
async def test_a_schema_may_refer_to_its_own_parts_and_to_the_standard(environ, tmp_path, schema):
    async with opened(environ, tmp_path, Answer(calls=(GOOD,))) as (_, client):
        assert (await ask(client, schema={"type": "object", **schema})).structured == {"n": 3}


@pytest.mark.parametrize(("retries", "requests"), [(0, 1), (2, 3)])
async def test_a_model_that_never_gives_the_form_ends_with_an_error(environ, tmp_path, retries, requests):
    async with opened(environ, tmp_path, *[Answer(text="just text")] * 5) as (server, client):
        info = await ask(client, retryCount=retries)
        assert info.error.name == "StructuredOutputError"
        assert len(server.bodies) == requests
