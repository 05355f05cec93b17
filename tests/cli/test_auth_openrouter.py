"""`auth login openrouter --browser`: the PKCE flow against a service as strict as its documentation."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.engine.sign_in.openrouter import TEST_ORIGIN
from tests.engine.mcp.sign_in_world import browser
from tests.support.provider.openrouter_service import KEY, openrouter_service
from tests.support.world.in_process import Commands


@pytest.fixture
def line(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Commands]:
    folder = tmp_path / "empty"  # programs of the project are not started
    folder.mkdir()
    with openrouter_service() as origin:
        outside = {**environ, TEST_ORIGIN: origin, "BROWSER": browser(tmp_path)}
        yield Commands(folder, outside, monkeypatch, capsys)


def test_the_browser_brings_a_key_which_is_stored_and_not_shown(line: Commands) -> None:
    done = line.run("auth", "login", "openrouter", "--browser")
    assert done.code == 0 and "OpenRouter" in done.stderr, done.stderr
    stored = json.loads(Path(line.environ["XDG_DATA_HOME"], "opencode-tui", "auth.json").read_text())
    assert stored == {"openrouter": {"type": "api", "key": KEY}}
    assert KEY not in done.stdout + done.stderr


def test_only_openrouter_has_such_a_sign_in(line: Commands) -> None:
    wrong = line.run("auth", "login", "groq", "--browser")
    assert wrong.code != 0 and "--browser is for openrouter" in wrong.stderr
