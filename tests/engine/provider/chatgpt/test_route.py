"""The provider `chatgpt`: its catalog, what it sends to the only route, and the words of its errors."""

from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts
from opencode_tui.engine.provider.chatgpt.catalog import read_models
from opencode_tui.engine.provider.chatgpt.llm import ChatGptLlm
from opencode_tui.engine.provider.chatgpt.request import NAMESPACE, REJECTED, UNSURE, build
from opencode_tui.engine.provider.chatgpt.service import TEST_ORIGIN
from opencode_tui.engine.provider.llm import (
    AssistantEntry,
    CallBlock,
    LlmRequest,
    ResultBlock,
    TextBlock,
    ToolEntry,
    UserEntry,
)
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.schema.error import AuthError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.model import ModelRef
from opencode_tui.storage.paths import Paths
from tests.engine.provider.asking import READ, ask
from tests.support.provider import chatgpt_service
from tests.support.provider.chatgpt_service import ChatGptService, route_violations
from tests.support.provider.model_script import Answer, Call

SignIn = Callable[..., Account]
SLUGS = ["gpt-6.1-sol"]


@pytest.fixture
def catalog(sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths) -> Catalog:
    assert read_models(accounts, sign_in())
    stored = AuthStore(paths=paths)
    return Catalog(
        settings=CatalogSettings(),
        table=ModelTable(),
        keys=stored.key,
        environment={TEST_ORIGIN: service.origin},
        plan=lambda: stored.entry("chatgpt"),
    )


@pytest.fixture
async def llm(catalog: Catalog, accounts: Accounts) -> AsyncGenerator[ChatGptLlm]:
    made = ChatGptLlm(catalog.endpoint("chatgpt"), accounts, clock=system_clock)
    yield made
    await made.close()


def asked(catalog: Catalog, **fields: Any) -> LlmRequest:
    model = catalog.resolve(ModelRef(provider_id="chatgpt", model_id="gpt-6.1-sol"))
    request = LlmRequest(model, ("Be brief.",), (UserEntry((TextBlock("hi"),)),), (READ,))
    return replace(request, **fields)


def test_the_catalog_is_that_of_the_account_in_its_order_with_its_efforts(catalog: Catalog) -> None:
    models = [model for model in catalog.models() if model.provider_id == "chatgpt"]
    assert [(model.model_id, model.name, model.limit.context) for model in models] == [
        ("gpt-6.1-sol", "GPT-6.1 Sol", 400_000),
        ("gpt-6-luna", "GPT-6 Luna", 272_000),
    ]
    assert [model.default_variant for model in models] == ["low", None]
    assert [list(model.variants) for model in models] == [["low", "medium", "high", "xhigh"], ["none", "low", "medium"]]
    assert [model.attachment for model in models] == [True, False]
    assert all(model.cost.is_known and model.cost.input == 0 for model in models)
    assert str(catalog.default_model()) == str(models[0].ref)


def test_without_a_sign_in_there_is_no_such_provider() -> None:
    empty = Catalog(settings=CatalogSettings(), table=ModelTable(), keys=lambda _: None, environment={})
    assert "chatgpt" not in [provider.id for provider in empty.providers()]


def test_settings_do_not_send_the_tokens_elsewhere(catalog: Catalog, service: ChatGptService) -> None:
    given = {"chatgpt": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "https://evil.example/v1"}}}
    own = replace(catalog, settings=CatalogSettings(provider=given))
    assert own.endpoint("chatgpt").base_url == f"{service.origin}/v1"


