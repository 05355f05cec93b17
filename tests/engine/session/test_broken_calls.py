"""Calls that a provider rejects before they arrive: the model is shown them once and asked again."""

import json
from typing import Any

import pytest

from opencode_tui.schema.error import ProviderError
from opencode_tui.schema.session.part import RetryPart, ToolPart
from opencode_tui.text.retry import past_reason
from tests.support.provider import strict_openai
from tests.support.provider.model_script import Answer
from tests.support.world.engine import opened

WRITTEN = '{"name": "read", "arguments": {"file": "a.txt"}}'


def error(written: str = WRITTEN, **more: Any) -> dict[str, Any]:
    message = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."
    fields = {"message": message, "type": "invalid_request_error", "code": "tool_use_failed"}
    return {"error": {**fields, "failed_generation": written, **more}}


def rejected(written: str = WRITTEN) -> Answer:
    return Answer(status=400, body=json.dumps(error(written)).encode())


def in_stream(written: str = WRITTEN) -> Answer:
    said = {"choices": [{"index": 0, "delta": {"content": "I read. "}}]}
    failed = f"event: error\ndata: {json.dumps(error(written, status_code=400))}\n\n"
    return Answer(chunks=(f"data: {json.dumps(said)}\n\n".encode(), failed.encode()))


@pytest.mark.parametrize("make", [rejected, in_stream])
async def test_the_model_is_shown_its_call_and_asked_again(environ, tmp_path, make):
    async with opened(environ, tmp_path, make(), Answer(text="done")) as world:
        session = await world.prompt("go")
        parts, bodies = await world.parts(session), world.server.bodies
        assert (await world.answer(session), len(bodies)) == ("done", 2)
        assert [strict_openai.violations(body) for body in bodies] == [[], []]
    called, result = bodies[1]["messages"][-2:]
    assert called["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"file":"a.txt"}'}
    assert result["role"] == "tool" and result["content"].startswith(
        "Not run: fake: a tool call was rejected: Failed to"
    )
    assert not [part for part in parts if isinstance(part, ToolPart)]
    (retry,) = [part for part in parts if isinstance(part, RetryPart)]
    assert past_reason("fake", retry) == "fake rejected a tool call of the model"


@pytest.mark.fast_cases("<function=read>{}</function>-roles0")
@pytest.mark.parametrize(
    ("written", "roles"),
    [
        ("<function=read>{}</function>", ["user", "assistant", "user"]),
        ("", ["user"]),
        (
            '```\n{"tool_calls": [{"function": {"name": "read", "arguments": "{}"}}]}\n```',
            ["user", "assistant", "tool"],
        ),
        ('[{"name": "read", "parameters": {}}]', ["user", "assistant", "tool"]),
        ('{"name": "no name", "arguments": {}}', ["user", "assistant", "user"]),
    ],
)
async def test_what_is_no_call_is_shown_as_text(environ, tmp_path, written, roles):
    async with opened(environ, tmp_path, rejected(written), Answer(text="done")) as world:
        await world.prompt("go")
        body = world.server.bodies[1]
    assert [message["role"] for message in body["messages"] if message["role"] not in ("system", "developer")] == roles
    assert strict_openai.violations(body) == [] and "Not run: " in json.dumps(body["messages"][-1])


async def test_a_second_invalid_call_ends_the_turn(environ, tmp_path):
    async with opened(environ, tmp_path, rejected(), rejected(), Answer(text="never")) as world:
        with pytest.raises(
            ProviderError, match=r"a tool call was rejected: .*; the same when it was asked again; fix: send `continue`"
        ):
            await world.prompt("go")
        assert len(world.server.bodies) == 2
