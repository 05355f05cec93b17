"""The formatters that are known (`known_formatters.txt`), as programs from standard input to standard output.

A program in the project, and one that runs code of the project, runs in trusted folders only. Where commands run inside the
sandbox it does so too, as it must not be a way out for them; the other formatters run outside.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from opencode_tui.config.settings.settings import FormatterSettings
from opencode_tui.engine.project.known_programs import (
    KnownProgram,
    dotted,
    has_program,
    names_of_project_code,
    read_programs,
)
from opencode_tui.engine.project.programs import FoundProgram, ProjectPrograms
from opencode_tui.schema.api.language import FormatterState

FILE = "$FILE"
"""Is replaced by the file's path in a command."""

Lines = tuple[int, int]
"""Lines of a text, from 0: the first, and the one after the last."""


class KnownFormatter(KnownProgram, frozen=True):
    """A formatter. With `markers` it runs by itself only where the project has one of these files.

    `range` are the arguments with which it formats some lines only, of files with one of the extensions `ranges`; `is_single` when
    it accepts one range only. `is_chosen`: the settings name it; `is_whole`: it may change what is far from the edit. With
    `root_marker` it starts in the nearest folder above the file that has one of this name.
    """

    root_marker: str = ""
    range: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    is_single: bool = True
    is_whole: bool = False
    is_chosen: bool = False

    def range_arguments(self, text: str, lines: Sequence[Lines]) -> tuple[str, ...]:
        """Return the arguments by which the program formats only these lines of a text."""
        return tuple(part.format_map(_positions(text, one)) for one in lines for part in self.range)


def _positions(text: str, lines: Lines) -> dict[str, int]:
    """Return the names of a table's arguments for a range: lines from 1, and units of UTF-16 from 0."""
    (start, end), rows = lines, text.split("\n")
    before, inside = "".join(f"{row}\n" for row in rows[:start]), "\n".join(rows[start:end])
    units = len(before.encode("utf-16-le")) // 2
    span = len(inside.encode("utf-16-le")) // 2
    return {"first": start + 1, "last": end, "after": end + 1, "start": units, "end": units + span}


KNOWN = read_programs(Path(__file__).with_name("known_formatters.txt"), KnownFormatter)
"""In the order of precedence."""

_RUN_PROJECT_CODE = names_of_project_code(KNOWN)


_NO_SETTINGS = "the project has no settings for it"
_SHOWN_MARKERS = 3
"""Names of settings files that are shown."""


class FormatterTable:
    """The formatters of a folder by its settings, and their programs.

    In a trusted folder programs in the worktree, and formatters that run the project's code, may run; confined in a sandbox.
    """

    def __init__(self, settings: bool | Mapping[str, FormatterSettings] | None, finder: ProjectPrograms) -> None:
        self.directory, self.worktree = finder.directory, finder.worktree
        self._finder = finder
        self._formatters = _chosen(settings)
        self._programs: dict[str, FoundProgram | None] = {}

    def find(self, path: Path) -> tuple[KnownFormatter, FoundProgram] | None:
        """Return the first formatter for a file in the worktree, and its program; None without one. Blocks for a few lookups."""
        for formatter in self._formatters if path.is_relative_to(self.worktree) else ():
            if path.suffix in formatter.extensions and self._is_enabled(formatter, path):
                program = self._program(formatter)
                if program is not None:
                    return formatter, program
        return None

    def describe_idle(self, path: Path) -> str:
        """Return why no formatter of the settings runs for a file: what keeps the first that is for it; else empty. Blocks."""
        for formatter in self._formatters if path.is_relative_to(self.worktree) else ():
            is_wanted = formatter.is_chosen or self._is_enabled(formatter, path)
            if path.suffix in formatter.extensions and is_wanted and (reason := self._reason(formatter)):
                return f"{formatter.id} does not format: {reason}"
        return ""

    def states(self) -> list[FormatterState]:
        """Return all known formatters and those of the settings. Blocks."""
        chosen = {one.id: one for one in self._formatters}
        listed = {**{one.id: one for one in KNOWN}, **chosen}
        return [self._state(one, is_chosen=name in chosen) for name, one in listed.items()]

    def _state(self, one: KnownFormatter, *, is_chosen: bool) -> FormatterState:
        reason = self._reason(one) if is_chosen else "off"
        lacks_settings = is_chosen and not one.is_chosen and reason == _NO_SETTINGS and self._program(one) is not None
        if lacks_settings:
            named = ", ".join(one.markers[:_SHOWN_MARKERS])
            more = " or the like" if len(one.markers) > _SHOWN_MARKERS else ""
            reason = f'{reason} ({named}{more}); `"formatter": {{"{one.id}": {{}}}}` runs it without them'
        detail = reason if reason and (one.is_chosen or lacks_settings) else None
        return FormatterState(name=one.id, extensions=list(one.extensions), enabled=not reason, detail=detail)

    def _reason(self, formatter: KnownFormatter) -> str:
        """Return why a formatter of the settings does not run in the directory; empty when it does."""
        if not formatter.command:
            return formatter.advice
        if not self._is_enabled(formatter, self.directory / "x"):
            return _NO_SETTINGS
        if self._program(formatter) is None:
            return f"{formatter.command[0]} is not installed, or needs trust: `opencode-tui trust`"
        return ""

    def _is_enabled(self, formatter: KnownFormatter, path: Path) -> bool:
        if not formatter.command:
            return False
        if formatter.is_chosen or not formatter.markers:
            return True
        folders = [folder for folder in path.parents if folder.is_relative_to(self.worktree)]
        return any((folder / name).exists() for folder in folders for name in formatter.markers)

    def _program(self, formatter: KnownFormatter) -> FoundProgram | None:
        if formatter.id not in self._programs:
            runs_code = formatter.runs_project_code or (
                formatter.is_configured
                and (self._finder.has_any(formatter.command[1:]) or has_program(formatter.command, _RUN_PROJECT_CODE))
            )
            self._programs[formatter.id] = self._finder.find(formatter.command, runs_project_code=runs_code)
        return self._programs[formatter.id]


def _chosen(settings: bool | Mapping[str, FormatterSettings] | None) -> list[KnownFormatter]:
    """Return the formatters of the settings: all known ones for true, else those that they name; none without settings."""
    if settings is None or settings is False:
        return []
    if settings is True:
        return list(KNOWN)
    known = {one.id: one for one in KNOWN}
    chosen: list[KnownFormatter] = []
    for name, entry in settings.items():
        if entry.disabled or (name not in known and not (entry.command and entry.extensions)):
            continue
        base = known.get(name) or KnownFormatter(name)
        changed = replace(
            base,
            extensions=dotted(entry.extensions) or base.extensions,
            is_whole=bool(entry.whole),
            environ=entry.environment or {},
            is_chosen=True,
        )
        if entry.command:
            changed = replace(changed, command=tuple(entry.command), range=(), is_configured=True)
        chosen.append(changed)
    return chosen
