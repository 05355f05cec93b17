"""A terminal session: the permission prompt, and Ctrl-C."""

import os
from dataclasses import replace

import pytest

from tests.support.provider.model_script import content_text
from tests.support.sessions.stored import read_store
from tests.support.terminal.command import Terminal
from tests.support.world.in_process import in_process

pytestmark = pytest.mark.slow


WRITE = 'note <<tool write {"filePath":"note.txt","content":"hello"}>>'


@pytest.fixture
def at_terminal(line):
    asking = replace(line, settings={"permission": {"edit": "ask"}})

    def start(message: str) -> Terminal:
        arguments = ["-m", "opencode_tui", "run", "-m", line.model, message]
        return Terminal(arguments, folder=line.folder, environ=asking.variables())

    return start


@pytest.fixture
def without_terminal(line, monkeypatch, capsys):
    """The same commands with the same settings where no terminal is: what would ask is rejected."""
    return in_process(replace(line, settings={"permission": {"edit": "ask"}}), monkeypatch, capsys)


def test_enter_alone_asks_again_and_y_allows_once(at_terminal, project):
    with at_terminal(WRITE) as terminal:
        assert "note.txt" in terminal.expect("n reject")
        terminal.send("\n")
        terminal.expect("n reject")
        assert not (project.path / "note.txt").exists()
        terminal.send("y\n")
        terminal.expect("Done: note")
        assert terminal.wait() == 0
    assert (project.path / "note.txt").read_text() == "hello"
    with at_terminal(WRITE.replace("note.txt", "more.txt")) as terminal:
        terminal.expect("n reject")
        terminal.send("\x03")
        assert terminal.wait() == 130


def test_a_is_remembered_by_the_next_run(at_terminal, without_terminal, project):
    with at_terminal(WRITE) as terminal:
        terminal.expect("a always")
        terminal.send("a\n")
        assert terminal.wait() == 0
    (project.path / "note.txt").unlink()
    assert without_terminal.turn(WRITE).code == 0
    assert (project.path / "note.txt").read_text() == "hello"


def test_the_rule_can_be_edited_before_it_is_stored(at_terminal, without_terminal, project):
    with at_terminal(WRITE) as terminal:
        terminal.expect("e edit the rule")
        terminal.send("e\n")
        terminal.expect("enter keeps")
        terminal.send("*.txt\n")
        terminal.expect("Always allowed  *.txt")
        assert terminal.wait() == 0
    assert without_terminal.turn(WRITE.replace("note.txt", "more.txt")).code == 0
    assert "note.md" in without_terminal.turn(WRITE.replace("note.txt", "note.md")).stdout
    assert (project.path / "more.txt").exists() and not (project.path / "note.md").exists()


def test_the_model_gets_the_feedback_of_a_rejection_and_one_without_ends_the_turn(at_terminal, server, project):
    with at_terminal(f"{WRITE} {WRITE}") as terminal:
        terminal.expect("n reject")
        terminal.send("n\n")
        terminal.expect("should the agent do instead")
        terminal.send("use docs/note.txt\n")
        terminal.expect("n reject")
        assert "use docs/note.txt" in content_text(server.bodies[1]["messages"][-1]["content"])
        terminal.send("n\n")
        terminal.expect("should the agent do instead")
        terminal.send("\n")
        terminal.wait()
    assert len(server.requests) == 2
    assert not (project.path / "note.txt").exists()


def test_ctrl_c_ends_a_stream_and_keeps_its_text(at_terminal, paths):
    with at_terminal("count <<slow 30>> <<words 500>>") as terminal:
        terminal.expect("word3 ")
        terminal.send("\x03")
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.text and "interrupted" in terminal.text
    answer = read_store(paths.storage).of_kind("message")[-1]
    assert answer["error"]["name"] == "MessageAbortedError"
    assert read_store(paths.storage).parts("text")[-1]["text"].startswith("word1 word2 word3")


def test_a_question_waits_for_the_user_without_a_limit(at_terminal):
    with at_terminal(WRITE) as terminal:
        terminal.expect("n reject")
        assert terminal.stays_silent(0.5, "Done")
        os.kill(terminal.process.pid, 15)
        assert terminal.wait() == 130
