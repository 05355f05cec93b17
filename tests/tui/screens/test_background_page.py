"""Background commands on the screen: the sidebar, the status line and their page, with the real engine."""

import json
from pathlib import Path

import pytest

from tests.support.terminal.screen import screen
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


START = {"command": "seq 20000; echo listening on 5173; sleep 4101", "description": "x", "background": True}


async def test_a_command_is_listed_read_and_stopped(environ: dict[str, str], tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "project")
    repo.commit("begin", **{"a.py": "x = 1\n"})
    async with screen(environ, repo.path, size=(140, 34)) as page:
        await page.send("/jobs")
        await page.sees("No background commands")
        await page.send(f"go <<tool bash {json.dumps(START)}>>")
        await page.sees("1 running")
        await page.resize(110, 34)
        await page.sees("1 in the background")
        await page.send("/jobs")
        await page.sees("Background commands")
        await page.sees("listening on 5173")
        await page.press("enter")
        text = await page.sees("x stop")
        assert "enter output" not in text
        await page.press("home")
        await page.sees(" KiB left out; all of it is in")
        await page.press("end")
        await page.sees("listening on 5173")
        await page.press("x")
        text = await page.sees("stopped")
        assert "x stop" not in text
        await page.press("escape")
        await page.sees("enter output")
        await page.press("escape")
        await page.sees("Ask anything")
