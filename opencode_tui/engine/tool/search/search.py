"""Finds files and lines in a folder, with ripgrep.

What git ignores and `.git` are left out, hidden files are not. Results are bounded. No setting of the user's for ripgrep applies:
it could start programs. The tools that search share the functions at the end: where to search, leaving out what may not be read
without asking, and newest files first.
"""

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.permission.path_forms import forms_of
from opencode_tui.engine.permission.ruleset import evaluate_layers
from opencode_tui.engine.tool.location import Location, ask_outside, locate
from opencode_tui.engine.tool.search.glob_pattern import matcher
from opencode_tui.engine.tool.search.hits import LINE_LENGTH, confirmed
from opencode_tui.engine.tool.search.ripgrep import require_ripgrep, run_search
from opencode_tui.engine.tool.tool import Parameters, ToolContext
from opencode_tui.schema.error import MissingFileError

Readable = Callable[[ToolContext, Path], bool]
"""Returns whether the read tool could show a file in this context without asking."""

RESULT_LIMIT = 100
"""Source: docs/internals/tools.md#grep."""
FILE_LIMIT = 20_000
MATCH_LIMIT = 2_000
_OPTIONS = (
    "--no-config",
    "--color=never",
    "--no-messages",
    "--hidden",
    "--no-require-git",
    "--glob=!.git",
    "--null",
)
_MATCH = re.compile(rb"(.+?)\0(\d+)([:-])(.*)", re.DOTALL)


class Files(Struct, frozen=True):
    """Paths relative to the searched folder, in no order. `more` when the limit was hit."""

    paths: list[str]
    more: bool


class Match(Struct, frozen=True):
    """One line that matches; `path` is relative to the searched folder, and empty where one file was searched."""

    path: str
    line: int
    text: str
    is_context: bool = False
    """Whether it is only context of a line that matches."""


class LineSearch(Struct, frozen=True):
    """How lines are searched: of files that match `include` and have the `type` (a name of ripgrep), `before` and `after` around.

    In `multiline` a match may span lines, and a dot is a line end, too. `once` returns a file's first match alone.
    """

    pattern: str
    include: str | None = None
    type: str | None = None
    ignore_case: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0
    once: bool = False


class Matches(Struct, frozen=True):
    """Matching lines. `more` when the limit was hit, `complete` when every path could be read."""

    found: list[Match]
    more: bool
    complete: bool


class FileSearch:
    """Searches with the ripgrep that is found for a project's folder. Every search raises ToolError without one."""

    def __init__(self, directory: Path, environ: Mapping[str, str]) -> None:
        self._directory = directory
        self._environ = environ

    async def _command(self) -> list[str]:
        return [await asyncio.to_thread(require_ripgrep, self._directory, self._environ), *_OPTIONS]

    async def files(
        self,
        folder: Path,
        *,
        accept: Callable[[str], bool],
        exclude: Sequence[str] = (),
        limit: int = FILE_LIMIT,
        ignored_too: bool = False,
    ) -> Files:
        """Return up to `limit` files that `accept` accepts and no `exclude` pattern matches.

        With `ignored_too` those that git ignores are among them.
        """
        paths: list[str] = []

        def consume(records: list[bytes]) -> bool:
            names = (record.decode("utf-8", "surrogateescape").removeprefix("./") for record in records)
            paths.extend(name for name in names if name and accept(name))
            return len(paths) < limit

        globs = [f"--glob=!{pattern}" for pattern in exclude]
        globs += ["--no-ignore"] if ignored_too else []
        command = [*await self._command(), "--files", *globs, "./"]
        ending = await run_search(command, folder, separator=b"\0", consume=consume)
        return Files(paths[:limit], more=ending.stopped)

    async def lines(self, target: Path, search: LineSearch, *, is_file: bool) -> Matches:
        """Return up to 2,000 matching lines and those around them, cut to 2,000 bytes, of one file or of a folder's files.

        `target` is a real path. Lines that only a link made in the meantime leads to are left out.
        """
        accept = matcher(search.include) if search.include and not is_file else None
        folder, file = (target.parent, target.name) if is_file else (target, None)
        found: list[Match] = []

        def consume(records: list[bytes]) -> bool:
            parsed = (match for record in records if (match := _parse(record, is_file)) is not None)
            matches = [match for match in parsed if accept is None or accept(match.path)]
            there = confirmed(folder, [(file or match.path, match.line, match.text) for match in matches])
            found.extend(match for match, is_there in zip(matches, there, strict=True) if is_there)
            return len(found) < MATCH_LIMIT

        command = [*await self._command(), *_line_options(search), "--", f"./{file or ''}"]
        ending = await run_search(command, folder, separator=b"\n", consume=consume)
        return Matches(found[:MATCH_LIMIT], more=ending.stopped, complete=ending.complete)


