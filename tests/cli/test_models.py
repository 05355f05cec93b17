import json


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
