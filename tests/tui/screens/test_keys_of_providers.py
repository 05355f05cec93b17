"""Keys that are stored while the screen runs."""

from pathlib import Path

import pytest

from opencode_tui.config.auth import AuthStore
from opencode_tui.storage.paths import Paths
from tests.support.terminal.screen import screen


@pytest.mark.slow
async def test_models_of_a_key_that_is_stored_meanwhile_are_listed(
    environ: dict[str, str], paths: Paths, tmp_path: Path
) -> None:
    async with screen(environ, tmp_path) as page:
        await page.press("ctrl+x", "m")
        await page.type("claude")
        await page.sees("No matches")
        await page.press("escape")
        AuthStore(paths=paths).login("anthropic", "sk-of-another-terminal")
        await page.press("ctrl+x", "m")
        await page.type("claude")
        await page.sees("claude-sonnet")
