import json

import pytest

from opencode_tui.storage.locks import Locks
from opencode_tui.storage.storage import Storage
from tests.support.cli import CommandLine

RULES = {"permission": {"bash": {"*": "ask", "ls*": "allow", "rm *": "deny"}}}


@pytest.fixture
def line(environ, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return CommandLine(folder=folder, environ=environ, settings=RULES)


def explain(line, *arguments):
    return json.loads(line.run("permission", "explain", *arguments, "--format", "json").stdout)


async def grant(paths, line, permission, pattern):
    storage = Storage(paths)
    rule = {"permission": permission, "pattern": pattern, "action": "allow"}
    rule["metadata"] = {"worktree": str(line.folder), "created": 1}
    async with Locks(paths).store():
        await storage.write(("permission", "global"), json.dumps([rule]).encode())
    await storage.close()


@pytest.mark.parametrize(
    ("command", "action"),
    [("ls -l", "allow"), ("make", "ask"), ("ls && rm -r x", "deny"), ("ls > /etc/x", "ask"), ("ls $(make)", "ask")],
)
def test_the_most_restrictive_member_of_a_command_decides(line, command, action):
    assert explain(line, "bash", command)["action"] == action


def test_each_member_is_told_with_the_rule_behind_it(line):
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
    assert done.stdout.startswith("now: asked for; with this rule last: allowed")
    assert explain(line, "bash", "touch a")["action"] == "ask"


async def test_what_was_allowed_for_good_is_listed_and_counts_and_can_be_revoked(line, paths):
    await grant(paths, line, "bash", "touch *")
    assert "touch *" in line.run("permission", "list").stdout
    report = explain(line, "bash", "touch a")
    assert (report["action"], report["verdicts"][0]["grant"]["pattern"]) == ("allow", "touch *")
    assert "would forget bash touch *" in line.run("permission", "revoke", "bash", "--dry-run").stdout
    assert line.run("permission", "revoke", "bash", "touch *").code == 0
    assert explain(line, "bash", "touch a")["action"] == "ask"


async def test_a_grant_never_beats_a_denial(line, paths):
    await grant(paths, line, "bash", "rm *")
    assert explain(line, "bash", "rm -r x")["action"] == "deny"


def test_revoking_nothing_is_told(line):
    done = line.run("permission", "revoke", "webfetch")
    assert (done.code, done.stdout) == (1, "")
    assert "nothing was allowed for good for webfetch" in done.stderr
