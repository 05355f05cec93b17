"""Terminals of several widths, and a folder with commands to run in it."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from opencode_tui.cli.style import Style
from tests.support.terminal.command import terminal_style
from tests.support.world.in_process import Commands
from tests.support.world.repo import make_repo


@pytest.fixture
def terminal() -> Iterator[Callable[..., Style]]:
    """Returns the look of a terminal: `terminal(100)`, `terminal(60, is_live=True)`."""
    with ExitStack() as open_terminals:
        yield lambda columns, **fields: open_terminals.enter_context(terminal_style(columns, **fields))


@pytest.fixture
def commands(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """The command line in a project of its own."""
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", "x = 1\n")
    repo.commit("begin")
    return Commands(repo.path, environ, monkeypatch, capsys)


@pytest.fixture
def session_id(commands) -> str:
    """A session of one turn of the demo."""
    assert commands.run("run", "--title", "First", "list this folder").code == 0
    return json.loads(commands.run("session", "list", "--format", "json").stdout)[0]["id"]
