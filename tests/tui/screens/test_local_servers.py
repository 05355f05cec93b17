"""Servers of models on this machine are looked for at the first start without a key, and when a list of models is opened."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.provider.json_server import serve_json
from tests.support.provider.local_fakes import OLLAMA
from tests.support.terminal.screen import screen

NO_KEY: dict[str, Any] = {"model": "demo/tour", "disabled_providers": ["lmstudio", "llamacpp", "vllm"]}
ASKS = "GET /api/tags"


pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("patience_with_local_servers")]


async def test_only_the_first_start_without_a_key_looks_for_them_and_the_list_of_models(
    environ: dict[str, str], folder: Path
) -> None:
    with serve_json(OLLAMA) as server:
        variables = {**environ, "OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        del variables["OPENCODE_DISABLE_LOCAL_MODELS"]
        async with screen(variables, folder, settings=NO_KEY) as page:
            text = await page.sees("Ollama is running: 4 models")
            assert "finds Ollama" not in text and server.asked.count(ASKS) == 1
        async with screen(variables, folder, settings=NO_KEY) as page:
            text = await page.sees("finds Ollama, LM Studio")
            assert "is running" not in text and server.asked.count(ASKS) == 1
            await page.press("ctrl+x", "m")
            await page.type("qwen3:8b")
            await page.sees("1 of ")
            await page.press("escape")
            text = await page.sees("Ollama is running: 4 models")
            assert "finds Ollama" not in text and server.asked.count(ASKS) == 2


async def test_a_start_with_a_key_and_one_where_it_is_off_ask_nobody(environ: dict[str, str], folder: Path) -> None:
    with serve_json(OLLAMA) as server:
        variables = {**environ, "OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        del variables["OPENCODE_DISABLE_LOCAL_MODELS"]
        async with screen(variables, folder) as page:
            await page.sees("Type a request")
            await page.sees("sandbox")
        for _ in range(2):
            async with screen(variables, folder, settings={**NO_KEY, "local_models": False}) as page:
                await page.sees("Add a key")
                text = await page.sees("sandbox")
                assert "finds Ollama" not in text
        assert server.asked == []
