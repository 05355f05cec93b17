import json
from pathlib import Path

import pytest

from tests.support.hostile.strings import HOSTILE, steering

pytestmark = pytest.mark.slow


def test_what_matches_is_printed_with_its_session(commands, session_id):
    done = commands.run("session", "search", "first")
    assert done.code == 0 and done.stderr.endswith(" in 1 session\n")
    lines = done.stdout.splitlines()
    assert lines[0] == "First" and lines[1].startswith(session_id) and lines[2].startswith("  ")


def test_as_json_with_the_places_of_the_matches(commands, session_id):
    done = commands.run("session", "search", "role:user", "--format", "json", "--limit", "3")
    [group] = json.loads(done.stdout)["groups"]
    assert (group["sessionID"], group["count"]) == (session_id, 1)
    assert [(hit["kind"], hit["marks"]) for hit in group["hits"]] == [("prompt", [])]


def test_filters_are_options_too(commands, session_id):
    assert commands.run("session", "search", "first", "--since", "1h", "--project", ".").code == 0
    old = commands.run("session", "search", "first", "--since", "never")
    assert old.code == 0 and 'ignored since:"never"' in old.stderr


def test_without_a_match_the_exit_code_is_1(commands, session_id):
    done = commands.run("session", "search", "zzzzzzzzz")
    assert (done.code, done.stdout, done.stderr) == (1, "", "opencode-tui: no matches\n")
    assert commands.run("session", "search", " ").code == 2


def test_a_project_without_sessions_is_named(commands, session_id):
    done = commands.run("session", "search", "first", "--project", "shop two")
    words = "no matches: no session is from a project with 'shop two' in its folder's name"
    assert (done.code, done.stdout, done.stderr) == (1, "", f"opencode-tui: {words}\n")
    assert commands.run("session", "search", "zzzzzzzzz", "--project", ".").stderr == "opencode-tui: no matches\n"


@pytest.mark.parametrize("hostile", HOSTILE[:5])
def test_no_text_of_a_session_steers_the_terminal(commands, session_id, hostile, paths):
    [record] = Path(paths.storage, "session").rglob("*.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "title": f"needle {hostile}"}))
    parts = [one for one in Path(paths.storage, "part").rglob("*.json") if '"text": ' in one.read_text()]
    assert parts
    for part in parts:
        part.write_text(json.dumps({**json.loads(part.read_text()), "text": f"{hostile} needle {hostile}"}))
    done = commands.run("session", "search", "needle")
    assert (done.code, steering(done.stdout + done.stderr)) == (0, [])
    assert "needle" in done.stdout
