"""No session is left running: a turn that each kind of fault holds is interrupted, quit or killed, and its store opened again."""

import asyncio
import json
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.client.thread import CLOSE_LIMIT_S, open_client_in_thread
from opencode_tui.schema.api.request import CreateSession, PromptInput, TextInput
from opencode_tui.schema.error import RunAborted
from opencode_tui.schema.model import require_model_ref
from opencode_tui.storage.paths import find_paths
from tests.faults.conftest import quickest
from tests.support.faults.failing_disk import MISSING, FailingDisk
from tests.support.faults.proxy import Fault, FaultProxy, never_accepting
from tests.support.mcp import server as small_server
from tests.support.provider.model_script import Answer, Call, failure
from tests.support.provider.model_server import ModelServer, provider_config
from tests.support.sessions.stored import Stored, read_store
from tests.support.world.cli import CommandLine, kill_session
from tests.support.world.engine import opened
from tests.support.world.machine import PYTHON
from tests.support.world.pages import Pages, serve
from tests.support.world.repo import make_repo
from tests.support.world.stopwatch import Stopwatch
from tests.support.world.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow


LONG = "one two three four five six seven eight nine ten " * 20

PLUGIN = """
import asyncio, pathlib
async def plugin(context):
    async def on_message(given, output):
        pathlib.Path({begun!r}).touch()
        await asyncio.sleep(3600)
    return {{"chat.message": on_message}}
"""

Held = Callable[[], bool]
"""Returns whether the fault holds the turn now."""


class Json(Pages):
    """Answers with an object."""

    def do_GET(self) -> None:
        self.answer(200, "application/json", b'{"text": "found"}')


@dataclass
class Scene:
    """A folder, its settings and a model, of which a case breaks something."""

    folder: Path
    environ: dict[str, str]
    server: ModelServer
    stack: ExitStack
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    model: str = "fake/fake-model"
    prompt: str = "hello"
    python: str = sys.executable
    begin: Callable[[], object] = lambda: None
    """Called before each turn."""
    heal: Callable[[], object] = lambda: None
    """Ends the fault, after each turn."""

    @property
    def begun(self) -> Path:
        """The file that a program makes when it holds the turn."""
        return self.folder.parent / "begun"

    def before_model(self, fault: Fault) -> Held:
        """Put a proxy with a fault before the model."""
        proxy = self.stack.enter_context(FaultProxy(self.server.base_url, fault))
        self.settings["provider"] = provider_config(proxy.url)
        return self.counted(lambda: proxy.faults)

    def counted(self, count: Callable[[], int]) -> Held:
        """Return whether a number has grown since the turn began."""
        before = [0]
        self.begin = lambda: before.__setitem__(0, count())
        return lambda: count() > before[0]

    def call(self, name: str, /, **arguments: Any) -> None:
        """Let the model answer with a call."""
        self.prompt = f"<<tool {name} {json.dumps(arguments)}>>"

    def program(self, name: str, body: str = "exec sleep 3600") -> Held:
        """Write a program that says that it has begun, and then does this."""
        file = self.folder.parent / "programs" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch {self.begun}\n{body}\n")
        file.chmod(0o700)
        self.begin = lambda: self.begun.unlink(missing_ok=True)
        return self.begun.exists

    def command_of(self, name: str) -> str:
        """Return the path of a program of the test."""
        return str(self.folder.parent / "programs" / name)

    def stored(self) -> Stored:
        """Read the store from the disk."""
        return read_store(find_paths(self.environ).storage)

    def line(self) -> CommandLine:
        """Return the command line with the settings."""
        settings: dict[str, Any] = {"permission": "allow", "provider": self.server.config(), **self.settings}
        return CommandLine(self.folder, self.environ, settings=settings, model=self.model)


def connection(scene: Scene) -> Held:
    address = scene.stack.enter_context(never_accepting())
    scene.settings["provider"] = provider_config(address)
    return scene.counted(lambda: len(scene.stored().of_kind("message")))


def provider(fault: Fault, prompt: str = LONG) -> Callable[[Scene], Held]:
    def prepare(scene: Scene) -> Held:
        scene.prompt = prompt
        return scene.before_model(fault)

    return prepare


def text_of_an_error(scene: Scene) -> Held:
    scene.prompt = "<<error 401 invalid key>>"
    return scene.before_model(Fault("stall", "first"))


def next_attempt(scene: Scene) -> Held:
    held = scene.counted(lambda: len(scene.stored().parts("retry")))
    count = scene.begin

    def begin() -> None:
        count()
        scene.server.script(failure(503, "out of order", retry_after="200"))

    scene.begin = begin
    return held


def litellm(scene: Scene) -> Held:
    if find_spec("litellm") is None:
        pytest.skip("litellm is not installed")
    scene.model, scene.prompt = "fake-litellm/fake-model", LONG
    return scene.before_model(Fault("stall", "middle"))


