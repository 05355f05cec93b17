"""Undo by the command during other work in the folder: another process's session, the same file in turn, the user's own edits."""

import time

import pytest

from tests.support.world.cli import kill_session
from tests.support.world.in_process import in_process
from tests.support.world.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def line(line, monkeypatch, capsys):
    """Commands without a process for each: what is claimed here is not about processes."""
    return in_process(line, monkeypatch, capsys)


def edit(old, new):
    """Return a read of a.py and the edit of its line, for the scripted model."""
    given = f'{{"filePath":"a.py","oldString":"x = {old}","newString":"x = {new}"}}'
    return f'<<tool read {{"filePath":"a.py"}}>> <<tool edit {given}>>'


def test_what_another_process_did_meanwhile_stays(line, project):
    slow = line.start_turn(
        'one <<tool bash {"command":"echo x > begun; until test -e theirs; do sleep 0.02; done; echo y > mine","description":"w"}>>'
    )
    wait_until((project.path / "begun").exists)
    other = line.turn('two <<tool write {"filePath":"theirs","content":"t\\n"}>>')
    assert (slow.wait(PATIENCE_S), other.code) == (0, 0)
    kill_session(slow)
    [mine] = [
        row for row in line.run("session", "list").stdout.split() if row.startswith("ses_") and row != other.session_id
    ]
    undone = line.run("session", "revert", mine)
    assert undone.code == 0 and not (project.path / "begun").exists() and not (project.path / "mine").exists()
    assert (project.path / "theirs").read_text() == "t\n"
    assert line.run("session", "revert", other.session_id).code == 0
    assert not (project.path / "theirs").exists()


def test_two_sessions_that_edit_a_file_in_turn_are_a_conflict_and_nothing_is_overwritten(line, project):
    mine = line.turn("one " + edit(1, 2)).session_id
    line.turn("two " + edit(2, 3))
    line.turn("three " + edit(3, 4), "-s", mine)
    assert line.run("session", "revert", mine).code == 0
    assert (project.path / "a.py").read_text() == "x = 3\n"
    undone = line.run("session", "revert", mine)
    assert (project.path / "a.py").read_text() == "x = 3\n"
    assert "a.py" in undone.stdout and "changed outside the session" in undone.stdout


def test_edits_of_the_user_while_the_model_streams_are_kept(line, project):
    turn = line.start_turn(f"go <<slow 40>> <<words 25>> {edit(1, 2)}")
    time.sleep(0.8)
    (project.path / "own.py").write_text("mine\n")
    assert turn.wait(PATIENCE_S) == 0
    kill_session(turn)
    assert (project.path / "a.py").read_text() == "x = 2\n"
    (project.path / "later.py").write_text("later\n")
    session_id = next(word for word in line.run("session", "list").stdout.split() if word.startswith("ses_"))
    assert line.run("session", "revert", session_id).code == 0
    assert (project.path / "a.py").read_text() == "x = 1\n"
    assert [(project.path / name).read_text() for name in ("own.py", "later.py")] == ["mine\n", "later\n"]
