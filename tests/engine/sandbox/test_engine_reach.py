"""A confined command reaches no engine of the user: it reads no secret, signals no process, and connects to no socket.

Landlock cannot refuse a connection to a socket with a path: there an engine asks for the secret, which the command cannot read.
"""

import shlex
import socket
import subprocess
import sys

from opencode_tui.storage.engine_claim import EngineClaim, EngineRecord, live_engines
from opencode_tui.storage.paths import ensure, find_paths
from opencode_tui.storage.process_identity import current_process
from tests.engine.sandbox.confined import Confined

_TRY = """
import glob, os, signal, socket, sys
folder, path, pid = sys.argv[1:]

def attempt(name, act):
    try:
        act()
    except OSError as error:
        print(f"{name}: {type(error).__name__}")
    else:
        print(f"{name}: DONE")

attempt("list", lambda: os.listdir(folder))
attempt("read", lambda: open(f"{folder}/a-key.json").read())
attempt("write", lambda: open(f"{folder}/a-key.json", "w"))
attempt("connect", lambda: socket.socket(socket.AF_UNIX).connect(path))
attempt("signal", lambda: os.kill(int(pid), signal.SIGTERM))
"""


def test_a_command_reads_no_secret_connects_to_no_engine_and_ends_none(confined: Confined) -> None:
    paths = find_paths({"HOME": str(confined.home), "XDG_DATA_HOME": str(confined.home / ".local" / "share")})
    claim = EngineClaim(paths, "a-key")
    assert claim.try_acquire()
    address = str(ensure(paths.terminals) / "a-key.sock")
    with (
        socket.socket(socket.AF_UNIX) as listener,
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as other,
    ):
        try:
            listener.bind(address)
            listener.listen()
            claim.publish(EngineRecord(current_process(), str(confined.project), address, "a secret"))
            assert [one.secret for one in live_engines(paths)] == ["a secret"]
            words = ["python3", "-c", _TRY, str(paths.terminals), address, str(other.pid)]
            _, output = confined.run(shlex.join(words))
            tried = dict(line.split(": ") for line in output.splitlines())
            assert list(tried) == ["list", "read", "write", "connect", "signal"], output
            open_ways = {"connect"} if confined.tier == "landlock" else set[str]()
            assert {name for name, result in tried.items() if result == "DONE"} <= open_ways, output
            assert other.poll() is None
        finally:
            other.kill()
            claim.release()
