"""A day's work in a real terminal, by keys and by mouse: each thing that a person does is seen on the screen and on disk."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import Open, ScreenTerminal
from tests.support.world.repo import Repo, make_repo

pytestmark = pytest.mark.slow


BEFORE, AFTER = "x = 1\ny = 2\n", "x = 42\ny = 2\n"


@pytest.fixture
def project(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", BEFORE)
    repo.commit("begin")
    return repo


@pytest.fixture
def folder(project: Repo) -> Path:
    return project.path


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"model": "fake/fake-model", "permission": {"edit": "ask"}}


def an_edit(server: ModelServer, project: Repo) -> None:
    """The model reads the file, changes it and says so."""
    path = str(project.path / "a.py")
    change = Call("edit", {"filePath": path, "oldString": "x = 1", "newString": "x = 42"})
    server.title_answers.append(Answer(text="Set x"))
    server.script(
        Answer(calls=(Call("read", {"filePath": path}),)), Answer(calls=(change,)), Answer(text="Now x is **42**.")
    )


def text_of(project: Repo) -> str:
    return (project.path / "a.py").read_text()


def way_back(terminal: ScreenTerminal) -> str:
    """The session that the line after the end names."""
    assert terminal.ends() == 0
    *_, command, option, session_id = terminal.shown().split()
    assert (command, option) == ("opencode-tui", "-s")
    return session_id


def test_a_day_by_keys(start: Open, project: Repo, server: ModelServer) -> None:
    an_edit(server, project)
    with start() as terminal:
        terminal.sees("Ask anything")
        terminal.type("set x to 42")
        terminal.press("enter")
        terminal.sees("Edit this file?")
        assert text_of(project) == BEFORE
        terminal.answer("y")
        terminal.sees("Now x is 42.")
        terminal.sees("2 tools")
        assert text_of(project) == AFTER

        terminal.press("ctrl+x", "u")
        terminal.sees("Undo from here?")
        terminal.sees("restored")
        assert text_of(project) == AFTER
        terminal.answer("y")
        terminal.sees("1 file restored")
        assert "▎ set x to 42" in terminal.sees_no_more("Now x is 42.")
        assert text_of(project) == BEFORE
        terminal.press("ctrl+x", "r")
        terminal.sees("Now x is 42.")
        assert text_of(project) == AFTER

        terminal.press("ctrl+x", "f")
        assert "Now x is 42." in terminal.sees("Set x (fork #1)")
        server.script(Answer(text="x is 42 everywhere."))
        terminal.press("ctrl+x", "c")
        assert "Now x is 42." in terminal.sees("≡ Compacted")
        terminal.sees("✓ Compacted")  # it would replace the next note
        terminal.press("ctrl+c")
        terminal.sees("again to quit")
        terminal.press("ctrl+c")
        session_id = way_back(terminal)
    with start("-s", session_id) as terminal:
        for words in ("≡ Compacted", "Set x (fork #1)", "Now x is 42."):
            terminal.sees(words)
        terminal.type("and now?")
        terminal.press("enter")
        terminal.sees("Echo: and now?")


def test_a_day_by_mouse(start: Open, project: Repo, server: ModelServer) -> None:
    an_edit(server, project)

    def choose(words: str, found: int = 1, row: str = "") -> None:
        terminal.click("ctrl+p commands")
        terminal.sees("What do you want to do?")
        terminal.type(words)
        terminal.sees(f"{found} of ")
        terminal.click(row or words)

    with start("--prompt", "set x to 42", size=(190, 40)) as terminal:
        terminal.sees("Edit this file?")
        terminal.read_for(0.6)
        terminal.click("edit once")
        terminal.sees("Now x is 42.")
        terminal.sees("2 tools")
        choose("Undo the last turn")
        terminal.sees("Undo from here?")
        terminal.read_for(0.6)
        terminal.click("y undo")
        terminal.sees_no_more("Now x is 42.")
        assert text_of(project) == BEFORE
        terminal.click("ctrl+x r redo")
        terminal.sees("Now x is 42.")
        assert text_of(project) == AFTER
        choose("Fork this session")
        terminal.sees("Set x (fork #1)")
        choose("Compact the context")
        terminal.sees("≡ Compacted")
        choose("Quit", found=2, row="ctrl+c")
        assert way_back(terminal).startswith("ses_")


def test_a_session_of_another_project_is_opened_in_its_folder(start: Open, server: ModelServer, tmp_path: Path) -> None:
    server.script(Answer(text="It is far away."), Answer(text="Here I am."))
    other = make_repo(tmp_path / "other")
    other.write("far.txt", "far")
    other.commit("begin")
    with start(str(other.path), "--prompt", "where is it?") as terminal:
        terminal.sees("It is far away.")
        terminal.sees("Done")
        terminal.press("ctrl+x", "q")
        far = way_back(terminal)
    with start(size=(140, 36)) as terminal:
        terminal.sees("fake-model")
        terminal.press("ctrl+x", "s")
        terminal.sees("tab all projects")
        terminal.press("tab")
        terminal.sees("this project")
        terminal.press("end", "enter")
        terminal.sees("It is far away.")
        terminal.type("!pwd")
        terminal.press("enter")
        terminal.sees(str(other.path))
        terminal.sees("✓ Done")
        terminal.press("ctrl+x", "q")
        assert way_back(terminal) == far
