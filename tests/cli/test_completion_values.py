"""The shell completes models that have a key, agents that can begin a turn, and sessions, without an engine."""

import json
from dataclasses import replace

import pytest

from opencode_tui.cli.main import COMPLETION_VARIABLE
from tests.support.world.in_process import Commands

SETTINGS = {
    "provider": {
        "near": {
            "options": {"baseURL": "http://127.0.0.1:9/v1", "apiKey": "k"},
            "models": {"small": {"name": "Small"}, "large": {}},
        }
    },
    "agent": {"docs": {"description": "Writes pages"}, "helper": {"mode": "subagent"}, "plan": {"disable": True}},
}


def completed(commands: Commands, *words: str, settings: str = json.dumps(SETTINGS)) -> dict[str, str]:
    """Return what completes the last word, with what it is for."""
    asking = {
        COMPLETION_VARIABLE: "zsh_complete",
        "COMP_WORDS": " ".join(("opencode-tui", *words)),
        "COMP_CWORD": str(len(words)),
        "OPENCODE_CONFIG_CONTENT": settings,
    }
    asked = replace(commands, environ={**commands.environ, **asking}).run()
    assert (asked.code, asked.stderr) == (0, "")
    lines = asked.stdout.strip("\n").split("\n") if asked.stdout.strip() else []
    assert set(lines[::3]) <= {"plain"}
    return dict(zip(lines[1::3], lines[2::3], strict=True))


def test_models_are_completed_by_their_whole_and_by_their_own_name(commands: Commands) -> None:
    assert [*completed(commands, "run", "--model", "near/")] == ["near/small", "near/large"]
    assert [*completed(commands, "-m", "la")] == ["near/large"]
    assert "demo/tour" in completed(commands, "review", "-m", "de")


def test_agents_that_can_begin_a_turn_are_completed_with_what_they_are_for(commands: Commands) -> None:
    found = completed(commands, "run", "--agent", "")
    assert [*found] == ["build", "docs"]
    assert found["docs"] == "Writes pages"


@pytest.mark.slow
def test_sessions_are_completed_with_their_titles(commands: Commands, session_id: str) -> None:
    for words in (("-s",), ("run", "--session"), ("session", "show"), ("export",), ("session", "delete")):
        assert completed(commands, *words, session_id[:6]) == {session_id: "First"}, words
    assert completed(commands, "-s", "ses_zz") == {}


def test_what_cannot_be_read_completes_nothing(commands: Commands) -> None:
    assert completed(commands, "run", "--model", "", settings='{"model": 5}') == {}
    assert completed(commands, "run", "--attach", "http://127.0.0.1:9", "--agent", "") == {}
