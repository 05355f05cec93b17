"""The changes of a work tree that a task worked in, read without a write to its repository.

What the task left is hostile: its index may be a link to another file, which git would write. So git works on a copy of it, and
new objects go to a temporary folder.
"""

import asyncio
import os
import stat
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.project.git import SafeGit, with_settings
from opencode_tui.engine.project.git_reach import name_alternates
from opencode_tui.schema.error import GitUnavailableError
from opencode_tui.storage.safe_folder import open_folder

TIMEOUT_S = 600.0
"""How long git may read or write all files of a work tree: on a busy disk 50,000 files take more than half a minute."""


class WorktreeChanges(Struct, frozen=True):
    """The changes of a work tree since a commit, as `git apply` reads them, and the paths of the changed files."""

    diff: str
    files: tuple[str, ...]


async def read_changes(
    git: SafeGit, path: Path, base: str, given: Mapping[str, str], *, index: Path, objects: Sequence[Path]
) -> WorktreeChanges:
    """Return what differs between a commit and the work tree at `path`, new files included, ignored ones not.

    `given` are variables that name the repository and the work tree and disable filters, `objects` the folders with its objects.
    A work tree without an index counts as if it had that of the commit. Files that are not UTF-8 count as binary. Raises
    GitUnavailableError.
    """
    variables = dict(given)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="diff-") as temporary:
        folder = Path(temporary)
        (folder / "attributes").write_text("* -diff\n")
        (folder / "objects").mkdir()
        variables["GIT_OBJECT_DIRECTORY"] = str(folder / "objects")
        variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = name_alternates(objects)
        variables["GIT_INDEX_FILE"] = str(folder / "index")
        if not await asyncio.to_thread(copy_regular_file, index, folder / "index"):
            await git.run("read-tree", base, folder=path, more=variables)
        hidden = await _hide_repositories(git, path, folder, variables)
        try:
            return await _diff(git, path, base, folder, variables)
        finally:
            for place, kept in reversed(hidden):
                await asyncio.to_thread(_move, kept, place)


async def find_identity(git: SafeGit) -> Mapping[str, str]:
    """Return variables with a name for commits, none when git knows the user's."""
    try:
        await git.run("var", "GIT_COMMITTER_IDENT")
    except GitUnavailableError:
        names = {"NAME": "opencode-tui", "EMAIL": "opencode-tui@localhost"}
        return {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in names.items()}
    return {}


def copy_regular_file(source: Path, target: Path) -> bool:
    """Copy a file with its time and return True; return False when it does not exist or is a link or no regular file. Blocks.

    By the time of the index git knows which files may have changed in the moment in which they were added.
    """
    try:
        with open_folder(source.parent) as folder:
            data, facts = folder.read(source.name, sys.maxsize)
    except OSError:
        return False
    if not stat.S_ISREG(facts.st_mode):
        return False
    target.write_bytes(data)
    os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    return True


def _move(source: Path, target: Path) -> None:
    """Move an entry of one folder to another; what became a link in the meantime is not followed. Blocks. Raises OSError."""
    with open_folder(source.parent) as folder, open_folder(target.parent) as into:
        folder.move(source.name, into, target.name)


async def _hide_repositories(
    git: SafeGit, path: Path, folder: Path, variables: Mapping[str, str]
) -> list[tuple[Path, Path]]:
    """Move the `.git` of new nested repositories away, whose files git would leave out; return from where to where."""
    hidden: list[tuple[Path, Path]] = []
    while True:
        listing = await git.run("ls-files", "-z", "--others", "--exclude-standard", folder=path, more=variables)
        found = [path / name / ".git" for name in listing.split("\0") if name.endswith("/")]
        if not found:
            return hidden
        for place in found:
            kept = folder / f"git-{len(hidden)}"
            try:
                await asyncio.to_thread(_move, place, kept)
            except OSError:
                return hidden
            hidden.append((place, kept))


async def _diff(git: SafeGit, path: Path, base: str, folder: Path, given: Mapping[str, str]) -> WorktreeChanges:
    """Return the changes; `folder` has the attributes that make every file a binary one."""
    variables = given
    sparse = ("--sparse",) if await _is_sparse(git, variables) else ()
    await git.run(
        "add", *sparse, "--intent-to-add", "--all", "--", ".", folder=path, more=variables, timeout_s=TIMEOUT_S
    )
    names = await git.run("diff", "--name-only", "-z", "--no-renames", base, folder=path, more=variables)
    options = (
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        base,
    )
    diff = await git.run("diff", *options, folder=path, more=variables, timeout_s=TIMEOUT_S)
    if not _is_unicode(diff):
        variables = with_settings(given, {"core.attributesFile": str(folder / "attributes")})
        diff = await git.run("diff", *options, folder=path, more=variables, timeout_s=TIMEOUT_S)
    return WorktreeChanges(diff, tuple(split_names(names)))


async def _is_sparse(git: SafeGit, variables: Mapping[str, str]) -> bool:
    """Return whether git refuses to add files outside of a sparse checkout's folders."""
    try:
        found = await git.run("config", "--type=bool", "core.sparseCheckout", more=variables)
    except GitUnavailableError:  # it is not set
        return False
    return found.strip() == "true"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def split_names(listing: str) -> list[str]:
    """Return the names in a list of git; a nested repository is listed as a folder with a slash at its end."""
    return [name.rstrip("/") for name in listing.split("\0") if name]
