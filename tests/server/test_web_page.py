"""`opencode-tui web` in a real browser: the TUI of each page, a socket that is cut, a page that is closed."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil
import pytest

from tests.conftest import isolated_environment
from tests.support.browser.chromium import ABSENT, PROGRAM, Chromium
from tests.support.browser.web import Screen, WebServer, web_server
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import Repo, make_repo

pytestmark = [pytest.mark.skipif(PROGRAM is None, reason=ABSENT), pytest.mark.xdist_group("web")]


@pytest.fixture(scope="module")
def relay() -> Iterator["Relay"]:
    with Relay() as relay:
        yield relay


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = make_repo(tmp_path_factory.mktemp("web") / "project")
    repo.commit("begin", **{"a.py": "x = 1\n"})
    return repo


@pytest.fixture(scope="module")
def line(repo: Repo, model: ModelServer, relay: "Relay", tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    environ = isolated_environment(tmp_path_factory.mktemp("home"))
    rules = {"edit": "ask"}
    settings = {"model": "fake/fake-model", "permission": rules, "server": {"cors": [relay.origin]}}
    return CommandLine(repo.path, environ, model.config(), settings)


@pytest.fixture(scope="module")
def server(line: CommandLine, relay: "Relay") -> Iterator[WebServer]:
    with web_server(line) as server:
        relay.port_behind = int(server.url.rstrip("/").rpartition(":")[2])
        yield server


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


class Relay:
    """A proxy in front of the server that passes bytes on, and can cut all connections."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.origin = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.port_behind = 0
        self._open: list[socket.socket] = []

    def __enter__(self) -> "Relay":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """Reset all connections."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                behind = socket.create_connection(("127.0.0.1", self.port_behind))
                self._open += [client, behind]
                for one, other in ((client, behind), (behind, client)):
                    threading.Thread(target=_copy, args=(one, other), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def viewers(server: WebServer) -> list[int]:
    """Return the process IDs of the TUIs that the server started."""
    return [one.pid for one in psutil.Process(server.process.pid).children() if "attach" in _arguments(one)]


def _arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def wait_until(is_so: Callable[[], bool], seconds: float = 20) -> float:
    """Return after how many seconds something is so."""
    begin = time.monotonic()
    while not is_so():
        assert time.monotonic() - begin < seconds
        time.sleep(0.02)
    return time.monotonic() - begin


@pytest.fixture(scope="module")
def screen(server: WebServer, browser: Chromium, relay: "Relay") -> Screen:
    """A page that reaches the server through the relay."""
    screen = server.open(browser, width=1000, height=500, url=relay.origin + "/")
    screen.wait_for("Ask anything")
    return screen


def test_a_large_paste_and_a_turn_with_a_permission_and_its_undo(screen, relay, model, repo):
    text = "".join(f"{number:09} " for number in range(10_000))
    call = json.dumps({"filePath": "new.txt", "content": "one"})
    screen.page.value(
        "(text => { const data = new DataTransfer(); data.setData('text/plain', text);"
        " document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste',"
        f" {{ clipboardData: data, bubbles: true }})) }})({json.dumps(text)})"
    )
    screen.wait_for("asted")
    screen.type("\r")
    wait_until(lambda: any(text.strip() in json.dumps(one.body) for one in model.requests))
    screen.wait_for("Done")
    screen.type(f"write <<tool write {call}>>\r")
    screen.wait_for("y edit once")
    time.sleep(1)  # a question accepts no key before it can be read
    screen.type("y")
    screen.wait_for("Done: write")
    assert (repo.path / "new.txt").read_text() == "one"
    assert "000000000" in screen.page.value("document.title")
    screen.type("\x18u")
    screen.wait_for("y undo both")
    time.sleep(1)
    screen.type("y")
    wait_until(lambda: not (repo.path / "new.txt").exists())
    screen.wait_for("Ask anything")
    assert screen.page.requests and not screen.page.reports
    assert [one for one in screen.page.requests if not one.startswith(relay.origin)] == []


def test_a_page_whose_socket_was_cut_shows_the_same_screen_again(screen, server, relay):
    before = viewers(server)
    screen.type("a draft that stays")
    screen.wait_for("a draft that stays")
    screen.type("\x1a")
    screen.wait_for("Suspend needs a shell")
    relay.cut()
    screen.page.wait(lambda: "lost" in screen.status)
    screen.page.wait(lambda: screen.status == "")
    screen.type(" here")
    screen.wait_for("a draft that stays here")
    screen.wait_for("sandbox")
    screen.page.is_loaded = False
    screen.page.call("Page.reload")
    screen.page.wait(lambda: screen.page.is_loaded)
    screen.wait_for("a draft that stays here")
    assert len(before) == 1 and viewers(server) == before


def test_a_second_page_has_a_screen_of_its_own_that_follows_its_window_and_ends_with_it(screen, server, relay, browser):
    [first] = viewers(server)
    second = server.open(browser, width=390, height=844, url=relay.origin + "/")
    second.wait_for("Ask anything")
    [mine] = [one for one in viewers(server) if one != first]
    rows = second.text.count("\n")
    second.resize(360, 600)
    second.page.wait(lambda: second.text.count("\n") < rows)
    second.page.value("document.querySelector('[data-key=ctrl]').click()")
    second.type("p")
    second.wait_for("What do you want to do")
    assert "What do you want to do" not in screen.text
    browser.call("Target.closeTarget", targetId=second.page.target)
    wait_until(lambda: not psutil.pid_exists(mine))
    assert viewers(server) == [first]
