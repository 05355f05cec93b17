"""A project on a disk that ignores the case of names: another spelling of a protected or hidden name is that name."""

import asyncio
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.sandbox import Sandbox
from opencode_tui.engine.sandbox.spellings import close_spellings
from opencode_tui.engine.tool.process.process import Command, ShellProcess
from opencode_tui.storage.paths import find_paths
from opencode_tui.storage.same_name import SameNames, canonical
from tests.engine.sandbox.conftest import require_tier
from tests.support.world.case_ignoring_disk import mounted, unavailable
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


CANARY = "CANARY-4417"

ACCENT = "cafe\N{COMBINING ACUTE ACCENT}"

READS = [
    "cat .ENV; cat .Env .eNV; cat $PWD/.ENV; cat ././/.ENV; cat /proc/self/cwd/.ENV; mkdir -p a/b; cat a/b/../../.ENV",
    "cat SUB/.env sub/.ENV Sub/.Env; cd SUB && cat .ENV",
    "cat Secret/key SECRET/KEY secret/Key \N{LATIN SMALL LETTER LONG S}ecret/key",
    f"cat {ACCENT}/x; cat café/X; cat CAFÉ/x",
    "mv .ENV y; cat y; mv SUB z; cat z/.env",
    "ln .ENV hard; cat hard; ln -s .ENV soft; cat soft",
    "cp -r . copy; cp -r SUB copied; grep -r CANARY copy copied",
    'python3 -c \'import os; print([open(n).read() for n in (".ENV", "SUB/.ENV")])\'; exec 3<.ENV; cat <&3',
    "tar cf - .ENV | tar xOf -; dd if=.ENV; git hash-object -w .ENV; git show $(git hash-object .ENV)",
    "sed -i s/x/y/ .ENV; rm -f .ENV; rm -rf SUB; cat .env .ENV sub/.env",
]
"""Commands that try to read what is hidden by another spelling."""

WRITES = [
    "echo evil >> .GIT/config; echo evil > .git/CONFIG; echo evil > .git/con\N{LATIN SMALL LIGATURE FI}g",
    "echo evil > .git/HOOKS/pre-commit; echo evil > .Git/hooks/pre-push; echo evil > .git/INFO/attributes",
    "mkdir -p .GITHOOKS; echo evil > .githooks/x; mkdir -p .HUSKY; echo evil > .husky/pre-push",
    "echo evil > .ENVRC; echo evil >> .Envrc; echo evil > OpenCode.json; echo evil > .Bashrc",
    "mkdir .VSCODE; echo evil > .vscode/tasks.json; mkdir -p .IDEA; echo evil > .idea/x.xml",
    "rm -f .GIT/config; mv .GIT/CONFIG q; cp .git/config c; echo evil >> c; mv c .git/Config",
    "git config -f .GIT/CONFIG core.fsmonitor evil; chmod 777 .Git/Config; truncate -s 0 .GIT/CONFIG",
]
"""Commands that try to change or make what is protected by another spelling."""

HONEST = [
    "cat readme.MD; echo x > NEW.txt; cat new.TXT; mkdir -p Src; echo 1 > src/A.py; python3 SRC/a.py; rm -rf src",
    "git status --short; git add NEW.txt; git -c user.name=a -c user.email=a@b commit -qm more; git log --oneline | wc -l",
    "touch a; mv a A2; ls | grep -x A2; printf 'all:\\n\\techo made\\n' > Makefile; cat MAKEFILE; cd sub; ls",
]


