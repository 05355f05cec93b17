"""Formats the lines that an edit changed, before the edit is written: one write, one patch, one undo.

A result that changes lines farther than `MARGIN` from the edit is dropped, unless the settings allow the whole file.
"""

import asyncio
import difflib
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.format.file_copy import FileCopy, copy_file
from opencode_tui.engine.format.formatted import Formatted
from opencode_tui.engine.format.known_formatters import FILE, FormatterTable, KnownFormatter, Lines
from opencode_tui.engine.project.programs import FoundProgram, Program, Start, run_program, start_program
from opencode_tui.schema.api.language import FormatterState
from opencode_tui.schema.error import OpencodeError

MARGIN = 3
"""Lines before and after an edit that its formatting may change."""

TIMEOUT_S = 10.0
"""Seconds that a formatter has."""

_MOST_RANGES = 5
_MOST_BYTES = 2 * 1024 * 1024
_MOST_RESULT_BYTES = 2 * _MOST_BYTES
_SHOWN_LINES = 20
_COMPARED_LINES = 4_000

logger = logging.getLogger(__name__)


class FormatError(Exception):
    """A formatter failed; the text is its reason."""


class _LateError(FormatError):
    """A formatter took longer than its limit."""


class Formatters:
    """The formatters of a folder.

    `make_table` looks for programs, in a thread; `make_environ` returns their environment, by whether they are confined;
    `start_confined` starts those that are. Copies for some programs are made in the folder `scratch`. `report` is called once with
    each reason for which a formatter of the settings does not run.
    """

    def __init__(
        self,
        *,
        make_table: Callable[[], FormatterTable],
        make_environ: Callable[[bool], Mapping[str, str]],
        start_confined: Start,
        scratch: Path,
        report: Callable[[str], None],
    ) -> None:
        self._make_table = make_table
        self._report = report
        self.idle: list[str] = []
        """Why formatters of the settings did not run for an edit, each reason once, as it was reported."""
        self._make_environ = make_environ
        self._start_confined = start_confined
        self._scratch = scratch
        self._table: FormatterTable | None = None
        self._late: set[str] = set()
        """The formatters that once took too long; they do not run again in this session of the program."""

    async def states(self) -> list[FormatterState]:
        """Return all formatters, and which of them run."""
        return await asyncio.to_thread((await self._found_table()).states)

    async def format(self, path: Path, before: str | None, after: str) -> Formatted:
        """Return the text of a file after an edit, formatted where it was edited; unchanged when that fails. Never raises."""
        try:
            found = await asyncio.to_thread((await self._found_table()).find, path)
            if found is None:
                await self._report_idle(path)
            if found is None or found[0].id in self._late or before == after or _is_long(after):
                return Formatted(after)
            plain, is_crlf = after.replace("\r\n", "\n"), "\r\n" in after
            if "\r" in plain or (is_crlf and after.count("\r\n") != after.count("\n")):
                return Formatted(after)  # mixed line ends would not survive
            old = None if before is None else before.replace("\r\n", "\n")
            result, lines = await self._run(*found, path, old, plain)
            if result == plain:
                return Formatted(after)
            message = await asyncio.to_thread(_describe, found[0].id, plain, result, is_new=lines is None)
        except (OSError, ValueError, FormatError, OpencodeError) as error:
            logger.info("%s was not formatted: %s", path, error)
            return Formatted(after)
        return Formatted(result.replace("\n", "\r\n") if is_crlf else result, message)

    async def _report_idle(self, path: Path) -> None:
        reason = await asyncio.to_thread((await self._found_table()).describe_idle, path)
        if reason and reason not in self.idle:
            self.idle.append(reason)
            self._report(reason)

    async def _found_table(self) -> FormatterTable:
        if self._table is None:
            self._table = await asyncio.to_thread(self._make_table)
        return self._table

    async def _run(
        self, formatter: KnownFormatter, program: FoundProgram, path: Path, before: str | None, after: str
    ) -> tuple[str, Sequence[Lines] | None]:
        """Return the formatted text, and the lines that were edited (None: all). Raises FormatError, OSError."""
        if before is None:
            return await self._start(formatter, program, path, after, ()), None
        edited = await asyncio.to_thread(lambda: [new for _, new in changed_lines(before, after) if new[0] < new[1]])
        if not edited:
            return after, edited
        text = after
        if formatter.range and path.suffix in formatter.ranges and len(edited) <= _MOST_RANGES:
            groups = [[one] for one in reversed(edited)] if formatter.is_single else [edited]
            for group in groups:  # the last lines first, so that the others keep their numbers
                text = await self._start(formatter, program, path, text, formatter.range_arguments(text, group))
        else:
            text = await self._start(formatter, program, path, after, ())
        if not formatter.is_whole and not await asyncio.to_thread(is_near, after, text, edited):
            raise FormatError(f"{formatter.id} would change lines outside of the edit")
        return text, edited

    async def _start(
        self, formatter: KnownFormatter, program: FoundProgram, path: Path, text: str, arguments: Sequence[str]
    ) -> str:
        try:
            result = await self._start_once(formatter, program, path, text, arguments)
        except _LateError:
            self._late.add(formatter.id)
            raise
        if not result.strip() and text.strip():
            raise FormatError(f"{formatter.id} wrote nothing")
        return result

    async def _start_once(
        self, formatter: KnownFormatter, program: FoundProgram, path: Path, text: str, arguments: Sequence[str]
    ) -> str:
        command = formatter.command[1:]
        environ = {**await asyncio.to_thread(self._make_environ, program.is_confined), **formatter.environ}
        run = partial(
            _communicate, environ=environ, start=self._start_confined if program.is_confined else start_program
        )
        if formatter.is_configured and any(FILE in part for part in command):
            return await self._run_on_copy((program.path, *command), path, text, run)
        argv = (program.path, *(part.replace(FILE, str(path)) for part in command))
        at = len(argv) - 1 if argv[-1] == "-" else len(argv)
        worktree = (await self._found_table()).worktree
        folder = await asyncio.to_thread(_folder_of, path, formatter.root_marker, worktree)
        return (await run((*argv[:at], *arguments, *argv[at:]), text.encode(), folder)).decode()

    async def _run_on_copy(
        self, argv: Sequence[str], path: Path, text: str, run: Callable[..., Coroutine[Any, Any, bytes]]
    ) -> str:
        """Run a command of the settings that changes the file that it names, on a copy, and return what it wrote there."""
        table = await self._found_table()
        is_part = any(FILE in part and part != FILE for part in argv)
        make = partial(
            copy_file,
            path,
            text.encode(),
            worktree=table.worktree,
            directory=table.directory,
            is_plain=is_part,
            scratch=self._scratch,
        )
        made: list[FileCopy] = []  # known also where the call is canceled in the meantime
        try:
            await run_to_completion(asyncio.to_thread(lambda: made.append(make())))
            [copy] = made
            await run([part.replace(FILE, str(copy.path)) for part in argv], b"", copy.folder, writable=(copy.root,))
            data = await asyncio.to_thread(copy.read, _MOST_RESULT_BYTES + 1)
        finally:
            for one in made:
                await run_to_completion(asyncio.to_thread(one.delete))
        if len(data) > _MOST_RESULT_BYTES:
            raise FormatError(f"{argv[0]} wrote more than {_MOST_RESULT_BYTES} bytes")
        return data.decode()


