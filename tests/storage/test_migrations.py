import json
import os
import shutil
from pathlib import Path

import pytest

from opencode_tui.storage.paths import Paths
from tests.storage.legacy_store import (
    expected_store,
    make_legacy_store,
    make_migrations,
    make_project,
    migrate,
    read_store,
)
from tests.storage.load import fork, wait_for
from tests.support.faults.file_system import DEATH, FaultyFiles
from tests.support.world.repo import Repo

EVERY = 7
"""Each n-th call here; every call in the benchmarks."""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_project(tmp_path / "proj")


@pytest.fixture
def legacy(paths: Paths, repo: Repo) -> Paths:
    make_legacy_store(paths, repo)
    return paths


def message_file(paths: Paths) -> Path:
    return paths.data / "project/tmp-proj/storage/session/message/ses_old1/msg_old1.json"


def test_old_store_becomes_what_opencode_made_of_it(legacy: Paths, repo: Repo):
    assert migrate(legacy) == []
    assert read_store(legacy) == expected_store(repo)


def test_originals_and_the_global_folder_stay(legacy: Paths):
    before = {path: path.read_bytes() for path in (legacy.data / "project").rglob("*.json")}
    migrate(legacy)
    assert {path: path.read_bytes() for path in (legacy.data / "project").rglob("*.json")} == before


def test_records_are_copied_compact_and_otherwise_unchanged(legacy: Paths):
    record = json.loads(message_file(legacy).read_text()) | {"text": "ü", "unknown": {"null": None, "big": 2**70}}
    message_file(legacy).write_text(json.dumps(record, indent=4))
    migrate(legacy)
    copy = (legacy.storage / "message/ses_old1/msg_old1.json").read_text()
    assert (json.loads(copy), " " in copy, "ü" in copy) == (record, False, True)


def test_fresh_store_gets_its_counter_once(paths: Paths):
    assert migrate(paths) == []
    assert read_store(paths) == {"migration": 2}


def test_store_that_is_up_to_date_costs_one_read_and_no_lock(legacy: Paths):
    migrate(legacy)
    shutil.rmtree(legacy.lock)
    files = FaultyFiles()
    assert migrate(legacy, files) == []
    assert ([name for name, _ in files.log], legacy.lock.exists()) == (["open", "read", "close"], False)


@pytest.mark.fast_cases("x")
@pytest.mark.parametrize("counter", [b"", b"x", b"-3", b"0", b"\xff"])
def test_damaged_counter_runs_the_migrations_again_to_the_same_end(legacy: Paths, repo: Repo, counter: bytes):
    migrate(legacy)
    (legacy.storage / "migration").write_bytes(counter)
    assert migrate(legacy) == []
    assert read_store(legacy) == expected_store(repo)


def test_counter_of_a_newer_program_stays(legacy: Paths):
    legacy.storage.mkdir(exist_ok=True)
    (legacy.storage / "migration").write_text("9")
    assert migrate(legacy) == []
    assert (legacy.storage / "migration").read_text() == "9"


def test_running_again_keeps_what_was_worked_on_since(legacy: Paths):
    migrate(legacy)
    worked_on = legacy.storage / "message/ses_old1/msg_old1.json"
    worked_on.write_text('{"id":"msg_old1","new":true}')
    (legacy.storage / "migration").unlink()
    migrate(legacy)
    assert json.loads(worked_on.read_text()) == {"id": "msg_old1", "new": True}


def test_damaged_old_record_is_told_and_costs_itself_alone(legacy: Paths, repo: Repo):
    damaged = message_file(legacy).with_name("msg_old2.json")
    damaged.write_text("{")
    [warning] = migrate(legacy)
    assert warning.startswith(f"a record was not migrated: {damaged} is damaged (it is not JSON")
    assert read_store(legacy) == expected_store(repo)


def test_damaged_session_is_told_and_keeps_its_bytes(legacy: Paths):
    damaged = legacy.storage / "session/PX/ses_bad.json"
    damaged.write_bytes(b"{")
    [warning] = migrate(legacy)
    assert warning.startswith(f"a session keeps its diffs: {damaged} is damaged")
    assert (damaged.read_bytes(), (legacy.storage / "migration").read_text()) == (b"{", "2")


def test_project_whose_folder_is_gone_is_told_and_left(legacy: Paths, repo: Repo):
    shutil.rmtree(repo.path)
    [warning] = migrate(legacy)
    assert warning.endswith("none of its messages names a folder that still exists")
    assert sorted(os.listdir(legacy.storage)) == ["migration", "session", "session_diff"]


@pytest.mark.parametrize("spoil", ["no repository", "no commit"])
def test_folder_without_a_first_commit_is_told_and_left(legacy: Paths, repo: Repo, spoil: str):
    shutil.rmtree(repo.path / ".git")
    if spoil == "no commit":
        repo.git("init", "-q")
    [warning] = migrate(legacy)
    assert f"was not migrated: {repo.path} " in warning
    assert not (legacy.storage / "project").exists()


def test_lexically_first_of_several_root_commits_is_the_project(legacy: Paths, repo: Repo):
    roots = sorted([repo.git("rev-parse", "HEAD"), repo.orphan("other"), repo.orphan("third")])
    migrate(legacy)
    assert os.listdir(legacy.storage / "project") == [f"{roots[0]}.json"]


def test_nothing_of_the_repository_or_the_environment_runs_in_git(
    legacy: Paths, repo: Repo, monkeypatch, tmp_path: Path
):
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    repo.git("config", "core.fsmonitor", str(trap))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert migrate(legacy) == []
    assert (read_store(legacy), (tmp_path / "sprung").exists()) == (expected_store(repo), False)


def test_missing_git_is_told_and_tried_again_at_the_next_start(legacy: Paths, repo: Repo, tmp_path: Path):
    nothing = {"PATH": str(tmp_path)}
    [warning] = make_migrations(legacy, environ=nothing).run_sync()
    assert "git is not installed" in warning
    assert not (legacy.storage / "migration").exists()
    assert migrate(legacy) == []
    assert read_store(legacy) == expected_store(repo)


def count_calls(paths: Paths, repo: Repo) -> int:
    make_legacy_store(paths, repo)
    files = FaultyFiles()
    migrate(paths, files)
    return files.calls


@pytest.mark.slow
def test_killed_at_any_call_and_run_again_it_ends_the_same(paths: Paths, repo: Repo):
    expected = expected_store(repo)
    for at in range(4, count_calls(paths, repo) + 1, EVERY):
        make_legacy_store(paths, repo)
        files = FaultyFiles(at=at, error=DEATH)
        assert wait_for(fork(lambda files=files: migrate(paths, files))) == 137
        assert (at, migrate(paths), read_store(paths)) == (at, [], expected)


@pytest.mark.fast_cases("13")
@pytest.mark.parametrize("error", [28, 5, 13])
def test_failing_at_any_call_it_says_so_and_the_next_start_ends_the_same(paths: Paths, repo: Repo, error: int):
    expected = expected_store(repo)
    for at in range(1 + error % EVERY, count_calls(paths, repo) + 1, 3 * EVERY):
        make_legacy_store(paths, repo)
        warnings = migrate(paths, FaultyFiles(at=at, error=error))
        assert [warning for warning in warnings if "\n" in warning] == []
        assert warnings or read_store(paths) == expected
        assert (at, migrate(paths), read_store(paths)) == (at, [], expected)


async def test_migrations_leave_the_event_loop_free(legacy: Paths, repo: Repo):
    assert await make_migrations(legacy).run() == []
    assert set(read_store(legacy)) == set(expected_store(repo))
