"""A request as it is shown: exactly what the adapter sends, with the keys covered."""

import json

import pytest

from opencode_tui.engine.provider.decode import anthropic_request, gemini_request, openai_request, responses_request
from opencode_tui.engine.provider.llm import LlmRequest, TextBlock, UserEntry
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.engine.provider.request_preview import preview_request
from opencode_tui.schema.model import Adapter, Model

KEY = "sk-secret-0123456789"
HIDDEN = "[hidden]"
ENDPOINT = Endpoint("p", "https://user:word@host/v1", api_key=KEY, headers={"X-Team": "team-secret", "X-Short": "ab"})


def request(adapter: Adapter, text: str = "hello", **fields: object) -> LlmRequest:
    model = Model(provider_id="p", model_id="m", adapter=adapter).changed(**fields)
    return LlmRequest(model=model, system=("system",), messages=(UserEntry((TextBlock(text),)),))


@pytest.mark.parametrize(
    ("adapter", "path", "encode"),
    [
        ("openai", "/chat/completions", openai_request.encode),
        ("responses", "/responses", responses_request.encode),
        ("gemini", "/models/m:streamGenerateContent?alt=sse", gemini_request.encode),
        ("anthropic", "/messages", anthropic_request.encode),
    ],
)
def test_the_body_is_what_the_adapter_sends(adapter: Adapter, path: str, encode) -> None:
    asked = request(adapter)
    shown = preview_request(asked, ENDPOINT)
    assert shown.body == json.loads(encode(asked)) and shown.url == f"https://{HIDDEN}@host/v1{path}"


@pytest.mark.parametrize(
    ("adapter", "name"), [("openai", "authorization"), ("anthropic", "x-api-key"), ("gemini", "x-goog-api-key")]
)
def test_keys_and_own_headers_are_covered(adapter: Adapter, name: str) -> None:
    shown = preview_request(request(adapter, headers={"X-Model": "model-secret"}), ENDPOINT)
    assert {shown.headers[one] for one in (name, "x-team", "x-short", "X-Model")} == {HIDDEN}
    assert shown.headers["content-type"] == "application/json" and shown.headers["user-agent"].startswith(
        "opencode-tui/"
    )


def test_a_key_is_covered_wherever_it_stands() -> None:
    told = f'the "key" is {KEY}, the team team-secret, and ab is a word'
    shown = preview_request(request("openai", told, options={"extra": KEY}), ENDPOINT)
    text = json.dumps(shown.body)
    assert KEY not in text and "team-secret" not in text and "ab is a word" in text


def test_a_request_through_litellm_is_shown_as_its_call() -> None:
    shown = preview_request(request("litellm", api_id="azure/m"), ENDPOINT)
    assert (shown.url, shown.body["model"], shown.body["api_key"]) == (None, "azure/m", HIDDEN)
    assert shown.body["extra_headers"] == {"X-Team": HIDDEN, "X-Short": HIDDEN}
    assert shown.body["api_base"] == f"https://{HIDDEN}@host/v1"


@pytest.mark.parametrize("adapter", ["openai", "anthropic", "litellm", "demo"])
def test_without_a_provider_the_body_alone_is_shown(adapter: Adapter) -> None:
    shown = preview_request(request(adapter), None)
    assert (shown.url, shown.headers) == (None, {}) and shown.body["messages"]
