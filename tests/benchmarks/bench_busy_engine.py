"""How long a key waits for its letter while the engine is busy, in its own thread and (floor) in the event loop of the screen.

The echo with an engine at rest is printed beside them: what the machine itself adds. The p99 is that of the best round of each
side, as other work of the machine only adds to it.

    python -m tests.benchmarks.bench_busy_engine

The real program runs in a terminal of 120 x 40 with a scripted model, the two sides in turns. The engine is busy in three ways:
300 ms of Python every second (a plugin) while a turn streams; commands of 200 kB that it must scan; a record of 20 MB that it
reads twice a second.
"""

import fcntl
import json
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path

from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.benchmarks.typist import Typist
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer, provider_config

ECHO_MS = 50
WORDS = 4_000
_PYTHON = """
import asyncio, time

async def busy():
    while True:
        end = time.perf_counter() + 0.3
        while time.perf_counter() < end:
            sum(range(100))
        await asyncio.sleep(0.7)

async def plugin(context):
    context_task.append(asyncio.create_task(busy()))
    return {}

context_task = []
"""
_RECORD = """
import asyncio, json
from opencode_tui.schema.session.part import parse_part

part = {"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "text": "a line of text\\n" * 1_300_000}
data = json.dumps(part).encode()

async def busy():
    while True:
        await asyncio.to_thread(parse_part, data)
        await asyncio.sleep(0.5)

async def plugin(context):
    context_task.append(asyncio.create_task(busy()))
    return {}

context_task = []
"""


def main() -> int:
    """Measure each kind of work on both sides in turns; return the exit code."""
    if len(sys.argv) > 1:
        return _program(sys.argv[1])
    with ModelServer() as server:
        return report(
            [
                *_compare(server, "300 ms of Python every second", _PYTHON),
                *_compare(server, "commands of 200 kB to scan", "", scans=12),
                *_compare(server, "a record of 20 MB to read", _RECORD),
            ]
        )


def _program(side: str) -> int:
    """Run the program with the engine where `side` says."""
    from opencode_tui.__main__ import main as opencode_tui
    from opencode_tui.cli import engine_access
    from opencode_tui.client.local import open_client

    if side == "loop":
        engine_access.open_here = lambda directory: open_client(os.environ, directory)
    sys.argv = ["opencode-tui", *sys.argv[2:]]
    opencode_tui()
    return 0


def _compare(server: ModelServer, name: str, plugin: str, *, scans: int = 0) -> list[Figure]:
    tails: dict[str, list[float]] = {"thread": [], "loop": [], "at rest": []}
    for _ in range(rounds(3, 1)):
        for side, found in tails.items():
            is_busy = side != "at rest"
            keys = _echoes(server, side, plugin if is_busy else "", scans if is_busy else 0)
            cuts = [one * 1000 for one in statistics.quantiles(keys, n=100)]
            found.append(cuts[98])
            print(f"{name}, {side}: {len(keys)} keys, p50 {cuts[49]:.0f}, p90 {cuts[89]:.0f}, p99 {cuts[98]:.0f} ms")
    ours, floor = min(tails["thread"]), min(tails["loop"])
    return [
        Figure(f"{name}: a key's echo, p99", ours, ECHO_MS),
        Figure("the same (floor: engine in the loop)", ours, 1.1, floor=floor),
    ]


def _echoes(server: ModelServer, side: str, plugin: str, scans: int) -> list[float]:
    """Return the seconds from each key to its letter while a turn runs."""
    server.script(
        *(Answer(calls=(Call("bash", {"command": _command(number), "description": "x"}),)) for number in range(scans)),
        Answer(text="".join(f"word{number} " for number in range(WORDS)), delay_ms=5),
    )
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name) / "home", Path(name) / "work"
        home.mkdir()
        folder.mkdir()
        settings: dict[str, object] = {
            "provider": provider_config(server.base_url),
            "model": "fake/fake-model",
            "permission": {"bash": {"echo *": "deny"}},  # decided by the scan, without a question
        }
        if plugin:
            (home / "busy.py").write_text(plugin)
            settings["plugin"] = [str(home / "busy.py")]
        environ = {
            **isolated_environment(home),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.getcwd(),
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        }
        typist = Typist()
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        command = [sys.executable, "-m", "tests.benchmarks.bench_busy_engine", side, "--prompt", "go"]
        with subprocess.Popen(
            command, cwd=folder, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        ) as process:
            os.close(slave)
            begun = threading.Event()
            threading.Thread(target=_drain, args=(master, typist, begun), daemon=True).start()
            if not begun.wait(30):
                raise AssertionError("the turn did not begin")
            end = time.monotonic() + rounds(8, 5)
            while time.monotonic() < end:
                typist.type(master)
            process.kill()
        os.close(master)
        return typist.echoes


def _command(number: int) -> str:
    return f"echo {number}\n" + "grep -n 'a b' src/file.py | sort -u && ls -la /tmp/x; cat a.txt > b.txt\n" * 2_800


def _drain(descriptor: int, typist: Typist, begun: threading.Event) -> None:
    """Read what the program draws; `begun` is set when the turn runs."""
    try:
        while select.select([descriptor], [], [])[0] and (data := os.read(descriptor, 65_536)):
            if b"esc" in data:
                begun.set()
            typist.see(data)
    except OSError:  # the program has ended
        return


if __name__ == "__main__":
    sys.exit(main())
