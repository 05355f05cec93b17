"""Resolution of paths that a model wrote, and the permission for paths outside the project.

Links are resolved before permission is asked: the path in the question is the path that is opened.
"""

import asyncio
import os
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.permission.ruleset import grantable
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.suggest import nearest
from opencode_tui.storage.same_name import NAMES, key


class Location(Struct, frozen=True):
    """A location on disk: `path` absolute as written, `real` with all links resolved, both also relative to the worktree.

    `is_inside`: `real` is in the project's directory or its worktree; `is_folder`: it is an existing folder; `is_link`: what is
    written ends in a link.
    """

    path: Path
    real: Path
    relative: str
    relative_real: str
    is_inside: bool
    is_folder: bool
    is_link: bool = False

    @property
    def is_alias(self) -> bool:
        """Return whether the path contains a link, other than one on the way to the project's directory, or another spelling."""
        return self.relative != self.relative_real

    def describe_alias(self) -> str:
        """Return what the path is in place of the real one, empty where it is that."""
        if not self.is_alias:
            return ""
        return "another spelling" if key(self.relative) == key(self.relative_real) else "a link"

    @property
    def read_patterns(self) -> list[str]:
        """The absolute path; for an alias also the real one, so that rules for either apply."""
        return [str(self.path), str(self.real)] if self.is_alias else [str(self.path)]

    @property
    def edit_patterns(self) -> list[str]:
        """The path relative to the worktree; also the real one of an alias."""
        return [self.relative, self.relative_real] if self.is_alias else [self.relative]


async def locate(written: str, context: ToolContext) -> Location:
    """Return the location of a path; a relative one starts at the context's directory. Raises ToolError if it is invalid."""
    if not written or "\0" in written:
        raise ToolError(f"{written!r} is not a path", f"give an absolute path or one relative to {context.directory}")
    return await asyncio.to_thread(_resolve, written, context)


async def locate_link(written: str, context: ToolContext) -> Location:
    """Return the location of a link itself, for which `locate` has `is_link`: `real` is its own place, not where it leads."""
    return await asyncio.to_thread(_resolve, written, context, follows=False)


_SIMILAR_NAMES = 3
_TOP = Path("/")


def similar_paths(path: Path) -> list[str]:
    """Return existing paths in the folder of a missing file that it may have meant, best first. Blocks."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return []
    wanted = path.name.lower()
    contained = [name for name in names if wanted in name.lower() or name.lower() in wanted]
    close = nearest(path.name, names, _SIMILAR_NAMES)
    return [str(path.parent / name) for name in dict.fromkeys(close + contained)][:_SIMILAR_NAMES]


async def ask_outside(location: Location, context: ToolContext) -> None:
    """Ask for `external_directory` when the location is outside of the project; returns when it is allowed.

    The question names the folder itself, or the folder that contains a file.
    """
    if location.is_inside:
        return
    folder = location.real if location.is_folder else location.real.parent
    pattern = str(folder / "*")
    await context.ask(
        "external_directory",
        [pattern],
        always=grantable([str(folder)], "/*"),
        metadata={"filepath": str(location.real), "parentDir": str(folder)},
    )


def is_inside(real: Path, context: ToolContext) -> bool:
    """Return whether a real path is in the project's directory or its worktree; a worktree `/` does not count. Blocks."""
    roots = [Path(os.path.realpath(folder)) for folder in (context.directory, context.worktree) if str(folder) != "/"]
    return any(real.is_relative_to(root) for root in roots)


def _resolve(written: str, context: ToolContext, *, follows: bool = True) -> Location:
    joined = os.path.join(context.directory, os.path.expanduser(written) if written.startswith("~/") else written)
    path = Path(os.path.normpath(joined))
    try:
        is_link = os.path.islink(joined)
        real = (
            Path(_real_path(joined))
            if follows
            else NAMES.stored(Path(_real_path(os.path.dirname(joined)), path.name), _TOP)
        )
        is_folder = follows and real.is_dir()
    except OSError as error:
        raise ToolError(f"{path} cannot be resolved ({error.strerror})", "give another path") from error
    return Location(
        path=path,
        real=real,
        relative=_relative(path, context),
        relative_real=os.path.relpath(real, os.path.realpath(context.worktree)),
        is_inside=is_inside(real, context),
        is_folder=is_folder,
        is_link=is_link,
    )


def _real_path(path: str) -> str:
    """Return a path with all links resolved, as the disk stores its names; its end may be missing.

    Raises OSError where a link cannot be resolved.
    """
    try:
        real = os.path.realpath(path, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        real = os.path.realpath(path)
    return str(NAMES.stored(Path(real), _TOP))


def _relative(path: Path, context: ToolContext) -> str:
    """Return a path relative to the worktree, also where the directory was reached through a link."""
    if not path.is_relative_to(context.directory):
        return os.path.relpath(path, context.worktree)
    home = os.path.relpath(os.path.realpath(context.directory), os.path.realpath(context.worktree))
    return os.path.normpath(os.path.join(home, path.relative_to(context.directory)))
