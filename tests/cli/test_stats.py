import json

import pytest


def test_stats_add_up_what_was_used(commands, session_id):
    printed = json.loads(commands.run("stats", "--format", "json").stdout)
    assert (printed["sessions"], printed["cost"], printed["tools"]) == (1, 0, {"list": 1})
    assert printed["models"]["demo/tour"]["steps"] == 2
    lines = commands.run("stats").stdout.splitlines()
    assert lines[0].startswith("1 session · ") and lines[-1].split() == ["list", "1"]
    assert json.loads(commands.run("stats", "--days", "1", "--format", "json").stdout)["sessions"] == 1


@pytest.mark.slow
def test_what_a_fork_took_over_is_counted_once(commands, session_id):
    before = json.loads(commands.run("stats", "--format", "json").stdout)
    assert commands.run("session", "fork", session_id).code == 0
    after = json.loads(commands.run("stats", "--format", "json").stdout)
    assert after == {**before, "sessions": 2}
