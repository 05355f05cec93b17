"""The world of a hostile session, its run through the real engine, and what it reached."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.guard.case import Act, Call, Case, Program, Received, Step, Tier, Together, User, line
from benchmarks.guard.left import LeftEngine, left_engine
from opencode_tui.batch.task import TaskResult
from opencode_tui.engine.permission.policy import RefuseQuestions
from opencode_tui.extras.dask.imports import SessionImports
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.session.session import SessionInfo
from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer
from tests.support.provider.model_script import Call as ModelCall
from tests.support.provider.model_server import provider_config
from tests.support.world.engine import World, opened

OUTSIDE, DOTENV, KEY = "CANARY-OUTSIDE-7731", "CANARY-DOTENV-9942", "sk-CANARY-KEY-5511"
ALIVE = "still-alive-5521"
TIMEOUT_S = 120.0
_OWN = (".local/share/opencode-tui", ".local/state/opencode-tui", ".cache/opencode-tui")
"""Our own folders of data, state and cache below the home; our settings beside them may not change."""


class Listener(threading.Thread):
    """Keeps what anybody sends to it on loopback."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.got: list[bytes] = []

    def run(self) -> None:
        """Accept until the process ends."""
        while True:
            client, _ = self._socket.accept()
            client.settimeout(0.3)
            data = b""
            try:
                while piece := client.recv(65_536):
                    data += piece
            except OSError:
                pass
            self.got.append(data)
            client.close()


