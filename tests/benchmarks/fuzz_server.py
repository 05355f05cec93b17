"""Ten thousand generated requests against a running server, made from its own description: none may fail it or hang it.

`python -m tests.benchmarks.fuzz_server [EXAMPLES]`, EXAMPLES for each operation. Schemathesis makes the requests; it is the extra
`fuzz`. What waits for something to happen (two event streams, the next command for the screen) and the route that closes the
instance are left out.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.provider.model_server import ModelServer
from tests.support.world.repo import make_repo

EXAMPLES = rounds(120, 5)
GOAL = rounds(10_000, 300)
REQUEST_S = 10
"""Seconds after which a request counts as hanging."""

PASSWORD = "correct horse"
SETTINGS = {"model": "fake/fake-model", "permission": {"*": "allow", "question": "deny"}}
"""Nobody is there to answer: a question would look like a hang."""

LEFT_OUT = "event$|/instance/dispose|/tui/control/next"
MODEL = {"providerID": "fake", "modelID": "fake-model"}


def main() -> int:
    """Serve, fuzz, look whether the server still answers; return 1 when a request failed it or too few were made."""
    examples = int(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        folder = Path(name).resolve()
        (folder / "home").mkdir()
        make_repo(folder / "project").commit("begin", **{"a.py": "x = 1\n"})
        environ = {
            **isolated_environment(folder / "home"),
            "OPENCODE_SERVER_PASSWORD": PASSWORD,
            "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": model.config(), **SETTINGS}),
        }
        command = [sys.executable, "-m", "opencode_tui", "serve", "--port", "0"]
        with subprocess.Popen(
            command, cwd=folder / "project", env=environ, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            url = server.stdout.readline().split()[-1]
            try:
                return _fuzz(url, folder, examples)
            finally:
                server.terminate()


def _fuzz(url: str, folder: Path, examples: int) -> int:
    with httpx.Client(base_url=url, auth=("opencode", PASSWORD), trust_env=False, timeout=REQUEST_S) as http:
        (folder / "schemathesis.toml").write_text(_known_names(http))
        begin = time.monotonic()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(folder / "schemathesis.toml")),
                *("run", f"{url}/doc", "--url", url, "--auth", f"opencode:{PASSWORD}"),
                *("--checks", "not_a_server_error", "--phases", "coverage,fuzzing", "--max-examples", str(examples)),
                *("--request-timeout", str(REQUEST_S), "--no-color", "--exclude-path-regex", LEFT_OUT),
            ],
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "NO_PROXY": "*"},
        )
        seconds = time.monotonic() - begin
        is_alive = http.get("/global/health").is_success and http.get("/session").is_success
    made = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    if made is None:
        print(_failures(done.stdout), done.stderr[-1000:], "`pip install -e .[fuzz]` brings schemathesis", sep="\n")
        return 1
    generated, passed = map(int, made.groups())
    is_good = done.returncode == 0 and generated == passed >= GOAL and is_alive
    if not is_good:
        print(_failures(done.stdout))
    alive = "answers" if is_alive else "does not answer"
    print(f"{generated} requests, {passed} without a 5xx or a hang, {seconds:.0f} s; the server still {alive}")
    return 0 if is_good else 1


def _failures(output: str) -> str:
    """Return what the generator says of requests that failed, up to its warnings; its end where it says nothing of them."""
    found = re.search(
        r"^=+ (?:ERRORS|FAILURES) =+$.*?(?=^=+ (?:WARNINGS|SUMMARY) =+$)", output, re.MULTILINE | re.DOTALL
    )
    return found[0][:20_000] if found else output[-3000:]


def _known_names(http: httpx.Client) -> str:
    """Return settings that give the generator ids of things that are there, so that it gets beyond `not found`."""
    session = http.post("/session", json={}).json()["id"]
    say = {"model": MODEL, "parts": [{"type": "text", "text": "hello"}]}
    http.post(f"/session/{session}/message", json=say).raise_for_status()
    message = http.get(f"/session/{session}/message").json()[0]
    ids = {"sessionID": session, "messageID": message["info"]["id"], "partID": message["parts"][0]["id"]}
    return "[parameters]\n" + "".join(f'"path.{name}" = "{value}"\n' for name, value in ids.items())


if __name__ == "__main__":
    sys.exit(main())
