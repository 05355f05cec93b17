"""`opencode-tui web` in a real browser: the TUI of each page, a socket that is cut, a page that is closed."""

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psutil
import pytest

from tests.conftest import isolated_environment
from tests.support.browser.chromium import ABSENT, PROGRAM, Chromium
from tests.support.browser.web import PASSWORD, Screen, WebServer, web_server
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import Repo, make_repo
from tests.support.world.waiting import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.skipif(PROGRAM is None, reason=ABSENT)]


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


def wait_until(is_so: Callable[[], bool], seconds: float = PATIENCE_S) -> float:
    """Return after how many seconds something is so."""
    begin = time.monotonic()
    while not is_so():
        assert time.monotonic() - begin < seconds
        time.sleep(0.02)
    return time.monotonic() - begin


def test_the_page_in_a_browser(tmp_path):
    """One server and one browser for all steps: each of them costs a second of CPU time, and each TUI another."""
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.py": "x = 1\n"})
    with ModelServer() as model, Relay() as relay, Chromium(tmp_path / "browser") as browser:
        settings = {"model": "fake/fake-model", "permission": {"edit": "ask"}, "server": {"cors": [relay.origin]}}
        line = CommandLine(repo.path, isolated_environment(tmp_path / "home"), model.config(), settings)
        with web_server(line) as server:
            relay.port_behind = int(server.url.rstrip("/").rpartition(":")[2])
            screen = server.open(browser, width=1000, height=500, url=relay.origin + "/")
            screen.wait_for("Ask anything")
            [first] = viewers(server)
            a_tui_gets_no_password_that_others_can_read(first)
            a_large_paste_and_a_turn_with_a_permission_and_its_undo(screen, model, repo)
            a_page_whose_socket_was_cut_shows_the_same_screen_again(screen, relay)
            assert viewers(server) == [first]
            a_second_page_has_a_screen_of_its_own_and_ends_with_it(server, relay, browser, screen, first)
            server.process.kill()
            assert line.survivors(grace_s=PATIENCE_S) == []
        assert screen.page.requests and not screen.page.reports
        assert [one for one in screen.page.requests if not one.startswith(relay.origin)] == []


def a_tui_gets_no_password_that_others_can_read(viewer: int) -> None:
    assert PASSWORD not in " ".join(psutil.Process(viewer).cmdline())


def a_large_paste_and_a_turn_with_a_permission_and_its_undo(screen: Screen, model: ModelServer, repo: Repo) -> None:
    text = "".join(f"{number:09} " for number in range(4_000))
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
    screen.wait_for("Redo is available")


def a_page_whose_socket_was_cut_shows_the_same_screen_again(screen: Screen, relay: Relay) -> None:
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


def a_second_page_has_a_screen_of_its_own_and_ends_with_it(
    server: WebServer, relay: Relay, browser: Chromium, screen: Screen, first: int
) -> None:
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
