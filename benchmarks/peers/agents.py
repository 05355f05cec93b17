"""The agents that are compared: ours and six others, how each is started against a scripted model, and where they are installed.

A peer is looked for in `PEERS`, a folder with a folder for each that `npm install --prefix PEERS/NAME PACKAGES` made, then in PATH,
where its version decides which one it is. A peer that needs a newer Node.js has it as a package of its folder.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from opencode_tui import __version__

KEY = "sk-fake-key-for-tests-000000000000"
_INSTALL_S = 300
_VERSION_S = 30


class Place(NamedTuple):
    """What an agent is started with: the model's address, a home of its own, the project."""

    url: str
    home: Path
    project: Path


class Start(NamedTuple):
    """How an agent is started: its command and its variables."""

    command: list[str]
    environ: Mapping[str, str]


class Agent(NamedTuple):
    """An agent: `begin` returns its start for one prompt, or for the screen where the prompt is None. The packages are npm's.

    `node` is the package of the Node.js that it needs, where one of `npm` is not new enough.
    """

    name: str
    begin: Callable[[Place, str | None], Start]
    program: str = ""
    package: str = ""
    node: str = ""

    def path(self) -> str | None:
        """Return the path of the program, or None where it is not installed."""
        return sys.executable if not self.program else find_program(self.name, self.program, self.package)

    def version(self) -> str:
        """Return the version of what is installed, as the program says it."""
        path = self.path()
        return __version__ if not self.program else version_of(path) if path else "not installed"


@functools.cache
def find_program(name: str, program: str, package: str) -> str | None:
    """Return the program of a peer: the one in the folder PEERS, else one in PATH, which must have the version if one is wanted."""
    if folder := os.environ.get("PEERS"):
        path = Path(folder).absolute() / name / "node_modules" / ".bin" / program
        if path.exists():
            return str(path)
    found = shutil.which(program)
    wanted = package.rpartition("@")[2] if "@" in package[1:] else ""
    return found if found and (not wanted or version_of(found) == wanted) else None


@functools.cache
def version_of(path: str) -> str:
    """Return what a program says to `--version`, the number only; "unknown" without one."""
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as home:
        environ = {**base_environ(Path(home)), **path_variable(path)}
        try:
            done = subprocess.run(
                [path, "--version"], env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=_VERSION_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return "unknown"
    found = re.search(r"[0-9]+\.[0-9]+(\.[0-9]+)?", done.stdout + done.stderr)
    return found.group() if found else "unknown"


def path_variable(program: str) -> dict[str, str]:
    """Return PATH with the folder of a program first, for one that has a Node.js of its own there."""
    folder = Path(program).parent
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"} if (folder / "node").exists() else {}


def ours(package: str = "@ai-sdk/openai-compatible", path: str = "/v1") -> Callable[[Place, str | None], Start]:
    """Return how ours is started with a provider of this npm package."""

    def begin(place: Place, prompt: str | None) -> Start:
        command = [sys.executable, "-m", "opencode_tui"]
        if prompt is not None:
            command += ["run", "--auto", "-m", "fake/fake-model", prompt]
        return Start(command, {"OPENCODE_CONFIG_CONTENT": _opencode_settings(place, package, path)})

    return begin


def _opencode_settings(place: Place, package: str, path: str) -> str:
    options = {"baseURL": f"{place.url}{path}", "apiKey": KEY}
    models = {"fake-model": {"limit": {"context": 2_000_000, "output": 8_000}}}
    provider = {"fake": {"npm": package, "options": options, "models": models}}
    return json.dumps(
        {
            "provider": provider,
            "model": "fake/fake-model",
            "permission": {"bash": "allow"},
            "autoupdate": False,
            "share": "disabled",
        }
    )


def _opencode(name: str) -> Agent:
    package = name.replace("opencode-", "opencode-ai@")

    def begin(place: Place, prompt: str | None) -> Start:
        command = [_installed(name, "opencode", package)]
        if prompt is not None:
            command += ["run", "-m", "fake/fake-model", prompt]
        return Start(
            command,
            {
                "OPENCODE_CONFIG_CONTENT": _opencode_settings(place, "@ai-sdk/openai-compatible", "/v1"),
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            },
        )

    return Agent(name, begin, "opencode", package)


def _codex(place: Place, prompt: str | None) -> Start:
    provider = f'model_providers.fake={{name="fake",base_url="{place.url}/v1",wire_api="responses",env_key="FAKE_KEY"}}'
    settings = [
        *("-c", provider, "-c", 'model_provider="fake"', "-c", 'model="gpt-5.1-codex"'),
        *("-c", "check_for_update_on_startup=false"),
    ]
    home = _made(place.home / "codex")
    if not (home / "config.toml").exists():  # it adds to it
        (home / "config.toml").write_text(f'[projects."{place.project}"]\ntrust_level = "trusted"\n')
    free = "--dangerously-bypass-approvals-and-sandbox"
    program = _installed("codex", "codex", CODEX)
    command = (
        [program, *settings, free] if prompt is None else [program, "exec", "--skip-git-repo-check", free, *settings]
    )
    return Start(
        [*command, *([prompt] if prompt is not None else [])],
        {"CODEX_HOME": str(home), "FAKE_KEY": KEY},
    )


def _claude(place: Place, prompt: str | None) -> Start:
    known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(place.project): known},
    }
    path = place.home / ".claude.json"
    if not path.exists():
        path.write_text(json.dumps(state))
    command = [_installed("claude", "claude", CLAUDE), "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"]
    return Start(
        command if prompt is None else [*command, "-p", prompt],
        {
            "ANTHROPIC_BASE_URL": place.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        },
    )


