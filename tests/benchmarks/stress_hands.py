"""What our own code does outside while another process exchanges a folder of the project and a link to the home all the time.

Undo of protected files in each tier, tools that read and write, and the deletion of temp folders; as this user and as one in a
namespace of its own, with relative and with absolute links. Prints how often a file of the home was changed, deleted or shown.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from pathlib import Path

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.sandbox import Sandbox
from opencode_tui.engine.sandbox.tier import Tier, probe
from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchTool
from opencode_tui.engine.tool.builtin.edit import EditTool
from opencode_tui.engine.tool.builtin.write import WriteTool
from opencode_tui.engine.tool.process.process import Command, ShellProcess
from opencode_tui.schema.error import RejectedError, ToolError
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.task_folders import delete_folder
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.conftest import isolated_environment
from tests.support.world.repo import make_repo
from tests.support.world.tools import Workbench

ROUNDS = rounds(200, 20)
TIERS: tuple[Tier, ...] = ("bubblewrap", "landlock")
OTHER_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
OWNED = {".bashrc": "the user's", ".envrc": "the user's", ".ssh/authorized_keys": "the user's", "file": "secret"}
WRITES = "for name in a b; do echo x > $name/.zshrc; echo x > $name/.profile; done 2>/dev/null; true"
"""Other names than those of the home: what a command itself could write there is no matter of our hands."""

SWAP = """
import ctypes, sys
libc = ctypes.CDLL(None)
while True:
    libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