def _line_options(search: LineSearch) -> list[str]:
    """Return ripgrep's options. Its own `--glob` would include files that git ignores, hence the file type for plain names."""
    options = ["--line-number", "--with-filename", "--no-heading", f"--max-columns={LINE_LENGTH}"]
    options += ["--max-columns-preview", f"--regexp={search.pattern}"]
    if search.multiline:
        options += ["--multiline", "--multiline-dotall"]
    elif r"\n" in search.pattern or "\n" in search.pattern:
        options.append("--multiline")
    options += ["--ignore-case"] if search.ignore_case else []
    options += ["--max-count=1"] if search.once else []
    options += [f"--before-context={search.before}"] if search.before else []
    options += [f"--after-context={search.after}"] if search.after else []
    include = search.include
    if search.type:
        options.append(f"--type={search.type}")
    elif include and "/" not in include and not include.startswith("!") and not {"[", "\\"}.intersection(include):
        options += [f"--type-add=wanted:{include}", "--type=wanted"]
    return options


def _parse(record: bytes, is_file: bool) -> Match | None:
    match = _MATCH.fullmatch(record)
    if match is None:
        return None
    path = "" if is_file else match.group(1).decode("utf-8", "surrogateescape").removeprefix("./")
    text = match.group(4).decode("utf-8", "replace").rstrip("\r")
    return Match(path, int(match.group(2)), text, is_context=match.group(3) == b"-")


async def choose_location(written: str | None, context: ToolContext) -> Location:
    """Return the location to search, the directory of the context by default; asks when it is outside. Raises ToolError."""
    location = await locate(written or ".", context)
    await ask_outside(location, context, "read")
    if not await asyncio.to_thread(location.real.exists):
        advice = f"give an existing folder, or leave path out to search {context.directory}"
        raise MissingFileError(f"{location.path} does not exist", advice=advice)
    return location


async def ask_to_search(
    permission: str, pattern: str, location: Location, context: ToolContext, arguments: Parameters
) -> None:
    """Ask for a search; a rule that denies the location denies it too."""
    forms = await asyncio.to_thread(forms_of, context.directory, context.worktree, context.origins)
    texts = [str(location.real), *forms.of("read", str(location.real))]
    denied = [one for one in texts if evaluate_layers(permission, one, context.ask.rules()).action == "deny"]
    metadata = arguments.present()
    await context.ask(permission, [pattern, *denied[:1]], always=["*"], metadata=metadata)


def readable_below(
    permission: str, location: Location, readable: Readable | None, context: ToolContext
) -> Callable[[str], bool] | None:
    """Return the test for paths relative to a location: reading them is allowed, and no rule for the search denies them."""
    if readable is None:
        return None
    forms, layers = forms_of(context.directory, context.worktree, context.origins), context.ask.rules()

    def is_shown(path: str) -> bool:
        found = location.real / path
        texts = forms.of("read", str(found))
        return evaluate_layers(permission, str(found), layers, texts).action != "deny" and readable(context, found)

    return is_shown


async def newest_first(root: Path, paths: Iterable[str]) -> list[str]:
    """Return the paths that still exist, by the time of their last change."""
    return await asyncio.to_thread(_sorted_by_time, root, list(dict.fromkeys(paths)))


def first_readable(paths: Sequence[str], readable: Callable[[str], bool] | None) -> tuple[list[str], int]:
    """Return the first paths that may be read, up to the limit, and how many before them may not."""
    found: list[str] = []
    hidden = 0
    for path in paths:
        if len(found) == RESULT_LIMIT:
            break
        if readable is None or readable(path):
            found.append(path)
        else:
            hidden += 1
    return found, hidden


def hidden_note(hidden: int) -> list[str]:
    """Return the note about files that were left out; empty when there are none."""
    if not hidden:
        return []
    count = f"{hidden} {'file was' if hidden == 1 else 'files were'}"
    return [f"({count} left out, because reading such files needs permission; use read on one to ask.)"]


def _sorted_by_time(root: Path, paths: list[str]) -> list[str]:
    times: dict[str, int] = {}
    for path in paths:
        try:
            times[path] = os.stat(root / path, follow_symlinks=False).st_mtime_ns
        except OSError:
            # It vanished since it was found.
            continue
    return sorted(times, key=lambda path: (-times[path], path))
