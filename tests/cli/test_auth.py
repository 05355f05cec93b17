"""`auth` for users and scripts."""

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.config.auth import SEARCH_SERVICES
from opencode_tui.engine.tool.search_service import SERVICES
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import Commands


@pytest.fixture
def line(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """The command in an empty folder."""
    return Commands(tmp_path, environ, monkeypatch, capsys)


def auth_file(line: Commands) -> Path:
    return Path(line.environ["XDG_DATA_HOME"]) / "opencode-tui" / "auth.json"


def test_a_key_from_stdin_is_stored_and_never_shown(line: Commands) -> None:
    done = line.run("auth", "login", "openai", stdin="sk-canary\nmore\n")
    assert (done.code, json.loads(auth_file(line).read_text())) == (0, {"openai": {"type": "api", "key": "sk-canary"}})
    listed = line.run("auth", "list")
    assert listed.stdout == "openai  api\n"
    assert "canary" not in done.stdout + done.stderr + listed.stderr


def test_a_key_of_a_search_service_is_no_key_for_models(line: Commands) -> None:
    assert {service.id for service in SERVICES} == SEARCH_SERVICES
    for name in sorted(SEARCH_SERVICES):
        done = line.run("auth", "login", name, stdin="k\n")
        assert "websearch" in done.stderr and "models" not in done.stderr
    assert "opencode-tui models groq" in line.run("auth", "login", "groq", stdin="k\n").stderr


def test_a_login_names_the_setting_and_the_variable_that_come_before_the_stored_key(
    line: Commands, environ: dict[str, str]
) -> None:
    settings = line.folder / "opencode.json"
    settings.write_text('{"provider": {"openai": {"options": {"apiKey": "{env:TEAM_KEY}"}}}}')
    environ["OPENCODE_CONFIG"] = str(settings)
    assert "is used instead" not in line.run("auth", "login", "openai", stdin="sk-mine\n").stderr
    environ["TEAM_KEY"] = "sk-canary"
    shadowed = line.run("auth", "login", "openai", stdin="sk-mine\n")
    assert (
        "provider.openai.options.apiKey (from the variable TEAM_KEY) is used instead of the stored key; "
        f"remove it from {settings} to use the stored one" in shadowed.stderr
    )
    assert (shadowed.code, "canary" in shadowed.stderr) == (0, False)
    assert "is used instead" not in line.run("auth", "login", "groq", stdin="k\n").stderr
    settings.write_text("{")
    assert line.run("auth", "login", "openai", stdin="sk-mine\n").code == 0


def test_a_logout_deletes_it(line: Commands) -> None:
    line.run("auth", "login", "openai", stdin="k\n")
    assert line.run("auth", "logout", "openai").code == 0
    again = line.run("auth", "logout", "openai")
    assert (again.code, again.stderr.count("\n")) == (1, 1)


def test_without_a_key_nothing_is_stored(line: Commands) -> None:
    done = line.run("auth", "login", "openai", stdin="")
    assert (done.code, auth_file(line).exists()) == (2, False)
    assert "no key given" in done.stderr


def test_an_unsafe_mode_is_repaired_and_reported(line: Commands) -> None:
    auth_file(line).parent.mkdir(parents=True)
    auth_file(line).write_text("{}")
    auth_file(line).chmod(0o644)
    done = line.run("auth", "list")
    assert done.code == 0
    assert "auth.json had mode 0644" in done.stderr
    assert auth_file(line).stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_an_entry_that_is_not_used_is_named(line: Commands) -> None:
    entries = {
        "anthropic": {"type": "oauth", "access": "canary", "refresh": "canary"},
        "blank": {"type": "api", "key": "  "},
        "groq": {"type": "api", "key": "canary"},
        "https://set.example": {"type": "wellknown", "key": "TOKEN"},
        "https://whole.example": {"type": "wellknown", "key": "TOKEN", "token": "canary"},
        "none": {"type": "api"},
        "odd": {"type": "other", "key": "canary"},
        "plain": {},
    }
    auth_file(line).parent.mkdir(parents=True)
    auth_file(line).write_text(json.dumps(entries))
    auth_file(line).chmod(0o600)
    done = line.run("auth", "list")
    assert [row.split()[0] for row in done.stdout.splitlines()] == sorted(entries)
    named = [row.removeprefix("opencode-tui: ").partition(": ")[0] for row in done.stderr.splitlines()]
    assert named == ["anthropic", "blank", "https://set.example", "none", "odd", "plain"]
    assert "OAuth are not supported; run `opencode-tui auth login anthropic` to store an API key" in done.stderr
    assert "canary" not in done.stdout + done.stderr
    (row,) = [row for row in line.run("doctor").stdout.splitlines() if "keys" in row.split()[:2]]
    assert row.startswith("!")


def _no_room() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_file(line: Commands) -> None:
    line.run("auth", "login", "openai", stdin="old\n")
    before = auth_file(line).read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "opencode_tui", "auth", "login", "groq"],
        input=b"new\n",
        cwd=line.folder,
        env=CommandLine(line.folder, line.environ).variables(),
        capture_output=True,
        preexec_fn=_no_room,
    )
    assert (done.returncode, auth_file(line).read_bytes()) == (1, before)
    assert b"auth.json cannot be written" in done.stderr
    assert [path.name for path in auth_file(line).parent.iterdir() if path.suffix == ".tmp"] == []


def test_copilot_says_whose_identity_it_uses_and_stores_no_key(line: Commands) -> None:
    done = line.run("auth", "login", "github-copilot", stdin="sk-any\n")
    assert done.code == 2 and "identity of VS Code" in done.stderr and "token that litellm has stored" in done.stderr
    assert "github-copilot" not in line.run("auth", "list").stdout
