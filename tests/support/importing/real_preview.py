"""The preview of OpenCode 2 (`lildax`) in a home folder of its own, against the scripted model.

    npm install --prefix FOLDER/2-preview --ignore-scripts @opencode-ai/cli-linux-x64@1.18.18
    OPENCODE_PROGRAMS=FOLDER

It reads no settings of its environment, so that they are written into its home folder.
"""

import json
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import isolated_environment
from tests.support.importing.real_opencode import PROGRAMS, wait_for_address
from tests.support.world.waiting import PATIENCE_S, wait_until

PREVIEW = "2-preview"


def preview_program() -> Path | None:
    """Return the preview's program, None where it is not installed."""
    folder = os.environ.get(PROGRAMS)
    if not folder:
        return None
    program = Path(folder, PREVIEW, "node_modules", "@opencode-ai", "cli-linux-x64", "bin", "lildax")
    return program if program.exists() else None


@dataclass(frozen=True)
class RealPreview:
    """One program with its home folder; `project` is where it runs, `provider` the scripted model in OpenCode 1's form."""

    program: Path
    home: Path
    project: Path
    provider: dict[str, Any]

    @property
    def data(self) -> Path:
        """Its data folder."""
        return self.home / ".local" / "share" / "opencode"

    def configure(self, **settings: Any) -> None:
        """Write its settings, with the scripted model, in the form of OpenCode 2."""
        given = self.provider["fake"]
        model = {"name": "Scripted", "capabilities": {"tools": True, "input": ["text", "image"], "output": ["text"]}}
        model |= {"limit": {"context": 200_000, "output": 8_000}}
        api = {"type": "aisdk", "package": given["npm"], "url": given["options"]["baseURL"]}
        provider = {"name": "Scripted", "api": {**api, "settings": {}}, "models": {"fake-model": model}}
        provider["request"] = {"headers": {"Authorization": f"Bearer {given['options']['apiKey']}"}, "body": {}}
        value = {"model": "fake/fake-model", "providers": {"fake": provider}, **settings}
        folder = self.home / ".config" / "opencode"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "opencode.json").write_text(json.dumps(value))

    def run(self, *arguments: str, timeout: float = 120) -> str:
        """Run one command and return its stdout."""
        done = subprocess.run(
            [str(self.program), *arguments],
            cwd=self.project,
            env=isolated_environment(self.home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"lildax {' '.join(arguments)}: {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """Start a command in a session of its own, so that it can be killed with its children."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "preview.log").open("wb") as output:
            return subprocess.Popen(
                [str(self.program), *arguments],
                cwd=self.project,
                env=isolated_environment(self.home),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @contextmanager
    def serve(self) -> Generator[httpx.Client]:
        """Run its server and yield a client for it."""
        server = self.start("serve", "--port", "0")
        try:
            address = wait_for_address(self.home / "preview.log", server)
            auth = ("opencode", self.run("service", "password").strip())
            with httpx.Client(base_url=address, auth=auth, timeout=120, trust_env=False) as client:
                yield client
        finally:
            kill(server)


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process that `start` started, with its children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(PATIENCE_S)


class PreviewSession:
    """One session of a preview's server."""

    def __init__(self, client: httpx.Client, project: Path, *, id: str | None = None) -> None:
        self.client = client
        if id is None:
            body = {"location": {"directory": str(project)}}
            id = str(self._post("/api/session", body)["data"]["id"])
        self.id = id

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        response = self.client.post(path, json=body)
        assert response.is_success, f"{path}: {response.status_code} {response.text[:500]}"
        return response.json() if response.content else {}

    def post(self, name: str, **body: Any) -> dict[str, Any]:
        """Send a request of the session."""
        return self._post(f"/api/session/{self.id}/{name}", body)

    def prompt(self, text: str, *, is_waited_for: bool = True, **more: Any) -> None:
        """Send a prompt, and wait until nothing runs in the session."""
        self.post("prompt", prompt={"text": text, **more})
        if is_waited_for:
            self.wait()

    def wait(self) -> None:
        """Wait until nothing runs in the session."""
        wait_until(lambda: self.id not in self.client.get("/api/session/active").json()["data"])
