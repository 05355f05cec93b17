import asyncio
import json
from pathlib import Path

import pytest

from opencode_tui.storage.locks import Locks
from opencode_tui.storage.storage import Storage
from tests.support.world.in_process import Commands

RULES = {"permission": {"bash": {"*": "ask", "ls*": "allow", "rm *": "deny"}}}


@pytest.fixture
def line(environ, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "project"
    folder.mkdir()
    return Commands(folder, {**environ, "OPENCODE_CONFIG_CONTENT": json.dumps(RULES)}, monkeypatch, capsys)


def explain(line, *arguments):
    return json.loads(line.run("permission", "explain", *arguments, "--format", "json").stdout)


def grant(paths, line, permission, pattern):
    rule = {"permission": permission, "pattern": pattern, "action": "allow"}
    rule["metadata"] = {"worktree": str(line.folder), "created": 1}

    async def store():
        storage = Storage(paths)
        async with Locks(paths).store():
            await storage.write(("permission", "global"), json.dumps([rule]).encode())
        await storage.close()

    asyncio.run(store())


@pytest.mark.parametrize(
    ("command", "action"),
    [("ls -l", "allow"), ("make", "ask"), ("ls && rm -r x", "deny"), ("ls > /etc/x", "ask"), ("ls $(make)", "ask")],
)
def test_the_most_restrictive_member_of_a_command_decides(line, command, action):
    assert explain(line, "bash", command)["action"] == action


def test_each_verdict_is_shown_with_its_rule(line):
    verdicts = explain(line, "bash", "ls && rm -r x")["verdicts"]
    assert [(one["pattern"], one["action"], one["rule"]["pattern"]) for one in verdicts] == [
        ("ls", "allow", "ls*"),
        ("rm -r x", "deny", "rm *"),
    ]


def test_a_file_of_secrets_is_asked_for(line):
    assert explain(line, "read", "config/.env")["action"] == "ask"
    assert explain(line, "read", "config/main.py")["action"] == "allow"


def test_a_rule_can_be_tried_before_it_is_stored(line):
    done = line.run("permission", "try", "bash", "touch *", "allow", "touch a")
    assert done.stdout.startswith("before: ask → after: allow")
    assert explain(line, "bash", "touch a")["action"] == "ask"


def test_grants_are_listed_apply_and_can_be_revoked(line, paths):
    grant(paths, line, "bash", "touch *")
    assert "touch *" in line.run("permission", "list").stdout
    report = explain(line, "bash", "touch a")
    assert (report["action"], report["verdicts"][0]["grant"]["pattern"]) == ("allow", "touch *")
    assert "would revoke bash touch *" in line.run("permission", "revoke", "bash", "--dry-run").stdout
    assert line.run("permission", "revoke", "bash", "touch *").code == 0
    assert explain(line, "bash", "touch a")["action"] == "ask"


@pytest.mark.slow
def test_a_grant_is_switched_off_and_on_again(line, paths):
    grant(paths, line, "bash", "touch *")
    done = line.run("permission", "off", "bash", "touch *")
    assert (done.code, done.stdout) == (0, "switched off bash touch *\n")
    assert explain(line, "bash", "touch a")["action"] == "ask"
    assert "off" in line.run("permission", "list").stdout
    again = line.run("permission", "off", "bash")
    assert (again.code, again.stdout) == (1, "") and "no grant for bash is on" in again.stderr
    assert line.run("permission", "on", "bash").stdout == "switched on bash touch *\n"
    assert explain(line, "bash", "touch a")["action"] == "allow"


def test_a_grant_never_beats_a_denial(line, paths):
    grant(paths, line, "bash", "rm *")
    assert explain(line, "bash", "rm -r x")["action"] == "deny"


def test_revoking_nothing_is_reported(line):
    done = line.run("permission", "revoke", "webfetch")
    assert (done.code, done.stdout) == (1, "")
    assert "no grants for webfetch" in done.stderr


def places_of_rules(line):
    """Write settings of the user, of the folder and of an agent's file."""
    config = line.environ.get("XDG_CONFIG_HOME", f"{line.environ['HOME']}/.config")
    own = Path(config) / "opencode-tui" / "opencode.json"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(json.dumps({"permission": {"webfetch": {"https://a.*": "deny", "https://b.*": "ask"}}}))
    (line.folder / "opencode.json").write_text(json.dumps({"permission": {"webfetch": {"https://b.*": "deny"}}}))
    agents = line.folder / ".opencode" / "agents"
    agents.mkdir(parents=True)
    (agents / "careful.md").write_text("---\npermission:\n  edit: ask\n---\nBe careful.\n")


@pytest.mark.parametrize(
    ("act", "agent", "expected"),
    [
        (("webfetch", "https://a.org"), "build", "https://a.*: deny, in ~/.config/opencode-tui/opencode.json"),
        (("webfetch", "https://b.org"), "build", "rule webfetch https://b.*: deny, in opencode.json"),
        (("bash", "ls"), "build", "rule bash ls*: allow, in OPENCODE_CONFIG_CONTENT"),
        (("edit", "a.py"), "careful", "rule edit *: ask, in .opencode/agents/careful.md"),
        (("read", ".env"), "careful", "rule read *.env: ask, built in"),
    ],
)
def test_each_rule_is_shown_with_its_file(line, act, agent, expected):
    places_of_rules(line)
    assert expected in line.run("permission", "explain", *act, "--agent", agent).stdout


def test_the_list_shows_the_source_of_each_rule(line):
    places_of_rules(line)
    rows = [row.split() for row in line.run("permission", "list", "--agent", "careful").stdout.splitlines()]
    assert ["edit", "*", "ask", ".opencode/agents/careful.md"] in rows
    assert ["webfetch", "https://b.*", "deny", "opencode.json"] in rows
    assert ["doom_loop", "*", "ask", "built", "in"] in rows
    listed = json.loads(line.run("permission", "list", "--format", "json").stdout)
    assert len(listed["sources"]) == len(listed["rules"]) and str(line.folder / "opencode.json") in listed["sources"]


def test_a_rule_under_test_has_no_source(line):
    done = line.run("permission", "try", "bash", "touch *", "allow", "touch a")
    assert "rule bash touch *: allow, in the rule being tested" in done.stdout


@pytest.mark.parametrize("path", [".git/config", "n/.git/hooks/x", ".envrc", "opencode.json", ".husky/pre-commit"])
def test_an_edit_of_a_protected_file_is_asked(line, path):
    [verdict] = explain(line, "edit", path)["verdicts"]
    assert (verdict["action"], verdict["note"]) == ("ask", "can start programs later")
