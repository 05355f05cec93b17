"""A batch on three machines without a shared disk, over TLS: a cut link, a killed scheduler, and the address of the dashboard.

    python -m tests.benchmarks hosts

The machines are network namespaces (client, scheduler, worker) behind a bridge; neither the scheduler nor the worker sees the
repository, so the worker gets a bundle. Needs root, `ip`, `unshare`, `openssl` and the extra `cluster`; else it says why it does
nothing.
"""

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.bench_cluster import World, make_certificates, results, wait_until
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import kill_session

TASKS = rounds(24, 9)
HOSTS = {"client": 1, "scheduler": 2, "worker": 3}
CUT_S = 4.0
PORT = 8786
_NET = "10.233.77"
_LIMIT_S = 900.0


@dataclass(frozen=True, slots=True)
class Reached:
    """The model as the machines reach it."""

    base_url: str


class Machines:
    """Three network namespaces behind a bridge, with names of their own for this process."""

    def __init__(self) -> None:
        self._mark = f"oc{os.getpid() % 10_000}"
        self._bridge = f"{self._mark}b"

    def name(self, host: str) -> str:
        """Return the namespace of a machine."""
        return f"{self._mark}{host[0]}"

    def enter(self, host: str) -> tuple[str, ...]:
        """Return the words before a command that runs on a machine."""
        return ("ip", "netns", "exec", self.name(host))

    def set_link(self, host: str, state: str) -> None:
        """Cut a machine off (`down`) or connect it again (`up`)."""
        ip("link", "set", f"{self.name(host)}0", state)

    def __enter__(self) -> "Machines":
        ip("link", "add", self._bridge, "type", "bridge")
        ip("addr", "add", f"{_NET}.254/24", "dev", self._bridge)
        ip("link", "set", self._bridge, "up")
        for host, number in HOSTS.items():
            name = self.name(host)
            ip("netns", "add", name)
            ip("link", "add", f"{name}0", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"{name}0", "master", self._bridge, "up")
            ip("-n", name, "addr", "add", f"{_NET}.{number}/24", "dev", "eth0")
            for one in ("lo", "eth0"):
                ip("-n", name, "link", "set", one, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for host in HOSTS:
            with suppress(subprocess.CalledProcessError):
                ip("netns", "del", self.name(host))
        with suppress(subprocess.CalledProcessError):
            ip("link", "del", self._bridge)


def ip(*words: str) -> None:
    """Run `ip`."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def relayed(port: int) -> Generator[str]:
    """Make a port of this machine's loopback reachable for the others, and yield its address."""
    with socket.create_server((f"{_NET}.254", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    near, _ = listener.accept()
                    far = socket.create_connection(("127.0.0.1", port))
                    for one, other in ((near, far), (far, near)):
                        threading.Thread(target=copy, args=(one, other), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://{_NET}.254:{listener.getsockname()[1]}"


def copy(source: socket.socket, target: socket.socket) -> None:
    """Pass bytes on until an end closes."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def missing() -> str:
    """Return why nothing can be measured here; empty when it can."""
    if importlib.util.find_spec("distributed") is None:
        return "the extra `cluster` is not installed"
    for program in ("ip", "unshare", "openssl"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    if os.geteuid() != 0:
        return "network namespaces need root"
    probe = f"oc{os.getpid() % 10_000}p"
    made = subprocess.run(["ip", "netns", "add", probe], check=False, capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", probe], check=False, capture_output=True)
    return made.stderr.strip()


def measure(folder: Path, model: ModelServer) -> list[Figure]:
    """Run the tasks while the worker is cut off and the scheduler is killed."""
    port = int(model.base_url.partition("://")[2].partition("/")[0].rpartition(":")[2])
    with Machines() as machines, relayed(port) as reached:
        _, slash, path = model.base_url.partition("://")[2].partition("/")
        world = World(folder, Reached(f"{reached}{slash}{path}"))  # pyright: ignore[reportArgumentType] - its address is used alone
        options = make_certificates(folder)
        hidden = f'mount -t tmpfs none {world.repo.path} && exec "$@"'
        hide = ("unshare", "--mount", "sh", "-c", hidden, "sh")
        address = f"tls://{_NET}.2:{PORT}"
        pairs = zip(("--tls-ca-file", "--tls-cert", "--tls-key"), options[1::2], strict=True)
        tls = [word for pair in pairs for word in pair]

        def start(host: str, *words: str, is_hidden: bool = True) -> "subprocess.Popen[bytes]":
            line = world.home(host)
            prefix = (*machines.enter(host), *(hide if is_hidden else ()))
            return subprocess.Popen(
                [*prefix, sys.executable, *words],
                env=line.variables(),
                cwd=world.folder / host if is_hidden else line.folder,
                stdout=subprocess.PIPE if host == "client" else subprocess.DEVNULL,
                stderr=subprocess.PIPE if host == "client" else subprocess.DEVNULL,
                start_new_session=True,
            )

        def start_scheduler() -> "subprocess.Popen[bytes]":
            words = ("-m", "distributed.cli.dask_scheduler", "--host", address)
            return start("scheduler", *words, "--dashboard-address", "127.0.0.1:8787", *tls)

        started = [start_scheduler()]
        out = folder / "hosts.results.jsonl"
        tasks = world.tasks("hosts", TASKS)
        try:
            worker = ("-m", "opencode_tui", "batch", "worker", address, "--jobs", "2", *options)
            started.append(start("worker", *worker))
            time.sleep(2)
            batch = ("-m", "opencode_tui", "batch", str(tasks), "--scheduler", address, *options, "--out", str(out))
            client = start("client", *batch, is_hidden=False)
            started.append(client)
            wait_until("a result", lambda: len(results(out)) >= 1 or client.poll() is not None, _LIMIT_S)
            machines.set_link("worker", "down")
            time.sleep(CUT_S)
            machines.set_link("worker", "up")
            print(f"the worker was cut off for {CUT_S:g} s after {len(results(out))} results", flush=True)
            wait_until("more results", lambda: len(results(out)) >= TASKS // 2 or client.poll() is not None, _LIMIT_S)
            kill_session(started[0])
            print(f"killed the scheduler after {len(results(out))} results", flush=True)
            time.sleep(2)
            started[0] = start_scheduler()
            _, errors = client.communicate(timeout=_LIMIT_S)
            clones = list(folder.glob("worker/.cache/opencode-tui/worker/**/repositories/*"))
        finally:
            for one in reversed(started):
                if one.poll() is None:
                    one.send_signal(signal.SIGTERM)
                    try:
                        one.wait(15)
                    except subprocess.TimeoutExpired:
                        kill_session(one)
        said = errors.decode()
        print(said[:1500], flush=True)
        found = results(out)
        printed = re.findall(r"dashboard (http://\S+)", said)
    return [
        Figure("hosts: tasks that are not done", TASKS - sum(one["status"] == "done" for one in found), 0, ""),
        Figure("hosts: tasks with two results", len(found) - len({one["id"] for one in found}), 0, ""),
        Figure("hosts: exit code", client.returncode, 0, ""),
        Figure("hosts: addresses of a dashboard that does not answer", len(printed), 0, ""),
        Figure("hosts: clones of the bundle beside one", abs(len(clones) - 1), 0, ""),
        Figure("hosts: changed files of the user", len(world.repo.git("status", "--porcelain").splitlines()), 0, ""),
        Figure("hosts: processes and worktrees left", world.left(), 0, ""),
    ]


def main() -> int:
    """Measure and report."""
    if reason := missing():
        print(f"skipped: {reason}")
        return 0
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        return report(measure(Path(name), model))


if __name__ == "__main__":
    sys.exit(main())
