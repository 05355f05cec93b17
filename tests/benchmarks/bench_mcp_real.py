"""MCP servers that people use: FastMCP behind an OpenID provider, and Playwright's browser, through the finished commands.

Run: python -m tests.benchmarks mcp_real (two minutes; needs npm, PyPI and a Chromium). `oidc-provider` and `@playwright/mcp` of
npm and `fastmcp` of PyPI are installed into a temporary folder, or found in the folder that PROGRAMS names.

The provider is strict: it knows no scope of the tools, registers clients, rotates refresh tokens, and ends a family of tokens
whose refresh token is used twice. FastMCP announces an empty `scopes_supported`. A program that follows redirects is the browser.
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.benchmarks.comparison import Figure, report
from tests.conftest import isolated_environment
from tests.engine.mcp.sign_in_world import free_port
from tests.support.browser import chromium
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine, Finished

NPM, PYPI = ("oidc-provider@9", "@playwright/mcp"), ("fastmcp>=4,<5",)
ISSUER = Path(__file__).parents[1] / "support/mcp/openid_issuer.mjs"
FORMATS = ("fake", "fake-anthropic", "fake-responses", "fake-gemini")
LIFETIME_S = 4
"""Seconds of an access token."""

FASTMCP = """
import sys
from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier

port, issuer = sys.argv[1:]
base = f"http://127.0.0.1:{port}"
verifier = JWTVerifier(jwks_uri=f"{issuer}/jwks", issuer=issuer, audience=f"{base}/mcp")
app = FastMCP("tools", auth=RemoteAuthProvider(token_verifier=verifier, authorization_servers=[issuer], base_url=base))

@app.tool
def add(a: int, b: int = 5) -> int:
    "Add two numbers."
    return a + b

app.run(transport="http", host="127.0.0.1", port=int(port), show_banner=False)
"""

BROWSER = """#!{python} -SI
import sys, urllib.request as r
opener = r.build_opener(r.HTTPCookieProcessor(), r.ProxyHandler({{}}))
sys.exit(opener.open(sys.argv[1], timeout=30).status != 200)
"""
"""A browser that keeps cookies, which the provider needs."""


def check(is_true: bool, what: str, about: object = "") -> None:
    """Raise AssertionError, with what is wrong, unless something holds."""
    if not is_true:
        raise AssertionError(f"{what}: {str(about)[-1500:]}")


@contextmanager
def running(command: list[str], folder: Path, url: str) -> Generator[None]:
    """Run a server until the context is left; wait until its address answers anything."""
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 60
            while not _answers(url):
                check(process.poll() is None and time.monotonic() < deadline, "a server did not start", command)
                time.sleep(0.1)
            yield
        finally:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        fetch(url)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def fetch(url: str) -> bytes:
    """Return what an address of this machine answers."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=30) as answer:
        return answer.read()


def world(folder: Path, model: ModelServer, mcp: dict[str, Any]) -> CommandLine:
    """Return the commands in a project with these MCP servers."""
    home, project = folder / "home", folder / "project"
    home.mkdir(exist_ok=True)
    project.mkdir(exist_ok=True)
    browser = folder / "browser"
    browser.write_text(BROWSER.format(python=sys.executable))
    browser.chmod(0o755)
    return CommandLine(
        project,
        {**isolated_environment(home), "BROWSER": str(browser)},
        provider=model.config(has_all=True),
        settings={"mcp": mcp, "permission": {name: "allow" for name in ("fast_*", "browser_*")}},
    )


def called(line: CommandLine, model: ModelServer, tool: str, **arguments: Any) -> tuple[Finished, dict[str, Any]]:
    """Return a turn in which the model calls a tool, and the state of that call."""
    model.script_anew(Answer(calls=(Call("mcp_call", {"tool": tool, "arguments": arguments}),)), Answer(text="Done."))
    done = line.turn("Use the tool.")
    [call] = done.parts("tool_use")
    return done, call["state"]


