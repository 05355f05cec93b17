"""Reasoning that a provider cannot read any more is not sent to it again, and the turn goes on."""

import json
from typing import Any

import pytest

from opencode_tui.engine.provider.llm import AssistantEntry, CallBlock, TextBlock, ThinkingBlock, UserEntry
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.session.request.thoughts import without_thoughts
from opencode_tui.engine.session.retry import refused_thoughts, store_cause
from opencode_tui.schema.api.side_question import SideQuestion
from opencode_tui.schema.error import Failure, ProviderError
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.part import ReasoningPart, RetryPart, RetryTime
from opencode_tui.text.retry import past_reason
from tests.support.provider import strict_anthropic, strict_gemini, strict_responses
from tests.support.provider.gemini_format import SIGNATURE
from tests.support.provider.model_script import Answer, Call
from tests.support.rows import each
from tests.support.sessions.records import MODEL, assistant, owner, reasoning, user
from tests.support.world.engine import World, opened

READ = Call("read", {"filePath": "a.txt"})
SIGNED = {"google": {"thoughtSignature": "c2ln"}}
STRICT = {
    "fake-anthropic": strict_anthropic.violations,
    "fake-responses": strict_responses.violations,
    "fake-gemini": strict_gemini.violations,
}
SIGNS = {
    "fake-anthropic": '"signature"',
    "fake-responses": '"encrypted_content"',
    "fake-gemini": SIGNATURE,
}
"""What a request with an earlier thought has."""


def refusal(message: str, *, status: int = 400, code: str | None = None) -> Answer:
    error = {"message": message, "type": "invalid_request_error", **({"code": code} if code else {})}
    return Answer(status=status, body=json.dumps({"type": "error", "error": error}).encode())


BOUND = refusal(
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the "
    'block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
ENCRYPTED = refusal("The encrypted content gAAA...DQ== could not be verified.", code="invalid_encrypted_content")
CORRUPTED = refusal("Corrupted thought signature.")


def said(text: str) -> Answer:
    return Answer(reasoning="Hm.", text=text)


def has_thoughts(provider: str, body: dict[str, Any]) -> bool:
    return SIGNS[provider] in json.dumps(body)


async def ask(world: World, provider: str, session=None):
    return await world.prompt("go on", session=session, model=ModelRef(provider_id=provider, model_id="fake-model"))


@pytest.mark.fast_cases("fake-gemini-refused6", "fake-anthropic-refused1")
@pytest.mark.parametrize(
    ("provider", "refused"),
    [
        ("fake-anthropic", BOUND),
        ("fake-anthropic", refusal("messages.3.content.0: Invalid `signature` in `thinking` block")),
        (
            "fake-anthropic",
            refusal(
                "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
            ),
        ),
        ("fake-responses", ENCRYPTED),
        (
            "fake-responses",
            refusal(
                "The encrypted content for item rs_0a could not be verified. Reason: It could not be decrypted or parsed."
            ),
        ),
        ("fake-gemini", CORRUPTED),
        ("fake-gemini", refusal("Thought signature is not valid.")),
    ],
)
async def test_a_refused_thought_is_left_out_and_what_the_model_thinks_later_is_sent(
    environ, tmp_path, provider: str, refused: Answer
):
    answers = (said("one"), refused, said("two"), said("three"))
    async with opened(environ, tmp_path, *answers, has_all=True) as world:
        session = await ask(world, provider)
        await ask(world, provider, session)
        await ask(world, provider, session)
        bodies, parts = world.server.bodies, await world.parts(session)
        assert (await world.answer(session), len(bodies)) == ("three", 4)
    assert [has_thoughts(provider, body) for body in bodies] == [False, True, False, True]
    assert json.dumps(bodies[3]).count(SIGNS[provider]) == 1
    assert [STRICT[provider](body) for body in bodies] == [[]] * 4
    (retry,) = [part for part in parts if isinstance(part, RetryPart)]
    assert past_reason("acme", retry) == "acme rejected reasoning of earlier answers; it is left out"


async def test_a_refusal_in_the_middle_of_a_turn_keeps_its_calls(environ, tmp_path):
    (tmp_path / "a.txt").write_text("inside")
    answers = (Answer(reasoning="I look.", calls=(READ,)), BOUND, Answer(text="It says inside."))
    async with opened(environ, tmp_path, *answers) as world:
        session = await ask(world, "fake-anthropic")
        bodies = world.server.bodies
        assert (await world.answer(session), len(bodies)) == ("It says inside.", 3)
    assert [has_thoughts("fake-anthropic", body) for body in bodies] == [False, True, False]
    assert "tool_use" in json.dumps(bodies[2]) and "inside" in json.dumps(bodies[2])
    assert strict_anthropic.violations(bodies[2]) == []


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (BOUND, "bound to a different conversation"),
        (refusal("`tool_use` ids were found without `tool_result` blocks immediately after: a"), "without"),
        (refusal("The encrypted content could not be verified.", status=403), "could not be verified"),
    ],
)
async def test_a_request_that_is_the_same_without_thoughts_is_not_sent_again(
    environ, tmp_path, refused: Answer, reason: str
):
    async with opened(environ, tmp_path, refused, Answer(text="never")) as world:
        with pytest.raises(ProviderError, match=reason):
            await ask(world, "fake-anthropic")
        assert len(world.server.bodies) == 1


