"""Two terminals on one server: both show the same session live, and leaving one ends nothing."""

import os
import signal
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.command import Terminal
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.repo import Repo, make_repo
from tests.support.world.waiting import PATIENCE_S, suspend

pytestmark = pytest.mark.slow


PASSWORD = "correct horse"

LIKE_NOHUP = (
    "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
"""Runs a program with hang-ups ignored."""


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

    def attach(self, *words: str, before: Sequence[str] = (), login: str = "") -> ScreenTerminal:
        """Open a screen; with a `login` it is in the address, and in no variable."""
        arguments = [*before, "-m", "opencode_tui", "attach", f"http://{login}127.0.0.1:{self.port}", *words]
        environ = {**self.environ, "OPENCODE_TUI_FIRST_FRAME": "0"} if before else dict(self.environ)
        if login:
            del environ["OPENCODE_SERVER_PASSWORD"]
        return ScreenTerminal(arguments, folder=self.folder, environ=environ)

    def get(self, path: str) -> Any:
        """Return what the server answers."""
        url = f"http://127.0.0.1:{self.port}{path}"
        return (
            httpx.get(url, auth=("opencode", PASSWORD), trust_env=False, timeout=PATIENCE_S).raise_for_status().json()
        )


@pytest.fixture
def served(project: Repo, environ: dict[str, str], server: ModelServer) -> Served:
    return Served(project, environ, server)


def test_two_terminals_show_one_turn_live_and_leaving_or_closing_one_leaves_it_running(
    served: Served, server: ModelServer
) -> None:
    both_look, one_has_left, both_are_gone = threading.Event(), threading.Event(), threading.Event()
    server.script(
        Answer(text="begun seen-by-both the-end", holds=(("seen-by-both", both_look), ("the-end", one_has_left))),
        Answer(text="held unseen", holds=(("unseen", both_are_gone),)),
    )
    with served.serve(), served.attach() as first:
        first.sees("Ask")
        first.type("count slowly\r")
        first.sees("begun")
        (session,) = served.get("/session")
        # As below a web server that was started with `nohup`: when that was killed, its screens stayed.
        with served.attach("-s", session["id"], before=("-c", LIKE_NOHUP)) as second:
            second.sees("begun")
            both_look.set()
            first.sees("seen-by-both")
            second.sees("seen-by-both")
            first.press("ctrl+x", "q")
            assert first.ends() == 0
            assert "opencode-tui attach" in first.text
            one_has_left.set()
            second.sees("the-end")
            second.sees_no_more("interrupt")

            second.type("again\r")
            second.sees("held")
            os.killpg(second.process.pid, signal.SIGHUP)  # as a window does that is closed
            second.ends()
        both_are_gone.set()
        while session["id"] in served.get("/session/status"):
            time.sleep(0.05)
        (*_, answer) = served.get(f"/session/{session['id']}/message")
        assert answer["info"]["finish"] == "stop"
        assert [part["text"] for part in answer["parts"] if part["type"] == "text"] == ["held unseen"]


def test_the_password_of_an_address_is_on_no_screen(served: Served, server: ModelServer) -> None:
    server.script(Answer(text="First answer."))
    serving = served.serve()
    with served.attach(login=f"opencode:{quote(PASSWORD)}@") as terminal:
        with serving:
            terminal.sees("Ask")
            terminal.type("one\r")
            terminal.sees("First answer.")
        terminal.read_until(lambda: any(words in terminal.shown() for words in ("is lost", "no connection to")))
        with served.serve():
            terminal.sees("Connected to")
            terminal.press("ctrl+x", "q")
            assert terminal.ends() == 0
        assert f"opencode-tui attach http://127.0.0.1:{served.port} -s ses_" in terminal.text
        assert quote(PASSWORD).encode() not in terminal.raw and b"opencode:" not in terminal.raw


def test_a_lost_connection_is_told_and_so_is_that_it_is_back(served: Served, server: ModelServer) -> None:
    server.script(Answer(text="First answer."), Answer(text="Second answer."))
    serving = served.serve()
    with served.attach() as terminal:
        with serving:
            terminal.sees("Ask")
            terminal.type("one\r")
            terminal.sees("First answer.")
        # A request of the screen may learn it before the stream of events does, or after.
        terminal.read_until(lambda: any(words in terminal.shown() for words in ("is lost", "no connection to")))
        with served.serve():
            terminal.sees("Connected to")
            terminal.sees("First answer.")
            terminal.type("two\r")
            terminal.sees("Second answer.")
            terminal.press("ctrl+x", "q")
            assert terminal.ends() == 0


def test_a_server_that_is_suspended_is_named_and_the_screen_stays_usable(served: Served) -> None:
    with served.serve() as serving, served.attach() as terminal:
        terminal.sees("Ask")
        terminal.type("one\r")
        terminal.sees("Echo: one")
        suspend(serving.process)
        try:
            terminal.type("two\r")
            terminal.sees("does not respond")
            terminal.type("a draft")
            terminal.sees("a draft")
            serving.process.send_signal(signal.SIGCONT)
            terminal.sees("Echo: two")
            suspend(serving.process)
            terminal.press("enter")
            terminal.sees("does not respond")
            terminal.press("ctrl+x", "q")
            assert terminal.ends() == 0
        finally:
            serving.process.send_signal(signal.SIGCONT)
