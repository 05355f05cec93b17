"""Forks with several processes: killed while they copy, and with a source that another process deletes meanwhile."""

import json
import time

import pytest

from tests.support.sessions.records import write_session
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.in_process import Commands


@pytest.fixture
def line(tmp_path, environ):
    folder = tmp_path / "project"
    folder.mkdir()
    return CommandLine(folder, environ)


@pytest.fixture
def here(line, monkeypatch, capsys):
    """The commands of another process than the killed one: that of the test."""
    return Commands(line.folder, line.environ, monkeypatch, capsys)


@pytest.fixture
def source(line, paths):
    return write_session(paths, turns=400, directory=str(line.folder))


def copied(paths, fork_id):
    return len(list((paths.storage / "message" / fork_id).glob("*.json")))


def killed_fork(line, paths, source, *, at):
    """Kill the forking process when so many messages are copied; return the fork's id."""
    process = line.start("session", "fork", source)
    fork_id = process.stdout.readline().decode().strip()
    while copied(paths, fork_id) < at:
        time.sleep(0.001)
    process.kill()
    kill_session(process)
    return fork_id


def texts(here, session_id):
    messages = json.loads(here.run("export", session_id).stdout)["messages"]
    return [part["text"] for message in messages for part in message["parts"] if part["type"] == "text"]


@pytest.mark.parametrize("at", [0, 400])
def test_a_fork_whose_copying_was_killed_is_complete_to_its_reader(line, here, paths, source, at):
    fork_id = killed_fork(line, paths, source, at=at)
    assert at <= copied(paths, fork_id) < 800
    assert texts(here, fork_id) == texts(here, source)


def test_deleting_the_source_of_a_killed_fork_loses_nothing(line, here, paths, source):
    wanted = texts(here, source)
    fork_id = killed_fork(line, paths, source, at=100)
    assert here.run("session", "delete", source, "--yes").code == 0
    assert copied(paths, fork_id) == 800 and texts(here, fork_id) == wanted
    assert "forkedFrom" in here.run("export", fork_id).stdout and '"copying"' not in here.run("export", fork_id).stdout


def test_a_process_deletes_the_source_while_another_copies(line, here, paths, source):
    wanted = texts(here, source)
    process = line.start("session", "fork", source)
    fork_id = process.stdout.readline().decode().strip()
    deleted = here.run("session", "delete", source, "--yes")
    assert (process.wait(), deleted.code) == (0, 0)
    assert texts(here, fork_id) == wanted
