"""Real git repositories for tests: made, committed to, linked."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.com",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.com",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def run_git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, without the machine's settings and variables, and return its output without the last newline."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _IDENTITY
    done = subprocess.run(["git", *arguments], cwd=folder, env=environ, check=True, capture_output=True, text=True)
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
        return self.git("rev-parse", "HEAD")

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
    """Make an empty repository (and its folder) whose unborn branch is `branch`."""
    path.mkdir(parents=True, exist_ok=True)
    run_git(path, "init", "-q", "-b", branch)
    return Repo(path)