async def test_a_model_that_may_not_think_in_the_middle_of_a_turn_goes_on_without(environ, tmp_path):
    """As after a change of the model in a turn. Source: https://github.com/BerriAI/litellm/issues/14194."""
    (tmp_path / "a.txt").write_text("inside")
    refused = refusal(
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, "
        "a final `assistant` message must start with a thinking block. To avoid this requirement, disable `thinking`."
    )
    known = {"limit": {"context": 200_000, "output": 32_000}, "tool_call": True, "reasoning": True}
    asked = {"thinking": {"type": "enabled", "budgetTokens": 2048}}
    models = {"fake-anthropic": {"claude-sonnet-4-5": {**known, "options": asked}}}
    answers = (Answer(calls=(READ,)), refused, Answer(text="It says inside."), Answer(text="And more."))
    async with opened(environ, tmp_path, *answers, models=models) as world:
        model = ModelRef(provider_id="fake-anthropic", model_id="claude-sonnet-4-5")
        session = await world.prompt("go on", model=model)
        await world.prompt("more", session=session, model=model)
        bodies, parts = world.server.bodies, await world.parts(session)
        assert (await world.answer(session), len(bodies)) == ("And more.", 4)
    assert ["thinking" in body for body in bodies] == [True, True, False, True]
    assert [strict_anthropic.violations(body) for body in bodies] == [[]] * 4
    (retry,) = [part for part in parts if isinstance(part, RetryPart)]
    assert past_reason("a", retry) == "a does not let the model think in the middle of this turn; it answers without"


async def test_a_side_question_is_answered_without_the_refused_thoughts(environ, tmp_path):
    answers = (said("one"), BOUND, Answer(text="because"))
    async with opened(environ, tmp_path, *answers) as world:
        session = await ask(world, "fake-anthropic")
        answer = await world.client.context.ask(session.id, SideQuestion(text="why?"))
        bodies = world.server.bodies
    assert (answer.text, len(bodies)) == ("because", 3)
    assert [has_thoughts("fake-anthropic", body) for body in bodies] == [False, True, False]
    assert "why?" in json.dumps(bodies[2])


async def test_another_fault_of_the_history_keeps_the_thoughts(environ, tmp_path):
    refused = refusal("messages: text content blocks must be non-empty")
    async with opened(environ, tmp_path, said("one"), refused, Answer(text="never")) as world:
        session = await ask(world, "fake-anthropic")
        with pytest.raises(ProviderError, match="must be non-empty"):
            await ask(world, "fake-anthropic", session)
        assert [has_thoughts("fake-anthropic", body) for body in world.server.bodies] == [False, True]


async def test_a_provider_that_refuses_again_without_thoughts_ends_the_turn(environ, tmp_path):
    async with opened(environ, tmp_path, said("one"), BOUND, BOUND, Answer(text="never")) as world:
        session = await ask(world, "fake-anthropic")
        with pytest.raises(ProviderError, match=r"bound to a different conversation.*fix: run /compact"):
            await ask(world, "fake-anthropic", session)
        assert len(world.server.bodies) == 3


def refused_part(kind: str = "thoughts") -> RetryPart:
    error = ProviderError("Corrupted thought signature", provider_id="fake", failure=Failure(kind=kind, status=400))
    return RetryPart(**owner(), attempt=1, error=store_cause(error), time=RetryTime(created=1))


def reasoned(text: str) -> ReasoningPart:
    return reasoning(text, metadata={"a": {"signature": "s"}})


def thoughts(messages, model=MODEL) -> list[str]:
    entries = [entry for entry in to_model_messages(messages, model) if isinstance(entry, AssistantEntry)]
    return [block.text for entry in entries for block in entry.content if isinstance(block, ThinkingBlock)]


@each(
    ("kind", "found"),
    [
        ("thoughts", ["second", "third"]),
        ("history", ["first", "second", "third"]),
        ("media", ["first", "second", "third"]),
    ],
)
def test_what_came_before_the_refusal_is_left_out_also_later(kind: str, found: list[str]):
    messages = [
        user("a"),
        assistant(reasoned("first"), "one"),
        user("b"),
        assistant(refused_part(kind), reasoned("second"), "two"),
        user("c"),
        assistant(reasoned("third"), "three"),
        user("d"),
    ]
    assert thoughts(messages) == found
    assert refused_thoughts(refused_part(kind)) == (kind == "thoughts")


def test_signatures_of_texts_and_calls_are_left_out_with_the_thoughts_and_nothing_else():
    call = CallBlock(
        "c", "read", {}, {"openai": {"extra_content": {"google": {"thought_signature": "s"}}, "namespace": "n"}}
    )
    search = CallBlock("w", "websearch", {}, {"anthropic": {"webSearchResult": [1]}})
    entries = (
        UserEntry((TextBlock("a"),)),
        AssistantEntry((ThinkingBlock("hm", SIGNED), TextBlock("b", metadata=SIGNED), call, search)),
    )
    assert without_thoughts(entries) == (
        entries[0],
        AssistantEntry((TextBlock("b"), CallBlock("c", "read", {}, {"openai": {"namespace": "n"}}), search)),
    )
    assert without_thoughts(entries[:1]) == entries[:1]
