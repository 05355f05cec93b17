import json

import pytest


def sessions(commands):
    return json.loads(commands.run("session", "list", "--format", "json").stdout)


def count(commands, session_id):
    return len(json.loads(commands.run("export", session_id).stdout)["messages"])


@pytest.mark.slow
def test_a_run_goes_on_in_a_fork_and_leaves_the_session_alone(commands, session_id):
    before = count(commands, session_id)
    assert commands.run("run", "-s", session_id, "--fork", "list this folder").code == 0
    (fork,) = [info for info in sessions(commands) if info["id"] != session_id]
    assert fork["title"] == "First (fork #1)" and fork["metadata"]["forkedFrom"]["sessionID"] == session_id
    assert count(commands, session_id) == before < count(commands, fork["id"])


@pytest.mark.slow
def test_a_fork_of_the_last_session_can_be_named(commands, session_id):
    assert commands.run("run", "-c", "--fork", "--title", "Other way", "list this folder").code == 0
    assert {info["title"] for info in sessions(commands)} == {"First", "Other way"}


def test_fork_needs_a_session(commands):
    done = commands.run("run", "--fork", "hello")
    assert (done.code, done.stdout) == (2, "") and "--fork needs --continue or --session ID" in done.stderr


@pytest.mark.slow
def test_a_turn_in_another_folder_than_its_session_is_reported(commands, session_id):
    fork_id = commands.run("session", "fork", session_id, "--worktree").stdout.strip()
    done = commands.run("run", "-s", fork_id, "list this folder")
    assert done.code == 0 and f"session {fork_id} runs in {commands.folder}-" in done.stderr
    assert f"this turn runs in {commands.folder}\n" in done.stderr
