"""The requests of ours and of other agents for one task of 100 shell commands: their sizes, and what they repeat as a prefix.

Run: python -m tests.benchmarks peers_requests. One scripted model speaks all four formats, and makes each agent call its own shell
tool.
The peers are found in `PEERS`, a folder with a folder for each, made by `npm install --prefix PEERS/NAME PACKAGE`:

    opencode-1.1.65   opencode-ai@1.1.65            opencode-1.18.33  opencode-ai@1.18.33
    codex             @openai/codex@0.169.0         claude            @anthropic-ai/claude-code@2.1.197
    gemini            @google/gemini-cli            pi                @mariozechner/pi-coding-agent

One that is missing is left out with a word. Goals: ours is first or second in each column, and each of its requests starts with the
whole one before. Sizes are bytes of the body as it was sent. A short request is a lower cost, not a better answer.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.comparison import Figure, report
from tests.support.provider.model_script import Answer, Api, Call
from tests.support.provider.stream_format import body_chunks
from tests.support.provider.wire_prefix import share

STEPS = 10 if os.environ.get("BENCHMARK_QUICK") else 100
PROMPT = "Run the steps."
_TIMEOUT_S = 600
_PATHS: tuple[tuple[str, Api], ...] = (
    (r"/chat/completions", "openai"),
    (r"/responses", "responses"),
    (r"/messages(\?.*)?", "anthropic"),
    (r":streamGenerateContent(\?.*)?", "gemini"),
)
_SHELLS = ("bash", "Bash", "shell", "exec_command", "shell_command", "run_shell_command")
"""The shell tools of all agents; the first one that a request has is called."""

_KEY = "sk-fake-key-for-tests-000000000000"


class Sent(NamedTuple):
    """A request of the task: its format, its body, and the bytes of it."""

    api: Api
    body: dict[str, Any]
    size: int


@dataclass
class Model:
    """The scripted model: calls the shell tool so many times, then says that it is done."""

    steps: int
    requests: list[Sent] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, api: Api, body: dict[str, Any], size: int) -> Answer:
        """Return the answer to a request; one without a shell tool is not of the task: a title, a check."""
        tools = _tools(body)
        shell = next((name for name in _SHELLS if name in tools), None)
        if shell is None or PROMPT not in json.dumps(body):
            return Answer(text="Steps")
        with self.lock:
            self.requests.append(Sent(api, body, size))
            number = len(self.requests)
        if number >= self.steps:
            return Answer(text="done")
        return Answer(calls=(Call(shell, _arguments(shell, number)),))


def _tools(body: Mapping[str, Any]) -> list[str]:
    """Return the names of the tools of a request."""
    found: list[str] = []
    for tool in body.get("tools") or []:
        declared = tool.get("functionDeclarations") or [tool.get("function") or tool]
        found += [str(one.get("name") or one.get("type")) for one in declared]
    return found


def _arguments(shell: str, number: int) -> dict[str, Any]:
    command = f"echo step {number}"
    match shell:
        case "shell":
            return {"command": ["bash", "-lc", command]}
        case "exec_command":
            return {"cmd": command}
        case "bash" | "Bash":
            return {"command": command, "description": "Say the step"}
        case _:
            return {"command": command}


def serve(model: Model) -> ThreadingHTTPServer:
    """Return a running server of the model on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            api: Api | None = next((api for pattern, api in _PATHS if re.search(f"{pattern}$", self.path)), None)
            if api is None:
                self._write(b'{"input_tokens": 1000, "totalTokens": 1000}', "application/json")
                return
            body = json.loads(data)
            is_stream = api == "gemini" or bool(body.get("stream"))
            chunks = b"".join(body_chunks(model.answer(api, body, len(data)), api=api, body=body))
            self._write(chunks, "text/event-stream" if is_stream else "application/json")

        def do_GET(self) -> None:
            self._write(b'{"data": [], "models": []}', "application/json")

        def _write(self, data: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Start(NamedTuple):
    """How an agent is started: its command and its variables."""

    command: list[str]
    environ: Mapping[str, str]


def _ours(package: str, path: str) -> Callable[[str, Path], Start]:
    def start(url: str, home: Path) -> Start:
        options = {"baseURL": f"{url}{path}", "apiKey": _KEY}
        models = {"fake-model": {"limit": {"context": 2_000_000, "output": 8_000}}}
        provider = {"fake": {"npm": package, "options": options, "models": models}}
        settings = {"provider": provider, "permission": {"bash": "allow"}, "autoupdate": False, "share": "disabled"}
        command = [sys.executable, "-m", "opencode_tui", "run", "--auto", "-m", "fake/fake-model", PROMPT]
        return Start(command, {"OPENCODE_CONFIG_CONTENT": json.dumps(settings)})

    return start


def _opencode(name: str) -> Callable[[str, Path], Start]:
    def start(url: str, home: Path) -> Start:
        ours = _ours("@ai-sdk/openai-compatible", "/v1")(url, home)
        more = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
        return Start([_program(name, "opencode"), "run", "-m", "fake/fake-model", PROMPT], {**ours.environ, **more})

    return start


def _codex(url: str, home: Path) -> Start:
    provider = f'model_providers.fake={{name="fake",base_url="{url}/v1",wire_api="responses",env_key="FAKE_KEY"}}'
    command = [
        _program("codex", "codex"),
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
    ]
    return Start(
        [*command, "-c", provider, "-c", 'model_provider="fake"', "-c", 'model="gpt-5.1-codex"', PROMPT],
        {"CODEX_HOME": str(_made(home / "codex")), "FAKE_KEY": _KEY},
    )


def _claude(url: str, home: Path) -> Start:
    return Start(
        [_program("claude", "claude"), "-p", PROMPT, "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"],
        {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": _KEY, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
    )


def _gemini(url: str, home: Path) -> Start:
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"maxSessionTurns": -1}}
    (_made(home / ".gemini") / "settings.json").write_text(json.dumps(settings))
    return Start(
        [_program("gemini", "gemini"), "-p", PROMPT, "--yolo", "-m", "gemini-2.5-pro", "--skip-trust"],
        {"GEMINI_API_KEY": _KEY, "GOOGLE_GEMINI_BASE_URL": url},
    )


