"""A real OpenCode of a chosen version, in a home folder of its own, against the scripted model.

    npm install --prefix FOLDER opencode-ai@1.1.65
    OPENCODE_PROGRAMS=FOLDER        # holds one folder per version: 1.1.65/node_modules/.bin/opencode

`program_of` returns None where the version is not installed: comparisons with the real programs are optional.
"""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import isolated_environment
from tests.support.world.waiting import PATIENCE_S

PROGRAMS = "OPENCODE_PROGRAMS"
START_S = 60
PLATFORM = "linux-x64"
"""The package with the program itself: that of `opencode-ai` needs its install script, which `--ignore-scripts` leaves out."""


def program_of(version: str) -> Path | None:
    """Return the program of a version, None where it is not installed."""
    folder = os.environ.get(PROGRAMS)
    if not folder:
        return None
    modules = Path(folder, version, "node_modules")
    programs = (modules / f"opencode-{PLATFORM}" / "bin" / "opencode", modules / ".bin" / "opencode")
    return next((program for program in programs if program.exists()), None)


@dataclass(frozen=True)
class RealOpenCode:
    """One program with its home folder; `project` is a git work tree."""

    program: Path
    home: Path
    project: Path
    provider: dict[str, Any]

    @property
    def data(self) -> Path:
        """Its data folder."""
        return self.home / ".local" / "share" / "opencode"

    def environment(self) -> dict[str, str]:
        """Return what it runs with; no name of a model is looked up."""
        settings = {
            "model": "fake/fake-model",
            "small_model": "fake/fake-model",
            "autoupdate": False,
            "share": "disabled",
            "enabled_providers": ["fake"],
            "provider": {"fake": self.provider["fake"]},
        }
        return {
            **isolated_environment(self.home),
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }

    def run(self, *arguments: str, timeout: float = 120) -> str:
        """Run one command and return its stdout, read through a file: the program may end before a pipe is empty."""
        self.home.mkdir(parents=True, exist_ok=True)
        out = self.home / "stdout"
        with out.open("wb") as stdout:
            done = subprocess.run(
                [str(self.program), *arguments],
                cwd=self.project,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.PIPE,
                timeout=timeout,
                check=False,
            )
        text = out.read_text()
        if done.returncode != 0:
            raise AssertionError(
                f"opencode {' '.join(arguments)}: {done.returncode}: {done.stderr.decode()[-2000:]}{text[-500:]}"
            )
        return text

    @contextmanager
    def serve(self) -> Generator[httpx.Client]:
        """Run its server and yield a client for it."""
        self.home.mkdir(parents=True, exist_ok=True)
        log = self.home / "serve.log"
        with log.open("wb") as output:
            server = subprocess.Popen(
                [str(self.program), "serve", "--port", "0"],
                cwd=self.project,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            with httpx.Client(base_url=wait_for_address(log, server), timeout=120, trust_env=False) as client:
                yield client
        finally:
            with suppress(ProcessLookupError):
                os.killpg(
                    server.pid, signal.SIGKILL
                )  # the program is a child of a launcher, which does not pass SIGTERM on
            server.wait(PATIENCE_S)


def wait_for_address(log: Path, server: "subprocess.Popen[bytes]") -> str:
    """Return the address that a server writes into its log."""
    end = time.monotonic() + START_S
    while time.monotonic() < end and server.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text(errors="replace"))
        if found:
            return found.group()
        time.sleep(0.05)
    raise AssertionError(f"opencode serve did not start: {log.read_text(errors='replace')[-2000:]}")


def fill(client: httpx.Client, project: Path) -> list[str]:
    """Make three sessions with most kinds of parts, and return their ids: one, its fork, one with a child."""

    def ask(session_id: str, text: str) -> None:
        parts = [{"type": "text", "text": text}]
        client.post(f"/session/{session_id}/message", json={"parts": parts}).raise_for_status()

    main = str(client.post("/session", json={}).raise_for_status().json()["id"])
    written = {"filePath": str(project / "new.txt"), "content": "one\ntwo\n"}
    todos = {"todos": [{"id": "1", "content": "first", "status": "in_progress", "priority": "high"}]}
    ask(main, "alpha beta <<reason thinking hard>>")
    ask(main, f"write it <<tool write {json.dumps(written)}>>")
    ask(main, 'run it <<tool bash {"command":"echo hi; ls","description":"List"}>>')
    ask(main, f"plan <<tool todowrite {json.dumps(todos)}>>")
    ask(main, 'fail <<tool read {"filePath":"absent.txt"}>>')
    client.post(f"/session/{main}/summarize", json={"providerID": "fake", "modelID": "fake-model"}).raise_for_status()
    fork = str(client.post(f"/session/{main}/fork", json={}).raise_for_status().json()["id"])
    ask(fork, "after the compaction, with ünïcödé 世界 🎉")
    parent = str(client.post("/session", json={}).raise_for_status().json()["id"])
    task = {"description": "look", "prompt": "look around", "subagent_type": "general"}
    ask(parent, f"delegate <<tool task {json.dumps(task)}>>")
    return [main, fork, parent]
