"""`trust` for users."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.cli.commands import trust as trust_command
from tests.support.world.in_process import Commands


@pytest.fixture
def line(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """The command in a repository that wants to start something."""
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    (folder / "opencode.json").write_text('{"plugin": ["./p.py"], "permission": {"bash": "allow"}}')
    return Commands(folder, environ, monkeypatch, capsys)


def test_trust_lists_what_it_allows(line: Commands) -> None:
    done = line.run("trust")
    assert done.stdout.splitlines() == [
        "opencode.json: plugin: starts programs: ./p.py",
        "opencode.json: permission.bash: relaxes permissions: allow",
        f"trusted {line.folder}",
    ]
    assert '"ignored": []' in line.run("debug", "config").stdout


def test_a_dry_run_lists_and_trusts_nothing(line: Commands) -> None:
    done = line.run("trust", "--dry-run")
    assert done.stdout.splitlines() == [
        "opencode.json: plugin: starts programs: ./p.py",
        "opencode.json: permission.bash: relaxes permissions: allow",
    ]
    assert done.stderr == f"opencode-tui: {line.folder} is not trusted with this content\n"
    assert line.run("trust", "--list").stdout == ""
    line.run("trust")
    assert "trusted, or needs no trust" in line.run("trust", "--dry-run").stderr


@pytest.mark.parametrize(
    ("own", "repository", "effect"),
    [
        (
            {"permission": {"webfetch": "deny"}},
            {"permission": {"webfetch": "ask"}},
            "permission.webfetch: relaxes permissions: ask",
        ),
        ({"lsp": False}, {"lsp": {}}, "lsp: starts programs"),
        (
            {"agent": {"free": {"mode": "primary", "permission": {"bash": "allow"}}}},
            {"default_agent": "free"},
            "default_agent: relaxes permissions: free",
        ),
        (
            {"agent": {"free": {"mode": "primary", "permission": {"bash": "allow"}}}},
            {"commands": {"c": {"template": "x", "agent": "free"}}},
            "command.c.agent: relaxes permissions: free",
        ),
    ],
)
def test_what_only_loosens_settings_of_the_user_is_listed_where_it_does(
    line: Commands, own: Any, repository: Any, effect: str
) -> None:
    (line.folder / "opencode.json").write_text(json.dumps(repository))
    assert (line.run("trust", "--dry-run").stdout, line.run("trust", "--list").stdout) == ("", "")
    settings = line.folder.parent / "own.json"
    settings.write_text(json.dumps(own))
    line = replace(line, environ={**line.environ, "OPENCODE_CONFIG": str(settings)})
    done = line.run("trust", "--dry-run")
    assert done.stdout.splitlines() == [f"opencode.json: {effect}"]
    assert "is not trusted with this content" in done.stderr
    assert line.run("trust").stdout.splitlines() == [f"opencode.json: {effect}", f"trusted {line.folder}"]
    assert "trusted, or needs no trust" in line.run("trust", "--dry-run").stderr


@pytest.mark.parametrize(("answer", "code"), [("n\n", 1), ("\n", 1), ("y\n", 0)])
def test_on_a_terminal_it_asks_before_it_trusts(
    line: Commands, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr(trust_command, "_is_at_terminal", lambda: True)
    done = line.run("trust", stdin=answer)
    assert done.stdout.splitlines()[0] == "opencode.json: plugin: starts programs: ./p.py"
    assert f"Trust this content of {line.folder}? [y/N]" in done.stderr
    assert done.code == code
    assert line.run("trust", "--list").stdout == (f"{line.folder}\n" if code == 0 else "")


def test_yes_skips_the_question(line: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust_command, "_is_at_terminal", lambda: True)
    done = line.run("trust", "--yes")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.endswith(f"trusted {line.folder}\n")


def test_trusted_folders_are_listed_and_revoked(line: Commands) -> None:
    line.run("trust", str(line.folder))
    assert line.run("trust", "--list").stdout == f"{line.folder}\n"
    assert line.run("trust", "--revoke").stdout == f"{line.folder} is no longer trusted\n"
    assert line.run("trust", "--list").stdout == ""
    again = line.run("trust", "--revoke")
    assert (again.code, again.stderr) == (0, f"opencode-tui: {line.folder} was not trusted\n")


@pytest.mark.parametrize("target", ["/", "{home}", "missing"])
def test_what_cannot_be_trusted_is_one_line_and_exit_1(line: Commands, target: str) -> None:
    done = line.run("trust", target.format(home=line.environ["HOME"]))
    assert (done.code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
