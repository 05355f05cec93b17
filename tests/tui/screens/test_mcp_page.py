"""The page of MCP servers and their resources in the prompt, with the real engine and the small server of the tests."""

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.engine.mcp.conftest import COMMAND
from tests.engine.mcp.sign_in_world import browser, oauth_server
from tests.support.provider.model_script import Answer
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


def servers(**variables: dict[str, str]) -> dict[str, Any]:
    entries = {name: {"type": "local", "command": COMMAND, "environment": own} for name, own in variables.items()}
    return {"mcp": entries}


async def test_servers_are_listed_started_and_switched_off(environ: dict[str, str], tmp_path: Path) -> None:
    broken = {"CRASH_AT_START": "3", "NOISE": "no such database"}
    async with screen(environ, tmp_path, settings=servers(notes={}, broken=broken), size=(150, 30)) as page:
        await page.send("/mcp")
        await page.sees("MCP servers")
        await page.press("enter")
        text = await page.sees("running")
        assert "12 tools" in text and "1 prompt" in text and "1 resource" in text
        assert "r restart" in text and "enter start" not in text
        await page.sees("Repeats a text.")
        await page.press("down", "enter")
        text = await page.sees("no such database")
        assert "running" in text
        await page.sees("x switch off")  # while a server starts or stops no key does anything
        await page.press("up", "x")
        await page.sees_no_more("running")
        await page.sees("notes  off")
        await page.press("escape")
        await page.sees("Ask anything")


async def test_without_servers_the_page_says_how_to_add_one(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path) as page:
        await page.send("/mcps")
        await page.sees("a add a server")


async def test_a_resource_is_completed_and_its_content_is_sent(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, Answer(text="read"), settings=servers(notes={})) as page:
        await page.send("/mcp")
        await page.sees("MCP servers")
        await page.press("enter")
        await page.sees("running")
        await page.press("escape")
        await page.type("see @not")
        await page.sees("notes:test://note")
        await page.press("tab")
        await page.sees("see @notes:test://note")
        await page.press("enter")
        await page.sees("Done")
        assert "the note of the server" in page.world.sent()


async def test_a_key_signs_in_with_the_browser(environ: dict[str, str], tmp_path: Path) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with oauth_server() as oauth:
        entry = {"type": "remote", "url": oauth.mcp, "oauth": {"callbackPort": port}}
        with_browser = {**environ, "BROWSER": browser(tmp_path)}
        async with screen(with_browser, tmp_path, settings={"mcp": {"tickets": entry}}, size=(150, 30)) as page:
            await page.send("/mcp")
            await page.sees("MCP servers")
            if "enter start" in page.text():  # it has not been asked for its lists yet
                await page.press("enter")
            await page.sees("enter sign in")
            await page.press("enter")
            assert "enter sign in" not in await page.sees("running")