def sign_in(programs: Path) -> None:
    """Sign in, refresh twice, sign out; then let the provider refuse a scope."""
    issuer_port, port = free_port(), free_port()
    issuer, address = f"http://127.0.0.1:{issuer_port}", f"http://127.0.0.1:{port}/mcp"
    script = programs / "fastmcp_server.py"
    script.write_text(FASTMCP)
    node = ["node", str(ISSUER), str(issuer_port), str(LIFETIME_S)]
    fastmcp = [str(programs / "venv/bin/python"), str(script), str(port), issuer]

    def seen(path: str, **form: str) -> list[dict[str, Any]]:
        found = json.loads(fetch(f"{issuer}/seen"))
        return [one for one in found if one["path"] == path and form.items() <= one["form"].items()]

    with (
        tempfile.TemporaryDirectory() as text,
        ModelServer() as model,
        running(node, programs, f"{issuer}/seen"),
        running(fastmcp, programs, address),
    ):
        oauth: dict[str, Any] = {"callbackPort": free_port()}
        entry = {"type": "remote", "url": address, "oauth": oauth}
        line = world(Path(text), model, {"fast": entry})
        _, refused = called(line, model, "fast_add", a=2)
        check("mcp auth fast" in json.dumps(refused), "a call without a sign-in does not name the command", refused)
        done = line.run("mcp", "auth", "fast")
        check(done.code == 0 and "signed in to fast: 1 tool" in done.stderr, "the sign-in fails", done)
        [asked] = seen("/auth")
        check(asked["form"]["scope"] == "offline_access", "the scope is not that of the provider", asked)
        check("fast_add" in line.run("mcp", "tools", "fast").stdout, "the tool is not listed")
        done = line.run("mcp", "debug", "fast", "--call", "fast_add", "--arguments", '{"a": 2}')
        check(done.code == 0 and '"result": 7' in done.stdout, "the listed name cannot be called", done)
        for _ in range(2):
            time.sleep(LIFETIME_S + 1)
            _, state = called(line, model, "fast_add", a=2)
            check(
                state.get("output") == "7",
                "a call after the end of a token fails, or a default is not the server's",
                state,
            )
        used = [one["form"]["refresh_token"] for one in seen("/token", grant_type="refresh_token")]
        check(len(used) >= 2 and len(set(used)) == len(used), "refresh tokens are not rotated", used)
        check({one["status"] for one in seen("/token")} == {200}, "a refresh was refused", seen("/token"))
        done = line.run("mcp", "logout", "fast")
        check(done.code == 0, "the sign-out fails", done)
        _, refused = called(line, model, "fast_add", a=2)
        check("mcp auth fast" in json.dumps(refused), "a call after the sign-out does not demand a sign-in", refused)
        oauth["scope"] = "admin"
        done = world(Path(text), model, {"fast": entry}).run("mcp", "auth", "fast")
        remedy = "correct `oauth.scope` in the settings of mcp.fast"
        check(done.code == 1 and remedy in done.stderr, "a refused scope has another remedy", done)


def screenshot(programs: Path) -> None:
    """Let a model of each format take a screenshot, and look for the picture in the request that follows."""
    check(chromium.PROGRAM is not None, chromium.ABSENT)
    cli = programs / "node_modules/@playwright/mcp/cli.js"
    command = ["node", str(cli), "--headless", "--no-sandbox", "--isolated", "--executable-path", str(chromium.PROGRAM)]
    for name in FORMATS:
        with tempfile.TemporaryDirectory() as text, ModelServer() as model:
            line = world(Path(text), model, {"browser": {"type": "local", "command": command}})
            line = replace(line, model=f"{name}/fake-model")
            page = "data:text/html,<body style='background:red'>"
            steps = (("navigate", {"url": page}), ("take_screenshot", {}))
            calls = [Call("mcp_call", {"tool": f"browser_browser_{tool}", "arguments": given}) for tool, given in steps]
            model.script(*(Answer(calls=(call,)) for call in calls), Answer(text="Done."))
            done = line.turn("Look at the page.")
            check(done.code == 0, f"{name}: the turn fails", done)
            words = json.dumps(model.bodies[-1])
            start = words.find("iVBORw0KGgo")
            check(start > 0, f"{name}: the model got no picture", done.parts("tool_use"))
            picture = base64.b64decode(words[start : words.index('"', start)])
            check(
                len(picture) > 1_000 and picture.endswith(b"IEND\xaeB`\x82"),
                f"{name}: the picture is cut",
                len(picture),
            )


def _install(folder: Path) -> Path:
    print(f"installing {', '.join((*NPM, *PYPI))} …", flush=True)
    npm = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), *NPM]
    subprocess.run(npm, check=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    subprocess.run([str(folder / "venv/bin/pip"), "install", "--quiet", *PYPI], check=True)
    return folder


WORKS: tuple[tuple[str, Callable[[Path], None]], ...] = (
    ("FastMCP behind an OpenID provider: sign-in, refresh, sign-out, refused scope", sign_in),
    (f"a screenshot of Playwright reaches models of {len(FORMATS)} formats", screenshot),
)


def main() -> int:
    """Try all programs, print what fails and return the exit code."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        print("skipped: no npm on this machine")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as text:
        named = os.environ.get("PROGRAMS")
        programs = Path(named) if named else _install(Path(text))
        for what, work in WORKS:
            begin = time.monotonic()
            try:
                work(programs)
                verdict = "ok"
            except AssertionError as error:
                failed += 1
                verdict = f"FAILED: {error}"
            print(f"{what:<80} {time.monotonic() - begin:4.0f} s  {verdict}", flush=True)
    return report([Figure("programs with a failure", failed, 0, "")])


if __name__ == "__main__":
    sys.exit(main())