def _pi(url: str, home: Path) -> Start:
    model = {"id": "fake-model", "name": "fake", "contextWindow": 2_000_000, "maxTokens": 8_000}
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": _KEY, "models": [model]}
    (_made(home / ".pi" / "agent") / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
    return Start(
        [_program("pi", "pi"), "-p", PROMPT, "--provider", "fake", "--model", "fake-model"], {"PI_OFFLINE": "1"}
    )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _program(name: str, program: str) -> str:
    return str(Path(os.environ.get("PEERS", "/nowhere"), name, "node_modules", ".bin", program))


OURS: Mapping[str, Callable[[str, Path], Start]] = {
    "ours, chat": _ours("@ai-sdk/openai-compatible", "/v1"),
    "ours, responses": _ours("@ai-sdk/openai", "/v1"),
    "ours, anthropic": _ours("@ai-sdk/anthropic", "/v1"),
    "ours, gemini": _ours("@ai-sdk/google", "/v1beta"),
}
PEERS: Mapping[str, Callable[[str, Path], Start]] = {
    "pi": _pi,
    "opencode-1.18.33": _opencode("opencode-1.18.33"),
    "opencode-1.1.65": _opencode("opencode-1.1.65"),
    "codex": _codex,
    "claude": _claude,
    "gemini": _gemini,
}


class Row(NamedTuple):
    """The figures of an agent: requests, bytes of the first, bytes that a step adds, share that repeats, all bytes."""

    requests: int
    first: int
    step: float
    share: float
    whole: int


def measure(start: Callable[[str, Path], Start]) -> Row | str:
    """Run the task in an agent and return its figures, or why there are none."""
    model = Model(STEPS)
    server = serve(model)
    try:
        with tempfile.TemporaryDirectory(prefix="requests-") as folder:
            home, project = _made(Path(folder, "home")), _made(Path(folder, "project"))
            subprocess.run(["git", "init", "-q", str(project)], check=True)
            begun = start(f"http://127.0.0.1:{server.server_address[1]}", home)
            names = ("PATH", "LANG", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")
            kept = {name: os.environ[name] for name in names if name in os.environ}
            environ = {**kept, "HOME": str(home), "TERM": "dumb", "NO_COLOR": "1", **begun.environ}
            done = subprocess.run(
                begun.command, cwd=project, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=_TIMEOUT_S, check=False,
            )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not finished after {_TIMEOUT_S} s, {len(model.requests)} requests"
    finally:
        server.shutdown()
        server.server_close()
    sent = model.requests
    if len(sent) < STEPS:
        tail = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return f"ended after {len(sent)} of {STEPS} requests: {' '.join(tail)[:160]}"
    shares = [share(one.api, one.body, two.body) for one, two in pairwise(sent)]
    step = (sent[-1].size - sent[0].size) / (len(sent) - 1)
    return Row(len(sent), sent[0].size, step, sum(shares) / len(shares), sum(one.size for one in sent))


def main() -> int:
    """Measure all, print the table and the goals."""
    rows: dict[str, Row] = {}
    for name, start in {**OURS, **PEERS}.items():
        if name in PEERS and not Path(start("", Path(tempfile.mkdtemp(prefix="requests-"))).command[0]).exists():
            print(f"{name} is not installed (see above); left out")
            continue
        found = measure(start)
        if isinstance(found, str):
            print(f"{name}: {found}; left out")
        else:
            rows[name] = found
            print(f"measured {name}", file=sys.stderr, flush=True)
    print(f"\n{'':<20}{'requests':>9}{'first B':>10}{'B a step':>10}{'prefix':>9}{'all kB':>9}")
    for name, row in sorted(rows.items(), key=lambda one: one[1].whole):
        print(f"{name:<20}{row.requests:>9}{row.first:>10,}{row.step:>10.0f}{row.share:>9.4f}{row.whole / 1000:>9,.0f}")
    best = rows.get("ours, chat")
    if best is None:
        print("ours has no figures")
        return 1
    peers = [row for name, row in rows.items() if name in PEERS]
    figures = [Figure(f"1 - prefix of {name}", 1 - row.share, 0, "") for name, row in rows.items() if name in OURS]
    for title, of in (("first request", 1), ("bytes a step", 2), ("all bytes", 4)):
        ahead = sum(row[of] < best[of] for row in peers)
        figures.append(Figure(f"peers ahead of ours, chat: {title}", float(ahead), 1, ""))
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
