"""What MCP servers cost: the way to the first request with servers that do not work, a killed server, the exit, bytes of a request.

A frozen server, one that crashes at its start and one that refuses without a sign-in are configured, without cached lists; runs
with and without them take turns. Five servers with 87 tools in all are behind a search.
"""

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil

from opencode_tui.engine.mcp.lists import McpError
from opencode_tui.engine.mcp.servers import McpServers
from tests.benchmarks.bench_one_shot import provider
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.engine.mcp.conftest import COMMAND, World
from tests.support.provider.canned_server import CannedServer, answer_packets
from tests.support.provider.model_script import Answer
from tests.support.world.cli import CommandLine
from tests.support.world.engine import opened
from tests.support.world.repo import make_repo

ROUNDS = 15
FIRST_REQUEST_GOAL = 1.05
ERROR_GOAL_MS = 1_000
EXIT_GOAL_MS = 100
BYTES_GOAL = 3_072
SIZES = {"one": 1, "two": 2, "three": 4, "four": 8, "five": 12}
"""Further tools of each server, next to its 12: 87 in all."""


class _Refusing(BaseHTTPRequestHandler):
    """Answers 401 to everything."""

    def do_POST(self) -> None:
        self.send_response(401)
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""


def local(**environment: str) -> dict[str, Any]:
    return {"type": "local", "command": COMMAND, "environment": environment}


def first_requests(folder: Path, count: int) -> tuple[float, float]:
    """Return the median milliseconds from exec to the first request without servers, and with three that do not work."""
    refusing = ThreadingHTTPServer(("127.0.0.1", 0), _Refusing)
    threading.Thread(target=refusing.serve_forever, daemon=True).start()
    remote = {"type": "remote", "url": f"http://127.0.0.1:{refusing.server_address[1]}/mcp"}
    broken = {"frozen": local(FREEZE="all"), "crashing": local(CRASH_AT_START="1"), "refusing": remote}
    taken: dict[bool, list[float]] = {False: [], True: []}
    with CannedServer(answer_packets(20)) as server:
        (folder / "home").mkdir()
        repo = make_repo(folder / "project")
        repo.commit(**{"a.py": "x = 1\n"})
        line = CommandLine(repo.path, isolated_environment(folder / "home"), provider=provider(server.base_url))
        for number in range(2 * (count + 1)):
            has_servers = bool(number % 2)
            content = json.loads(line.variables().get("OPENCODE_CONFIG_CONTENT", "{}"))
            environ = {
                **line.variables(),
                "OPENCODE_CONFIG_CONTENT": json.dumps({**content, "mcp": broken if has_servers else {}}),
            }
            begin = time.monotonic()
            command = [sys.executable, "-m", "opencode_tui", *line.turn_arguments("hello")]
            subprocess.run(
                command, cwd=line.folder, env=environ, check=True, stdin=subprocess.DEVNULL, capture_output=True
            )
            if number > 1:
                taken[has_servers].append((server.arrived[-1] - begin) * 1000)
    refusing.shutdown()
    return statistics.median(taken[False]), statistics.median(taken[True])


async def killed_and_closed(folder: Path) -> tuple[float, float, int]:
    """Return the milliseconds to the error of a call whose server is killed, those of closing five, and the processes left."""
    world = World(folder, dict(os.environ))
    async with world.servers(timeout=None, command=COMMAND, **{name: dict[str, str]() for name in SIZES}) as servers:
        await asyncio.gather(*(servers.connect(name) for name in servers.names))
        pids = [pid for name in servers.names if (pid := pid_of(servers, name))]
        call = asyncio.create_task(servers.call("one", "slow", {"seconds": 60, "steps": 1}))
        await asyncio.sleep(0.3)
        began = time.monotonic()
        os.kill(pids[0], signal.SIGKILL)
        with suppress(McpError):
            await call
        failed = (time.monotonic() - began) * 1000
        await servers.call("one", "echo", {"text": "again"})
        pids.append(pid_of(servers, "one"))
        began = time.monotonic()
        await servers.close()
        closed = (time.monotonic() - began) * 1000
    left = [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
    return failed, closed, len(left)


def pid_of(servers: McpServers, name: str) -> int:
    process = servers.get(name)._process
    return 0 if process is None else process.pid


async def added_bytes(folder: Path) -> tuple[int, int]:
    """Return the bytes that five servers add to the first request, and the number of their tools."""
    home = folder / "home"
    home.mkdir()
    sizes: list[int] = []
    tools = 0
    for entries in ({}, {name: local(TOOLS=str(count)) for name, count in SIZES.items()}):
        for is_known in (False, True):
            async with opened(
                isolated_environment(home), folder, Answer(text="ok"), settings={"mcp": entries}
            ) as world:
                if not is_known:
                    tools = sum([(await world.client.mcp.connect(name)).tools for name in entries])
                else:
                    await world.prompt("hello")
                    sizes.append(len(json.dumps(world.server.bodies[0], separators=(",", ":"))))
    return sizes[1] - sizes[0], tools


def main() -> int:
    """Measure and return the exit code."""
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as two,
        tempfile.TemporaryDirectory() as three,
    ):
        without, with_servers = first_requests(Path(one), rounds(ROUNDS, 5))
        failed, closed, left = asyncio.run(killed_and_closed(Path(two)))
        added, tools = asyncio.run(added_bytes(Path(three)))
    return report(
        [
            Figure("exec to first request with three broken servers", with_servers, FIRST_REQUEST_GOAL, floor=without),
            Figure("kill -9 of a server in a call to its error", failed, ERROR_GOAL_MS),
            Figure("close of five servers", closed, EXIT_GOAL_MS),
            Figure("processes left", left, 0, ""),
            Figure(f"bytes that five servers with {tools} tools add", added, BYTES_GOAL, "B"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
