"""The counting server: it reports what a tokenizer counts, and refuses as providers do."""

import httpx
import pytest

from tests.support.provider.model_script import Api
from tests.support.provider.model_server import ModelServer
from tests.support.provider.token_counter import TokenCounter, Vocabulary, Window
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


def post(server: ModelServer, text: str, *, api: Api = "openai") -> httpx.Response:
    path = "/chat/completions" if api == "openai" else "/messages"
    body = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": text}]}
    return httpx.post(f"{server.url(api)}{path}", json=body, trust_env=False, timeout=PATIENCE_S)


@pytest.mark.parametrize(("vocabulary", "tokens"), [("o200k_base", 2), ("cl100k_base", 2), ("claude", 2)])
def test_texts_are_counted_by_a_real_vocabulary(vocabulary: Vocabulary, tokens: int) -> None:
    assert TokenCounter(vocabulary).text("hello world") == tokens


def test_the_true_count_is_reported_as_usage() -> None:
    with ModelServer(window=Window()) as server:
        usage = post(server, "word " * 100).json()["usage"]
        assert usage["prompt_tokens"] == server.requests[0].tokens == 3 + 3 + 1 + 101


@pytest.mark.parametrize(
    ("api", "message"), [("openai", "maximum context length"), ("anthropic", "prompt is too long")]
)
def test_what_exceeds_the_window_is_refused_as_the_provider_says_it(api: Api, message: str) -> None:
    with ModelServer(window=Window(50)) as server:
        short, long = post(server, "hi", api=api), post(server, "word " * 100, api=api)
        assert (short.status_code, long.status_code, server.refused) == (200, 400, 1)
        assert message in long.text


def test_the_answers_room_can_count_too() -> None:
    with ModelServer(window=Window(55, counts_output=True)) as server:
        assert post(server, "hi").status_code == 400
