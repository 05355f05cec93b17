"""CPU that a direct provider costs for each chunk, compared with bare httpx + SSE + JSON in the same run.

    python -m tests.benchmarks.bench_provider

The server is a process of its own. Two shapes: deltas as fast as they come (many in one packet), and one delta a packet. The
goal is 3 times the floor (with bus and store it is 5); exit code 1 when it is missed.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from opencode_tui.engine.provider.formats import ProviderFormat, find_format
from opencode_tui.engine.provider.http import DirectLlm
from opencode_tui.engine.provider.llm import LlmRequest, TextBlock, TextDelta, UserEntry
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.schema.model import Model
from opencode_tui.schema.provider_formats import FORMATS
from tests.benchmarks.comparison import Figure, report

GOAL = 3.0
ROUNDS = 5
SHAPES = {"flat out": ("<<words 1200>>", 1200), "one a packet": ("<<words 600>> <<slow 1>>", 600)}
Ask = Callable[[LlmRequest], Awaitable[int]]


def request_for(prompt: str) -> LlmRequest:
    return LlmRequest(
        model=Model(provider_id="fake", model_id="fake-model"), system=(), messages=(UserEntry((TextBlock(prompt),)),)
    )


def bare(url: str, used: ProviderFormat, client: httpx.AsyncClient) -> Ask:
    """Return the floor: httpx's bytes, split into events, each parsed, the text taken out."""

    async def ask(request: LlmRequest) -> int:
        count, rest = 0, b""
        async with client.stream("POST", url + used.path(request), content=used.encode(request)) as response:
            async for chunk in response.aiter_bytes():
                *events, rest = (rest + chunk).replace(b"\r\n\r\n", b"\n\n").split(b"\n\n")
                for event in events:
                    data = event[event.index(b"data: ") + 6 :]
                    if data == b"[DONE]":
                        continue
                    parsed = json.loads(data)
                    count += _has_text(parsed)
        return count

    return ask


def _has_text(parsed: dict[str, Any]) -> bool:
    """Return whether an event of any of the formats carries a piece of text."""
    if choices := parsed.get("choices"):
        return bool(choices[0]["delta"].get("content"))
    if candidates := parsed.get("candidates"):
        return bool(candidates[0]["content"]["parts"][0].get("text"))
    delta = parsed.get("delta") or {}
    return bool(delta) if isinstance(delta, str) else bool(delta.get("text"))


def ours(llm: DirectLlm) -> Ask:
    """Return the adapter with all it does."""

    async def ask(request: LlmRequest) -> int:
        return sum([isinstance(event, TextDelta) async for batch in llm.stream(request) for event in batch])

    return ask


async def cost(ask: Ask, prompt: str, expected: int) -> float:
    """Return the least CPU seconds that one answer took."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        assert await ask(request_for(prompt)) == expected
        best = min(best, time.process_time() - begin)
    return best


async def measure(base_url: str) -> list[Figure]:
    figures: list[Figure] = []
    for row in FORMATS:
        name, used = row.name, find_format(row.name)
        url = f"{base_url}/{name}/v1"
        llm = DirectLlm(Endpoint("fake", url, api_key="k"), used)
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            for shape, (prompt, count) in SHAPES.items():
                await cost(ours(llm), "<<words 50>>", 50)
                floor = await cost(bare(url, used, client), prompt, count)
                spent = await cost(ours(llm), prompt, count)
                per_chunk = 1e6 / count
                figures.append(Figure(f"{name}, {shape}", spent * per_chunk, GOAL, "us", floor * per_chunk))
        await llm.close()
    return figures


def main() -> int:
    command = [sys.executable, "-m", "tests.support.provider.model_server", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        printed = ""
        while not printed.endswith("\n}\n"):
            printed += server.stdout.readline()
        base_url = json.loads(printed)["provider"]["fake"]["options"]["baseURL"].removesuffix("/openai/v1")
        try:
            return report(asyncio.run(measure(base_url)))
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main())
