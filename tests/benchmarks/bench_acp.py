"""`acp`: from exec to the answer to `initialize`, a history of 2,000 parts replayed, and the end of the process."""

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opencode_tui.storage.paths import find_paths
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.sessions.records import assistant, call, session_info, text, user, write_records
from tests.support.world.cli import CommandLine

ROUNDS = 9
TURNS = 250
PARTS_A_TURN = 8
INITIALIZE_GOAL_S = 0.6
REPLAY_GOAL_S = 2
END_GOAL_S = 1


class Editor:
    """A client of the command over its pipes."""

    def __init__(self, line: CommandLine) -> None:
        self.begin = time.monotonic()
        self.process = line.start("acp", stdin=subprocess.PIPE)

    def call(self, method: str, **params: Any) -> tuple[dict[str, Any], int]:
        """Return the result of a request and the number of messages before it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        request = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        for count, line in enumerate(self.process.stdout):
            answer = json.loads(line)
            if answer.get("id") == method:
                return answer["result"], count
        raise AssertionError(f"no answer to {method}")


@contextmanager
def started(line: CommandLine) -> Generator[Editor]:
    """Yield a client, then close its end and wait for the process."""
    editor = Editor(line)
    try:
        yield editor
    finally:
        editor.process.communicate()


def write_history(environ: dict[str, str], folder: Path) -> str:
    """Write a session of 2,000 parts and return its ID."""
    info = session_info("ses_1f0000000001" + "a" * 14, directory=str(folder))
    messages = [
        message
        for number in range(TURNS)
        for message in (
            user(f"request {number}", session_id=info.id),
            assistant(
                *(
                    call(f"{number}-{one}", "read", given={"filePath": "a.py"}, output="line\n" * 40)
                    for one in range(5)
                ),
                text("an answer of some length " * 20),
                text("and its end"),
                session_id=info.id,
            ),
        )
    ]
    write_records(find_paths(environ), info, messages)
    return info.id


def main() -> int:
    """Measure in rounds and return the exit code."""
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        home, folder = Path(name) / "home", Path(name) / "project"
        home.mkdir()
        folder.mkdir()
        environ = isolated_environment(home)
        settings = {"model": "fake/fake-model"}
        line = CommandLine(folder, environ, provider=model.config(), settings=settings)
        session = write_history(environ, folder)
        first: list[float] = []
        replayed: list[float] = []
        ended: list[float] = []
        for _ in range(rounds(ROUNDS, 3)):
            with started(line) as editor:
                editor.call("initialize", protocolVersion=1)
                first.append(time.monotonic() - editor.begin)
                editor.call("session/new", cwd=str(folder), mcpServers=[])  # opens the engine
                begin = time.monotonic()
                _, count = editor.call("session/load", cwd=str(folder), sessionId=session, mcpServers=[])
                replayed.append(time.monotonic() - begin)
                assert count >= TURNS * PARTS_A_TURN, count
                begin = time.monotonic()
            ended.append(time.monotonic() - begin)
    return report(
        [
            Figure("exec to the answer to initialize", statistics.median(first), INITIALIZE_GOAL_S, "s"),
            Figure(f"replay of {TURNS * PARTS_A_TURN:,} parts", statistics.median(replayed), REPLAY_GOAL_S, "s"),
            Figure("end of the input to the end of the process", max(ended), END_GOAL_S, "s"),
        ]
    )


if __name__ == "__main__":
    raise SystemExit(main())
