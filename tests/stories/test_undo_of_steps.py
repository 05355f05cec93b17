"""Undo after a kill in the middle of a step, and with two processes in one folder."""

import asyncio
import os
import time
from typing import Any

import pytest

from opencode_tui.schema.session.part import PART
from tests.support.sessions.stored import read_store
from tests.support.snapshot.worktree import facts_of
from tests.support.undo.steps import names_in, patches_in, undo
from tests.support.world.cli import kill_session
from tests.support.world.in_process import in_process
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


@pytest.fixture
def line(line, monkeypatch, capsys):
    """Commands without a process for each: what is claimed here is not about processes."""
    return in_process(line, monkeypatch, capsys)


EDIT = '<<tool write {"filePath":"new.py","content":"n = 1\\n"}>>'


def stored_parts(paths, kind="patch") -> list[Any]:
    return [PART.validate_python(part) for part in read_store(paths.storage).parts(kind)]


def wait_for(path, present=True):
    deadline = time.monotonic() + PATIENCE_S
    while path.exists() != present:
        assert time.monotonic() < deadline, path
        time.sleep(0.005)


@pytest.mark.parametrize(
    "mending", [("run", "-c", "-m", "fake/fake-model", "go on"), ("doctor", "--fix")], ids=" ".join
)
def test_what_a_killed_step_wrote_with_file_tools_can_be_undone(line, project, paths, environ, mending):
    before = facts_of(project.path)
    killed = line.start_turn(
        f'go <<par>> {EDIT} <<tool bash {{"command":"echo x > made.txt; sleep 30","description":"w"}}>>'
    )
    wait_for(project.path / "new.py")
    wait_for(project.path / "made.txt")
    killed.kill()
    kill_session(killed)
    line.kill_survivors()
    line.run(*mending)
    recorded, unseen = stored_parts(paths)
    assert (names_in(recorded), names_in(unseen), unseen.after) == ({"new.py"}, {"made.txt"}, None)
    [call] = [part for part in stored_parts(paths, "tool") if part.tool == "bash"]
    assert "undo lists its changes" in call.state.metadata["unprotected"]

    report = asyncio.run(undo(environ, project.path, [recorded, unseen]))
    assert [os.path.basename(remark.path) for remark in report.kept] == ["made.txt"]
    (project.path / "made.txt").unlink()
    assert facts_of(project.path) == before


def test_two_processes_in_one_folder_each_undo_their_own(line, project, paths, environ):
    command = "echo x > begun; until grep -q 'n = 2' new.py; do sleep 0.02; done; echo y > slow.txt"
    first = line.start_turn(f'one <<tool bash {{"command":"{command}","description":"w"}}>>')
    wait_for(project.path / "begun")
    second = line.turn(f'two {EDIT} <<tool edit {{"filePath":"new.py","oldString":"n = 1","newString":"n = 2"}}>>')
    assert (second.code, first.wait(PATIENCE_S)) == (0, 0)
    kill_session(first)
    patches = patches_in(stored_parts(paths))
    mine = [part for part in patches if part.session_id != second.session_id]
    assert [names_in(part) for part in mine] == [{"begun", "slow.txt"}]
    report = asyncio.run(undo(environ, project.path, mine))
    assert report.kept == []
    assert sorted(os.listdir(project.path)) == [".git", "a.py", "new.py"]
    assert (project.path / "new.py").read_text() == "n = 2\n"
    report = asyncio.run(undo(environ, project.path, [part for part in patches if part not in mine]))
    assert (sorted(os.listdir(project.path)), report.kept) == ([".git", "a.py"], [])


def test_alternating_edits_of_two_sessions_are_a_conflict_and_overwrite_nothing(line, project, paths, environ):
    edit = '{} <<tool read {{"filePath":"a.py"}}>> <<tool edit {{"filePath":"a.py","oldString":"x = {}","newString":"x = {}"}}>>'
    first = line.turn(edit.format("one", 1, 2))
    line.turn(edit.format("two", 2, 3))
    line.turn(edit.format("three", 3, 4), "-s", first.session_id)
    mine = [part for part in patches_in(stored_parts(paths)) if part.session_id == first.session_id]
    assert len(mine) == 2
    report = asyncio.run(undo(environ, project.path, mine))
    assert [os.path.basename(remark.path) for remark in report.kept] == ["a.py"]
    assert (project.path / "a.py").read_text() == "x = 4\n"
