"""The data folder of an OpenCode before its migrations, and what OpenCode 1.1.65 made of it.

`data/legacy` holds both, with WORKTREE and COMMIT in place of a repository's folder and first commit.
"""

import json
import os
import shutil
from functools import partial
from pathlib import Path

from opencode_tui.engine.project.git import list_root_commits
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.migrations import Migrations
from opencode_tui.storage.paths import Paths
from tests.support.world.repo import Repo, make_repo

_DATA = Path(__file__).parent / "data" / "legacy"
NOW = 1_795_142_833_420


def make_legacy_store(paths: Paths, repo: Repo) -> None:
    """Put the old data folder in place of the present one."""
    shutil.rmtree(paths.data, ignore_errors=True)
    for file in (_DATA / "before").rglob("*.json"):
        target = paths.data / file.relative_to(_DATA / "before")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.read_text().replace("WORKTREE", str(repo.path)))


def make_project(folder: Path) -> Repo:
    """Make a repository with one commit."""
    repo = make_repo(folder)
    repo.commit("first", **{"a.txt": "a"})
    return repo


def expected_store(repo: Repo) -> dict[str, object]:
    """Return what OpenCode made of the old store, by file; the project record as the migration alone writes it."""
    commit = repo.git("rev-list", "--max-parents=0", "--all")
    root = _DATA / "after" / "storage"
    texts = {str(file.relative_to(root)): file.read_text() for file in root.rglob("*") if file.is_file()}
    store = {
        name.replace("COMMIT", commit): _parse(text.replace("COMMIT", commit).replace("WORKTREE", str(repo.path)))
        for name, text in texts.items()
    }
    times = {"created": NOW, "initialized": NOW}
    store[f"project/{commit}.json"] = {"id": commit, "vcs": "git", "worktree": str(repo.path), "time": times}
    return store


def read_store(paths: Paths) -> dict[str, object]:
    """Return every file of the store, parsed."""
    return {
        str(file.relative_to(paths.storage)): _parse(file.read_text())
        for file in paths.storage.rglob("*")
        if file.is_file() and not file.name.endswith(".tmp")
    }


def migrate(paths: Paths, files: FileSystem | None = None) -> list[str]:
    """Run the migrations with a fixed clock and return their warnings."""
    return make_migrations(paths, files).run_sync()


def make_migrations(paths: Paths, files: FileSystem | None = None, environ: dict[str, str] | None = None) -> Migrations:
    """Return the migrations with a fixed clock and the real git."""
    roots = partial(list_root_commits, environ=dict(os.environ) if environ is None else environ)
    return Migrations(paths, locks=Locks(paths), list_root_commits=roots, files=files, clock=lambda: NOW)


def _parse(text: str) -> object:
    return json.loads(text)
