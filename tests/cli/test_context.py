"""`debug context`, `debug request`, `session prune`, `session restore`."""

import json
from pathlib import Path

import pytest

from tests.support.hostile.strings import HOSTILE, steering
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer

pytestmark = pytest.mark.slow


@pytest.fixture
def session(commands):
    """A session that read six large files, two turns ago, with automatic pruning switched off."""
    for number in range(6):
        (commands.folder / f"large{number}.txt").write_text("a line with a few words in it\n" * 1400)
    with ModelServer() as server:
        settings = {"provider": server.config(), "compaction": {"prune": False}}
        commands.environ["OPENCODE_CONFIG_CONTENT"] = json.dumps(settings)
        calls = tuple(Call("read", {"filePath": f"large{number}.txt"}) for number in range(6))
        server.script(Answer(calls=calls), Answer(text="read"))
        first = commands.run("run", "--format", "json", "-m", "fake/fake-model", "read them")
        session_id = json.loads(first.stdout.splitlines()[0])["sessionID"]
        for _ in range(2):
            assert commands.run("run", "-m", "fake/fake-model", "-s", session_id, "go on").code == 0
        yield session_id


def states(commands, session):
    view = json.loads(commands.run("debug", "context", session).stdout)
    return [item["state"] for item in view["items"] if item["kind"] == "call"]


def test_the_context_is_printed_as_json(commands, session):
    done = commands.run("debug", "context", session)
    view = json.loads(done.stdout)
    assert (done.code, done.stderr, view["sessionID"]) == (0, "", session)
    assert view["tokens"] == sum(item["tokens"] for item in view["items"]) > 40_000
    assert view["prunable"] > 20_000 and view["usable"] == 192_000
    assert {item["group"] for item in view["items"]} == {"system", "messages", "outputs"}


def test_the_request_is_printed_without_its_key(commands, session):
    done = commands.run("debug", "request", session)
    shown = json.loads(done.stdout)
    assert (done.code, shown["adapter"], shown["method"]) == (0, "openai", "POST")
    assert shown["body"]["model"] == "fake-model" and "fake-key-for-tests" not in done.stdout


def test_pruning_says_what_it_did_and_how_it_comes_back(commands, session):
    dry = commands.run("session", "prune", session, "--dry-run")
    assert dry.code == 0 and "would prune 3 outputs" in dry.stderr and states(commands, session) == ["sent"] * 6
    done = commands.run("session", "prune", session)
    assert done.stdout == dry.stdout and f"session restore {session}" in done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["ID", "TOOL", "TITLE", "TOKENS"]
    assert [(row[1], row[2]) for row in rows[1:]] == [("read", f"large{number}.txt") for number in range(3)]
    assert states(commands, session) == ["pruned"] * 3 + ["sent"] * 3
    again = commands.run("session", "prune", session)
    assert (again.code, again.stdout) == (0, "") and "nothing to prune" in again.stderr


def test_restore_works_for_all_or_one(commands, session):
    commands.run("session", "prune", session)
    pruned = json.loads(commands.run("session", "restore", session, "--dry-run", "--format", "json").stdout)
    first = pruned["parts"][0]["partID"]
    assert commands.run("session", "restore", session, "--part", first).code == 0
    assert states(commands, session) == ["sent", "pruned", "pruned", "sent", "sent", "sent"]
    assert "restored 2 outputs" in commands.run("session", "restore", session).stderr
    assert "no pruned output" in commands.run("session", "restore", session).stderr


def test_single_calls_are_pruned_by_name(commands, session):
    view = json.loads(commands.run("debug", "context", session).stdout)
    ids = [item["partID"] for item in view["items"] if item["kind"] == "call"][4:]
    named = [word for part_id in ids for word in ("--part", part_id)]
    assert commands.run("session", "prune", session, *named).code == 0
    assert states(commands, session) == ["sent"] * 4 + ["pruned"] * 2


@pytest.mark.parametrize("command", [("debug", "context"), ("debug", "request"), ("session", "prune")])
def test_an_unknown_session_is_one_line(commands, command):
    done = commands.run(*command, "ses_nothing")
    assert (done.code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)


def test_an_unknown_part_is_one_line(commands, session):
    done = commands.run("session", "prune", session, "--part", "prt_none")
    assert (done.code, done.stdout) == (2, "") and "prt_none" in done.stderr and len(done.stderr.splitlines()) == 1


def test_nothing_strange_reaches_the_terminal(commands, session):
    listed = json.loads(commands.run("export", session).stdout)
    part = next(part for message in listed["messages"] for part in message["parts"] if part["type"] == "tool")
    stored = next(Path(commands.environ["XDG_DATA_HOME"]).rglob(f"{part['id']}.json"))
    part["state"]["title"] = " ".join(HOSTILE)
    stored.write_text(json.dumps(part))
    done = commands.run("session", "prune", session)
    assert done.code == 0 and steering(done.stdout) == []
