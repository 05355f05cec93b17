"""Terminals of the real program, with a scripted model behind it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.tui.chrome import welcome
from tests.support.provider.model_server import ModelServer
from tests.support.terminal import style_sheets
from tests.support.terminal.clock import jump_over_waits
from tests.support.terminal.screen_terminal import Open, ScreenTerminal
from tests.support.world.cli import CommandLine


@pytest.fixture(scope="session", autouse=True)
def _shared_style_sheets() -> None:
    style_sheets.share()


@pytest.fixture(autouse=True)
def _tip_of_one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the same tip on each day, so that no day's tip has the words that a test waits for."""
    monkeypatch.setattr(welcome, "_DAY_MS", 1 << 62)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that does what it is told."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the terminals work."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def settings() -> dict[str, Any]:
    """The person's settings."""
    return {"model": "fake/fake-model"}


@pytest.fixture
def line(folder: Path, environ: dict[str, str], server: ModelServer, settings: dict[str, Any]) -> CommandLine:
    """Return the command line in that folder, with those settings."""
    return CommandLine(folder, environ, provider=server.config(), settings=settings)


@pytest.fixture
def start(folder: Path, line: CommandLine) -> Open:
    """Opens the screen as a person does: `with start("-c") as terminal`."""

    def open_screen(*arguments: str, environ: Mapping[str, str] | None = None, **options: Any) -> ScreenTerminal:
        words = ["-m", "opencode_tui", *arguments]
        return ScreenTerminal(words, folder=folder, environ={**line.variables(), **(environ or {})}, **options)

    return open_screen


@pytest.fixture
def jumping_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for the real clock: for screens with a scripted client."""
    jump_over_waits(monkeypatch)
