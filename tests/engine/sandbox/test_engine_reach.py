"""A confined command reaches no engine of the user: it reads no secret, signals no process, and connects to no socket.

Landlock cannot refuse a connection to a socket with a path: there an engine closes it, whatever the command knows, and asks for the
secret, which the command cannot read.
"""

import asyncio
import base64
import shlex
import socket
import subprocess
import sys

import pytest

from opencode_tui.cli.engine_access import serve_terminals
from opencode_tui.client.shared import open_shared
from opencode_tui.server.peer import Confinement
from opencode_tui.storage.engine_claim import EngineClaim, EngineRecord, live_engines, short_path
from opencode_tui.storage.paths import ensure, find_paths
from opencode_tui.storage.process_identity import current_process
from tests.conftest import isolated_environment
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

def connect():
    os.chdir(folder)  # a long path does not fit into an address
    socket.socket(socket.AF_UNIX).connect(os.path.basename(path))

attempt("list", lambda: os.listdir(folder))
attempt("read", lambda: open(f"{folder}/a-key.json").read())
attempt("write", lambda: open(f"{folder}/a-key.json", "w"))
attempt("connect", connect)
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
            with short_path(address) as bound:
                listener.bind(bound)
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


_ASK = """
import os, socket, sys
path, token = sys.argv[1:]
os.chdir(os.path.dirname(path))  # a long path does not fit into an address
link = socket.socket(socket.AF_UNIX)
link.connect(os.path.basename(path))
print("connected")
link.sendall(f"GET /session/status HTTP/1.1\\r\\nhost: localhost\\r\\nauthorization: Basic {token}\\r\\n\\r\\n".encode())
print("answer:", link.recv(100).partition(b"\\r\\n")[0].decode())
"""


@pytest.mark.fast_cases("bubblewrap")
async def test_an_engine_answers_no_confined_command_that_knows_its_secret(confined: Confined):
    (confined.base / "user").mkdir()
    environ, folder = isolated_environment(confined.base / "user"), confined.outside
    async with open_shared(environ, folder, serve=serve_terminals):
        [record] = live_engines(find_paths(environ))
        token = base64.b64encode(f"opencode:{record.secret}".encode()).decode()
        words = ["python3", "-c", _ASK, record.socket, token]
        done = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == ["connected", "answer: HTTP/1.1 200 OK"]
        _, output = await asyncio.to_thread(confined.run, shlex.join(words))
        assert ("connected" in output) is (confined.tier == "landlock")
        assert "answer: HTTP" not in output and ("Error" in output or output.endswith("answer: \n"))


FREE, COMMAND = Confinement(False, False, 0), Confinement(True, True, 1)


@pytest.mark.parametrize(
    ("peer", "own", "is_refused"),
    [
        (FREE, FREE, False),
        (COMMAND, FREE, True),
        (Confinement(True, False, 0), FREE, False),  # `setpriv --no-new-privs`
        (Confinement(False, True, 1), Confinement(False, True, 1), False),  # both in a container
        (Confinement(True, True, 2), Confinement(False, True, 1), True),
        (Confinement(True, True, 1), Confinement(True, True, 1), False),  # a container without new privileges
        (Confinement(True, True, 2), Confinement(True, True, 1), True),
        (Confinement(True, True, -1), Confinement(True, True, -1), False),  # a kernel that does not count
    ],
)
def test_a_peer_that_is_more_confined_than_the_engine_is_refused(peer: Confinement, own: Confinement, is_refused: bool):
    assert peer.exceeds(own) is is_refused
