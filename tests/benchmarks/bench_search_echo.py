"""How long a key waits for its letter in the prompt while the index of the search is built; beside it with nothing to build.

The store is generated: 3,000 sessions, or 400 with --quick; BENCHMARK_SEARCH_STORE names a folder that keeps one of 10,000.
The real program runs in a terminal; the search page starts the build, then the prompt gets the keys. Needs a quiet machine.
"""

import fcntl
import json
import os
import pty
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections import deque
from pathlib import Path

from opencode_tui.storage.paths import find_paths
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.benchmarks.search_store import write_store
from tests.benchmarks.typist import Seen, Typist
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer, provider_config

ECHO_MS = 30
SESSIONS = 400 if os.environ.get("BENCHMARK_QUICK") else 3_000


def main() -> int:
    """Measure both sides in turns; return the exit code."""
    tails: dict[str, list[float]] = {"building": [], "at rest": []}
    with tempfile.TemporaryDirectory() as name, ModelServer() as server:
        folder = Path(os.environ.get("BENCHMARK_SEARCH_STORE") or name)
        if not (folder / "storage").exists():
            deque(write_store(folder / "storage", SESSIONS), maxlen=0)
        for _ in range(rounds(3, 1)):
            for side, found in tails.items():
                keys = _echoes(server, folder, is_building=side == "building")
                cuts = [one * 1000 for one in statistics.quantiles(keys, n=20)]
                found.append(cuts[18])
                print(f"{side}: {len(keys)} keys, p50 {cuts[9]:.0f}, p95 {cuts[18]:.0f} ms")
    ours, floor = min(tails["building"]), min(tails["at rest"])
    print(f"at rest the machine itself has a p95 of {floor:.0f} ms")
    return report([Figure("a key's echo while the index is built, p95", ours, ECHO_MS)])


def _echoes(server: ModelServer, store: Path, *, is_building: bool) -> list[float]:
    """Return the seconds from each key to its letter in the prompt."""
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name) / "home", Path(name) / "work"
        home.mkdir()
        folder.mkdir()
        settings = {"provider": provider_config(server.base_url), "model": "fake/fake-model"}
        isolated = isolated_environment(home)
        data = find_paths(isolated).data
        data.mkdir(parents=True)
        (data / "storage").symlink_to(store / "storage")
        environ = {
            **isolated,
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LANG": "C.UTF-8",
            "PYTHONPATH": os.getcwd(),
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        }
        typist = Typist()
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        with subprocess.Popen(
            [sys.executable, "-m", "opencode_tui"],
            cwd=folder,
            env=environ,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        ) as process:
            os.close(slave)
            seen = Seen(typist)
            threading.Thread(target=seen.drain, args=(master,), daemon=True).start()
            seen.wait_for(b"sandbox")
            if is_building:
                os.write(master, b"/search ba\r")
                seen.wait_for(b"ndexing")
                os.write(master, b"\x1b")
                time.sleep(1)
            end = time.monotonic() + rounds(8, 5)
            while time.monotonic() < end:
                typist.type(master)
            process.kill()
        os.close(master)
        shutil.rmtree(home, ignore_errors=True)
        return typist.echoes


if __name__ == "__main__":
    sys.exit(main())
