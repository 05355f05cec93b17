"""Commands that discard files of a project of every kind, run as the bash tool runs them, and what an undo brings back.

The project has tracked, untracked and ignored files, small and large, links, empty folders, modes, and folders that tools make.
"""

import asyncio
import os
import shutil
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from opencode_tui.engine.permission.shell.scan import scan
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.scan.lost_files import LostFile
from opencode_tui.engine.tool.builtin.bash_losses import find_paths
from opencode_tui.schema.session.undo import RevertReport
from tests.support.snapshot.worktree import World
from tests.support.world.process_folder import process_folder
from tests.support.world.repo import Repo, make_repo

MIB = 1024 * 1024
LARGE = b"large\0" * (3 * MIB // 6)
OLD_NS = 1_600_000_000_123_456_789
"""The time of every file of the project."""

_FILES = {
    "src/app.py": "print('app')\n",
    "src/deep/er/mod.py": "x = 1\n",
    "README.md": "read me\n",
    "run.sh": "#!/bin/sh\n",
    ".gitignore": "*.log\n.env\ndata/\nuploads/\nnode_modules/\nbuild/\n*.sqlite\n*.bin\n",
}

Fact = tuple[str, int, bytes, int]


@dataclass(frozen=True)
class Outcome:
    """The states before a command and after its undo, what was said before it, and the report of the undo."""

    before: Mapping[str, Fact]
    changed: Mapping[str, Fact]
    after: Mapping[str, Fact]
    lost: list[LostFile]
    report: RevertReport | None
    output: str

    def named(self, root: Path) -> set[str]:
        """Return the paths that the undo did not bring back, with a reason each."""
        report = self.report
        if report is None:
            return set()
        files = [*report.kept, *report.unprotected, *report.failed]
        assert [file for file in files if not file.reason] == []
        return {os.path.relpath(file.path, os.path.realpath(root)) for file in files}

    def announced(self) -> set[str]:
        """Return the paths of which was said before that an undo does not bring them back."""
        return {file.path for file in self.lost if file.reason is not None}


def make_project(folder: Path) -> Repo:
    """Make the project: a copy of the first one of this process."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(_model(), folder, symlinks=True)
    return Repo(folder)


@cache
def _model() -> Path:
    folder = process_folder("discards") / "project"
    repo = make_repo(folder)
    repo.commit("first", **_FILES)
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("src/app.py")
    repo.commit("second", **{"src/app.py": "print('more')\n"})
    _write(folder, "src/app.py", "print('changed')\n")
    _write(folder, "notes.txt", "mine\n")
    _write(folder, "secret.key", "key\n", 0o600)
    _write(folder, "drafts/a.md", "a\n")
    _write(folder, "drafts/b.md", "b\n")
    _write(folder, "drafts/big.csv", LARGE)
    _write(folder, "video.mov", LARGE + b"v")
    _write(folder, ".env", "TOKEN=1\n", 0o600)
    _write(folder, "app.sqlite", LARGE + b"db")
    _write(folder, "small.sqlite", "db\n")
    _write(folder, "debug.log", "log\n")
    _write(folder, "huge.log", LARGE + b"log")
    _write(folder, "model.bin", LARGE + b"bin", 0o444)
    _write(folder, "data/rows.csv", "1\n")
    _write(folder, "data/large.parquet", LARGE + b"p")
    _write(folder, "data/old/2020.csv", LARGE + b"o")
    _write(folder, "uploads/one.png", LARGE + b"one")
    _write(folder, "uploads/two.png", "two\n", 0o640)
    _write(folder, "node_modules/lib/index.js", "lib\n")
    _write(folder, "build/out.o", "o\n")
    (folder / "data/latest").symlink_to("large.parquet")
    (folder / "empty/inner").mkdir(parents=True)
    (folder / "uploads/two.png").parent.chmod(0o750)
    for path in folder.rglob("*"):
        if ".git" not in path.relative_to(folder).parts and path.is_file() and not path.is_symlink():
            os.utime(path, ns=(OLD_NS, OLD_NS))
    return folder


def _write(folder: Path, name: str, content: str | bytes, mode: int = 0o644) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def facts(folder: Path) -> dict[str, Fact]:
    """Return kind, mode, content and time (ns, of files only) of everything outside of `.git`, by path."""
    found: dict[str, Fact] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if name.split("/")[0] == ".git":
            continue
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            found[name] = ("link", 0, os.fsencode(os.readlink(path)), 0)
        elif stat.S_ISDIR(status.st_mode):
            found[name] = ("folder", stat.S_IMODE(status.st_mode), b"", 0)
        else:
            found[name] = ("file", stat.S_IMODE(status.st_mode), path.read_bytes(), status.st_mtime_ns)
    return found


async def discard(world: World, command: str, environ: Mapping[str, str]) -> Outcome:
    """Run a command in the project as a step of an agent does, undo the step, and return what happened."""
    root = os.path.realpath(world.root)
    before = facts(world.root)
    losses = scan(command, cwd=root, home=str(world.root.parent), project_root=root).losses
    paths = await find_paths(losses, Path(root), environ)
    recording = world.recording()
    lost = await recording.find_lost(paths) if paths else []
    await recording.begin_command(paths)
    done = await asyncio.to_thread(
        subprocess.run,
        ["bash", "-c", command],
        cwd=root,
        env=dict(environ),
        capture_output=True,
        text=True,
        check=False,
    )
    await recording.end_command()
    changed = facts(world.root)
    report: RevertReport | None = None
    if (result := recording.result) is not None:
        report = await world.snapshots.revert([Patch(hash=result.hash, after=result.after, files=result.files)])
    return Outcome(before, changed, facts(world.root), lost, report, done.stdout + done.stderr)
