"""The right adapter for a model, opened once, closed together."""

import subprocess
import sys

import pytest

from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.schema.error import AuthError
from opencode_tui.schema.model import ModelRef
from opencode_tui.storage.paths import Paths
from tests.engine.provider.asking import ask, request
from tests.support.provider.model_server import ModelServer

TABLE = ModelTable()


def opened(server: ModelServer) -> tuple[Catalog, Providers]:
    settings = CatalogSettings(provider=server.config(has_all=True))
    catalog = Catalog(settings=settings, table=TABLE, keys=lambda _: None, environment={})
    return catalog, Providers(catalog=catalog)


async def test_a_model_of_the_settings_answers(server: ModelServer) -> None:
    catalog, providers = opened(server)
    answers: list[str] = []
    for provider in ("fake", "fake-anthropic", "fake-responses", "fake-gemini"):
        model = catalog.resolve(ModelRef(provider_id=provider, model_id="fake-model"))
        assert providers.llm(model) is providers.llm(model)
        asked = request("hello")
        heard = await ask(providers.llm(model), type(asked)(model=model, system=asked.system, messages=asked.messages))
        answers.append(heard.joined("text"))
    await providers.close()
    await providers.close()
    assert answers == ["Echo: hello"] * 4
    assert [(sent.api, sent.body.get("model")) for sent in server.requests] == [
        ("openai", "fake-model"),
        ("anthropic", "fake-model"),
        ("responses", "fake-model"),
        ("gemini", None),
    ]


async def test_a_key_that_changed_is_sent_with_the_next_request(server: ModelServer, paths: Paths) -> None:
    store = AuthStore(paths=paths)
    own = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": server.url("openai")}}
    settings = CatalogSettings(provider={"keyed": {**own, "models": {"fake-model": {}}}})
    catalog = Catalog(settings=settings, table=TABLE, keys=AuthStore(paths=paths).key, environment={})
    providers = Providers(catalog=catalog)
    model = catalog.resolve(ModelRef(provider_id="keyed", model_id="fake-model"))
    asked = request("hello")
    for key in ("sk-first-key-000", "sk-second-key-00"):
        store.login("keyed", key)
        await ask(providers.llm(model), type(asked)(model=model, system=(), messages=asked.messages))
    await providers.close()
    sent = [one.headers["authorization"] for one in server.requests]
    assert sent == ["Bearer sk-first-key-000", "Bearer sk-second-key-00"]


@pytest.mark.slow
async def test_the_demo_answers_without_a_server(server: ModelServer) -> None:
    catalog, providers = opened(server)
    model = catalog.resolve(ModelRef(provider_id="demo", model_id="tour"))
    asked = request("help")
    heard = await ask(providers.llm(model), type(asked)(model=model, system=(), messages=asked.messages))
    await providers.close()
    assert heard.finish is not None
    assert server.requests == []


async def test_a_provider_without_a_key_is_refused_before_anything_is_sent(server: ModelServer) -> None:
    catalog, providers = opened(server)
    with pytest.raises(AuthError, match="auth login openai"):
        providers.llm(catalog.resolve(ModelRef(provider_id="openai", model_id="gpt-4o")))


@pytest.mark.slow
def test_nothing_heavy_is_loaded_before_a_model_is_asked() -> None:
    code = (
        "import sys; import opencode_tui.engine.provider.providers, opencode_tui.engine.provider.catalog;"
        "import opencode_tui.engine.provider.http, opencode_tui.engine.provider.litellm_worker;"
        "print([name for name in ('httpx', 'litellm', 'openai', 'aiohttp', 'git') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
