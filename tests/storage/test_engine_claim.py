"""Which process has the engine that terminals share: one of all, and nothing of a dead one counts."""

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opencode_tui.storage.engine_claim import EngineClaim, EngineRecord, open_terminal_socket, short_path
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.process_identity import current_process

KEY = "0123abcd"
HOLDER = """
import os, sys, time
from opencode_tui.storage.engine_claim import *
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.process_identity import current_process
paths = find_paths(os.environ)
claim = EngineClaim(paths, sys.argv[1])
assert claim.try_acquire()
opened, path = open_terminal_socket(paths, sys.argv[1])
claim.publish(EngineRecord(current_process(), "/src", path, "the secret"))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def paths(environ: dict[str, str]) -> Paths:
    """Return the folders that other processes with this environment use."""
    return find_paths(environ)


@pytest.fixture
def killed(environ: dict[str, str], paths: Paths) -> Path:
    """Let another process acquire the claim, kill it, and return the path of its record."""
    process = hold(environ, KEY)
    process.kill()
    process.wait()
    return paths.terminals / f"{KEY}.json"


@pytest.fixture
def holder(environ: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    process = hold(environ, KEY)
    yield process
    process.kill()
    process.wait()


def hold(environ: dict[str, str], key: str) -> "subprocess.Popen[str]":
    variables = {**environ, "PYTHONPATH": os.getcwd()}
    process = subprocess.Popen([sys.executable, "-c", HOLDER, key], env=variables, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as output:
        assert output.readline() == "ready\n"
    return process


def record(path: str) -> EngineRecord:
    return EngineRecord(current_process(), "/src", path, "the secret")


def test_one_process_has_it_and_the_others_read_how_to_reach_it(holder: "subprocess.Popen[str]", paths: Paths) -> None:
    claim = EngineClaim(paths, KEY)
    assert not claim.try_acquire()
    found = claim.read()
    assert found is not None
    assert (found.process.pid, found.folder, found.secret) == (holder.pid, "/src", "the secret")
    with socket.socket(socket.AF_UNIX) as connection, short_path(found.socket) as path:
        connection.connect(path)


def test_only_the_user_can_read_the_secret_and_use_the_socket(paths: Paths) -> None:
    claim = EngineClaim(paths, KEY)
    assert claim.try_acquire()
    before = os.umask(0)
    try:
        opened, path = open_terminal_socket(paths, "name")
        claim.publish(record(path))
    finally:
        os.umask(before)
    modes = {path.suffix: stat.S_IMODE(path.stat().st_mode) for path in paths.terminals.iterdir()}
    assert modes == {".sock": 0o600, ".json": 0o600, ".engine": 0o600}
    assert stat.S_IMODE(paths.terminals.stat().st_mode) == 0o700
    assert "the secret" not in repr(claim.read())
    opened.close()


def test_a_killed_process_has_nothing_any_more(killed: Path, paths: Paths) -> None:
    assert killed.exists()
    claim = EngineClaim(paths, KEY)
    assert claim.try_acquire()
    assert claim.read() is None
    assert [path.name for path in paths.terminals.iterdir()] == [f"{KEY}.engine"]


def test_a_record_whose_process_id_is_used_again_is_that_of_a_dead_one(killed: Path, paths: Paths) -> None:
    text = killed.read_text()
    dead = EngineClaim(paths, KEY).read()
    assert dead is not None
    killed.write_text(text.replace(f'"pid": {dead.process.pid}', f'"pid": {os.getpid()}'))
    claim = EngineClaim(paths, KEY)
    assert claim.try_acquire()
    assert claim.read() is None


@pytest.mark.slow
def test_what_is_left_in_other_folders_is_removed_and_what_lives_stays(
    killed: Path, environ: dict[str, str], paths: Paths
) -> None:
    living = hold(environ, "living")
    try:
        claim = EngineClaim(paths, "mine")
        assert claim.try_acquire()
        claim.publish(record(""))
        assert claim.remove_stale() == 1
        assert {path.name for path in paths.terminals.glob("*.json")} == {"living.json", "mine.json"}
        assert {path.name for path in paths.terminals.glob("*.sock")} == {"living.sock"}
    finally:
        living.kill()
        living.wait()


@pytest.mark.parametrize("says_holders", [True, False])
def test_its_holder_is_known_while_it_lives(
    holder: "subprocess.Popen[str]", paths: Paths, monkeypatch: pytest.MonkeyPatch, says_holders: bool
) -> None:
    if not says_holders:  # as on systems without /proc/locks
        monkeypatch.setattr("opencode_tui.storage.engine_claim.holding_pid", lambda _path: None)
    claim = EngineClaim(paths, KEY)
    assert claim.holder() == holder.pid
    holder.kill()
    holder.wait()
    assert claim.read() is not None and claim.holder() is None


def test_after_a_release_another_one_has_it(paths: Paths) -> None:
    first, second = EngineClaim(paths, KEY), EngineClaim(paths, KEY)
    assert first.try_acquire()
    first.publish(record(""))
    assert not second.try_acquire()
    first.release()
    assert second.try_acquire()
    assert second.read() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_damaged_record_is_none(paths: Paths, text: str) -> None:
    claim = EngineClaim(paths, KEY)
    assert claim.try_acquire()
    (paths.terminals / f"{KEY}.json").write_text(text)
    assert claim.read() is None
    claim.release()
    assert not (paths.terminals / f"{KEY}.json").exists()


@pytest.mark.parametrize("has_short_paths", [True, False])
def test_a_path_may_be_longer_than_systems_allow(
    has_short_paths: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.storage.engine_claim._HAS_SHORT_PATHS", has_short_paths)
    monkeypatch.setattr("tempfile.tempdir", "/tmp")
    long = tmp_path / ("a" * 100)
    paths = Paths(tmp_path, long, long, long, long)
    opened, path = open_terminal_socket(paths, "name")
    assert Path(path).is_relative_to(long) == has_short_paths
    assert stat.S_IMODE(Path(path).parent.stat().st_mode) == 0o700
    with socket.socket(socket.AF_UNIX) as connection, short_path(path) as short:
        connection.connect(short)
    claim = EngineClaim(paths, KEY)
    assert claim.try_acquire()
    claim.publish(record(path))
    opened.close()
    claim.release()
    assert not Path(path).exists()
    assert Path(path).parent.exists() == has_short_paths
