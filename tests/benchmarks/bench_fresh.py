"""A fresh machine: each way to install, and from it the first answer of three models; steps of the user, and seconds.

    python -m tests.benchmarks fresh [WAY…]

WAY is `pip`, `pipx` or `uv`. Each has a home folder of its own and installs the commit of this repository from a package index,
with a pipx and a uv that pip puts into throw-away environments. A way whose tool or index is not there is skipped, and says why.
The models: the demo, one that Ollama serves (a strict fake of it), and one behind a key (the scripted model). A step is a command
that the user types, or a file that they write.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.provider.local_fakes import LOADED, TAGS, show
from tests.support.provider.model_server import ModelServer

ROOT = Path(__file__).parents[2]
LIMIT_S = 1_200.0
WAYS: dict[str, Sequence[str]] = {
    "pip": ("python3 -m venv --upgrade-deps ~/app", "~/app/bin/pip install -q --no-compile SOURCE"),
    "pipx": ("pipx install SOURCE",),
    "uv": ("uv tool install SOURCE",),
}
"""The steps of each way; SOURCE is a clone."""

PROMPT = "create hello.py that prints hello"


class Failed(Exception):
    """A step that did not work: what it said."""


class Skipped(Exception):
    """A way that cannot be tried here, and why."""


class _Ollama(BaseHTTPRequestHandler):
    """Ollama's documented answers, and one streamed answer in OpenAI's format, which its `/v1` has."""

    def do_GET(self) -> None:
        lists: dict[str, Any] = {"/api/tags": TAGS, "/api/ps": LOADED}
        self._answer(200 if self.path in lists else 404, lists.get(self.path, {"error": "not found"}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/show":
            self._answer(*show(body, {}))
        elif self.path == "/v1/chat/completions" and body["model"] == "qwen3:8b":
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
            said = {**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hello from Ollama."}}]}
            end = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
            lines = "".join(f"data: {json.dumps(one)}\n\n" for one in (said, end)) + "data: [DONE]\n\n"
            self._send(200, "text/event-stream", lines.encode())
        else:
            self._answer(404, {"error": "not found"})

    def _answer(self, status: int, value: object) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@contextmanager
def ollama() -> Generator[str]:
    """Yield the address of the fake."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Ollama) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


class Machine:
    """A home folder without anything in it, and the programs that are on PATH there."""

    def __init__(self, home: Path, tools: Path) -> None:
        self.home = home
        kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_", "LANG"))}
        path = [str(home / ".local/bin"), str(home / "app/bin"), str(tools), "/usr/local/bin", "/usr/bin", "/bin"]
        self.environ = {**kept, "HOME": str(home), "PATH": os.pathsep.join(path)}

    def run(self, command: str, *, given: str = "", folder: Path | None = None, **variables: str) -> str:
        """Return what a command line prints. Raises Failed."""
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder or self.home,
            env={**self.environ, **variables},
            input=given,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise Failed(f"{command}: {(done.stderr or done.stdout).strip()[-400:]}")
        return done.stdout + done.stderr


def install(way: str, machine: Machine, source: Path, tools: Path) -> None:
    """Take the steps of a way. Raises Skipped, Failed."""
    if way != "pip" and not (tools / way).exists():
        try:
            machine.run(f"{sys.executable} -m venv {tools.parent} && {tools}/python -m pip install -q {way}")
        except Failed as error:
            raise Skipped(f"{way} cannot be installed here ({error})") from None
    for step in WAYS[way]:
        machine.run(step.replace("SOURCE", str(source)).replace("python3", sys.executable))


def first_prompts(machine: Machine) -> Generator[tuple[str, int, float]]:
    """Yield for each model its name, the steps to its first answer after the installation, and their seconds. Raises Failed."""
    folder = machine.home / "project"
    folder.mkdir()
    begin = time.monotonic()
    machine.run(f'opencode-tui run --auto "{PROMPT}"', folder=folder)
    if not (folder / "hello.py").exists():
        raise Failed("the demo wrote no hello.py")
    yield "demo", 1, time.monotonic() - begin
    with ollama() as address:
        begin = time.monotonic()
        said = machine.run("opencode-tui run -m ollama/qwen3:8b hello", folder=folder, OLLAMA_HOST=address)
        if "Hello from Ollama." not in said:
            raise Failed(f"Ollama's model did not answer: {said[-300:]}")
        yield "Ollama", 1, time.monotonic() - begin
    with ModelServer() as server:
        settings = server.config()
        provider = {"fake": settings["fake"]}
        provider["fake"]["options"].pop("apiKey")
        begin = time.monotonic()
        file = machine.home / ".config/opencode-tui/opencode.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"provider": provider}))
        machine.run("opencode-tui auth login fake", given="a-key-of-the-user\n", folder=folder)
        said = machine.run("opencode-tui run -m fake/fake-model hello", folder=folder)
        keys = {one.headers.get("authorization") for one in server.requests}
        if "hello" not in said or keys != {"Bearer a-key-of-the-user"}:
            raise Failed(f"the model behind a key did not answer: {said[-300:]}")
        yield "a key", 3, time.monotonic() - begin


def main() -> int:
    """Try each way; return 1 where one did not work."""
    failed = False
    with tempfile.TemporaryDirectory(prefix="opencode-tui-fresh-") as work:
        source = Path(work, "source")
        source.mkdir()
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive, check=True)
        print(f"{'installed by':<14} {'model':<10} {'steps':>5} {'install, s':>10} {'first answer, s':>15}")
        for way in sys.argv[1:] or WAYS:
            home, tools = Path(work, way), Path(work, f"{way}-tools", "bin")
            home.mkdir()
            machine = Machine(home, tools)
            try:
                begin = time.monotonic()
                install(way, machine, source, tools)
                took = time.monotonic() - begin
                for model, steps, seconds in first_prompts(machine):
                    print(
                        f"{way:<14} {model:<10} {len(WAYS[way]) + steps:>5} {took:>10.1f} {seconds:>15.1f}", flush=True
                    )
            except Skipped as error:
                print(f"{way:<14} skipped: {error}")
            except Failed as error:
                failed = True
                print(f"{way:<14} FAILED: {error}")
            shutil.rmtree(home, ignore_errors=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
