"""Sharing from the chat: the first question, the link, its end; and the export of a page."""

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.provider.model_script import Answer
from tests.support.share.server import recorded_server
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


def _copied(pilot: Pilot) -> str:
    return pilot.app.clipboard


async def test_the_first_share_asks_and_then_copies_the_link(environ: dict[str, str], tmp_path: Path) -> None:
    async with recorded_server(tmp_path) as server:
        settings = {"enterprise": {"url": server.url}}
        async with screen(environ, tmp_path, Answer(text="Here it is."), settings=settings) as page:
            await page.send("Show me")
            await page.sees("Here it is.")
            await page.send("/share")
            text = await page.sees(f"Share this session to 127.0.0.1:{server.port}?")
            assert "Everyone who has the link" in text and "Keys, passwords" in text
            await page.answer("escape")
            assert server.attempts == 0
            await page.send("/share")
            await page.sees("Share this session to")
            await page.answer("y")
            await page.sees("link copied")
            await page.sees("  shared")
            await page.press("ctrl+x", "s")
            await page.sees("⇗")
            await page.press("ctrl+x", "s")
            await page.sees_no_more("⇗")
            url = _copied(page.pilot)
            assert "Here it is." in str(await server.data(url))
            await page.send("/share")
            await page.sees("link copied")
            assert _copied(page.pilot) == url
            await page.send("/unshare")
            await page.sees("No longer shared")
            assert await server.data(url) == []
            await page.send("/share")
            await page.sees("link copied")
            assert _copied(page.pilot) != url


async def test_without_a_server_sharing_explains_and_suggests_an_export(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with screen(environ, tmp_path, Answer(text="Here it is.")) as page:
        await page.send("Show me")
        await page.sees("Here it is.")
        await page.send("/share")
        text = await page.sees("Sessions cannot be shared")
        assert "enterprise.url" in text
        await page.answer("e")
        await page.sees("Export this session")
        await page.answer("escape")
        await page.send("/unshare")
        await page.sees("Not shared")


async def test_unshare_without_the_server_says_so(environ: dict[str, str], tmp_path: Path) -> None:
    async with recorded_server(tmp_path) as server:
        settings = {"enterprise": {"url": server.url}}
        async with screen(environ, tmp_path, Answer(text="Here it is."), settings=settings) as page:
            await page.send("Show me")
            await page.sees("Here it is.")
            assert page.session_id is not None
            await page.world.client.sharing.share(page.session_id)
            await page.sees("  shared")
            await server.cut()
            await page.send("/unshare")
            await page.sees("cannot be reached")
            server.is_up = True
            await page.send("/unshare")
            await page.sees("No longer shared")


async def test_an_export_with_the_name_of_a_page_is_a_page(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path, Answer(text="Here it is.")) as page:
        await page.send("Show me")
        await page.sees("Here it is.")
        await page.send("/export page.html")
        await page.sees("Exported")
    written = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert written.startswith("<!doctype html>") and "Here it is." in written


async def test_an_export_without_secrets_says_what_it_left_out(environ: dict[str, str], tmp_path: Path) -> None:
    secret = "ghp_" + "q7Zr2Vx9Kd4Tn8Bs6Wm1Hc5Jp3Lf0Gyabcd"
    async with screen(environ, tmp_path, Answer(text="Here it is.")) as page:
        await page.send(f"the token is {secret}")
        await page.sees("Here it is.")
        for choice, name in (("web page without", "safe.html"), ("markdown without", "safe.md"), ("json", "all.json")):
            await page.press("ctrl+x", "x")
            await page.sees("Export this session as")
            await page.type(choice)
            await page.press("enter")
            await page.sees("Export as ")
            await page.press("ctrl+a", "ctrl+k")
            await page.type(name)
            await page.press("enter")
            await page.sees("left out: 3 keys" if name.startswith("safe") else "all.json")
            await page.sees_no_more("Export as ")
    texts = {name: (tmp_path / name).read_text(encoding="utf-8") for name in ("safe.html", "safe.md", "all.json")}
    assert {name: secret in text for name, text in texts.items()} == {
        "safe.html": False,
        "safe.md": False,
        "all.json": True,
    }
    assert json.loads(texts["all.json"])["messages"][1]["parts"][1]["text"] == "Here it is."
