"""100 steps of the real Claude Code and Codex, with a compaction, imported: every call, result and text must be there.

    npm install --prefix FOLDER @anthropic-ai/claude-code @openai/codex
    AGENT_PROGRAMS=FOLDER python -m tests.benchmarks.bench_import_agents

Both run with a scripted model on loopback, in a home folder of their own. Without AGENT_PROGRAMS there is nothing to compare.
"""

import json
import os
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opencode_tui.extras.importing.claude import ClaudeSource
from opencode_tui.extras.importing.codex import CodexSource
from opencode_tui.extras.importing.source import SessionSource
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.part import CompactionPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.world.repo import make_repo

PROGRAMS = "AGENT_PROGRAMS"
STEPS = 100
SUMMARY = "The first steps were run."
LIMIT_S = 300
_FULL = 190_000
"""Reported tokens at which both programs compact."""

Step = tuple[str, str]
"""A text, and a command that follows it; without one the answer ends."""


class _Model(ThreadingHTTPServer):
    """Answers with steps in order, and with a summary where one is asked for. Speaks both programs' formats."""

    def __init__(self, steps: list[Step], full_at: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.steps = deque(enumerate(steps))
        self.full_at = full_at
        self.lock = threading.Lock()

    def next_step(self, body: dict[str, Any]) -> tuple[str, str, int]:
        """Return the text, command and reported tokens of the answer to a request."""
        talk = body.get("messages") or body.get("input") or []
        last = json.dumps([one for one in talk if one.get("role") == "user"][-1:])
        if "detailed summary" in last or "CONTEXT CHECKPOINT COMPACTION" in last:
            return f"<summary>{SUMMARY}</summary>" if "messages" in body else SUMMARY, "", 100
        with self.lock:
            number, (text, command) = self.steps.popleft() if self.steps else (-1, ("Done.", ""))
        return text, command, _FULL if number == self.full_at >= 0 else 1_000


class _Handler(BaseHTTPRequestHandler):
    server: _Model  # pyright: ignore[reportIncompatibleVariableOverride] - the handler is only used with it

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def do_POST(self) -> None:
        """Answer one request as a stream."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "count_tokens" in self.path or not ("/messages" in self.path or "/responses" in self.path):
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        events = _anthropic if "/messages" in self.path else _responses
        for kind, fields in events(*self.server.next_step(body)):
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())


def _anthropic(text: str, command: str, tokens: int) -> Iterator[tuple[str, dict[str, Any]]]:
    usage = {"input_tokens": tokens, "output_tokens": 10}
    message = {
        "id": f"msg_{os.urandom(6).hex()}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [],
    }
    yield "message_start", {"message": {**message, "stop_reason": None, "usage": usage}}
    yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
    yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}}
    yield "content_block_stop", {"index": 0}
    if command:
        call = {"type": "tool_use", "id": f"toolu_{os.urandom(6).hex()}", "name": "Bash", "input": {}}
        given = json.dumps({"command": command, "description": "Run a step"})
        yield "content_block_start", {"index": 1, "content_block": call}
        yield "content_block_delta", {"index": 1, "delta": {"type": "input_json_delta", "partial_json": given}}
        yield "content_block_stop", {"index": 1}
    yield "message_delta", {"delta": {"stop_reason": "tool_use" if command else "end_turn"}, "usage": usage}
    yield "message_stop", {}


def _responses(text: str, command: str, tokens: int) -> Iterator[tuple[str, dict[str, Any]]]:
    name = os.urandom(6).hex()
    content = [{"type": "output_text", "text": text, "annotations": []}]
    items: list[dict[str, Any]] = [
        {"type": "message", "id": f"m_{name}", "role": "assistant", "status": "completed", "content": content}
    ]
    if command:
        given = json.dumps({"cmd": command})
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{name}",
                "call_id": f"call_{name}",
                "name": "exec_command",
                "arguments": given,
            }
        )
    yield (
        "response.created",
        {"response": {"id": f"resp_{name}", "object": "response", "status": "in_progress", "output": []}},
    )
    for number, item in enumerate(items):
        yield "response.output_item.done", {"output_index": number, "item": item}
    usage = {"input_tokens": tokens, "output_tokens": 10, "total_tokens": tokens + 10}
    yield (
        "response.completed",
        {
            "response": {
                "id": f"resp_{name}",
                "object": "response",
                "status": "completed",
                "output": items,
                "usage": usage,
            }
        },
    )


def _claude(programs: Path, home: Path, project: Path, port: int, environ: dict[str, str]) -> SessionSource:
    own = {
        **environ,
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "sk-fake-00000000000000000000",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    found = next(programs.glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    command = [str(found), "--model", "claude-sonnet-4-5", "--permission-mode", "bypassPermissions"]
    for words in (["-p", "Run the steps."], ["--continue", "-p", "/compact"], ["--continue", "-p", "Go on."]):
        _run([*command, *words], project, own)
    return ClaudeSource(home / ".claude")


def _codex(programs: Path, home: Path, project: Path, port: int, environ: dict[str, str]) -> SessionSource:
    settings = home / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(
        'model = "gpt-5.5"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\nmodel_context_window = 200000\n'
        'model_auto_compact_token_limit = 150000\n[model_providers.scripted]\nname = "scripted"\n'
        f'base_url = "http://127.0.0.1:{port}/v1"\nenv_key = "SCRIPTED_KEY"\nwire_api = "responses"\n[analytics]\nenabled = false\n'
    )
    command = [
        str(programs / "node_modules" / ".bin" / "codex"),
        "exec",
        "--dangerously-bypass-approvals-and-sandbox",
        "Run the steps.",
    ]
    _run(command, project, {**environ, "SCRIPTED_KEY": "x"})
    return CodexSource(home / ".codex")


def _run(command: list[str], project: Path, environ: dict[str, str]) -> None:
    subprocess.run(
        command, cwd=project, env=environ, check=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL, capture_output=True
    )


def _compare(messages: list[MessageWithParts], steps: list[Step]) -> list[str]:
    """Return what differs between an imported session and the steps that its model took."""
    parts = [part for message in messages for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolPart)]
    commands = [command for _, command in steps if command]
    wrong = (
        []
        if [call.state.input.get("command") for call in calls] == commands
        else [f"{len(calls)} calls, not {len(commands)}"]
    )
    results = sum(
        isinstance(call.state, ToolStateCompleted) and call.state.input["command"].split()[1] in call.state.output
        for call in calls
    )
    wrong += [] if results == len(commands) else [f"{results} results, not {len(commands)}"]
    texts = [part.text for part in parts if isinstance(part, TextPart) and not part.synthetic]
    wrong += [f"no text {text!r}" for text, _ in steps if texts.count(text) != 1]
    markers = sum(isinstance(part, CompactionPart) for part in parts)
    wrong += (
        []
        if markers == 1 and texts.count(SUMMARY) == 1
        else [f"{markers} compactions, {texts.count(SUMMARY)} summaries"]
    )
    return wrong


def main() -> int:
    """Run both programs, compare, and return the exit code."""
    folder = os.environ.get(PROGRAMS)
    if not folder:
        print(f"{PROGRAMS} names no folder with the programs; nothing was compared")
        return 0
    count = rounds(STEPS, 30)
    half = count // 2
    plain: list[Step] = [(f"Step {number}.", f"echo {number}-of-{count} && seq 1 12") for number in range(count)]
    plain.append(("All done.", ""))
    paused = [*plain[:half], ("Half of it is done.", ""), *plain[half:]]
    figures: list[Figure] = []
    # Claude Code is told to compact between two runs, Codex does so by itself where the model reports a full context.
    for name, run, steps, full_at in (("Claude Code", _claude, paused, -1), ("Codex", _codex, plain, half)):
        with tempfile.TemporaryDirectory() as top:
            home, project = Path(top, "home"), make_repo(Path(top, "project")).path
            home.mkdir()
            environ = {**isolated_environment(home), "HOME": str(home)}
            model = _Model(steps, full_at)
            threading.Thread(target=model.serve_forever, daemon=True).start()
            source = run(Path(folder), home, project, model.server_address[1], environ)
            [found] = source.list()
            wrong = _compare(list(source.read(found).messages), steps)
            model.shutdown()
            for line in wrong[:5]:
                print(f"{name}: {line}")
            figures.append(Figure(f"{name}: differences in {count} steps", len(wrong), 0, ""))
    return report(figures)


if __name__ == "__main__":
    raise SystemExit(main())
