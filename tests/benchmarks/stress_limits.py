"""How long a key waits for its letter while a command is a fork bomb, uses all memory, or writes an endless file or output.

The real program runs in a terminal; a scripted model starts the command, in each tier that works. The keys go to the prompt until
the command has ended; a command that ends soon is run again until there are enough keys for a p95. Prints p50, p95, the slowest
key and how each command ended. Everything runs in a process namespace that a guard kills when
the machine is in danger: the limits under test are not trusted here.
"""

import fcntl
import json
import os
import pty
import shlex
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from contextlib import suppress
from pathlib import Path

from opencode_tui.engine.sandbox.limits import count_threads
from opencode_tui.engine.sandbox.tier import Tier, probe
from opencode_tui.engine.tool.process.limit_watch import MOST_SESSIONS
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.benchmarks.typist import Seen, Typist
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer, provider_config

ECHO_MS = 100
INSIDE = "STRESS_LIMITS_INSIDE"
_KEYS = 60
"""So many keys at least give a p95; fewer only give the slowest."""

_LONGEST_S = 600
_MOST_THREADS = 4_000
_LEAST_MEMORY = 2 << 20

LIMITS = {"memory": "512 MB", "processes": 500, "file_size": "1 GB"}
_HOG = """import os, time
for _ in range(24):
    if not os.fork():
        kept = bytearray(b"x") * (32 << 20)
        break
time.sleep(60)
"""
SESSIONS = f"stopped at {MOST_SESSIONS} running sessions"
"""How a fork bomb ends where the kernel shares the cores among sessions."""

COMMANDS = {
    "fork bomb": (":(){ :|:& };: ; sleep 60", "stopped at 500 processes"),
    "fork bomb in sessions": (
        "b() { while :; do (setsid bash -c b &) ; done; }; export -f b; b",
        SESSIONS,
    ),
    "memory": (f"python3 -c {shlex.quote(_HOG)}", "stopped at 512 MB of memory"),
    "endless file": ("yes > endless; echo went on", "stopped: a file reached 1 GB"),
    "endless output": ("timeout 5 yes", "exit 124"),
}
_TIERS: tuple[Tier, ...] = ("bubblewrap", "landlock")


def main() -> int:
    """Measure each command in each tier; return the exit code."""
    if not os.environ.get(INSIDE):
        return _guard()
    figures: list[Figure] = []
    with ModelServer() as server:
        tiers: list[Tier] = [one for one in _TIERS if probe(one, os.environ).works]
        for tier in tiers:
            for name in list(COMMANDS)[: rounds(len(COMMANDS), 2)]:
                p95, is_said = _measure(server, tier, name)
                figures += [Figure(f"{tier}: echo beside {name}, p95", p95, ECHO_MS)]
                figures += [Figure(f"{tier}: {name} does not say how it ended", float(not is_said), 0, "")]
    return report(figures)


def _guard() -> int:
    """Run this in a namespace whose processes all end with it, and end it when the machine runs out of something."""
    words = [
        "unshare",
        *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]),
        "--pid",
        "--fork",
        "--kill-child",
    ]
    if os.geteuid() == 0:
        if (group := _pids_group()) is None:
            print("skipped: nothing bounds root's processes here (no pids cgroup); run it as an ordinary user")
            return 0
        words = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", *words]
    else:
        words = ["prlimit", f"--nproc={_MOST_THREADS}", *words]
    inside = [sys.executable, "-m", "tests.benchmarks.stress_limits"]
    keep = ["sh", "-c", '"$@"; exit $?', "sh", *inside]  # a first process that waits for what has lost its parent
    process = subprocess.Popen([*words, "--mount-proc", *keep], env={**os.environ, INSIDE: "1"}, start_new_session=True)
    end = time.monotonic() + _LONGEST_S
    before = count_threads()[0]
    while process.poll() is None:
        if time.monotonic() > end or count_threads()[0] - before > _MOST_THREADS or _free_kb() < _LEAST_MEMORY:
            print(f"the guard ended it: {count_threads()[0] - before} threads more, {_free_kb() >> 10} MB free")
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.1)
    return process.returncode


def _pids_group() -> Path | None:
    """Return a new cgroup that has at most so many processes, None where it cannot be made: for root there is no other bound."""
    for top in (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")):
        group = top / f"stress-limits-{os.getpid()}"
        with suppress(OSError):
            group.mkdir()
            (group / "pids.max").write_text(str(_MOST_THREADS))
            return group
    return None


def _free_kb() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def _measure(server: ModelServer, tier: Tier, name: str) -> tuple[float, bool]:
    """Return the p95 of the echo in ms while a command runs, and whether the screen always says how it ended."""
    echoes: list[float] = []
    said: list[str] = []
    runs, enough = 0, rounds(_KEYS, 2)
    while len(echoes) < enough:
        new, end = _run(server, tier, name)
        echoes += new
        said += [end] if end else []
        runs += 1
    cuts = [one * 1000 for one in statistics.quantiles(echoes, n=20)]
    print(
        f"{tier}, {name}: {len(echoes)} keys in {runs} runs, p50 {cuts[9]:.0f}, p95 {cuts[18]:.0f},"
        f" slowest {max(echoes) * 1000:.0f} ms; {said[-1] if said else 'it did not say how it ended'}",
        flush=True,
    )
    return cuts[18], len(said) == runs


def _run(server: ModelServer, tier: Tier, name: str) -> tuple[list[float], str]:
    """Run a command once; return how long each key waited, in s, and the words that say how it ended, empty if none do."""
    command, words = COMMANDS[name]
    with tempfile.TemporaryDirectory() as place:
        home, folder = Path(place) / "home", Path(place) / "work"
        home.mkdir()
        folder.mkdir()
        settings = {
            "provider": provider_config(server.base_url),
            "model": "fake/fake-model",
            "permission": {"bash": "allow"},
            "experimental": {"sandbox": {"tier": tier, **LIMITS}},
        }
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
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        program = [sys.executable, "-m", "opencode_tui"]
        with subprocess.Popen(
            program, cwd=folder, env=environ, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        ) as process:
            os.close(slave)
            seen = Seen(typist)
            threading.Thread(target=seen.drain, args=(master,), daemon=True).start()
            seen.wait_for(b"sandbox")
            call = json.dumps({"command": command, "description": "Stress"})
            os.write(master, f"\x1b[200~go <<tool bash {call}>>\x1b[201~".encode())
            typist.type(master)  # the first key waits a while
            os.write(master, b"\r")
            begin = time.monotonic()
            ends = {words, "stopped at 500 processes"} if words == SESSIONS else {words}
            said: list[str] = []
            while time.monotonic() < begin + 30 and not said:
                typist.type(master)
                said = [one for one in ends if seen.has(one.encode())]
            process.kill()
        os.close(master)
        shutil.rmtree(home, ignore_errors=True)
    return list(typist.echoes), said[0] if said else ""


if __name__ == "__main__":
    sys.exit(main())