def subagent(scene: Scene) -> Held:
    server, before = scene.server, [0]
    given = {"description": "Look", "prompt": "<<slow 200>> <<words 9000>>", "subagent_type": "general"}

    def begin() -> None:
        before[0] = len(server.requests)
        server.script(Answer(calls=(Call("task", given),)))

    scene.begin = begin
    return lambda: len(server.requests) > before[0] + 1


def mcp_start(scene: Scene) -> Held:
    held = scene.program("mcp")
    scene.settings["mcp"] = {"far": {"type": "local", "command": [scene.command_of("mcp")]}}
    scene.call("mcp_call", tool="far_echo", arguments={"text": "hello"})
    return held


def mcp_call(scene: Scene) -> Held:
    command = [PYTHON, "-S", small_server.__file__]
    scene.settings["mcp"] = {"far": {"type": "local", "command": command, "environment": {"FREEZE": "tools/call"}}}
    scene.call("mcp_call", tool="far_echo", arguments={"text": "hello"})
    return lambda: has_open_call(scene)


def mcp_connection(scene: Scene) -> Held:
    address = scene.stack.enter_context(never_accepting())
    scene.settings["mcp"] = {"far": {"type": "remote", "url": f"{address}/mcp", "oauth": False}}
    scene.call("mcp_call", tool="far_echo", arguments={"text": "hello"})
    return lambda: has_open_call(scene)


def has_open_call(scene: Scene) -> bool:
    return any(one.startswith("tool ") for one in scene.stored().unfinished)


def language_server(scene: Scene) -> Held:
    held = scene.program("language-server")
    del scene.environ["OPENCODE_DISABLE_LSP"]
    scene.settings["lsp"] = {"far": {"command": [scene.command_of("language-server")], "extensions": [".bug"]}}
    (scene.folder / "a.bug").write_text("BUG\n")
    scene.call("lsp", operation="diagnostics", filePath="a.bug")
    return held


def slow_disk(scene: Scene) -> Held:
    disk = the_disk(scene)
    scene.begin = lambda: disk.slow(find_paths(scene.environ).storage, 3600)
    return lambda: disk.count > 0


def full_disk(scene: Scene) -> Held:
    disk = the_disk(scene)
    before = [0]
    scene.prompt = "<<slow 20>> <<words 1000>>"
    scene.begin = lambda: before.__setitem__(0, len(scene.server.requests))

    def held() -> bool:
        if len(scene.server.requests) > before[0] and not disk.is_failing:
            disk.fail(find_paths(scene.environ).data, "full")
        return disk.count > 0

    return held


def the_disk(scene: Scene) -> FailingDisk:
    if MISSING:
        pytest.skip(MISSING)
    disk = FailingDisk(scene.folder.parent)
    scene.environ |= disk.variables()
    scene.heal = disk.heal
    return disk


def git(scene: Scene) -> Held:
    held = scene.program("git")
    scene.environ["PATH"] = f"{scene.folder.parent / 'programs'}:{scene.environ['PATH']}"
    return held


def hook(scene: Scene) -> Held:
    held = scene.program("hook")
    entry = {"type": "command", "command": scene.command_of("hook")}
    scene.settings["hooks"] = {"PreToolUse": [{"matcher": "*", "hooks": [entry]}]}
    scene.call("bash", command="true", description="Nothing")
    return held


def plugin(scene: Scene) -> Held:
    folder = Path(scene.environ["XDG_CONFIG_HOME"]) / "opencode-tui" / "plugin"
    folder.mkdir(parents=True)
    (folder / "slow.py").write_text(PLUGIN.format(begun=str(scene.begun)))
    scene.begin = lambda: scene.begun.unlink(missing_ok=True)
    return scene.begun.exists


def ripgrep(scene: Scene) -> Held:
    """Let the program run in an environment of its own, with another ripgrep beside its Python."""
    held = scene.program("rg")
    home, base = scene.folder.parent, Path(sys.executable).resolve()
    (home / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    (home / "bin").symlink_to("programs")
    (home / "programs" / "python").symlink_to(base)
    packages = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "ours.pth").write_text(sysconfig.get_path("purelib"))
    scene.python = str(home / "bin" / "python")
    scene.call("grep", pattern="x")
    return held


def command(scene: Scene) -> Held:
    scene.begin = lambda: (scene.folder / "begun").unlink(missing_ok=True)
    scene.call("bash", command="trap '' TERM; touch begun; sleep 3600", description="Wait")
    return (scene.folder / "begun").exists


def formatter(scene: Scene) -> Held:
    held = scene.program("format")
    scene.settings["formatter"] = {"slow": {"command": [scene.command_of("format"), "$FILE"], "extensions": [".bug"]}}
    scene.call("write", filePath="new.bug", content="new\n")
    return held


def webfetch(scene: Scene) -> Held:
    proxy = scene.stack.enter_context(FaultProxy(scene.stack.enter_context(serve(Json)), Fault("stall", "first")))
    scene.call("webfetch", url=proxy.url, format="text", timeout=100)
    return scene.counted(lambda: proxy.faults)


