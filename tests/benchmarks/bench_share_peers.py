"""A real OpenCode 1.1 against our share server: it shares a run, imports it elsewhere and takes it back; it imports what we share.

Run: python -m tests.benchmarks share_peers. The peer is the package `opencode-ai@1.1.65`, found by OPENCODE, the path of its
program, else on PATH as `opencode`; without it nothing is measured. Goals: every step works, and no secret reaches the server.
"""

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.share.server import Recorder, recorded_server

PROMPT = "Say where the river ends."
ANSWER = "The river ends in the sea, says the scripted model."
_TIMEOUT_S = 180


class Program:
    """One program with folders of its own."""

    def __init__(self, command: list[str], base: Path, settings: dict[str, Any]) -> None:
        self._command = command
        self.base = base
        self.project = base / "project"
        self.project.mkdir(parents=True)
        (base / "home").mkdir()
        self._environ = {
            **isolated_environment(base / "home"),
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }

    async def run(self, *arguments: str) -> str:
        """Run a command to its end and return what it wrote."""
        process = await asyncio.create_subprocess_exec(
            *self._command, *arguments, cwd=self.project, env=self._environ,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                output, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            return "it did not end"
        return output.decode("utf-8", "replace")

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[httpx.AsyncClient]:
        """Run its server; yields a client of its folder."""
        process = await asyncio.create_subprocess_exec(
            *self._command, "serve", "--port", "0", cwd=self.project, env=self._environ,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            line = ""
            async with asyncio.timeout(60):
                while "listening on" not in line:
                    line = (await process.stdout.readline()).decode()
            address, folder = line.strip().rpartition(" ")[2], {"directory": str(self.project)}
            async with httpx.AsyncClient(base_url=address, params=folder, trust_env=False, timeout=60) as http:
                yield http
        finally:
            process.terminate()
            await process.wait()

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return the stored records of a kind."""
        root = self.base / "home" / ".local" / "share"
        return [json.loads(path.read_bytes()) for path in root.glob(f"*/storage/{kind}/**/*.json")]

    def texts(self) -> str:
        """Return all texts of stored parts."""
        return "\n".join(str(part.get("text", "")) for part in self.records("part"))


async def measure(opencode: str, folder: Path) -> list[Figure]:
    """Do all steps; return for each whether it failed."""
    steps: dict[str, bool] = {}
    ours = [sys.executable, "-m", "opencode_tui"]
    with ModelServer() as model:
        async with recorded_server(folder) as server:
            settings = {
                "provider": {"fake": provider_config(model.base_url)["fake"]},
                "model": "fake/fake-model",
                "small_model": "fake/fake-model",
                "enterprise": {"url": server.url},
                "autoupdate": False,
            }
            first = Program([opencode], folder / "first", settings)
            second = Program([opencode], folder / "second", settings)
            third = Program(ours, folder / "third", settings)
            model.script(Answer(text=ANSWER))
            url = await _share(first, server, steps)
            print(await second.run("import", url), flush=True)
            steps["opencode imports from the server by its link"] = (
                ANSWER in second.texts() and PROMPT in second.texts()
            )
            print(await third.run("import", url), flush=True)
            steps["ours imports from the server by its link"] = ANSWER in third.texts()
            await _unshare(first, url, server, steps)
            await _share_ours(third, second, model, server, steps)
    return [Figure(f"failed: {name}", not done, 0, unit="") for name, done in steps.items()]


async def _share(program: Program, server: Recorder, steps: dict[str, bool]) -> str:
    """Share a run with OpenCode. It ends without waiting for its changes to be sent; its server, which does not end, sends them."""
    output = await program.run("run", "--share", PROMPT)
    found = re.search(r"https?://\S+/share/[A-Za-z0-9_-]+", output)
    steps["opencode run --share prints our link"] = found is not None and server.url in found[0]
    if found is None:
        print(output)
        return f"{server.url}/share/none"
    share = program.records("session_share")[0]
    steps["opencode keeps id, url and secret"] = share["url"] == found[0] and bool(share["secret"])
    session = str(program.records("session")[0]["id"])
    async with program.serve() as http:
        url = (await http.post(f"/session/{session}/share")).json()["share"]["url"]
        turn = {"providerID": "fake", "modelID": "fake-model"}
        await http.post(
            f"/session/{session}/message", json={"model": turn, "parts": [{"type": "text", "text": "Go on."}]}
        )
        steps["opencode serve shares a session whole"] = PROMPT in json.dumps(await server.until(url, ANSWER, 60))
    return url


async def _unshare(program: Program, url: str, server: Recorder, steps: dict[str, bool]) -> None:
    session = str(program.records("session")[0]["id"])
    async with program.serve() as http:
        answer = await http.delete(f"/session/{session}/share")
    steps["opencode unshares"] = answer.status_code == 200 and await server.data(url) == []


async def _share_ours(
    ours: Program, opencode: Program, model: ModelServer, server: Recorder, steps: dict[str, bool]
) -> None:
    """Share a run of ours, with a secret in it, and import it into OpenCode."""
    secret = "glpat-" + "q7Zr2Vx9Kd4Tn8Bs6Wm1"
    model.script(Answer(text="Shared by the other one."))
    server.sent.clear()
    output = await ours.run("run", "--share", f"My token is {secret}; go.")
    found = re.search(r"shared: (\S+)", output)
    steps["ours run --share prints a link"] = found is not None
    if found is None:
        print(output)
        return
    print(await opencode.run("import", found[1]))
    texts = opencode.texts()
    steps["opencode imports what we share"] = "Shared by the other one." in texts and "[hidden:key]" in texts
    steps["no secret left the machine"] = secret.encode() not in server.sent and bool(server.sent)


def main() -> int:
    """Measure and print."""
    opencode = os.environ.get("OPENCODE") or shutil.which("opencode")
    if opencode is None:
        print("no opencode on PATH and none named by OPENCODE; nothing to measure")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return report(asyncio.run(measure(opencode, Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
