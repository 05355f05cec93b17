"""Every command that is started in a folder that was deleted says so in one line."""

import io
from pathlib import Path

import pytest

from opencode_tui.cli.main import run_command_line

COMMANDS = (
    "",
    "run hello",
    "acp",
    "auth list",
    "config show",
    "doctor",
    "export",
    "import x.json",
    "mcp list",
    "mcp add name -- command",
    "models",
    "permission list",
    "serve --port 0",
    "session list",
    "stats",
    "web",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_in_a_deleted_folder_says_so_in_one_line(
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.chdir(folder)
    folder.rmdir()
    code = run_command_line(command.split())
    said = capsys.readouterr()
    assert (said.out, code) == ("", 1)
    assert said.err == "opencode-tui: the current directory no longer exists; change to another one\n"
