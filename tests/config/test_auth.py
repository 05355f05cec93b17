"""Credentials: kept private, never lost, never printed."""

import json
import threading

import pytest

from opencode_tui.config.auth import AuthStore, Credentials
from opencode_tui.schema.error import ConfigError, StorageError
from opencode_tui.storage.paths import Paths

OAUTH = {"type": "oauth", "access": "a", "refresh": "r", "expires": 1}


def write(paths: Paths, text: str, mode: int = 0o600) -> None:
    paths.auth.parent.mkdir(parents=True, exist_ok=True)
    paths.auth.write_text(text)
    paths.auth.chmod(mode)


def test_a_login_keeps_what_others_stored(paths: Paths) -> None:
    write(paths, json.dumps({"copilot": OAUTH, "openai": {"type": "api", "key": "old"}}))
    AuthStore(paths=paths).login("openai", "new")
    assert json.loads(paths.auth.read_text()) == {"copilot": OAUTH, "openai": {"type": "api", "key": "new"}}
    assert paths.auth.stat().st_mode & 0o777 == 0o600


def test_a_logout_forgets_one_provider(paths: Paths) -> None:
    store = AuthStore(paths=paths)
    store.login("openai", "k")
    store.login("groq", "k")
    assert (store.logout("openai"), store.logout("openai")) == (True, False)
    assert list(store.read().entries) == ["groq"]


def test_a_key_that_another_process_stores_is_the_key_from_then_on(paths: Paths) -> None:
    store, other = AuthStore(paths=paths), AuthStore(paths=paths)
    found = [store.key("openai")]
    for key in ("first", "a-second"):
        other.login("openai", key)
        found.append(store.key("openai"))
    other.logout("openai")
    assert [*found, store.key("openai")] == [None, "first", "a-second", None]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_an_unsafe_mode_is_corrected_and_reported_once(paths: Paths, mode: int) -> None:
    write(paths, "{}", mode)
    store = AuthStore(paths=paths)
    corrected = store.read().corrected
    assert corrected is not None
    assert f"auth.json had mode {mode:04o}" in corrected
    assert (paths.auth.stat().st_mode & 0o777, store.read().corrected) == (0o600, None)


@pytest.mark.parametrize("text", ['{"openai": {"type": "api"', "[]", '{"openai": "sk-canary"}', "[" * 100_000])
def test_a_damaged_file_is_an_error_and_keeps_its_bytes(paths: Paths, text: str) -> None:
    write(paths, text)
    store = AuthStore(paths=paths)
    for act in (store.read, lambda: store.login("openai", "k"), lambda: store.logout("openai")):
        with pytest.raises(ConfigError, match=r"auth\.json") as caught:
            act()
        assert "canary" not in str(caught.value)
    assert paths.auth.read_text() == text


def test_while_the_file_is_damaged_the_keys_last_known_are_used_and_it_is_logged_once(
    paths: Paths, caplog: pytest.LogCaptureFixture
) -> None:
    store = AuthStore(paths=paths)
    store.login("openai", "sk-canary")
    assert store.keys() == ["sk-canary"]
    write(paths, '{"openai": {"type": "api", "key": "sk-canary"')
    assert (store.key("openai"), store.keys(), store.key("groq")) == ("sk-canary", ["sk-canary"], None)
    assert AuthStore(paths=paths).keys() == []
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"{paths.auth} line 1: not valid JSON; fix or move it (left unchanged)"] * 2  # one of each store
    write(paths, "{}")
    assert store.keys() == []


@pytest.mark.parametrize(
    ("provider", "key"), [("", "k"), ("../x\n", "k"), ("openai", ""), ("openai", "a b"), ("openai", "ü")]
)
def test_a_name_or_key_that_cannot_be_is_refused(paths: Paths, provider: str, key: str) -> None:
    with pytest.raises(ConfigError):
        AuthStore(paths=paths).login(provider, key)
    assert not paths.auth.exists()


def test_several_logins_at_once_lose_nothing(paths: Paths) -> None:
    names = [f"provider-{number}" for number in range(8)]
    threads = [threading.Thread(target=AuthStore(paths=paths).login, args=(name, "k")) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(AuthStore(paths=paths).read().entries) == names


def test_a_file_that_cannot_be_written_stays_as_it_was(paths: Paths) -> None:
    paths.auth.parent.mkdir(parents=True)
    paths.auth.mkdir()
    with pytest.raises((StorageError, ConfigError), match=r"auth\.json"):
        AuthStore(paths=paths).login("openai", "k")
    assert paths.auth.is_dir()


def test_a_linked_file_stays_a_link(paths: Paths) -> None:
    target = paths.home / "vault.json"
    target.write_text("{}")
    paths.auth.parent.mkdir(parents=True)
    paths.auth.symlink_to(target)
    AuthStore(paths=paths).login("openai", "k")
    assert paths.auth.is_symlink()
    assert json.loads(target.read_text()) == {"openai": {"type": "api", "key": "k"}}


def test_only_an_api_entry_has_a_key() -> None:
    credentials = Credentials(
        {"openai": {"type": "api", "key": "k"}, "copilot": OAUTH, "empty": {"type": "api", "key": ""}}
    )
    assert [credentials.key(name) for name in ("openai", "copilot", "empty", "none")] == ["k", None, None, None]
