"""The page of language servers, with the real engine and a scripted server."""

import asyncio
from pathlib import Path

import pytest

from tests.support.lsp.world import settings
from tests.support.terminal.screen import screen
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


async def test_a_language_server_is_listed_and_restarted(environ: dict[str, str], folder: Path) -> None:
    log = folder.parent / "server.log"
    environ = {name: value for name, value in environ.items() if name != "OPENCODE_DISABLE_LSP"}
    (folder / "a.bug").write_text("fine\n")
    async with screen(environ, folder, settings=settings(log)) as page:
        await page.send("/lsp")
        text = await page.sees("Language servers")
        assert "not started" in text and "r restart" not in text
        await page.press("escape")
        await page.send('go <<tool read {"filePath": "a.bug"}>>')
        await page.sees("Done")
        await page.send("/lsp")
        assert "1 running" in await page.sees("1 file")
        await page.press("r")
        async with asyncio.timeout(PATIENCE_S):
            while log.read_text().count(" initialize\n") < 2:
                await asyncio.sleep(0.05)
        await page.press("escape")
        await page.sees("Ask anything")