"""
PATCH = "*** Begin Patch\n*** Update File: a/file\n@@\n-public\n+x\n*** Add File: a/new{number}\n+x\n*** End Patch"


class Stage:
    """A home, a folder `a` with a file, and a link `b` to the home, which are exchanged while `swapping`."""

    def __init__(self, base: Path, top: Path, *, is_absolute: bool) -> None:
        self.home, self.top = base / "owner", top
        self._target = self.home if is_absolute else os.path.relpath(self.home, top)
        self.reset()

    def reset(self) -> None:
        """Write all files again."""
        for path in (self.home, self.top / "a", self.top / "b"):
            if path.is_symlink():
                path.unlink()
            else:
                delete_folder(path)
        for name, text in OWNED.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.top / "a").mkdir(parents=True)
        (self.top / "a/file").write_text("public")
        (self.top / "a/.bashrc").write_text("of the project")
        (self.top / "b").symlink_to(self._target)

    @contextlib.contextmanager
    def swapping(self) -> Generator[None]:
        """Exchange the two names all the time."""
        swapper = subprocess.Popen([sys.executable, "-c", SWAP, self.top / "a", self.top / "b"])
        try:
            yield
        finally:
            swapper.kill()
            swapper.wait()

    def is_intact(self) -> bool:
        """Return whether the files of the home are what they were."""
        return all((self.home / name).is_file() and (self.home / name).read_text() == OWNED[name] for name in OWNED)


async def count_escapes(stage: Stage, act: Callable[[int], Awaitable[bool]]) -> int:
    """Return after how many rounds the home was not what it was, or the action returned that it saw what it must not."""
    escapes = 0
    for first in range(0, ROUNDS, 10):
        stage.reset()
        with stage.swapping():
            for number in range(first, first + 10):
                has_seen = await act(number)
                if has_seen or not stage.is_intact():
                    escapes += 1
                    break
    return escapes


async def undo_in(tier: Tier, base: Path, *, is_absolute: bool) -> int:
    """Let a command write protected files, search for them and undo that, as after a refusal."""
    project = make_repo(base / "project").path
    environ = {**isolated_environment(base / "home"), "PATH": "/usr/bin:/bin"}
    stage, paths = Stage(base, project, is_absolute=is_absolute), find_paths(environ)
    sandbox = Sandbox(
        settings=SandboxSettings.model_validate({"tier": tier}),
        project=discover(project, paths=paths, environ=environ),
        paths=paths,
        environ=environ,
        secrets=Secrets(environ),
    )
    cancel, end = os.pipe()

    async def act(number: int) -> bool:
        argv = ["/bin/bash", "-c", WRITES]
        with contextlib.suppress(OSError):  # it is refused to start while its folders change
            confined = await sandbox.confine(
                argv, session_id="ses_one", folder=project, environ=environ, read_only=False
            )
            assert confined is not None
            command = Command(WRITES, project, environ, 20_000, "/bin/bash", confined.launch)
            await asyncio.to_thread(ShellProcess(command, lambda _data: None, cancel=cancel).run)
            changed = [change.path for change in await sandbox.changes(confined)]
            await sandbox.remove(changed, keeps_copies=number % 2 == 1)
        return False

    try:
        return await count_escapes(stage, act)
    finally:
        os.close(cancel)
        os.close(end)
        await sandbox.close()


async def use_tools(base: Path, *, is_absolute: bool) -> int:
    """Read, write, edit and patch files whose folder is exchanged between the question and the write."""
    top = base / "project"
    top.mkdir(parents=True)
    stage, bench = Stage(base, top, is_absolute=is_absolute), Workbench(top, refused={"external_directory"})
    write, edit = WriteTool(editor=bench.editor), EditTool(editor=bench.editor)
    patch = ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)

    async def act(number: int) -> bool:
        shown: list[str] = []
        for tool, arguments in (
            (bench.reader, {"filePath": "a/file"}),
            (write, {"filePath": f"a/new-{number}", "content": "x"}),
            (edit, {"filePath": "a/file", "oldString": "public", "newString": "x"}),
            (patch, {"patchText": PATCH.format(number=number)}),
            (edit, {"filePath": "a/file", "oldString": "", "newString": "public"}),
        ):
            with contextlib.suppress(ToolError, RejectedError):
                shown.append((await bench.call(tool, **arguments)).output)
        left = [name for name in os.listdir(stage.home) if name not in {one.partition("/")[0] for one in OWNED}]
        return bool(left) or any("secret" in text for text in shown)

    return await count_escapes(stage, act)


async def delete_temp(base: Path, *, is_absolute: bool) -> int:
    """Delete a folder in which the names are exchanged meanwhile."""
    stage, escapes = Stage(base, base / "temp", is_absolute=is_absolute), 0
    for _ in range(ROUNDS):
        stage.reset()
        with stage.swapping():
            await asyncio.to_thread(delete_folder, stage.top)
        escapes += not stage.is_intact()
    return escapes


def classes() -> dict[str, Callable[..., Awaitable[int]]]:
    """Return what is tried, by name."""
    tiers: list[Tier] = [tier for tier in TIERS if probe(tier, os.environ).works]
    undo: dict[str, Callable[..., Awaitable[int]]] = {
        f"undo of protected files, {tier}": partial(undo_in, tier) for tier in tiers
    }
    return {**undo, "tools that read and write": use_tools, "deletion of a temp folder": delete_temp}


async def count_all() -> dict[str, int]:
    """Return the escapes of each class."""
    found: dict[str, int] = {}
    for name, run in classes().items():
        for is_absolute in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                escapes = await run(Path(os.path.realpath(folder)), is_absolute=is_absolute)
            found[f"{name}, {'absolute' if is_absolute else 'relative'} link"] = escapes
            print(f"{os.geteuid()}: {name}, {is_absolute=}: {escapes} of {ROUNDS}", file=sys.stderr, flush=True)
    return found


def main() -> int:
    """Run as this user and as another one; return 1 when anything got out."""
    if sys.argv[1:] == ["count"]:
        print(json.dumps(asyncio.run(count_all())))
        return 0
    figures: list[Figure] = []
    for user, prefix in (("root" if os.geteuid() == 0 else "user", ()), ("other user", OTHER_USER)):
        command = [*prefix, sys.executable, "-m", "tests.benchmarks.stress_hands", "count"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
        found: dict[str, int] = json.loads(done.stdout)
        figures += [Figure(f"{name}, {user}", count, 0, unit="") for name, count in found.items()]
    return report(figures)


if __name__ == "__main__":
    sys.exit(main())
