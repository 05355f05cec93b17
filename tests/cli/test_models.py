import json

import pytest

from tests.support.provider.list_server import list_server


@pytest.fixture(autouse=True)
def few_providers(commands):
    """Leave out the others, whose thousands of models are computed for a model that is not found."""
    commands.environ["OPENCODE_CONFIG_CONTENT"] = '{"enabled_providers": ["anthropic", "openai"]}'


def test_the_default_is_marked_and_the_demo_says_how_to_connect_another(commands):
    done = commands.run("models")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["MODEL", "CONTEXT", "OUTPUT", "IN", "$/M", "OUT", "$/M"],
        ["demo/tour", "32", "k", "4", "k", "default"],
    ]
    assert (
        done.stderr
        == "opencode-tui: only the demo model is available; add a key with `opencode-tui auth login PROVIDER`\n"
    )


def test_json_is_the_models_themselves(commands):
    [model] = json.loads(commands.run("models", "--format", "json").stdout)
    assert (model["providerID"], model["modelID"], model["adapter"]) == ("demo", "tour", "demo")


def test_a_provider_without_a_key_differs_from_an_unknown_one(commands):
    assert commands.run("models", "anthropic").stderr.endswith("run `opencode-tui auth login anthropic`\n")
    assert "did you mean anthropic?" in commands.run("models", "antropic").stderr
    unknown = commands.run("models", "zzz")
    assert unknown.code == 2 and "models --all" in unknown.stderr


def test_a_provider_with_a_key_lists_its_models_and_their_prices(commands):
    commands.run("auth", "login", "anthropic", stdin="sk-test\n")
    lines = commands.run("models", "anthropic").stdout.splitlines()
    assert len(lines) > 3 and all(line.startswith("anthropic/") for line in lines[1:])


def test_verbose_shows_how_a_model_is_called_with_the_sources(commands):
    commands.run("auth", "login", "openai", stdin="sk-test\n")
    lines = commands.run("models", "openai/gpt-5.2", "--verbose").stdout.splitlines()
    assert lines[0] == "openai/gpt-5.2"
    facts = [line.split(maxsplit=2) for line in lines[1:]]
    assert ["variant", "xhigh", '{"reasoningEffort": "xhigh", "reasoningSummary": "auto"}'] in facts
    assert any(fact[0] == "source" and "platform.openai.com" in fact[1] for fact in facts)
    assert any(fact[0] == "file" and fact[1].endswith("family/openai-reasoning.md") for fact in facts)
    table = commands.run("models", "openai", "-v").stdout.splitlines()
    assert table[0].split() == ["MODEL", "VARIANTS", "PROMPT", "FILE"] and len(table) > 10
    unknown = commands.run("models", "openai/gpt-5.22")
    assert unknown.code == 2 and "did you mean openai/gpt-5.2" in unknown.stderr
    assert "no API key for anthropic" in commands.run("models", "anthropic/claude-opus-4-6").stderr


def test_refresh_reads_newer_lists_and_lists_their_models(commands):
    commands.run("auth", "login", "anthropic", stdin="sk-test\n")
    forbidden = commands.run("models", "--refresh")
    assert forbidden.code == 2 and "OPENCODE_DISABLE_MODELS_FETCH is set" in forbidden.stderr
    del commands.environ["OPENCODE_DISABLE_MODELS_FETCH"]
    with list_server() as lists:
        settings = json.loads(commands.environ["OPENCODE_CONFIG_CONTENT"])
        settings["models"] = {"url": f"{lists.url}/api.json", "refresh": False}
        commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps(settings)
        before = commands.run("models", "anthropic")
        assert lists.requests == [] and "claude-fable-9" not in before.stdout
        done = commands.run("models", "anthropic", "--refresh")
        assert done.stderr == f"opencode-tui: {lists.url}/api.json: 2 models\n"
        [row] = [line.split() for line in done.stdout.splitlines() if "claude-fable-9" in line]
        assert row == ["anthropic/claude-fable-9", "1", "M", "128", "k", "5", "25"]
        assert "anthropic/claude-fable-9" in commands.run("models", "anthropic").stdout
        assert len(lists.requests) == 1
