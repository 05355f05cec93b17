"""Headless Chromium, driven over a pipe: what a page asks for, what it reports, what its script sees.

with Chromium(folder) as browser:
    page = browser.open("file:///…")
    assert page.requests == ["file:///…"] and page.reports == []
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.world.waiting import PATIENCE_S

PROGRAM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
ABSENT = "no Chromium on this machine"

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip


class Chromium:
    """A browser with a profile of its own, as long as the context lasts."""

    def __init__(self, folder: Path) -> None:
        assert PROGRAM is not None, ABSENT
        read_in, self._out = os.pipe()
        self._in, write_out = os.pipe()

        def place() -> None:
            os.dup2(read_in, 3)
            os.dup2(write_out, 4)

        command = [PROGRAM, *_FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
        # the two ends may be 3 and 4 themselves: moved out of the way first
        read_in, write_out = os.dup(_above(read_in)), os.dup(_above(write_out))
        os.set_inheritable(read_in, True)
        os.set_inheritable(write_out, True)
        self._process = subprocess.Popen(
            command, preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(read_in)
        os.close(write_out)
        self._buffer = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def open(self, address: str, *, width: int = 1000, height: int = 1200, dark: bool = False) -> "Page":
        """Return a page after it has loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, target)
        for domain in ("Page", "Network", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        page.call("Emulation.setEmulatedMedia", features=media)
        page.call("Page.navigate", url=address)
        page.wait(lambda: page.is_loaded)
        return page

    def call(self, method: str, session: str | None = None, **parameters: object) -> dict[str, Any]:
        """Return the answer to a command."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == number:
                if "navigated" in answer.get("error", {}).get("message", ""):
                    raise Navigated
                assert "error" not in answer, answer
                return answer["result"]

    def read(self) -> dict[str, Any]:
        """Return the next message, after its page has seen it."""
        while b"\0" not in self._buffer:
            data = os.read(self._in, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        page = self._pages.get(message.get("sessionId", ""))
        if page is not None and "method" in message:
            page.see(message["method"], message["params"])
        return message


class Navigated(Exception):
    """The page went to another address before it answered."""


@dataclass
class Page:
    """One page: `requests` are all addresses that it asked for, `reports` what it wrote to the console or failed at."""

    browser: Chromium
    session: str
    target: str
    requests: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    is_loaded: bool = False

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def see(self, method: str, given: dict[str, Any]) -> None:
        """Record what the browser reports about the page."""
        match method:
            case "Network.requestWillBeSent":
                self.requests.append(given["request"]["url"])
            case "Runtime.consoleAPICalled":
                self.reports.append(f"{given['type']}: {given['args']}")
            case "Runtime.exceptionThrown":
                self.reports.append(str(given["exceptionDetails"]))
            case "Log.entryAdded":
                self.reports.append(given["entry"]["text"])
            case "Page.javascriptDialogOpening":
                self.reports.append(f"dialog: {given}")
            case "Page.loadEventFired":
                self.is_loaded = True
            case _:
                pass

    def value(self, expression: str) -> Any:
        """Return the value of an expression of JavaScript, which is evaluated from outside of the page's policy."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, is_done: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        """Read what happens until something is so."""
        end = time.monotonic() + seconds
        while not self._holds(is_done):
            assert time.monotonic() < end, f"still not so; {self.requests} {self.reports}"
            time.sleep(0.02)

    def _holds(self, is_done: Callable[[], bool]) -> bool:
        """Return whether something is so after reading what has happened; not while the page changes to another address."""
        try:
            self.value("1")
            return is_done()
        except Navigated:
            return False

    def picture(self, path: Path) -> None:
        """Write a picture of what is seen."""
        import base64

        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


def _above(descriptor: int) -> int:
    """Return a descriptor for the same pipe above 10, and close the given one."""
    import fcntl

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
