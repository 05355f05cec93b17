"""Real git repositories for tests: made, committed to, linked."""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.com",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.com",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "maintenance.auto",  # a process for each commit, which has nothing to do
    "GIT_CONFIG_VALUE_0": "false",
}


def run_git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, without the machine's settings and variables, and return its output without the last newline."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _IDENTITY
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environ,
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    return done.stdout.rstrip("\n")


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository at `path`."""

    path: Path

    def git(self, *arguments: str) -> str:
        """Run git here and return its output."""
        return run_git(self.path, *arguments)

    def write(self, name: str, text: str) -> Path:
        """Write a file below the repository, with its folders."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def commit(self, message: str = "change", **files: str) -> str:
        """Commit everything, after writing `files` (name to text), and return the commit's hash."""
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self._head()

    def _head(self) -> str:
        data = self.path / ".git"
        head = (data / "HEAD").read_text().strip() if data.is_dir() else ""
        branch = data / head.removeprefix("ref: ")
        is_loose = head.startswith("ref: ") and branch.is_file()  # a process less than asking git
        return branch.read_text().strip() if is_loose else self.git("rev-parse", "HEAD")

    def orphan(self, branch: str) -> str:
        """Make a branch with a root commit of its own, go back, and return that root's hash."""
        home = self.git("symbolic-ref", "--short", "HEAD")
        self.git("checkout", "-q", "--orphan", branch)
        root = self.commit(f"root of {branch}")
        self.git("checkout", "-q", home)
        return root

    def link(self, path: Path, branch: str = "linked") -> "Repo":
        """Add a linked worktree on a new branch."""
        self.git("worktree", "add", "-q", "-b", branch, str(path))
        return Repo(path)


def make_repo(path: Path, *, branch: str = "main") -> Repo:
    """Make an empty repository (and its folder) whose unborn branch is `branch`: a copy of one that git made."""
    path.mkdir(parents=True, exist_ok=True)
    if (path / ".git").exists():
        run_git(path, "init", "-q", "-b", branch)
        return Repo(path)
    for name, content in _template(branch).items():
        if content is None:
            (path / name).mkdir()
        else:
            (path / name).write_bytes(content)
    return Repo(path)


def content(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, such as a work tree with its git folder, by their relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@cache
def _template(branch: str) -> dict[str, bytes | None]:
    """Return the files of an empty repository without git's sample hooks, and its folders (None), each before its content."""
    with tempfile.TemporaryDirectory() as folder:
        run_git(Path(folder), "init", "-q", "-b", branch)
        found = sorted(path for path in Path(folder).rglob("*") if path.suffix != ".sample")
        return {str(path.relative_to(folder)): None if path.is_dir() else path.read_bytes() for path in found}