def instructions(scene: Scene) -> Held:
    proxy = scene.stack.enter_context(FaultProxy(scene.stack.enter_context(serve(Json)), Fault("stall", "first")))
    scene.settings["instructions"] = [proxy.url]
    return scene.counted(lambda: proxy.faults)


CASES: dict[str, Callable[[Scene], Held]] = {
    "connection": connection,
    "first-byte": provider(Fault("stall", "headers")),
    "more": provider(Fault("stall", "middle")),
    "byte-by-byte": provider(Fault("drip", "middle")),
    "deaf": provider(Fault("deaf")),
    "comments": provider(Fault("comments", every_s=0.05)),
    "text-of-an-error": text_of_an_error,
    "next-attempt": next_attempt,
    "litellm": litellm,
    "mcp-start": mcp_start,
    "mcp-call": mcp_call,
    "mcp-connection": mcp_connection,
    "language-server": language_server,
    "slow-disk": slow_disk,
    "full-disk": full_disk,
    "git": git,
    "hook": hook,
    "plugin": plugin,
    "ripgrep": ripgrep,
    "command": command,
    "subagent": subagent,
    "formatter": formatter,
    "webfetch": webfetch,
    "instructions": instructions,
}


DISK = ("slow-disk", "full-disk")
"""Faults that may keep the end of a turn from being stored; the next start stores it."""

ONLY_IN_A_PROCESS = (*DISK, "git")
"""The disk fails for a whole process, and git is asked before there is a session."""


@pytest.fixture
def scene(tmp_path: Path, environ: dict[str, str]) -> Iterator[Scene]:
    repo = make_repo(tmp_path / "work")
    repo.commit(**{"a.txt": "the user's\n"})
    with ExitStack() as stack:
        yield Scene(repo.path, environ, stack.enter_context(ModelServer()), stack)


async def left_open(scene: Scene) -> list[str]:
    """Open the store again, each session of it as the screen does, and return what is stored as running."""
    given = {name: value for name, value in scene.environ.items() if name not in ("LD_PRELOAD", "FAILING_DISK")}
    async with opened(given, scene.folder) as world:
        found = [f"runs: {one}" for one in await world.client.prompts.status()]
        for session in await world.client.sessions.list():
            await world.client.undo.recover(session.id)
    stored = scene.stored()
    return [*found, *stored.damaged, *stored.strays, *stored.unfinished]


@pytest.mark.parametrize("case", [name for name in CASES if name not in ONLY_IN_A_PROCESS])
async def test_in_the_engine_of_the_screen(scene: Scene, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held = CASES[case](scene)
    monkeypatch.setattr(sys, "executable", scene.python)
    variables = scene.line().variables()
    given = PromptInput(model=require_model_ref(scene.model, "model"), parts=[TextInput(text=scene.prompt)])

    async def measure(*, is_interrupted: bool) -> float:
        async with open_client_in_thread(variables, scene.folder) as client:
            session = await client.sessions.create(CreateSession(title="T"))
            scene.begin()
            turn = asyncio.create_task(client.prompts.prompt(session.id, given))
            await until(lambda: held() or turn.done())
            assert held(), await turn
            if is_interrupted:
                assert await client.prompts.abort(session.id)
                with pytest.raises(RunAborted):
                    await turn
                await until(lambda: not scene.stored().unfinished)
            watch = Stopwatch()
        await asyncio.wait({turn})
        assert scene.stored().unfinished == []
        return watch.seconds

    for is_interrupted in (True, False):
        assert await quickest(partial(measure, is_interrupted=is_interrupted), CLOSE_LIMIT_S) < CLOSE_LIMIT_S
        assert await left_open(scene) == []


@pytest.mark.parametrize("case", CASES)
async def test_in_run(scene: Scene, case: str) -> None:
    held = CASES[case](scene)
    line = scene.line()
    for number in (signal.SIGINT, signal.SIGKILL):
        scene.begin()
        said = await ended_run(line, scene, held, number)
        if number == signal.SIGINT and case not in DISK:
            assert scene.stored().unfinished == [], said
        scene.heal()
        assert await left_open(scene) == [], said


async def ended_run(line: CommandLine, scene: Scene, held: Held, number: int) -> str:
    """Start a turn, send the process a signal when the fault holds it, and return what it wrote."""
    process = subprocess.Popen(
        [scene.python, "-m", "opencode_tui", "run", "-m", scene.model, scene.prompt],
        cwd=scene.folder,
        env=line.variables(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        await until(lambda: held() or process.poll() is not None)
        was_held = held()
        process.send_signal(number)
        said, _ = await asyncio.to_thread(process.communicate, timeout=PATIENCE_S)
    finally:
        kill_session(process)
        line.kill_survivors()
    assert was_held, said.decode()
    return said.decode()
