"""`opencode-tui web` in a folder, and its page in a browser: what the terminal of the page shows, its keys.

with web_server(line) as server, Chromium(folder) as browser:
    page = server.open(browser)
    page.wait_for("sandbox")
    page.type("hello\\r")
"""

import json
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from tests.support.browser.chromium import Chromium, Navigated, Page
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.waiting import PATIENCE_S

PASSWORD = "correct horse 77"

_KEYS = {
    "\r": ("Enter", "Enter", 13, "\r"),
    "\x1b": ("Escape", "Escape", 27, ""),
    "\t": ("Tab", "Tab", 9, ""),
}
_CTRL = 2


@dataclass(frozen=True, slots=True)
class Screen:
    """A page with the terminal."""

    page: Page

    @property
    def text(self) -> str:
        """What the terminal shows, one line for each row."""
        script = "[...document.querySelectorAll('.xterm-rows > div')].map(one => one.textContent).join('\\n')"
        return (self.page.value(script) or "").replace("\xa0", " ")

    @property
    def status(self) -> str:
        """What the page says over the terminal."""
        return self.page.value("(one => one.hidden ? '' : one.textContent)(document.getElementById('status'))")

    def wait_for(self, words: str, seconds: float = PATIENCE_S) -> str:
        """Return what is shown when these words are."""
        end = time.monotonic() + seconds
        while words not in (shown := self.text):
            assert time.monotonic() < end, f"{words!r} is not on the screen, {self.status!r}:\n{shown}"
            time.sleep(0.2)
        return shown

    def type(self, text: str) -> None:
        """Press the key of each character; those of a control character are pressed with ctrl."""
        for one in text:
            if one in _KEYS:
                name, code, number, typed = _KEYS[one]
                self.press(name, code, number, typed)
            elif one < " ":
                letter = chr(ord(one) + 96)
                self.press(letter, f"Key{letter.upper()}", ord(letter.upper()), modifiers=_CTRL)
            else:
                self.press(one, "", ord(one.upper()) if one.isalnum() else 0, one)

    def press(self, key: str, code: str, number: int, typed: str = "", modifiers: int = 0) -> None:
        """Press one key."""
        given: dict[str, Any] = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        text = {"text": typed} if typed else {}
        self.page.call("Input.dispatchKeyEvent", type="keyDown", **given, **text)
        self.page.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def resize(self, width: int, height: int) -> None:
        """Change the size of the window."""
        self.page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )


@dataclass(frozen=True, slots=True)
class WebServer:
    """A running server."""

    process: "subprocess.Popen[bytes]"
    url: str

    def open(self, browser: Chromium, *, width: int = 1280, height: int = 800, url: str | None = None) -> Screen:
        """Return a page with the terminal, after a login where the browser has none."""
        page = browser.open(url or self.url, width=width, height=height, dark=True)
        ready = "document.querySelector('#password, .xterm-rows') !== null"
        page.wait(lambda: page.value(ready))
        if page.value("document.getElementById('password') !== null"):
            script = f"password.value = {json.dumps(PASSWORD)}; document.querySelector('button').click()"
            with suppress(Navigated):
                page.value(script)
            page.wait(lambda: page.value("document.querySelector('.xterm-rows') !== null"))
        return Screen(page)


@contextmanager
def web_server(line: CommandLine, *arguments: str) -> Generator[WebServer]:
    """Start `web` on a free port, with `PASSWORD`."""
    process = CommandLine(
        line.folder,
        {**line.environ, "OPENCODE_SERVER_PASSWORD": PASSWORD},
        line.provider,
        line.settings,
        marker=line.marker,
    ).start("web", "--port", "0", *arguments)
    try:
        assert process.stdout is not None
        said = process.stdout.readline().decode()
        assert "listening on http://" in said, said
        yield WebServer(process, said.split()[-1])
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            kill_session(process)
