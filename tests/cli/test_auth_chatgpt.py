"""`auth login chatgpt` in processes of their own, with a browser and with a pasted address."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.config.auth import AuthStore
from opencode_tui.engine.provider.chatgpt.service import TEST_ORIGIN
from opencode_tui.schema.error import ConfigError
from opencode_tui.storage.paths import find_paths
from tests.engine.mcp.sign_in_world import browser
from tests.support.provider.chatgpt_service import ChatGptService
from tests.support.provider.model_script import Answer
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import Commands


@pytest.fixture
def service() -> Iterator[ChatGptService]:
    with ChatGptService() as running:
        yield running


@pytest.fixture
def line(
    tmp_path: Path,
    environ: dict[str, str],
    service: ChatGptService,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Commands:
    outside = {**environ, TEST_ORIGIN: service.origin, "BROWSER": browser(tmp_path)}
    folder = tmp_path / "empty"
    folder.mkdir()
    return Commands(folder, outside, monkeypatch, capsys)


@pytest.mark.slow
def test_the_browser_signs_in_and_accounts_are_listed_chosen_and_signed_out(
    line: Commands, service: ChatGptService
) -> None:
    done = line.run("auth", "login", "chatgpt")
    assert done.code == 0 and "Continue with ChatGPT" in done.stderr and "You're using your ChatGPT plan" in done.stderr
    service.user = {"sub": "user-2", "email": "ada@example.com"}
    assert line.run("auth", "login", "chatgpt", "--add").code == 0
    assert line.run("auth", "list").stdout.splitlines() == [
        "chatgpt  chatgpt",
        "  ada@example.com  signed in",
        "  ada@example.com (2)  signed in, in use",
    ]
    assert "in use now" in line.run("auth", "login", "chatgpt", "--account", "ada@example.com").stderr
    assert "signed ada@example.com out" in line.run("auth", "logout", "chatgpt").stderr
    assert "  ada@example.com  signed out, in use" in line.run("auth", "list").stdout.splitlines()
    again = line.run("auth", "logout", "chatgpt")
    assert (again.code, service.count["revoke"], service.violations) == (1, 1, [])
    wrong = line.run("auth", "login", "chatgpt", "--account", "nobody")
    assert wrong.code != 0 and "--add" in wrong.stderr


@pytest.mark.slow
def test_a_pasted_address_signs_in_and_no_token_is_shown(line: Commands, service: ChatGptService) -> None:
    environ = CommandLine(line.folder, {**line.environ, "BROWSER": "/nowhere"}).variables()
    process = subprocess.Popen(
        [sys.executable, "-m", "opencode_tui", "auth", "login", "chatgpt"],
        cwd=line.folder,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr and process.stdin
    # Every line of the error stream is read here: `communicate` would leave out what the stream has read ahead.
    before: list[str] = []
    while not before or "no browser can be opened here; open the address above in one" not in before[-1]:
        before.append(process.stderr.readline())
        assert before[-1], before
    url = next(text.strip() for text in before if text.startswith("http"))
    process.stdin.write("no address\n" + service.consent(url) + "\n")
    process.stdin.flush()
    err = "".join([*before, process.stderr.read()])
    out, _ = process.communicate()
    assert process.returncode == 0, err
    assert "not the address" in err and "signed in as ada@example.com" in err
    assert service.secrets and not any(secret in out + err for secret in service.secrets)
    stored = Path(line.environ["XDG_DATA_HOME"], "opencode-tui", "auth.json")
    assert json.loads(stored.read_text())["chatgpt"]["type"] == "chatgpt"


def test_a_key_cannot_replace_the_accounts(line: Commands) -> None:

    with pytest.raises(ConfigError, match="sign in with the browser"):
        AuthStore(paths=find_paths(line.environ)).login("chatgpt", "sk-x")


@pytest.mark.slow
def test_a_turn_uses_the_plan_and_no_token_is_in_any_other_file(line: Commands, service: ChatGptService) -> None:
    assert line.run("auth", "login", "chatgpt").code == 0
    listed = line.run("models", "chatgpt").stdout
    assert "gpt-6.1-sol" in listed and "gpt-6-luna" in listed and "gpt-internal" not in listed
    service.answers = [Answer(text="From the plan.")] * 9
    done = line.run("run", "-m", "chatgpt/gpt-6.1-sol", "say something")
    assert (done.code, service.violations) == (0, []) and "From the plan." in done.stdout
    session = json.loads(line.run("session", "list", "--format", "json").stdout)[0]["id"]
    shown = [line.run("export", session).stdout, line.run("debug", "context", session).stdout, done.stdout, done.stderr]
    home = Path(line.environ["HOME"])
    files = [path for path in home.rglob("*") if path.is_file() and path.name != "auth.json"]
    assert len(files) > 5 and shown and all(shown)
    texts = [*shown, *(path.read_bytes().decode("utf-8", "replace") for path in files)]
    assert [secret for secret in service.secrets for text in texts if secret in text] == []


@pytest.mark.slow
def test_a_trial_renews_an_access_token_that_has_ended(line: Commands, service: ChatGptService) -> None:
    assert line.run("auth", "login", "chatgpt").code == 0
    stored = find_paths(line.environ).auth
    entries = json.loads(stored.read_text())
    for account in entries["chatgpt"]["accounts"].values():
        account["expiresAt"] = 1000.0
    stored.write_text(json.dumps(entries))
    service.expire()
    tried = line.run("doctor", "--online").stdout
    assert "✓ chatgpt answers" in tried and (service.count["refresh"], service.violations) == (1, [])
    service.end_all()
    assert "✗ chatgpt" in (failed := line.run("doctor", "--online").stdout) and "auth login chatgpt" in failed
