"""An engine of the user that has left its terminal, with a question that waits, and what was done to it."""

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencode_tui.storage.engine_claim import EngineRecord, live_engines
from opencode_tui.storage.paths import Paths, find_paths
from opencode_tui.storage.process_identity import is_alive
from tests.support.browser.web import web_server
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.waiting import PATIENCE_S, wait_until

_ASKS = 'ask <<tool bash {"command": "touch asked", "description": "asks"}>>'


@dataclass(frozen=True)
class LeftEngine:
    """The engine, its question, and the address of the user's web page."""

    line: CommandLine
    record: EngineRecord
    paths: Paths
    session_id: str
    question_id: str
    url: str

    @property
    def places(self) -> Mapping[str, str]:
        """The names of its places in the texts of cases."""
        (record,) = self.paths.terminals.glob("*.json")
        return {
            "@L": str(self.line.folder),
            "@D": str(self.paths.data),
            "@R": str(record),
            "@K": self.record.socket,
            "@E": str(self.record.process.pid),
            "@I": self.session_id,
            "@Q": self.question_id,
            "@W": self.url,
        }

    def damage(self, said: str) -> list[str]:
        """Return what was done to it or read of it; `said` is what the model got."""
        found: list[str] = []
        if not is_alive(self.record.process):
            found.append("the engine ended")
        if (asked := _asked(self.line)) != (self.session_id, self.question_id):
            found.append(f"its question is gone: {asked}")
        if (self.line.folder / "asked").exists():
            found.append("its question was answered")
        sessions = [json.loads(path.read_text()) for path in self.paths.storage.glob("session/*/*.json")]
        if [one["id"] for one in sessions if one["directory"] == str(self.line.folder)] != [self.session_id]:
            found.append("its folder has other sessions")
        found += [f"read {name}" for name, text in (("its secret", self.record.secret),) if text in said]
        return found


def _asked(line: CommandLine) -> tuple[str, str] | None:
    """Return the session and the question that wait; looks again while there is none, as a busy engine may not respond in time."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        rows: list[dict[str, Any]] = json.loads(line.run("ps", "--format", "json").stdout)
        if found := [(row["sessionID"], one["id"]) for row in rows for one in row["asks"]]:
            return found[0]
    return None


@contextmanager
def left_engine(folder: Path, environ: Mapping[str, str], tier: str) -> Generator[LeftEngine]:
    """Yield an engine in a new folder whose terminal was closed while it asked."""
    folder.mkdir()
    settings = {
        "model": "fake/fake-model",
        "permission": {"bash": {"touch *": "ask"}},
        "experimental": {"sandbox": {"tier": tier}},
    }
    with ModelServer() as server:
        line = CommandLine(folder, environ, provider=server.config(), settings=settings)
        try:
            with ScreenTerminal(["-m", "opencode_tui"], folder=folder, environ=line.variables()) as terminal:
                terminal.sees("Ask anything")
                terminal.paste(_ASKS)
                terminal.press("enter")
                terminal.sees("run once")
                terminal.hang_up()
                paths = find_paths(environ)
                wait_until(lambda: any(one.is_detached for one in live_engines(paths)))
                (record,) = live_engines(paths)
                asked = _asked(line)
                assert asked is not None, "the engine that was left does not list its question"
                with web_server(line) as web:
                    yield LeftEngine(line, record, paths, *asked, web.url.rstrip("/"))
                line.run("stop", "--all", "--yes")
                terminal.process.terminate()
                terminal.process.wait(PATIENCE_S)
        finally:
            line.kill_survivors()
