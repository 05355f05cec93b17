"""Errors of providers over a real connection: the sentence that is read, stored and printed is one, and the session goes on."""

import json

import pytest

from opencode_tui.engine.provider.llm import MediaBlock, TextBlock, UserEntry
from opencode_tui.schema.api.request import FileInput
from opencode_tui.schema.error import ProviderError, split_remedy
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.part import RetryPart
from opencode_tui.text.retry import past_reason
from tests.engine.provider.asking import ask, direct, request
from tests.support.provider.error_corpus import error_lines, error_of
from tests.support.provider.model_script import Answer, failure, html_page
from tests.support.provider.model_server import ModelServer
from tests.support.world.engine import opened

LINES = [line for line in error_lines() if line.get("via", "http") == "http" and not line.get("headers")]
MODEL = "fake-model"
TOOLS = ("read", "write")
BIG = frozenset(("openai", "openrouter", "mistral", "azure", "anthropic", "google", "amazon-bedrock"))
SEEN = (UserEntry((TextBlock("see"), MediaBlock("image/png", "UE5H", "x.png"))),)
SAMPLES = {
    "openai": [line for line in LINES if line["provider"] in ("openai", "openrouter", "mistral", "azure")][::6],
    "anthropic": [line for line in LINES if line["provider"] == "anthropic"][::3],
    "responses": [line for line in LINES if line["provider"] in ("openai", "azure")][1::6],
    "gemini": [line for line in LINES if line["provider"] == "google"][::3],
}


def answer(line) -> Answer:
    return Answer(status=line["status"], body=line["body"].encode())


@pytest.mark.slow_cases("openai", "responses")
@pytest.mark.parametrize("adapter", SAMPLES)
async def test_a_refusal_over_a_connection_says_the_same(adapter):
    assert len(SAMPLES[adapter]) >= 8
    with ModelServer() as server:
        llm = direct(server, adapter)
        for line in SAMPLES[adapter]:
            server.script(answer(line))
            heard = await ask(llm, request(adapter=adapter, messages=SEEN))
            assert str(heard.error) == str(error_of({**line, "provider": "fake"}, MODEL, tools=TOOLS))
        await llm.close()


@pytest.mark.slow
async def test_the_stored_sentence_is_the_raised_one_and_the_session_goes_on(environ, tmp_path):
    chosen = ["parameter", "tools", "model", "quota", "permission", "invalid_prompt"]
    lines = [next(line for line in LINES if line["kind"] == kind and line["provider"] == "openai") for kind in chosen]
    async with opened(environ, tmp_path, *map(answer, lines)) as world:
        session = await world.new_session()
        for line in lines:
            with pytest.raises(ProviderError) as raised:
                await world.prompt("go", session=session)
            last = (await world.messages(session))[-1].info
            assert isinstance(last, AssistantMessage) and last.error is not None
            stored = getattr(last.error.data, "message", "")
            assert stored == str(raised.value) == str(error_of({**line, "provider": "fake"}, MODEL))
        await world.prompt("hello", session=session)
        assert (await world.answer(session)).endswith("hello")


@pytest.mark.slow
async def test_a_web_page_with_a_good_status_is_retried_and_then_named(environ, tmp_path, quick_retries):
    async with opened(environ, tmp_path, html_page()) as world:
        session = await world.prompt("go")
        assert await world.answer(session) == "Echo: go"
        parts = [part for one in await world.messages(session) for part in one.parts]
        assert ["a web page (Sign in)" in p.error.data.message for p in parts if isinstance(p, RetryPart)] == [True]
        world.server.script(*[html_page()] * 3)
        with pytest.raises(ProviderError) as raised:
            await world.prompt("again", session=session)
        reason, remedy = split_remedy(str(raised.value))
        assert "a web page (Sign in); still failing after 3 attempts" in reason
        assert "provider.fake.options.baseURL" in remedy
        await world.prompt("hello", session=session)
        assert (await world.answer(session)).endswith("hello")