async def test_a_turn_with_tools_reasoning_and_every_option_keeps_the_rules_of_the_route(
    catalog: Catalog, llm: ChatGptLlm, service: ChatGptService
) -> None:
    call = Call("read", {"path": "a"}, id="call_1")
    service.answers = [Answer(text="Look.", reasoning="hm", calls=(call,)), Answer(text="Done.")]
    options = {"reasoningEffort": "high", **dict.fromkeys(sorted(REJECTED | UNSURE), "x"), "store": True}
    first = asked(catalog, options=options, temperature=0.5, top_p=0.5)
    heard = await ask(llm, first)
    assert heard.error is None and heard.calls[0].metadata is not None
    assert heard.calls[0].metadata["openai"]["namespace"] == NAMESPACE
    foreign = CallBlock(id="call_0", tool="read", input={})
    own = CallBlock(id="call_1", tool="read", input={"path": "a"}, metadata=heard.calls[0].metadata)
    history = (
        *first.messages,
        AssistantEntry((TextBlock("Look."), foreign, own)),
        ToolEntry((ResultBlock(id="call_0", tool="read", text="x"), ResultBlock(id="call_1", tool="read", text="y"))),
    )
    assert (await ask(llm, replace(first, messages=history))).error is None
    calls = [item for item in service.bodies[1]["input"] if item["type"] == "function_call"]
    assert [item["namespace"] for item in calls] == [NAMESPACE, NAMESPACE]
    assert [body["reasoning"] for body in service.bodies] == [{"effort": "high"}] * 2
    assert service.violations == [] and [len(body["tools"]) for body in service.bodies] == [1, 1]


def wrong_bodies() -> dict[str, dict[str, Any]]:
    fields = {name: {name: 1} for name in sorted(chatgpt_service.REJECTED | chatgpt_service.UNSURE)}
    return {
        **fields,
        "stored": {"store": True},
        "not streamed": {"stream": False},
        "a text as input": {"input": "hi"},
        "a system item": {"input": [{"type": "message", "role": "system", "content": "x"}]},
        "an unlisted model": {"model": "gpt-4"},
        "a flat tool": {
            "tools": [{"type": "function", "name": "read", "parameters": {"type": "object"}, "strict": False}]
        },
        "a hosted tool": {"tools": [{"type": "code_interpreter"}]},
        "one function chosen": {"tool_choice": {"type": "function", "name": "read"}},
        "a call without namespace": {
            "input": [
                {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "x"},
            ]
        },
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", wrong_bodies())
def test_the_route_of_the_tests_refuses_what_the_documentation_names(catalog: Catalog, name: str) -> None:
    body = build(asked(catalog))
    assert route_violations(body, SLUGS) == []
    assert route_violations({**body, **wrong_bodies()[name]}, SLUGS) != []


async def test_a_rejected_token_is_refreshed_once_then_a_sign_in_is_demanded(
    catalog: Catalog, llm: ChatGptLlm, service: ChatGptService
) -> None:
    service.expire()
    assert (await ask(llm, asked(catalog))).error is None
    assert (service.count["refresh"], service.count["unauthorized"], service.violations) == (1, 1, [])
    service.faults = ["401", "401"]
    error = (await ask(llm, asked(catalog))).error
    assert isinstance(error, AuthError) and "auth login chatgpt" in str(error)
    assert service.count["refresh"] == 2


@pytest.mark.fast_cases("user-permission-not valid here", "route-invalid_request-does not have this route")
@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("plan", "quota", "the limit of your ChatGPT plan for this program is reached"),
        ("plan-inside", "quota", "the limit of your ChatGPT plan for this program is reached"),
        ("eligible", "permission", "may not use its plan"),
        ("unavailable", "overloaded", "cannot be read now"),
        ("route", "invalid_request", "does not have this route"),
        ("capability", "invalid_request", "does not have this capability"),
        ("user", "permission", "not valid here"),
    ],
)
async def test_an_error_of_the_plan_has_its_words_and_a_remedy(
    catalog: Catalog, llm: ChatGptLlm, service: ChatGptService, fault: str, kind: str, words: str
) -> None:
    service.faults = [fault]
    error = (await ask(llm, asked(catalog))).error
    assert error is not None and (error.failure.kind, words in str(error)) == (kind, True)
    assert error.failure.retryable == (fault == "unavailable") and "; fix: " in str(error)
    assert service.count["refresh"] == 0