def _gemini(place: Place, prompt: str | None) -> Start:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "model": {"maxSessionTurns": -1, "disableLoopDetection": True},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    (_made(place.home / ".gemini") / "settings.json").write_text(json.dumps(settings))
    command = [_installed("gemini", "gemini", GEMINI), "--yolo", "-m", "gemini-2.5-pro", "--skip-trust"]
    return Start(
        command if prompt is None else [*command, "-p", prompt],
        {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": place.url},
    )


def _pi(place: Place, prompt: str | None) -> Start:
    model = {"id": "fake-model", "name": "fake", "contextWindow": 2_000_000, "maxTokens": 8_000}
    provider = {"baseUrl": f"{place.url}/v1", "api": "openai-completions", "apiKey": KEY, "models": [model]}
    (_made(place.home / ".pi" / "agent") / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
    program = _installed("pi", "pi", PI)
    command = [program, "--provider", "fake", "--model", "fake-model"]
    environ = {"PI_OFFLINE": "1", **path_variable(program)}
    return Start(command if prompt is None else [*command, "-p", prompt], environ)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _installed(name: str, program: str, package: str) -> str:
    path = find_program(name, program, package)
    assert path is not None, f"{name} is not installed"
    return path


CODEX, CLAUDE = "@openai/codex@0.171.0", "@anthropic-ai/claude-code@2.1.332"
GEMINI, PI = "@google/gemini-cli", "@earendil-works/pi-coding-agent@1.6.0"
OURS = Agent("ours", ours())
PEERS: tuple[Agent, ...] = (
    _opencode("opencode-1.1.65"),
    _opencode("opencode-1.18.33"),
    Agent("codex", _codex, "codex", CODEX),
    Agent("claude", _claude, "claude", CLAUDE),
    Agent("gemini", _gemini, "gemini", GEMINI),
    Agent("pi", _pi, "pi", PI, node="node@22"),
)


def install(folder: Path) -> int:
    """Install all peers below a folder with npm, those that are there already again; return 1 when one failed."""
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed", file=sys.stderr)
        return 1
    failed = 0
    for agent in PEERS:
        begun = time.monotonic()
        target = _made(folder / agent.name)
        packages = [package for package in (agent.package, agent.node) if package]
        command = [npm, "install", "--prefix", str(target), "--no-audit", "--no-fund", *packages]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
            problem = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["npm failed"])[-1]
        except subprocess.TimeoutExpired:
            problem = f"not installed after {_INSTALL_S} s"
        failed += bool(problem)
        print(f"{agent.package}: {problem or f'installed in {time.monotonic() - begun:.0f} s'}", flush=True)
    print(f"then: PEERS={folder} python -m benchmarks peers")
    return 1 if failed else 0


def base_environ(home: Path) -> dict[str, str]:
    """Return the variables that every agent gets: nothing of the user's but the path and the language."""
    names = ("PATH", "LANG", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {**kept, "HOME": str(home), "NO_PROXY": "*"}