async def test_an_error_inside_a_stream_is_stored_with_its_remedy(environ, tmp_path):
    event = {"error": {"message": "Your account is out of credits", "code": 402}}
    async with opened(environ, tmp_path, Answer(chunks=(b"data: " + json.dumps(event).encode() + b"\n\n",))) as world:
        with pytest.raises(ProviderError, match=r"out of credits \(HTTP 402\); fix: add credit"):
            await world.prompt("go")


def picture(name: str, size: int = 100) -> FileInput:
    return FileInput(mime="image/png", filename=name, url=f"data:image/png;base64,{'A' * size}")


def sent_images(world) -> list[int]:
    """Return how many images each request had."""
    return [json.dumps(body["messages"]).count('"image_url": {') for body in world.server.bodies]


@pytest.mark.slow
async def test_too_many_images_lose_the_oldest_and_the_session_goes_on(environ, tmp_path):
    refusal = failure(400, "Too much media: 0 document pages + 3 images > 2")
    async with opened(environ, tmp_path, refusal, Answer(text="seen")) as world:
        session = await world.prompt("look", *[picture(f"{name}.png") for name in "abc"])
        assert await world.answer(session) == "seen"
        assert sent_images(world) == [3, 2]
        assert "[attachment a.png left out: the provider accepts at most 2" in world.sent()
        await world.prompt("more", picture("d.png"), session=session)
        assert sent_images(world)[-1] == 2
        await world.prompt("text only", session=session)
        assert sent_images(world) == [3, 2, 2, 2]
        (retry,) = [part for part in await world.parts(session) if isinstance(part, RetryPart)]
        assert past_reason("fake", retry).endswith(
            "accepts 2 images and documents at most; the older ones are left out"
        )


async def test_a_request_of_too_many_bytes_loses_images_before_its_history_is_compacted(environ, tmp_path):
    refusals = [failure(413, "Request exceeds the maximum allowed number of bytes.", kind="request_too_large")] * 2
    async with opened(environ, tmp_path, *refusals, Answer(text="seen")) as world:
        session = await world.prompt("look", *[picture(f"{name}.png") for name in "abcd"])
        assert await world.answer(session) == "seen"
        assert sent_images(world) == [4, 2, 1]
        await world.prompt("again", session=session)
        assert sent_images(world)[-1] == 1


@pytest.mark.slow
async def test_a_document_that_a_provider_rejects_is_not_sent_again(environ, tmp_path):
    refusal = failure(400, "messages.0.content.1.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.")
    async with opened(environ, tmp_path, refusal, Answer(text="seen")) as world:
        session = await world.prompt("read", picture("a.png"))
        await world.prompt("again", session=session)
        assert sent_images(world) == [1, 0, 0]


PDF = FileInput(mime="application/pdf", filename="spec.pdf", url="data:application/pdf;base64,JVBERi0xLjQK")
REJECTED = [line for line in error_lines() if line["class"] == "media" and line["provider"] not in BIG]


@pytest.mark.slow
async def test_a_server_that_knows_no_documents_costs_one_request_and_the_session_goes_on(environ, tmp_path):
    assert len(REJECTED) >= 9
    async with opened(environ, tmp_path) as world:
        for line in REJECTED:
            before = len(world.server.bodies)
            world.server.script_anew(answer(line), Answer(text="seen"))
            session = await world.prompt("read", PDF)
            assert await world.answer(session) == "seen", line
            await world.prompt("again", session=session)
            bodies = [json.dumps(body["messages"]) for body in world.server.bodies[before:]]
            assert ['"file_data"' in body for body in bodies] == [True, False, False], line
            assert all("[attachment spec.pdf left out: the provider rejected" in body for body in bodies[1:]), line


async def test_words_about_media_are_not_about_a_request_without_them(environ, tmp_path):
    refusal = failure(400, "invalid message format")
    async with opened(environ, tmp_path, refusal, refusal, Answer(text="seen")) as world:
        with pytest.raises(ProviderError) as raised:
            await world.prompt("go")
        assert (raised.value.failure.kind, len(world.server.bodies)) == ("invalid_request", 1)
        session = await world.prompt("read", PDF)
        assert await world.answer(session) == "seen"
