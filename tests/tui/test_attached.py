"""Two terminals on one server: both show the same session live, and leaving one ends nothing."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import CommandLine
from tests.support.model_script import Answer
from tests.support.model_server import ModelServer
from tests.support.repo import Repo, make_repo
from tests.support.screen_terminal import ScreenTerminal
from tests.support.terminal import Terminal

PASSWORD = "correct horse"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.py": "x = 1\n"})
    return repo


class Served:
    """A folder's server, started and ended as a person does, and terminals on it."""

    def __init__(self, project: Repo, environ: dict[str, str], model: ModelServer) -> None:
        line = CommandLine(project.path, environ, provider=model.config(), settings={"model": "fake/fake-model"})
        self.environ = {**line.variables(), "OPENCODE_SERVER_PASSWORD": PASSWORD}
        self.folder = line.folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def serve(self) -> Terminal:
        words = ["-m", "opencode_tui", "serve", "--port", str(self.port)]
        terminal = Terminal(words, folder=self.folder, environ=self.environ)
        terminal.expect(str(self.port))
        return terminal

    def attach(self, *words: str) -> ScreenTerminal:
        arguments = ["-m", "opencode_tui", "attach", f"http://127.0.0.1:{self.port}", *words]
        return ScreenTerminal(arguments, folder=self.folder, environ=self.environ)


@pytest.fixture
def served(project: Repo, environ: dict[str, str], server: ModelServer) -> Served:
    return Served(project, environ, server)


def test_two_terminals_show_one_turn_live_and_closing_one_leaves_it_running(
    served: Served, server: ModelServer
) -> None:
    words = " ".join(f"word{n}" for n in range(80)) + " the-end"
    server.script(Answer(text=words, delay_ms=80))
    with served.serve(), served.attach() as first:
        first.sees("Ask")
        first.type("count slowly\r")
        first.sees("word3")
        session = re.search(r"ses_\w+", _session_ids(served)) or pytest.fail("no session was made")
        with served.attach("-s", session.group()) as second:
            second.sees("count slowly")
            second.sees("word")
            first.press("ctrl+x", "q")
            assert first.ends() == 0
            assert "opencode-tui attach" in first.text
            second.sees("the-end")


def test_a_lost_connection_is_told_and_so_is_that_it_is_back(served: Served, server: ModelServer) -> None:
    server.script(Answer(text="First answer."), Answer(text="Second answer."))
    serving = served.serve()
    with served.attach() as terminal:
        with serving:
            terminal.sees("Ask")
            terminal.type("one\r")
            terminal.sees("First answer.")
        terminal.sees("is lost")
        with served.serve():
            terminal.sees("Connected to", timeout=20)
            terminal.sees("First answer.")
            terminal.type("two\r")
            terminal.sees("Second answer.")
            terminal.press("ctrl+x", "q")
            assert terminal.ends() == 0


def _session_ids(served: Served) -> str:
    with Terminal(
        ["-m", "opencode_tui", "session", "list", "--format", "json"], folder=served.folder, environ=served.environ
    ) as listing:
        listing.wait()
        return listing.text
