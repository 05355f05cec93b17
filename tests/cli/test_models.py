import json

import pytest

from tests.support.provider.list_server import KEY, list_server


@pytest.fixture(autouse=True)
def few_providers(commands):
    """Leave out the others, whose thousands of models are computed for a model that is not found."""
    commands.environ["OPENCODE_CONFIG_CONTENT"] = '{"enabled_providers": ["anthropic", "openai"]}'


def test_the_default_is_marked_and_the_demo_says_how_to_connect_another(commands):
    done = commands.run("models")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["MODEL", "CONTEXT", "OUTPUT", "IN", "$/M", "OUT", "$/M"],
        ["demo/tour", "32", "k", "4", "k", "0", "0", "default"],
    ]
    assert (
        done.stderr
        == "opencode-tui: only the demo model is available; add a key with `opencode-tui auth login PROVIDER`\n"
    )


def test_a_provider_of_a_folder_that_is_not_trusted_is_named_with_what_helps(commands):
    """As users of OpenCode have it in their repository."""
    given = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": "http://127.0.0.1:9/v1"}, "models": {"m": {}}}
    commands.environ["OPENCODE_CONFIG_CONTENT"] = "{}"
    (commands.folder / "opencode.json").write_text(json.dumps({"model": "mine/m", "provider": {"mine": given}}))
    line = "what this folder's settings say of mine is ignored until you review it with `opencode-tui trust`"
    listed, asked = commands.run("models"), commands.run("run", "hi")
    assert listed.code == 0 and listed.stderr == f"opencode-tui: {line}\n" and "mine/m" not in listed.stdout
    assert asked.code != 0 and "litellm" not in asked.stderr
    assert asked.stderr.splitlines()[-1] == (
        "opencode-tui: mine: what the settings of this folder say of it is ignored, because the folder is not trusted; fix: review "
        "them with `opencode-tui trust`, or put provider.mine into your own settings"
    )
    assert commands.run("trust", "--yes").code == 0
    trusted = commands.run("models")
    assert "mine/m" in trusted.stdout and line not in trusted.stderr


def test_json_is_the_models_themselves(commands):
    [model] = json.loads(commands.run("models", "--format", "json").stdout)
    assert (model["providerID"], model["modelID"], model["adapter"]) == ("demo", "tour", "demo")


@pytest.mark.slow
def test_a_provider_without_a_key_differs_from_an_unknown_one(commands):
    missing = commands.run("models", "anthropic")
    words = "no API key for anthropic; fix: run `opencode-tui auth login anthropic` or set ANTHROPIC_API_KEY\n"
    assert (missing.code, missing.stderr) == (1, f"opencode-tui: {words}")
    assert "did you mean anthropic?" in commands.run("models", "antropic").stderr
    unknown = commands.run("models", "zzz")
    assert unknown.code == 2 and "models --all" in unknown.stderr


def test_a_provider_with_a_key_lists_its_models_and_their_prices(commands):
    commands.run("auth", "login", "anthropic", stdin="sk-test\n")
    lines = commands.run("models", "anthropic").stdout.splitlines()
    assert len(lines) > 3 and all(line.startswith("anthropic/") for line in lines[1:])


@pytest.mark.slow
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
    unlisted = commands.run("models", "openai/gpt-5.22", "--verbose")
    assert unlisted.stdout.splitlines()[0] == "openai/gpt-5.22" and "did you mean openai/gpt-5.2" in unlisted.stderr
    assert "no API key for anthropic" in commands.run("models", "anthropic/claude-opus-4-6").stderr


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_provider_with_a_key_is_never_unknown_and_its_own_list_is_read(commands):
    with list_server() as lists:
        own = {"openrouter": {"options": {"baseURL": f"{lists.url}/api/v1"}}}
        settings = {"enabled_providers": ["openrouter"], "provider": own, "models": {"url": f"{lists.url}/api.json"}}
        commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps(settings)
        del commands.environ["OPENCODE_DISABLE_MODELS_FETCH"]
        commands.run("auth", "login", "openrouter", stdin=f"{KEY}\n")
        before = commands.run("models", "openrouter")
        assert before.code == 2 and "no list of openrouter's models is here; read it with" in before.stderr
        everything = commands.run("models")
        assert everything.code == 0 and "no list of the models of openrouter is here" in everything.stderr
        assert lists.requests == []
        rows = commands.run("models", "openrouter", "--refresh").stdout.splitlines()[1:]
        assert [" ".join(row.split()) for row in rows] == [
            "openrouter/anthropic/claude-sonnet-5.5 1 M 128 k 3 15 default",
            "openrouter/meta/llama-9-text 131 k - 0 0",
            "openrouter/openrouter/auto 2 M - - - no price in its list",
        ]


@pytest.mark.slow
def test_a_model_that_no_list_has_is_described_as_such(commands):
    commands.run("auth", "login", "openai", stdin="sk-test\n")
    done = commands.run("models", "openai/gpt-5.22")
    assert done.code == 0 and done.stdout.splitlines()[1].startswith("openai/gpt-5.22 ")
    begin, _, hint = done.stderr.partition("; did you mean ")
    assert begin.startswith("opencode-tui: openai/gpt-5.22 is not listed: the limits of gpt-5")
    assert hint.startswith("openai/gpt-5.2")


@pytest.mark.fast_cases("anthropic/-2-'anthropic/': expected provi..")
@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("nobody/x", 2, "no model nobody/x; see `opencode-tui models --all`"),
        ("demo/other", 2, "no model demo/other"),
        ("anthropic/", 2, "'anthropic/': expected provider/model"),
        (
            "anthropic/claude-opus-4-6",
            1,
            "no API key for anthropic; fix: run `opencode-tui auth login anthropic` or set",
        ),
    ],
)
def test_models_and_run_find_the_same_wrong_with_a_name_and_end_alike(commands, name, code, words):
    listed, asked = commands.run("models", name), commands.run("run", "-m", name, "hello")
    assert (listed.code, asked.code) == (code, code)
    last = [done.stderr.splitlines()[-1].replace("--model", "model") for done in (listed, asked)]
    assert last[0] == last[1] and words in last[0]


def test_a_wrong_name_in_the_settings_does_not_keep_the_list_from_which_to_choose(commands):
    commands.environ["OPENCODE_CONFIG_CONTENT"] = '{"model": "nobody/x", "enabled_providers": ["nobody"]}'
    done = commands.run("models")
    assert done.code == 0 and "demo/tour" in done.stdout
    assert done.stderr.startswith("opencode-tui: setting model: no model nobody/x; ")
