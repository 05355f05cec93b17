"""Forks with several processes: killed while they copy, and with a source that another process deletes while they do."""

import json
import time

import pytest

from tests.support.sessions.records import write_session
from tests.support.sessions.stored import read_store
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.in_process import Commands

pytestmark = pytest.mark.slow


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


def begun_fork(line, paths, source, *, at):
    """Start a process that forks; return it and the fork's id when so many messages are copied, or it has ended."""
    process = line.start("session", "fork", source)
    lists = paths.data / "forks"
    fork_id = ""
    while process.poll() is None:
        fork_id = fork_id or next((one.name for one in lists.glob("ses_*")), "")
        if fork_id and copied(paths, fork_id) >= at:
            break
        time.sleep(0.001)
    if not fork_id:
        fork_id = process.stdout.readline().decode().strip()
    return process, fork_id


def killed_fork(line, paths, source, *, at):
    """Kill the forking process when so many messages are copied; return the fork's id."""
    process, fork_id = begun_fork(line, paths, source, at=at)
    kill_session(process)
    return fork_id


def sessions(here):
    return {one["id"] for one in json.loads(here.run("session", "list", "--format", "json").stdout)}


def strays(paths):
    """Return what belongs to no session, and the lists of unfinished copies."""
    return [*read_store(paths.storage).strays, *map(str, (paths.data / "forks").glob("*"))]


def texts(here, session_id):
    messages = json.loads(here.run("export", session_id).stdout)["messages"]
    return [part["text"] for message in messages for part in message["parts"] if part["type"] == "text"]


@pytest.mark.parametrize("at", [0, 400])
def test_a_fork_whose_copying_was_killed_is_whole_or_not_there(line, here, paths, source, at):
    fork_id = killed_fork(line, paths, source, at=at)
    wanted = texts(here, source)  # with an engine, whose start removes what is left
    left = sessions(here) - {source}
    assert left in (set(), {fork_id}) and strays(paths) == []
    assert copied(paths, fork_id) == (800 if left else 0)
    for one in left:
        assert texts(here, one) == wanted


def test_a_fork_can_be_made_after_one_was_killed_and_outlives_its_source(line, here, paths, source):
    wanted = texts(here, source)
    killed_fork(line, paths, source, at=100)
    fork_id = here.run("session", "fork", source).stdout.strip()
    assert here.run("session", "delete", source, "--yes").code == 0
    assert copied(paths, fork_id) == 800 and texts(here, fork_id) == wanted and strays(paths) == []
    exported = here.run("export", fork_id).stdout
    assert "forkedFrom" in exported and '"copying"' not in exported


def test_a_process_deletes_the_source_while_another_copies(line, here, paths, source):
    wanted = texts(here, source)
    process, fork_id = begun_fork(line, paths, source, at=1)
    deleted = here.run("session", "delete", source, "--yes")
    assert (process.wait(), deleted.code) == (0, 0)
    assert texts(here, fork_id) == wanted
