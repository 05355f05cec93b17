"""Finds the project of a folder and its ID.

All folders and linked worktrees of a repository have the same project. Its ID is the lexically smallest root commit of all refs,
computed once and stored in our cache folder; `.git/opencode` is read, never written. A cached ID does not change while the
repository exists, even if a branch with a smaller root appears, because sessions are stored under it. Without a repository, or
before its first commit, the project is `global`; without a repository the worktree is the folder itself.
Source: docs/internals/session.md#projects.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from opencode_tui.engine.project.git import list_root_commits
from opencode_tui.engine.project.repository import Repository, find_repository, read_small
from opencode_tui.schema.api.project import GLOBAL_PROJECT
from opencode_tui.schema.error import ConfigError, GitUnavailableError
from opencode_tui.schema.json_text import load_json
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.same_name import canonical
from opencode_tui.storage.task_folders import task_origin

_COMMIT = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")


class Project(Struct, frozen=True):
    """A folder's project. `directory` and `worktree` are real paths, `worktree` the top of this work tree.

    `vcs` is also None when git fails; `warnings` are one-line texts for the user. `origins` are the work trees that this one is a
    copy of: that of its agent's session or batch task, and the main one of a linked one. Rules about their files hold here as well.
    """

    id: str
    directory: Path
    worktree: Path
    vcs: Literal["git"] | None = None
    repository: Repository | None = None
    warnings: tuple[str, ...] = ()
    origins: tuple[Path, ...] = ()

    @property
    def branch(self) -> str | None:
        """The current branch, read from disk at each access; None without one."""
        return self.repository.branch if self.repository and self.vcs else None


def discover(directory: Path, *, paths: Paths, environ: Mapping[str, str]) -> Project:
    """Return the project of a folder; blocks (a millisecond, up to 30 s when git must search a new repository).

    Raises ConfigError when the folder does not exist. If git is missing or fails, the project is `global`, with a warning.
    """
    real = canonical(directory)
    if not real.is_dir():
        raise ConfigError(f"{directory} is not a directory")
    repository = find_repository(real)
    if repository is None:
        return Project(id=GLOBAL_PROJECT, directory=real, worktree=real)
    origin = task_origin(paths, repository.worktree)  # a batch task's clone has the project of its origin
    named = repository if origin is None else find_repository(Path(origin)) or repository
    origins = find_origins(repository, *filter(None, [origin]))
    try:
        name, warnings = _identify(named, cache=paths.cache, environ=environ)
    except GitUnavailableError as error:
        return Project(
            id=GLOBAL_PROJECT,
            directory=real,
            worktree=repository.worktree,
            repository=repository,
            warnings=(str(error),),
            origins=origins,
        )
    return Project(name, real, repository.worktree, "git", repository, warnings, origins)


def find_origins(repository: Repository, *origins: str) -> tuple[Path, ...]:
    """Return the work trees that a repository's work tree is a copy of: the given ones, and the main one of each. Blocks."""
    found: dict[Path, None] = {}
    for one in (repository, *(find_repository(Path(os.path.realpath(origin))) for origin in origins)):
        if one is not None:
            found |= dict.fromkeys((one.worktree, one.main_worktree))
    return tuple(path for path in found if path != repository.worktree)


def _identify(repository: Repository, *, cache: Path, environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return the project ID and the warnings; the ID is `global` when there is no commit.

    Blocks: reads two small files when the ID is cached, else runs git once. Raises GitUnavailableError.
    """
    entry = cache / "project" / f"{hashlib.sha256(os.fsencode(repository.common_dir)).hexdigest()[:40]}.json"
    stamp = _stamp(repository.common_dir)
    kept, kept_stamp = _read_entry(entry)
    if kept is not None and kept_stamp == stamp:
        return kept, ()
    found = _shared_id(repository.common_dir) or _first_root(repository, kept, environ)
    return found, () if found == GLOBAL_PROJECT else _write_entry(entry, found, stamp)


def _shared_id(common_dir: Path) -> str | None:
    text = (read_small(common_dir / "opencode") or "").strip()
    return text if text == GLOBAL_PROJECT or _COMMIT.match(text) else None


def _first_root(repository: Repository, kept: str | None, environ: Mapping[str, str]) -> str:
    if not _may_have_commits(repository):
        return GLOBAL_PROJECT

    common = repository.common_dir
    roots = list_root_commits(common, environ=environ, git_dir=common)
    if not all(map(_COMMIT.match, roots)):
        raise GitUnavailableError(f"git rev-list in {common} printed no commits; check which git is first on PATH")
    if kept in roots:
        return str(kept)
    return min(roots, default=GLOBAL_PROJECT)


def _may_have_commits(repository: Repository) -> bool:
    """Return whether the repository may have commits; a new one has no refs, so git need not run."""
    common = repository.common_dir
    if any((common / name).exists() for name in ("packed-refs", "reftable", "worktrees")):
        return True
    if not (read_small(repository.git_dir / "HEAD") or "").startswith("ref:"):
        return True
    return any(files for _, _, files in os.walk(common / "refs"))


def _stamp(common_dir: Path) -> str:
    """Return a value that differs for a later repository at the same path: git writes `description` once, on creation."""
    made = [str(os.stat(common_dir).st_ino)]
    for name in ("description", "objects"):
        try:
            facts = os.stat(common_dir / name)
        except OSError:
            continue
        made.append(f"{facts.st_ino}" if name == "objects" else f"{facts.st_ino}:{facts.st_mtime_ns}")
    return " ".join(made)


def _read_entry(entry: Path) -> tuple[str | None, str]:
    try:
        data = load_json(read_small(entry) or "null")
        name, stamp = str(data["id"]), str(data["stamp"])
    except (ValueError, KeyError, TypeError):
        return None, ""
    return (name, stamp) if _COMMIT.match(name) else (None, "")


def _write_entry(entry: Path, name: str, stamp: str) -> tuple[str, ...]:
    """Write the cache entry atomically and return a warning if that fails; a failure only makes later starts slower."""
    try:
        AtomicWriter(FileSystem()).write(str(entry), json.dumps({"id": name, "stamp": stamp}).encode())
    except OSError as error:
        return (f"{entry.parent}: cannot cache the project ID ({error.strerror}); make the folder writable",)
    return ()
