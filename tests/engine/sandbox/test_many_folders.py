"""A command that makes very many folders hides nothing by them: neither secrets from the next process, nor protected files."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.sandbox import changes
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.sandbox import Sandbox
from opencode_tui.engine.tool.process.process import Command, ShellProcess
from opencode_tui.storage.paths import Paths
from tests.engine.sandbox.conftest import require_tier
from tests.support.world.machine import PYTHON
from tests.support.world.repo import Repo, make_repo

pytestmark = pytest.mark.slow


FLOOD = """
import os, sys
for one in range(int(sys.argv[1])):
    os.mkdir(f"aa{one}")
    for other in range(int(sys.argv[2])):
        os.mkdir(f"aa{one}/{other}")
"""


class World:
    """A project with a deep file with secrets."""

    def __init__(self, paths: Paths, environ: dict[str, str]) -> None:
        require_tier("bubblewrap")
        self.paths, self.environ = paths, environ
        self.repo: Repo = make_repo(paths.home / "project")
        self.repo.write("packages/api/settings/.env", "KEY=CANARY\n")
        self.repo.write("flood.py", FLOOD)

    def sandbox(self, **settings: Any) -> Sandbox:
        """Return the sandbox as a new process has it."""
        return Sandbox(
            settings=SandboxSettings.model_validate({"tier": "bubblewrap", **settings}),
            project=discover(self.repo.path, paths=self.paths, environ=self.environ),
            paths=self.paths,
            environ=self.environ,
            secrets=Secrets(self.environ),
        )

    async def run(self, sandbox: Sandbox, text: str) -> tuple[str, list[str]]:
        """Return the output of a command and the protected files that it changed."""
        confined = await sandbox.confine(
            ["bash", "-c", text], session_id="ses_one", folder=self.repo.path, environ=self.environ, read_only=False
        )
        assert confined is not None
        pieces: list[bytes] = []
        cancel, end = os.pipe()
        command = Command(text, self.repo.path, self.environ, 120_000, "bash", confined.launch)
        try:
            await asyncio.to_thread(ShellProcess(command, pieces.append, cancel=cancel).run)
        finally:
            os.close(cancel)
            os.close(end)
        found = await sandbox.changes(confined)
        return b"".join(pieces).decode(), [os.path.relpath(one.path, self.repo.path) for one in found]


@pytest.fixture
def world(paths: Paths, environ: dict[str, str]) -> World:
    return World(paths, environ)


READ = "cat packages/api/settings/.env"
PLANT = "mkdir -p zz/a/b/c/.husky zz/a/b/d; echo x > zz/a/b/c/.husky/pre-commit; echo x > zz/a/b/c/.envrc; git init -q zz/a/b/d"


async def test_60000_folders_hide_nothing(world: World) -> None:
    output, changed = await world.run(world.sandbox(), f"{PYTHON} flood.py 60 1000; {PLANT}")
    assert output == ""
    assert {"zz/a/b/c/.husky/pre-commit", "zz/a/b/c/.envrc", "zz/a/b/d/.git/config"} <= set(changed)
    output, _ = await world.run(world.sandbox(), READ)
    assert "Permission denied" in output and "CANARY" not in output


async def test_beyond_the_limit_what_was_known_stays_hidden_and_nothing_starts_unsaid(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "FOLDER_LIMIT", 50)
    first = world.sandbox()
    await world.run(first, f"{PYTHON} flood.py 10 10; {PLANT}")
    assert any("more than" in line and "folders" in line for line in first.new_messages())
    for sandbox in (first, world.sandbox()):
        with pytest.raises(OSError, match=r"experimental\.sandbox\.hidden"):
            await world.run(sandbox, READ)
    output, _ = await world.run(world.sandbox(hidden=["**/*.pem"]), READ)
    assert "Permission denied" in output and "CANARY" not in output


async def test_what_is_known_is_kept_where_commands_cannot_write(world: World) -> None:
    await world.run(world.sandbox(), "true")
    [kept] = (world.paths.data / "sandbox").iterdir()
    assert kept.read_bytes().split(b"\0") == [b".", b"packages/api/settings"]
    output, _ = await world.run(world.sandbox(), f"echo x > {kept}; cat {kept}")
    assert "packages" not in output and kept.read_bytes().startswith(b".\0packages")


async def test_a_damaged_memory_is_replaced(world: World) -> None:
    await world.run(world.sandbox(), "true")
    [kept] = Path(world.paths.data / "sandbox").iterdir()
    kept.write_bytes(b"\xff\0../../etc\0\0")
    output, _ = await world.run(world.sandbox(), READ)
    assert "Permission denied" in output
    assert kept.read_bytes() == b".\0packages/api/settings"
