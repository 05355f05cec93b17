"""A user's repository with everything in it that git could run or change, and a check that nothing was run or changed."""

import os
import shutil
import stat
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.support.world.process_folder import process_folder
from tests.support.world.repo import make_repo, run_git

_HOOKS = (
    "pre-commit",
    "post-checkout",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-auto-gc",
    "reference-transaction",
)
_SETTINGS = {
    "filter.loud.clean": "{run}; cat",
    "filter.loud.smudge": "{run}; cat",
    "filter.loud.required": "true",
    "diff.loud.textconv": "{run}; cat",
    "diff.external": "{run}",
    "merge.loud.driver": "{run}",
    "core.fsmonitor": "{run}",
    "core.editor": "{run}",
    "core.pager": "{run}",
    "credential.helper": "!{run}",
}

Data = dict[str, tuple[int, int, bytes]]


@dataclass(frozen=True)
class GuardedRepo:
    """A repository with commits, a branch, a tag, a stash, staged and loose changes; its hooks and filters leave `mark`."""

    path: Path
    mark: Path
    data: Data = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", data_of(self.path / ".git"))

    def check(self) -> None:
        """Fail when a byte, a mode or a time of the repository's data is another, or when something of it was run."""
        assert data_of(self.path / ".git") == self.data
        assert not self.mark.exists(), self.mark.read_text()


def data_of(folder: Path) -> Data:
    """Return mode, time of the last change (ns) and bytes of everything below a folder; folders have neither time nor bytes."""
    found: Data = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            found[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, path.read_bytes())
        else:
            found[str(path.relative_to(folder))] = (status.st_mode, 0, b"")
    return found


def make_guarded(path: Path) -> GuardedRepo:
    """Make such a repository."""
    model, mark = _model()
    shutil.copytree(model, path, symlinks=True)
    return GuardedRepo(path, mark)


@cache
def _model() -> tuple[Path, Path]:
    """Return the one that the others of this process are copies of, and the file in which whatever runs leaves its name."""
    base = process_folder("guarded")
    mark = base / "ran"
    repo = make_repo(base / "project")
    repo.commit("first", **{"a": "committed\n", "kept": "k1\n", ".gitignore": "*.log\n"})
    repo.git("branch", "other")
    repo.git("tag", "-a", "v1", "-m", "tagged")
    repo.write("kept", "stashed\n")
    repo.git("stash", "push", "-q")
    repo.write("staged", "staged\n")
    repo.git("add", "staged")
    repo.write("kept", "changed\n")
    repo.write(".gitattributes", "* filter=loud diff=loud merge=loud\n")
    _arm(repo.path, mark)
    return repo.path, mark


def _arm(path: Path, mark: Path) -> None:
    """Let every hook and filter leave its name."""
    run = f"echo ran >> '{mark}'"
    for name, value in _SETTINGS.items():
        run_git(path, "config", name, value.format(run=run))
    for name in _HOOKS:
        hook = path / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\necho {name} >> '{mark}'\n")
        os.chmod(hook, 0o755)