def _is_long(text: str) -> bool:
    """Return whether a text is too long to format. Raises UnicodeEncodeError, a ValueError."""
    return len(text) > _MOST_BYTES or len(text.encode()) > _MOST_BYTES


def _existing(folder: Path) -> Path:
    """Return the nearest folder that exists: a new file may be in a new one."""
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _folder_of(path: Path, marker: str, worktree: Path) -> Path:
    """Return where a program starts: the nearest folder above with the marker, in the worktree, else that of the file. Blocks."""
    above = [one for one in path.parents if marker and one.is_relative_to(worktree)]
    return next((one for one in above if (one / marker).exists()), None) or _existing(path.parent)


async def _communicate(
    argv: Sequence[str],
    data: bytes,
    folder: Path,
    *,
    environ: Mapping[str, str],
    start: Start,
    writable: Sequence[Path] = (),
) -> bytes:
    """Return the output of a program.

    Raises FormatError when it fails or takes too long, OSError when it cannot start or writes too much.
    """
    try:
        ran = await run_program(
            Program(argv, folder, environ, writable),
            data,
            limit_s=TIMEOUT_S,
            max_bytes=_MOST_RESULT_BYTES,
            start=start,
        )
    except TimeoutError:
        raise _LateError(f"{argv[0]} took longer than {TIMEOUT_S:g} s") from None
    if ran.code:
        raise FormatError(f"{argv[0]} failed with exit code {ran.code}: {ran.errors[:300].decode('utf-8', 'replace')}")
    return ran.output


def changed_lines(before: str, after: str) -> list[tuple[Lines, Lines]]:
    """Return the blocks of lines that differ, as lines of each text, in order. Blocks."""
    old, new = before.split("\n"), after.split("\n")
    shorter = min(len(old), len(new))
    head = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    limit = shorter - head
    tail = next((index for index in range(limit) if old[-1 - index] != new[-1 - index]), limit)
    old_middle, new_middle = old[head : len(old) - tail], new[head : len(new) - tail]
    if not old_middle and not new_middle:
        return []
    if len(old_middle) + len(new_middle) > _COMPARED_LINES:
        return [((head, len(old) - tail), (head, len(new) - tail))]
    return [
        ((head + start, head + end), (head + new_start, head + new_end))
        for tag, start, end, new_start, new_end in difflib.SequenceMatcher(
            None, old_middle, new_middle, autojunk=False
        ).get_opcodes()
        if tag != "equal"
    ]


def is_near(before: str, after: str, edited: Sequence[Lines]) -> bool:
    """Return whether all changes lie in these lines of the first text, or at most `MARGIN` lines next to them. Blocks."""
    return all(
        any(start - MARGIN <= first and last <= end + MARGIN for start, end in edited)
        for (first, last), _ in changed_lines(before, after)
    )


def _describe(name: str, before: str, after: str, *, is_new: bool) -> str:
    """Return the message for the model: the lines that the formatter changed, as they are now."""
    blocks = [new for _, new in changed_lines(before, after)]
    first, last = blocks[0][0], max(blocks[-1][1], blocks[0][0] + 1)
    if is_new or last - first > _SHOWN_LINES:
        return f"\n{name} formatted it; read it before you edit it again."
    shown = "\n".join(after.split("\n")[first:last])
    location = f"line {first + 1}" if last == first + 1 else f"lines {first + 1} to {last}"
    return f"\n{name} formatted it; {location} now:\n{shown}"
