"""Asks git for the root commits of a repository, in a way that its settings cannot turn into anything else.

The repository may be hostile: no hook, no file-system monitor, no transport and no lazy fetch can start from here, and no `GIT_*`
variable of the person's shell reaches git.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from opencode_tui.engine.project.safe_git import SAFE_OPTIONS, SAFE_VARIABLES
from opencode_tui.schema.error import GitUnavailableError

_TIMEOUT_S = 30


def list_root_commits(git_dir: Path, *, environ: Mapping[str, str]) -> list[str]:
    """Return the hashes of all commits without a parent that any ref reaches, in git's order; blocks up to 30 s.

    Raises GitUnavailableError when git is missing, refuses the repository or takes too long.
    """
    try:
        # Costs 50 ms and a process; needed once in the life of a repository.
        from git.cmd import Git
        from git.exc import GitCommandError, GitCommandNotFound
    except ImportError as error:
        raise _unavailable(git_dir, "there is no git command", "install git") from error
    command = [
        *_without_git_variables(),
        "git",
        *SAFE_OPTIONS,
        f"--git-dir={git_dir}",
        "rev-list",
        "--max-parents=0",
        "--all",
    ]
    variables = {name: value for name, value in environ.items() if not name.startswith("GIT_")} | SAFE_VARIABLES
    limit = None if os.name == "nt" else _TIMEOUT_S
    try:
        output = Git(git_dir).execute(command, env=variables, kill_after_timeout=limit)
    except GitCommandNotFound as error:
        raise _unavailable(git_dir, "there is no git command", "install git") from error
    except GitCommandError as error:
        reason = " ".join(str(error.stderr).split()) or f"exit code {error.status}"
        raise _unavailable(git_dir, reason, "try `git rev-list --max-parents=0 --all` there") from error
    return str(output).split()


def _without_git_variables() -> list[str]:
    """Return the prefix that unsets what GitPython would hand down from this process; it can add variables, not remove them.

    Windows has no `env`; there `--git-dir` alone must do.
    """
    if os.name == "nt":
        return []
    inherited = sorted(name for name in os.environ if name.startswith("GIT_") and name not in SAFE_VARIABLES)
    return ["env", *(word for name in inherited for word in ("-u", name))] if inherited else []


def _unavailable(git_dir: Path, reason: str, remedy: str) -> GitUnavailableError:
    return GitUnavailableError(f"git cannot read {git_dir}: {reason}; {remedy}")
