"""What a confined git reaches: the work tree, the git folder, and what its variables and its caller name.

Nothing that a command can write adds a folder: a `.git` file or link that leads out of the work tree counts only where the git
folder names the work tree in turn, or where the caller names it. A file of alternates, which commands cannot change unnoticed, adds
folders of objects alone.

What confines git is in `engine/sandbox/own_git.py`, a higher layer: it is loaded by its name in `entry_points.py`.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from msgspec import Struct

from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.repository import Repository, find_repository, names_worktree
from opencode_tui.entry_points import load
from opencode_tui.schema.error import GitUnavailableError

_ALTERNATES_BYTES = 64 * 1024
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|([^:]+)')


class GitReach(Struct, frozen=True):
    """The folders that a command of git reads or also writes, as real paths, and the git folders among them."""

    read: tuple[Path, ...]
    write: tuple[Path, ...]
    git_folders: tuple[Path, ...]


class GitStart(Struct, frozen=True):
    """How a confined git is started: `enter` confines the thread that starts it, for good."""

    argv: Sequence[str]
    environ: Mapping[str, str]
    enter: Callable[[], None] | None = None


class Confinement(Protocol):
    """Confines git. Both methods block for a moment."""

    def confine(
        self, argv: Sequence[str], folder: Path, environ: Mapping[str, str], reach: GitReach
    ) -> GitStart | None:
        """Return how git is started in a folder with this reach; None where nothing confines it. Raises OSError."""
        ...

    def follows(self, link: str, folder: Path) -> bool:
        """Return whether a link in the git folder of a work tree leads where the user lets commands write."""
        ...


class GitSite(Struct, frozen=True):
    """A work tree whose commands have a sandbox with these settings, and the repository that it had before the first of them."""

    worktree: Path
    repository: Repository | None
    home: Path
    settings: SandboxSettings


_sites: dict[Path, GitSite] = {}


def name_site(site: GitSite) -> None:
    """Let this count for git in a folder; to be called before a command runs in it."""
    _sites[site.worktree] = site


def refuse_other_repository(found: Repository) -> None:
    """Raise GitUnavailableError where a work tree had another repository before its commands ran: one may have led it elsewhere."""
    site = _sites.get(found.worktree)
    if site is not None and site.repository is not None and site.repository != found:
        raise GitUnavailableError(
            f"{found.worktree / '.git'} led to {site.repository.git_dir} and leads to {found.git_dir} now, which a command may "
            "have done; restore it, or start again if you did"
        )


def find_site(folders: Iterable[Path]) -> GitSite | None:
    """Return the first work tree with a sandbox that one of the folders is in."""
    above = (one for folder in folders for one in (folder, *folder.parents))
    return next((_sites[one] for one in above if one in _sites), None)


def present_confinement() -> Confinement:
    """Return what confines git. The first call imports it."""
    return cast("Confinement", load("own_git"))


def find_reach(
    folder: Path,
    variables: Mapping[str, str],
    *,
    known: Repository | None = None,
    read: Sequence[Path] = (),
    write: Sequence[Path] = (),
) -> GitReach:
    """Return what git reaches in a folder with these variables; `read` and `write` are added. Blocks for a few lookups.

    The git folder of the `known` repository counts, even where it is outside of the work tree and does not name it.

    Raises GitUnavailableError for a folder that a link leads to, or whose repository is another now: a command may have done that.
    """
    where = Path(os.path.realpath(folder))
    named = variables.get("GIT_DIR")
    if not named and str(where) != os.path.abspath(folder):
        raise GitUnavailableError(f"git was not started in {folder}, because a link leads to {where}; name that folder")
    repository = None if named else find_repository(where)
    if named:
        git_folders = _with_common(Path(named))
        top = [Path(variables["GIT_WORK_TREE"])] if "GIT_WORK_TREE" in variables else []
    elif repository is None:
        git_folders, top = [], [where]
    else:
        refuse_other_repository(repository)
        git_folders, top = _own_folders(repository, known), [repository.worktree]
    writable = [*top, *git_folders, *write, *_of_variables(variables)]
    objects = [one / "objects" for one in git_folders]
    borrowed = _split(variables.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", ""))
    readable = [*read, *borrowed, *_alternates([*objects, *borrowed])]
    if not any(where.is_relative_to(one) for one in writable):
        readable.append(where)
    return GitReach(_real(readable), _real(writable), tuple(git_folders))


def name_alternates(objects: Sequence[Path]) -> str:
    """Return folders with objects as git reads them in `GIT_ALTERNATE_OBJECT_DIRECTORIES`."""
    return os.pathsep.join(_quote(str(path)) for path in objects)


def _quote(name: str) -> str:
    """Return a path as one element of a list; git reads a quoted one like a string of C."""
    if os.pathsep not in name and not name.startswith('"'):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _split(listed: str) -> list[Path]:
    """Return the folders of such a list."""
    pairs = _QUOTED.findall(listed)
    return [Path(re.sub(r"\\(.)", r"\1", quoted) if quoted else plain) for quoted, plain in pairs]


def _with_common(git_dir: Path) -> list[Path]:
    """Return a git folder with that of its repository, which is around that of a linked worktree."""
    return [git_dir.parents[1]] if git_dir.parent.name == "worktrees" else [git_dir]


def _own_folders(repository: Repository, known: Repository | None) -> list[Path]:
    """Return the git folder of a work tree; none where only the work tree says that it is its own."""
    site = _sites.get(repository.worktree)
    git_dir, common = repository.git_dir, repository.common_dir
    if common.is_relative_to(repository.worktree) and git_dir.is_relative_to(repository.worktree):
        return [common]
    is_named = repository == known or (site is not None and repository == site.repository)
    return [common] if is_named or names_worktree(repository) else []


def _of_variables(variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders that variables let git write."""
    if index := variables.get("GIT_INDEX_FILE"):
        yield Path(index).parent
    if objects := variables.get("GIT_OBJECT_DIRECTORY"):
        yield Path(objects)


def _alternates(objects: Sequence[Path]) -> Iterator[Path]:
    """Yield the folders of objects that others borrow from: folders that are named so and have packs."""
    waiting, seen = list(objects), set(objects)
    while waiting:
        folder = waiting.pop()
        try:
            text = (folder / "info" / "alternates").read_bytes()[:_ALTERNATES_BYTES]
        except OSError:
            continue
        for line in os.fsdecode(text).splitlines():
            path = Path(os.path.normpath(folder / line)) if line and not line.startswith("#") else folder
            if path not in seen and path.name == "objects" and (path / "pack").is_dir():
                seen.add(path)
                waiting.append(path)
                yield path


def _real(paths: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths))
