"""Finds the project of a folder.

A repository's project is the same from every folder and linked worktree of it. Without a repository, or before its first commit,
the project is `global`; without a repository the worktree is the folder itself. Source: reference, section 4.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from opencode_tui.engine.project.identity import identify
from opencode_tui.engine.project.repository import Repository, find_repository
from opencode_tui.schema.error import ConfigError, GitUnavailableError
from opencode_tui.schema.project import GLOBAL_PROJECT
from opencode_tui.schema.value import immutable
from opencode_tui.storage.paths import Paths


@immutable
class Project:
    """A folder's project. `directory` and `worktree` are real paths, `worktree` the top of this work tree.

    `vcs` is None as well when git could not be asked; `warnings` are one-line texts for the person.
    """

    id: str
    directory: Path
    worktree: Path
    vcs: Literal["git"] | None = None
    repository: Repository | None = None
    warnings: tuple[str, ...] = ()

    @property
    def branch(self) -> str | None:
        """The branch that is checked out now, read afresh at each call; None without one."""
        return self.repository.branch if self.repository and self.vcs else None


def discover(directory: Path, *, paths: Paths, environ: Mapping[str, str]) -> Project:
    """Return the project of a folder; blocks (a millisecond, up to 30 s when git must look through a new one).

    Raises ConfigError when there is no such folder. A git that is missing or fails gives the project `global` with a warning.
    """
    real = Path(os.path.realpath(directory))
    if not real.is_dir():
        raise ConfigError(f"{directory} is not a directory; give an existing one")
    repository = find_repository(real)
    if repository is None:
        return Project(id=GLOBAL_PROJECT, directory=real, worktree=real)
    try:
        name, warnings = identify(repository, cache=paths.cache, environ=environ)
    except GitUnavailableError as error:
        return Project(
            id=GLOBAL_PROJECT,
            directory=real,
            worktree=repository.worktree,
            repository=repository,
            warnings=(str(error),),
        )
    return Project(
        id=name, directory=real, worktree=repository.worktree, vcs="git", repository=repository, warnings=warnings
    )
