"""kill -9 of the server at random moments of turns, 200 times: a client that asks for events `after` its last one misses none.

Each time a client follows a session's stream until the server dies, and goes on at the next server where it was. At the end what it
got must be every event once, in the order of the numbers, as the session's history has them.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.opencode2.client import Newer, kinds, numbers
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.repo import make_repo
from tests.support.world.server import PASSWORD
from tests.support.world.waiting import PATIENCE_S

KILLS = 20 if os.environ.get("BENCHMARK_QUICK") else 200
LONGEST_S = 3.0
PROMPTS = (
    '<<reason why>> <<tool read {"path": "a.py"}>> <<slow 5>> <<words 30>>',
    '<<tool bash {"command": "echo hi"}>> <<tool read {"path": "none"}>>',
    "<<slow 10>> <<words 60>>",
)


def listen(process: "subprocess.Popen[bytes]") -> str:
    """Wait until the server listens, and return its address."""
    assert process.stdout is not None
    return process.stdout.readline().decode().split()[-1]


async def follow(
    url: str, session_id: str | None, after: int, chance: random.Random, kill: Any
) -> tuple[str, list[dict[str, Any]]]:
    """Follow a session from a number on, send prompts, and kill the server meanwhile; return what came."""
    got: list[dict[str, Any]] = []
    async with httpx.AsyncClient(
        base_url=url, auth=("opencode", PASSWORD), trust_env=False, timeout=PATIENCE_S
    ) as http:
        newer = Newer(http)
        session_id = session_id or await newer.session()

        async def read() -> None:
            async with newer.events(f"/api/session/{session_id}/event", after=after) as events:
                events.seen = got
                while True:
                    await events.read()

        async def send() -> None:
            for text in chance.sample(PROMPTS, len(PROMPTS)):
                await newer.say(session_id, text)

        tasks = [asyncio.create_task(read()), asyncio.create_task(send())]
        await asyncio.sleep(chance.uniform(0, LONGEST_S))
        kill()
        await asyncio.wait(tasks, timeout=PATIENCE_S)
        for task in tasks:
            task.cancel()
            with suppress(httpx.HTTPError, EOFError, asyncio.CancelledError):
                await task
        assert newer.problems == [], newer.problems
    return session_id, got


async def main() -> int:
    """Kill and compare; return 1 when a number is missing or came twice."""
    chance = random.Random(7)
    session_id: str | None = None
    got: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        repo = make_repo(Path(name) / "project")
        repo.commit("begin", **{"a.py": "x = 1\n"})
        environ = {**isolated_environment(Path(name)), "OPENCODE_SERVER_PASSWORD": PASSWORD}
        line = CommandLine(repo.path, environ, provider=model.config(), settings={"model": "fake/fake-model"})
        for at in range(KILLS):
            process = line.start("serve", "--port", "0")

            def kill(process: "subprocess.Popen[bytes]" = process) -> None:
                process.send_signal(signal.SIGKILL)
                process.wait()

            after = numbers(got)[-1] if got else 0
            session_id, more = await follow(listen(process), session_id, after, chance, kill)
            got += more
            print(f"{at + 1}: {len(more)} events, last {kinds(got)[-1:]}", flush=True)
        process = line.start("serve", "--port", "0")
        async with httpx.AsyncClient(
            base_url=listen(process), auth=("opencode", PASSWORD), trust_env=False, timeout=PATIENCE_S
        ) as http:
            history = await Newer(http).history(str(session_id))
        process.terminate()
        process.wait()
    seen = numbers(got)
    wrong = [at for at, number in enumerate(seen, 1) if at != number]
    doubles = len(seen) - len(set(seen))
    names = sum(
        one["id"] != other["id"] or one["type"] != other["type"] for one, other in zip(got, history, strict=False)
    )
    twice = len(history) - len({(one["type"], str(one["data"])) for one in history})
    print(f"{KILLS} kills, {len(seen)} events before the last, {len(history)} in the history")
    return report(
        [
            Figure("numbers that are missing or wrong", len(wrong), goal=0, unit=""),
            Figure("events that came twice", doubles + twice, goal=0, unit=""),
            Figure("events that the history has otherwise", names, goal=0, unit=""),
        ]
    )


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
