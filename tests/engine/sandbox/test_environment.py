"""Keys in the environment of commands and in outputs."""

from typing import Any

import pytest

from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.sandbox.environment import Secrets, find_setting_keys
from opencode_tui.storage.paths import Paths
from tests.support.rows import each

KEY = "sk-CANARY-7731-abcdef"


@each(
    "name",
    [
        *(
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_PROFILE",
            "GH_TOKEN",
        ),
        *(
            "GITHUB_TOKEN",
            "NPM_TOKEN",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MY_SECRET",
            "SECRET_KEY_BASE",
            "STRIPE_SECRET_KEY",
        ),
        *(
            "HF_TOKEN",
            "AZURE_CLIENT_SECRET",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "OPENCODE_SERVER_PASSWORD",
            "my_api_key",
        ),
    ],
)
def test_variables_with_keys_are_withheld(name: str) -> None:
    secrets = Secrets({name: KEY, "PATH": "/bin"})
    assert secrets.without_keys({name: KEY, "PATH": "/bin"}) == {"PATH": "/bin"}


@each(
    "name",
    [
        *(
            "PATH",
            "HOME",
            "LANG",
            "TOKENIZERS_PARALLELISM",
            "AWS_REGION",
            "KEYBOARD",
            "PASSENGER_APP_ENV",
            "MONKEY",
            "PWD",
        ),
        *("SSH_AUTH_SOCK", "DATABASE_URL", "PYTHONPATH", "OPENCODE_CONFIG", "NODE_ENV", "COMPASS_HOME"),
    ],
)
def test_other_variables_are_passed_on(name: str) -> None:
    assert Secrets({name: "value"}).without_keys({name: "value"}) == {name: "value"}


def test_the_variables_and_keys_of_the_settings_are_withheld() -> None:
    settings = {
        "provider": {
            "own": {"env": ["OWN_VARIABLE"], "options": {"apiKey": "value-of-the-key", "headers": {"x-api-key": "B abcdefgh1"}}},
            "other": {"models": {"m": {"options": {"apiKey": "value-of-model"}}}},
        }
    }  # fmt: skip
    keys = find_setting_keys(settings)
    assert keys.values == {"value-of-the-key", "abcdefgh1", "value-of-model"}
    environ = {"OWN_VARIABLE": "x", "INDIRECT": "value-of-the-key", "KEPT": "y"}
    secrets = Secrets(environ, variables=keys.variables, values=keys.values)
    assert secrets.without_keys(environ) == {"KEPT": "y"}
    assert secrets.redact("a value-of-model b") == "a [hidden] b"


@pytest.mark.parametrize(
    ("oauth", "values"),
    [
        ({"clientId": "the-public-name", "clientSecret": KEY, "scope": "read write", "callbackPort": 1}, {KEY}),
        ({"clientSecret": "two words of it"}, {"two words of it"}),
        ({"clientId": "the-public-name"}, set()),
        ({"clientSecret": None}, set()),
        ({}, set()),
        (False, set()),
        (None, set()),
    ],
)
def test_the_secret_of_an_oauth_client_is_withheld(oauth: Any, values: set[str]) -> None:
    keys = find_setting_keys({"mcp": {"one": {"type": "remote", "url": "https://mcp.example", "oauth": oauth}}})
    assert keys.values == values
    environ = {"INDIRECT": KEY, "KEPT": "the-public-name"}
    secrets = Secrets(environ, values=keys.values)
    assert (secrets.without_keys(environ) == {"KEPT": "the-public-name"}) == (KEY in values)
    assert [secrets.redact(f"a {value} b") for value in values] == ["a [hidden] b"] * len(values)


@pytest.mark.slow
def test_a_key_that_is_stored_meanwhile_is_removed_from_outputs_at_once(paths: Paths) -> None:
    secrets = Secrets({}, stored=AuthStore(paths=paths).keys)
    assert secrets.redact_value({"a": [KEY]}) == {"a": [KEY]}
    AuthStore(paths=paths).login("groq", KEY)
    assert secrets.redact(f"a {KEY} b") == "a [hidden] b"
    assert secrets.redact_value({"a": [KEY]}) == {"a": ["[hidden]"]}
    assert secrets.stream().feed(KEY.encode() + b"\n") == b"[hidden]\n"
    paths.auth.write_text("damaged")
    assert secrets.redact(KEY) == "[hidden]"


def test_the_settings_can_pass_a_variable_on() -> None:
    environ = {"GH_TOKEN": KEY, "SSH_AUTH_SOCK": "/run/agent"}
    secrets = Secrets(environ, passed=["GH_TOKEN", "SSH_AUTH_SOCK"])
    assert secrets.confined(environ, {}) == environ
    assert secrets.redact(KEY) == "[hidden]"


@each(
    "name",
    [
        *("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY", "DISPLAY"),
        *("VSCODE_GIT_IPC_HANDLE", "TMUX", "KUBECONFIG", "WEZTERM_UNIX_SOCKET", "SOME_SOCKET"),
    ],
)
def test_variables_that_name_sockets_are_removed_inside_only(name: str) -> None:
    environ = {name: "/run/user/1000/x"}
    secrets = Secrets(environ)
    assert (secrets.confined(environ, {}), secrets.without_keys(environ)) == ({}, environ)


def test_an_address_with_a_password_is_removed_inside() -> None:
    environ = {"HTTPS_PROXY": "http://user:pw@proxy:80", "NO_PROXY": "*"}
    assert Secrets(environ).confined(environ, {"TMPDIR": "/t"}) == {"NO_PROXY": "*", "TMPDIR": "/t"}


@pytest.mark.parametrize("value", ["postgres", "disabled", "12345678", "/run/secrets/db", "short"])
def test_ordinary_words_are_not_removed_from_outputs(value: str) -> None:
    assert Secrets({"DB_PASSWORD": value}).redact(f"a {value} b") == f"a {value} b"


def test_all_texts_of_a_json_value_are_redacted() -> None:
    secrets = Secrets({"X_TOKEN": KEY})
    given = {"a": [f"<{KEY}>", 1, None, {"b": KEY}], KEY: True}
    assert secrets.redact_value(given) == {"a": ["<[hidden]>", 1, None, {"b": "[hidden]"}], "[hidden]": True}


@each("size", range(1, 12))
def test_a_key_that_is_split_over_pieces_is_removed(size: int) -> None:
    text = f"before s sk-CAN {KEY}{KEY}sk-CANARY-7731 after sk-".encode()
    stream = Secrets({"X_TOKEN": KEY}).stream()
    pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert b"".join(pieces) + stream.finish() == b"before s sk-CAN [hidden][hidden]sk-CANARY-7731 after sk-"


def test_output_that_cannot_begin_a_key_is_passed_on_at_once() -> None:
    stream = Secrets({"X_TOKEN": KEY}).stream()
    assert stream.feed(b"Continue? ") == b"Continue? "
