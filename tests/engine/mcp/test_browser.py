"""The browser of a sign-in: started with the address and little else, and not ended with this program."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.mcp.browser import open_browser, start_browser
from tests.support.world.waiting import until

URL = "https://example.com/authorize?a=1&b=$HOME;c"


@pytest.fixture
def program(tmp_path: Path) -> Any:
    """Return a function that writes a program and returns its path."""

    def write(script: str, name: str = "browser") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return write


@pytest.mark.parametrize(
    ("variables", "arguments"),
    [
        ({"BROWSER": "PROGRAM"}, URL),
        ({"BROWSER": "PROGRAM:other"}, URL),
        ({"BROWSER": "PROGRAM --new 'a b'"}, f"--new a b {URL}"),
        ({"BROWSER": "PROGRAM --url=%s --new"}, f"--url={URL} --new"),
        ({"DISPLAY": ":0"}, URL),
        ({"WAYLAND_DISPLAY": "wayland-0"}, URL),
    ],
)
async def test_a_browser_gets_the_address_and_no_key(
    program: Any, tmp_path: Path, environ: dict[str, str], variables: dict[str, str], arguments: str
) -> None:
    seen = tmp_path / "seen"
    path = program(f'echo "$*" > {seen}; env >> {seen}', "bin/xdg-open")
    given = {name: value.replace("PROGRAM", str(path)) for name, value in variables.items()}
    own = {**environ, "PATH": f"{path.parent}:/usr/bin:/bin", "MY_API_KEY": "canary", **given}
    assert await open_browser(URL, own, Path("/nowhere"))
    shown = seen.read_text().splitlines()
    assert shown[0] == arguments
    assert "canary" not in "".join(shown)


@pytest.mark.parametrize("browser", ["", "  ", "/nowhere/browser", "false", "'open quote", "/"])
async def test_a_browser_that_cannot_be_started_is_no_error(environ: dict[str, str], browser: str) -> None:
    assert not await open_browser(URL, {**environ, "BROWSER": browser, "DISPLAY": ""}, Path("/nowhere"))


async def test_a_program_of_the_project_is_no_browser(program: Any, tmp_path: Path, environ: dict[str, str]) -> None:
    seen = tmp_path / "seen"
    folder = program(f"touch {seen}", "project/bin/xdg-open").parent
    (tmp_path / "project/.git").mkdir()
    given = {**environ, "PATH": f"{folder}:.", "DISPLAY": ":0"}
    assert not await open_browser(URL, given, tmp_path / "project")
    assert not seen.exists()


@pytest.mark.parametrize("status", [0, 1, 3, 4])
async def test_a_browser_that_fails_long_after_its_start_has_failed(
    program: Any, tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """As `xdg-open` on a slow machine, whose statuses these are."""
    monkeypatch.setattr("opencode_tui.engine.mcp.browser._START_S", 0.0)
    started, left = tmp_path / "started", tmp_path / "left"
    path = program(f"touch {started}; until [ -e {left} ]; do sleep 0.05; done; exit {status}")
    opening = asyncio.create_task(open_browser(URL, {**environ, "BROWSER": str(path)}, Path("/nowhere")))
    await until(started.exists)
    assert not opening.done()
    left.touch()
    assert await opening == (status == 0)


@pytest.mark.slow
async def test_a_browser_that_stays_open_is_not_ended(program: Any, tmp_path: Path, environ: dict[str, str]) -> None:
    started, seen, closed = tmp_path / "started", tmp_path / "seen", tmp_path / "closed"
    path = program(f"touch {started}; until [ -e {closed} ]; do sleep 0.05; done; touch {seen}")
    opening = asyncio.create_task(open_browser(URL, {**environ, "BROWSER": str(path)}, Path("/nowhere")))
    await until(started.exists)
    opening.cancel()
    await asyncio.wait({opening})
    assert opening.cancelled()
    del opening
    gc.collect()
    assert not seen.exists()
    closed.touch()
    await until(seen.exists)


async def test_a_page_is_opened_without_waiting_for_the_end_of_the_browser(
    program: Any, tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.engine.mcp.browser._START_S", 0.0)
    closed = tmp_path / "closed"
    path = program(f"until [ -e {closed} ]; do sleep 0.05; done")
    assert await asyncio.to_thread(start_browser, URL, {**environ, "BROWSER": str(path)}, Path("/nowhere"))
    closed.touch()
    assert not await asyncio.to_thread(start_browser, URL, {**environ, "BROWSER": "/nowhere"}, Path("/nowhere"))