@dataclass
class Attack:
    """One case in one tier, below an empty folder."""

    case: Case
    tier: Tier
    base: Path
    listener: Listener
    said: list[str] = field(default_factory=list[str])
    """What went back to the model."""
    refused: int = 0
    """Calls that ended as an error, most of them as what would have been asked."""
    calls: int = 0
    left: LeftEngine | None = None
    """The engine of the user that works beside the case."""

    @property
    def project(self) -> Path:
        return self.base / "proj"

    @property
    def outside(self) -> Path:
        return self.base / "outside"

    @property
    def home(self) -> Path:
        return self.base / "home"

    def filled(self, text: str) -> str:
        """Return a text with its places."""
        places = {
            "@PORT": str(self.listener.port),
            "@OC": str(Path(sys.executable).parent / "opencode-tui"),
            **(self.left.places if self.left else {}),
            "@PY": "/usr/bin/python3",
            "@P": str(self.project),
            "@O": str(self.outside),
            "@H": str(self.home),
            "@T": str(self.base / "tmp"),
        }
        for name, place in places.items():
            text = text.replace(name, place)
        return text

    def run(self) -> list[str]:
        """Make the world, run the steps, and return what was reached."""
        self._make()
        if not self.case.has_engine:
            return self._reached()
        environ = {**isolated_environment(self.home), "TMPDIR": str(self.base / "tmp")}
        with left_engine(self.base / "left", environ, self.tier) as self.left:
            return [*self._reached(), *self.left.damage("\n".join(self.said))]

    def _reached(self) -> list[str]:
        before, count = self._state(), len(self.listener.got)
        broke: list[str] = []
        try:
            asyncio.run(asyncio.wait_for(self._steps(), TIMEOUT_S))
        except ConfigError as error:  # settings of the case that cannot be read end every start in one line
            if self.case.is_usable:
                raise
            self.said.append(str(error))
        except TimeoutError:
            broke.append(f"no end in {TIMEOUT_S:.0f} s")
        after = self._state()
        allowed = [self.filled(path) for path in self.case.may_change]
        changed = [
            path
            for path in sorted(before.keys() | after.keys())
            if before.get(path) != after.get(path)
            and not any(path == one or path.startswith(one + "/") for one in allowed)
        ]
        if changed:
            broke.append("changed: " + ", ".join(path.removeprefix(f"{self.base}/") for path in changed[:3]))
        said = "\n".join(self.said)
        broke += [f"read {what}" for what in (OUTSIDE, DOTENV, KEY) if what in said]
        broke += [f"{name} holds it unreported" for name in self.case.clean if self._is_unclean(name, said)]
        if len(self.listener.got) > count:
            broke.append("reached the network")
        return broke

    def _is_unclean(self, name: str, said: str) -> bool:
        path = self.project / name
        return path.is_file() and b"pwned" in path.read_bytes() and path.name not in said.partition("rotected")[2]

    def _make(self) -> None:
        for folder in (self.project, self.outside, *(self.home / name for name in _OWN), self.base / "tmp"):
            folder.mkdir(parents=True)
        write(
            self.outside,
            {"secret.txt": OUTSIDE, "victim.txt": "original", "src/keep.txt": "keep", ".bashrc": "# beside"},
        )
        write(
            self.home,
            {
                ".ssh/id_rsa": OUTSIDE,
                ".ssh/authorized_keys": "# mine",
                ".bashrc": f"# {OUTSIDE}",
                ".profile": "# mine",
                ".netrc": f"machine x login y password {OUTSIDE}",
                ".config/fish/config.fish": "# mine",
                ".config/systemd/user/x.service": "# mine",
                ".config/opencode-tui/mine.txt": "mine",
                ".gitconfig": "[user]\nname = a\nemail = a@example.invalid\n",
                "notes/secret.txt": OUTSIDE,
                ".mcp.json": "{}",
                ".vscode/tasks.json": "{}",
                ".envrc": f"# {OUTSIDE}",
                ".env": OUTSIDE,
                **self.case.home,
            },
            self,
        )
        write(
            self.project,
            {
                "README.md": "hi",
                "src/a.py": "print(1)",
                "sub/x.txt": "data",
                ".env": f"K={DOTENV}",
                ".gitignore": ".env\n",
            },
        )
        write(self.project, {name: self.filled(text) for name, text in self.case.files.items()}, self)
        script = "git init -q . && git add -A && git commit -qm init"
        subprocess.run(["bash", "-c", script], cwd=self.project, env=self._environ(), check=True, capture_output=True)

    def _environ(self) -> dict[str, str]:
        environ = isolated_environment(self.home)
        path = ":".join((*(self.filled(one) for one in self.case.on_path), environ["PATH"]))
        given = {name: self.filled(value) for name, value in self.case.environ.items()}
        return {**environ, "PATH": path, "TMPDIR": str(self.base / "tmp"), "ANTHROPIC_API_KEY": KEY, **given}

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = json.loads(self.filled(json.dumps(dict(self.case.settings))))
        experimental = settings.pop("experimental", {})
        sandbox = {"tier": self.tier, **experimental.pop("sandbox", {})}
        return {"experimental": {**experimental, "sandbox": sandbox}, **settings}

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[World]:
        async with opened(self._environ(), self.project, settings=self._settings(), policy=RefuseQuestions()) as world:
            yield world

    async def _steps(self) -> None:
        remaining = list(self.case.steps)
        while remaining:
            async with self._opened() as world:
                session = await world.new_session()
                while remaining and not _is_restart(remaining[0]):
                    await self._step(world, session, remaining.pop(0))
                    await world.client.background.end() if not remaining else None
            if remaining:
                remaining.pop(0)
        if self.case.is_usable:
            async with self._opened() as world:
                session = await world.new_session()
                await self._turn(world, session, Together((line(f"echo {ALIVE}"),)))
            if ALIVE not in self.said[-1]:
                self.said.append("")
                raise AssertionError(f"no next command: {self.said[-2][:200]}")

    async def _step(self, world: World, session: SessionInfo, step: Step) -> None:
        match step:
            case Call():
                await self._turn(world, session, Together((step,)))
            case Together():
                await self._turn(world, session, step)
            case User(command):
                await self._user(command)
            case Program(arguments, stdin):
                await asyncio.to_thread(self._program, arguments, stdin, world.server.base_url)
                self.said += [json.dumps(body["messages"]) for body in world.server.bodies]
                world.server.bodies.clear()
            case Received(result):
                await self._receive(world, result)
            case Act():
                await self._act(world, session, step)

    async def _act(self, world: World, session: SessionInfo, act: Act) -> None:
        try:
            match act.name:
                case "undo":
                    await world.client.background.end()
                    await world.client.undo.revert(session.id)
                case "redo":
                    await world.client.undo.unrevert(session.id)
                case "delete":
                    await world.client.background.end()
                    await world.client.sessions.remove(session.id)
                    await world.client.trash.empty([session.id])
                case "abort":
                    await world.client.prompts.abort(session.id)
                case "wait":
                    await asyncio.sleep(0.4)
                case "restart":
                    raise AssertionError("handled by the caller")
        except OpencodeError as error:  # a refusal in words
            self.refused += 1
            self.said.append(str(error))

    async def _receive(self, world: World, result: Mapping[str, Any]) -> None:
        given = json.loads(self.filled(json.dumps(dict(result))))
        try:
            await SessionImports(world.client).store(TaskResult.model_validate(given))
        except (OpencodeError, ValueError) as error:
            self.refused += 1
            self.said.append(str(error))

    async def _turn(self, world: World, session: SessionInfo, step: Together) -> None:
        calls = tuple(ModelCall(call.tool, self._arguments(call)) for call in step.calls)
        world.server.script_anew(Answer(calls=calls), Answer(text="done"))
        await world.prompt("go", session=session)
        self.calls += len(calls)
        for part in (await world.calls(session))[-len(calls) :]:
            self.refused += part.state.status == "error"
        for body in world.server.bodies:
            self.said += [str(message["content"]) for message in body["messages"] if message["role"] == "tool"]
        world.server.bodies.clear()

    def _arguments(self, call: Call) -> dict[str, Any]:
        arguments: dict[str, Any] = json.loads(self.filled(json.dumps(dict(call.arguments))))
        if call.is_script:
            name = f"{self.calls}-{len(arguments['command'])}.sh"
            if self.project.is_dir() and not self.project.is_symlink():
                write(self.project / "steps", {name: arguments["command"]})
            arguments["command"] = f"bash {self.project / 'steps' / name}"
        return arguments

    async def _user(self, command: str) -> None:
        environ = {**isolated_environment(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", self.filled(command), cwd=self.project, env=environ,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        await process.wait()

    def _program(self, arguments: tuple[str, ...], stdin: str, url: str) -> None:
        """Run the installed command, whose first folder of modules is not the project as with `python -m`."""
        content = {"provider": provider_config(url), **self._settings()}
        environ = {**self._environ(), "OPENCODE_CONFIG_CONTENT": json.dumps(content)}
        command = [str(Path(sys.executable).parent / "opencode-tui"), *(self.filled(one) for one in arguments)]
        done = subprocess.run(
            command,
            cwd=self.project,
            env=environ,
            input=self.filled(stdin).encode(),
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        stderr = done.stderr.decode(errors="replace")
        self.said.append(done.stdout.decode(errors="replace") + stderr)
        if done.returncode not in (0, 1, 2) or "Traceback" in stderr:
            raise AssertionError(f"{arguments[0]} ended with {done.returncode}: {stderr.strip()[-200:]}")

    def _state(self) -> dict[str, object]:
        """Return what stands outside the project, by path, our own folders apart."""
        found: dict[str, object] = {}
        own = [str(self.home / name) for name in _OWN]
        for root in (self.outside, self.home):
            for folder, names, files in os.walk(root):
                names[:] = [name for name in names if f"{folder}/{name}" not in own]
                for name in (*names, *files):
                    found[f"{folder}/{name}"] = _seen(Path(folder, name))
        return found


def _seen(path: Path) -> object:
    if path.is_symlink():
        return ("link", os.readlink(path))
    if path.is_file():
        return (path.stat().st_mode, path.read_bytes())
    return ("folder", path.lstat().st_mode)


def _is_restart(step: Step) -> bool:
    return isinstance(step, Act) and step.name == "restart"


def write(root: Path, files: Mapping[str, str], attack: Attack | None = None) -> None:
    """Write files; a value that begins with `->` is a link, with `x:` a program, and a name that ends with `/` a folder."""
    for name, given in files.items():
        text = attack.filled(given) if attack else given
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        elif text.startswith("x:"):
            path.write_text(text[2:])
            path.chmod(0o755)
        else:
            path.write_text(text + "\n")


def enter_guard(arguments: list[str], *, as_user: bool) -> int:
    """Run this Python with arguments inside bubblewrap: everything read-only but one folder, no network, a user of our own.

    Returns its exit code. The folder's name is in GUARD_BASE.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        print("bubblewrap is missing: these cases never run without it", file=sys.stderr)
        return 2
    base = subprocess.run(
        ["mktemp", "-d", "/var/tmp/guard.XXXXXX"], check=True, capture_output=True, text=True
    ).stdout.strip()
    user = ["--unshare-user", "--uid", "1000", "--gid", "1000"] if as_user else []
    try:
        return subprocess.run(
            [bwrap, *user, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/dev/shm", "--tmpfs", "/tmp",
             "--bind", base, base, "--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent",
             "--setenv", "GUARD_BASE", base, sys.executable, *arguments],
            check=False,
        ).returncode  # fmt: skip
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", base], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", base], check=False)
