"""CPU from socket to bus with storage, of 8,000 deltas of 4 characters, against bare httpx + SSE lines + JSON; and its writes.

Each side is a process of its own that warms up with one answer and then counts the CPU time of further ones; the server is another.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment

DELTAS, SIZE = 8_000, 4
ROUNDS = 7
GOAL = 5
MAX_WRITES = 20


async def read_bare(base_url: str, count: int) -> list[float]:
    """Return the CPU seconds of reading so many answers with httpx, splitting lines, parsing JSON, joining the text."""
    import httpx  # each side loads only what it needs

    async def read(client: httpx.AsyncClient) -> str:
        pieces: list[str] = []
        async with client.stream("POST", f"{base_url}/chat/completions", content=b"{}") as response:
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    pieces.append(json.loads(line[6:])["choices"][0]["delta"].get("content", ""))
        return "".join(pieces)

    spent: list[float] = []
    async with httpx.AsyncClient(timeout=60, trust_env=False) as client:
        for _ in range(count + 1):
            begin = time.process_time()
            assert len(await read(client)) == DELTAS * SIZE
            spent.append(time.process_time() - begin)
    return spent[1:]


async def read_ours(base_url: str, count: int, folder: Path) -> tuple[list[float], list[int]]:
    """Return the CPU seconds of so many turns, each with one answer, in an engine with a subscriber; and each part's writes."""
    from opencode_tui.client.local import LocalClient
    from opencode_tui.engine.engine import open_engine
    from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
    from opencode_tui.schema.model import ModelRef
    from opencode_tui.schema.session.part import TextPart
    from tests.benchmarks.bench_one_shot import provider
    from tests.support.faults.file_log import LoggedFiles

    settings = json.dumps({"provider": provider(base_url)})
    environ = {**isolated_environment(folder), "OPENCODE_CONFIG_CONTENT": settings}
    request = PromptInput(model=ModelRef(provider_id="fake", model_id="fake-model"), parts=[TextInput(text="hello")])
    files = LoggedFiles()
    spent: list[float] = []
    writes: list[int] = []
    async with open_engine(environ, files=files) as engine:
        client = LocalClient(engine, await engine.instance(folder))
        with client.events() as events:

            async def listen() -> None:
                async for _ in events:
                    pass

            listener = asyncio.create_task(listen())
            for _ in range(count + 1):
                session = await client.sessions.create(CreateSession())
                begin = time.process_time()
                answer = await client.prompts.prompt(session.id, request)
                spent.append(time.process_time() - begin)
                part = next(part for part in answer.parts if isinstance(part, TextPart))
                assert len(part.text) == len("abc def ghi jkl " * (DELTAS * SIZE // 16)) - 1
                writes.append(len(files.times("write", f"{part.id}.json")))
            listener.cancel()
            await asyncio.wait({listener})
    return spent[1:], writes[1:]


def run_side(side: str, base_url: str, count: int) -> None:
    """Print one side's figures as JSON: milliseconds of CPU, and writes."""
    with tempfile.TemporaryDirectory() as name:
        if side == "bare":
            spent, writes = asyncio.run(read_bare(base_url, count)), [0]
        else:
            spent, writes = asyncio.run(read_ours(base_url, count, Path(name)))
    print(json.dumps({"ms": statistics.median(spent) * 1000, "least": min(spent) * 1000, "writes": max(writes)}))


def measure(a_packet: int, count: int) -> list[Figure]:
    """Run both sides against one server."""
    command = [
        sys.executable,
        "-m",
        "tests.support.provider.canned_server",
        "--deltas",
        str(DELTAS),
        "--a-packet",
        str(a_packet),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        base_url = server.stdout.readline().strip()
        bare, ours = _side("bare", base_url, count), _side("ours", base_url, count)
        server.kill()
    name = f"8,000 deltas, {a_packet} a packet"
    return [
        Figure(f"{name}: CPU, median", ours["ms"], GOAL, floor=bare["ms"]),
        Figure(f"{name}: CPU, least", ours["least"], GOAL, floor=bare["least"]),
        Figure(f"{name}: writes of the part", ours["writes"], MAX_WRITES, ""),
    ]


def _side(side: str, base_url: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.bench_growth", "--side", side, "--url", base_url]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OPENCODE")}
    done = subprocess.run([*command, "--count", str(count)], env=environ, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main() -> int:
    """Measure all shapes and return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", choices=["bare", "ours"])
    parser.add_argument("--url", default="")
    parser.add_argument("--count", type=int, default=0)
    options = parser.parse_args()
    if options.side:
        run_side(options.side, options.url, options.count)
        return 0
    count = rounds(ROUNDS, 3)
    return report([figure for a_packet in (1, 20) for figure in measure(a_packet, count)])


if __name__ == "__main__":
    sys.exit(main())