@dataclass
class World:
    """A project and a home on such a disk."""

    base: Path
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.environ = {"HOME": str(self.base / "Home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        self.project = self.base / "Project"
        (self.base / "Home").mkdir()
        self.paths = find_paths(self.environ)
        repo = make_repo(self.project)
        repo.write("README.md", "hello\n")
        repo.commit("begin")
        for name in (".env", "sub/.env", "Secret/key", "café/x"):
            (self.project / name).parent.mkdir(exist_ok=True)
            (self.project / name).write_text(f"KEY={CANARY}\n")
        self.sandbox = Sandbox(
            settings=SandboxSettings.model_validate(
                {"tier": "bubblewrap", "hidden": ["SECRET", f"{ACCENT}/"], **self.settings}
            ),
            project=discover(self.project, paths=self.paths, environ=self.environ),
            paths=self.paths,
            environ=self.environ,
            secrets=Secrets(self.environ),
        )

    async def run(self, text: str) -> tuple[str, list[str]]:
        """Return what a command prints, and the protected files that it changed, which are restored."""
        confined = await self.sandbox.confine(
            ["bash", "-c", text], session_id="ses_one", folder=self.project, environ=self.environ, read_only=False
        )
        assert confined is not None, await self.sandbox.status()
        pieces: list[bytes] = []
        cancel, end = os.pipe()
        command = Command(text, self.project, self.environ, 60_000, "bash", confined.launch)
        try:
            await asyncio.to_thread(ShellProcess(command, pieces.append, cancel=cancel).run)
        finally:
            os.close(cancel)
            os.close(end)
        changes = await self.sandbox.changes(confined)
        assert await self.sandbox.remove([one.path for one in changes]) == {}
        return b"".join(pieces).decode(errors="replace"), [str(one.path) for one in changes]

    def protected(self) -> dict[str, bytes]:
        """Return the content of the files that can start programs; what an undo has put aside is none."""
        git = self.project / ".git"
        own = [git / "config", git / "info/attributes", *(git / "hooks").glob("*")]
        brought = [path for path in self.project.rglob("*") if path.is_file() and git not in path.parents]
        names = [path for path in (*own, *brought) if path.is_file() and not path.name.endswith(".sample")]
        return {str(path): path.read_bytes() for path in names if path.name != "q" and ".not-approved" not in path.name}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    if reason := unavailable():
        pytest.skip(reason)
    require_tier("bubblewrap")
    (tmp_path / "stored").mkdir()
    with mounted(tmp_path / "stored", tmp_path / "Disk") as base:
        yield World(base)


async def test_no_other_spelling_reads_what_is_hidden(world: World) -> None:
    read: list[str] = []
    for line in READS:
        output, _ = await world.run(line)
        if CANARY in output:
            read.append(line)
        for name in ("copy", "copied", "y", "z", "hard", "soft", "a"):
            path = world.project / name
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
    assert read == []
    assert all((world.project / name).read_text() == f"KEY={CANARY}\n" for name in (".env", "sub/.env", "Secret/key"))


async def test_nothing_protected_stays_changed_by_another_spelling(world: World) -> None:
    before = world.protected()
    kept: list[str] = []
    for line in WRITES:
        await world.run(line)
        if (after := world.protected()) != before:
            kept.append(f"{line}: {after}")
    assert kept == []


async def test_what_is_protected_is_compared_also_where_a_mount_holds_it(world: World) -> None:
    _, changed = await world.run("mkdir -p .Vscode; echo 1 > .vscode/TASKS.json; echo x > .git/HOOKS/Pre-Commit")
    assert {os.path.relpath(one, world.project).lower() for one in changed} == {
        ".vscode/tasks.json",
        ".git/hooks/pre-commit",
    }


async def test_everyday_commands_work(world: World) -> None:
    failed: list[str] = []
    for line in HONEST:
        output, changed = await world.run(f"set -e; {line}; echo done-{len(line)}")
        if f"done-{len(line)}" not in output or changed:
            failed.append(f"{line}: {output} {changed}")
    assert failed == []


async def test_the_status_says_what_the_disk_does_and_a_name_with_too_many_spellings_is_named(world: World) -> None:
    assert "ignores the case of names" in (await world.sandbox.status()).spelling
    (world.project / ".env.production").write_text("x")
    confined = await world.sandbox.confine(
        ["true"], session_id="ses_one", folder=world.project, environ=world.environ, read_only=False
    )
    assert confined is not None
    assert any("spellings can be closed of .env.production:" in line for line in confined.messages)


def test_a_folder_that_is_only_read_is_opened_without_what_is_hidden_in_it(world: World) -> None:
    tools = world.base / "Home/tools"
    (tools / "share").mkdir(parents=True)
    for name in ("credentials.toml", "share/data", "program"):
        (tools / name).write_text("")
    secret = tools / "credentials.toml"
    closed = close_spellings(SameNames(), hidden=[secret], read_only=[], read=[tools], write=[world.project])
    assert (closed.hidden, set(closed.read), closed.still_open) == ((), {tools / "share", tools / "program"}, ())


def test_a_path_is_known_by_the_name_that_the_disk_stores(world: World) -> None:
    assert canonical(world.base / "PROJECT/readme.MD") == world.project / "README.md"
    assert canonical(world.project / "CAFE\N{COMBINING ACUTE ACCENT}/new") == world.project / "café/new"
    assert discover(world.base / "pROJECT", paths=world.paths, environ=world.environ).worktree == world.project


@pytest.mark.parametrize("hidden", [(), (".env",)])
def test_on_an_ordinary_disk_nothing_is_added(hidden: Sequence[str], tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("")
    paths = [tmp_path / name for name in hidden]
    closed = close_spellings(SameNames(), hidden=paths, read_only=[], read=[Path("/usr")], write=[tmp_path])
    assert (closed.hidden, closed.read, closed.still_open) == ((), (Path("/usr"),), ())
