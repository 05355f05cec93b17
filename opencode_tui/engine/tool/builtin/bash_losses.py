"""What a command is about to discard, as paths: those that it names, and those that git lists for its own commands.

Git is asked in the safe way: nothing that the repository's settings name runs.
"""

import asyncio
import os
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from opencode_tui.engine.permission.shell.findings import Loss
from opencode_tui.engine.permission.shell.needs import given, operands_of
from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.engine.snapshot.scan.lost_files import LostFile, LostPath
from opencode_tui.schema.error import GitMissingError, GitUnavailableError
from opencode_tui.schema.session.sandbox import LostRow

ROWS = 200
"""Rows of one question, largest first; the last one counts all others."""


async def find_paths(losses: Iterable[Loss], root: Path, environ: Mapping[str, str]) -> list[LostPath]:
    """Return the paths relative to the worktree at `root`; a folder as a whole where git cannot say what it would discard."""
    found: dict[LostPath, None] = {}
    for loss in losses:
        names = [""]
        try:
            if loss.kind == "untracked":
                names = await _untracked(loss, environ)
            elif loss.kind == "changes":
                names = await _changed(loss, environ)
        except (GitMissingError, GitUnavailableError):
            pass  # no repository, or no commit yet: the whole folder is examined
        for name in names:
            inner = posixpath.relpath(posixpath.join(loss.path, name), str(root))
            if not inner.startswith(".."):
                found[LostPath("" if inner == "." else inner, loss.pattern)] = None
    return list(found)


async def _untracked(loss: Loss, environ: Mapping[str, str]) -> list[str]:
    """Return what `git clean` with the arguments of a loss removes, relative to its folder."""
    words = list(loss.words)
    excluded = [following for word, following in pairwise(words) if word in ("-e", "--exclude")]
    excluded += [word.partition("=")[2] for word in words if word.startswith("--exclude=")]
    options = [f"--exclude={pattern}" for pattern in excluded]
    if given(words, "-X"):
        options = ["--ignored", "--exclude-standard"]
    elif not given(words, "-x"):
        options.append("--exclude-standard")
    paths = [word for word in operands_of(words) if word not in excluded]
    listing = ("ls-files", "-z", "--others", "--directory", "--no-empty-directory", *options, "--", *paths)
    names = (await SafeGit(Path(loss.path), environ=environ).run(*listing)).split("\0")
    has_folders = given(words, "-d") or bool(paths)
    is_forced_twice = sum(word.count("f") for word in words if word[:1] == "-" and word[:2] != "--") > 1
    kept = [name for name in names if name and (has_folders or not name.endswith("/"))]
    return kept if is_forced_twice else await asyncio.to_thread(_without_repositories, loss.path, kept)


def _without_repositories(folder: str, names: Sequence[str]) -> list[str]:
    """Return the names without the folders of other repositories, which `git clean` leaves."""
    return [name for name in names if not os.path.lexists(os.path.join(folder, name, ".git"))]


async def _changed(loss: Loss, environ: Mapping[str, str]) -> list[str]:
    """Return the tracked files that differ from the last commit, relative to the folder of a loss."""
    folder = Path(loss.path)
    repository = await asyncio.to_thread(find_repository, folder)
    if repository is None:
        return []
    git = SafeGit(folder, environ=environ)
    variables = await git.without_filters(repository)
    listing = ("diff", "--name-only", "-z", "--relative", "HEAD", "--", *loss.words)
    return [name for name in (await git.run(*listing, more=variables)).split("\0") if name]


def rows_of(files: Sequence[LostFile]) -> list[LostRow]:
    """Return what a question lists, largest first: files, and folders that the command discards as a whole."""
    groups: dict[tuple[str, str | None], list[LostFile]] = {}
    for file in files:
        is_whole = file.top != file.path and file.top
        name = f"{file.top}/" if is_whole else file.path
        groups.setdefault((name, file.reason), []).append(file)
    rows = [_row(name, reason, inner) for (name, reason), inner in groups.items()]
    rows.sort(key=lambda row: (-row.bytes, row.path))
    if len(rows) > ROWS:
        left = rows[ROWS - 1 :]
        rest = LostRow(path="", files=sum(row.files for row in left), bytes=sum(row.bytes for row in left))
        return [*rows[: ROWS - 1], rest]
    return rows


def _row(path: str, reason: str | None, files: Sequence[LostFile]) -> LostRow:
    kinds = {file.kind for file in files}
    row = LostRow(path=path, files=len(files), bytes=sum(file.size for file in files))
    if len(kinds) == 1:
        row = row.changed(git=kinds.pop())
    return row if reason is None else row.changed(reason=reason)
