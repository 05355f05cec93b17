"""The page of installed plugins, with the real engine."""

from pathlib import Path

import pytest

from opencode_tui.config.installed.store import InstalledStore
from opencode_tui.storage.paths import find_paths
from tests.support.terminal.screen import screen
from tests.support.world.plugins import SKILL, install, servers, write_plugin


@pytest.mark.slow
async def test_plugins_are_listed_with_what_they_bring_and_switched_off_and_on(
    environ: dict[str, str], tmp_path: Path
) -> None:
    root = tmp_path / "plugin"
    server = servers(api={"type": "streamable-http", "url": "https://api.example/mcp"})
    write_plugin(root, {"skills/one/SKILL.md": SKILL.format("one"), "mcp.json": server}, version="1.0")
    install(root, environ)
    store = InstalledStore(paths=find_paths(environ))
    async with screen(environ, tmp_path, size=(140, 30)) as page:
        await page.send("/plugins")
        text = await page.sees("acme 1.0")
        assert "1 skill" in text and "1 server" in text, text
        assert "x switch off" in text
        assert "skill one: Does one." in text and "https://api.example/mcp" in text
        await page.press("x")
        text = await page.sees("x switch on")
        assert "This counts from the next start." in text and not store.is_on("acme")
        await page.press("x")
        await page.sees("x switch off")
        assert store.is_on("acme")
        await page.press("escape")
        await page.sees("Ask anything")


async def test_without_plugins_the_page_says_how_to_install_one(environ: dict[str, str], tmp_path: Path) -> None:
    async with screen(environ, tmp_path) as page:
        await page.send("/plugins")
        await page.sees("opencode-tui plugin install")
