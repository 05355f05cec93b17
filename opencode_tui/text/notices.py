"""Warnings about settings as lines: a file that has several of them is named once."""

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from opencode_tui.text.quantity import short_path

if TYPE_CHECKING:
    from opencode_tui.schema.api.folder import Notices


def placed_warnings(notices: "Notices") -> list[tuple[str, str]]:
    """Return the file or variable of each warning, empty for what is no setting, and its line, which begins with that."""
    sources = notices.sources or []
    return [*zip(sources, notices.warnings, strict=False), *(("", one) for one in notices.warnings[len(sources) :])]


def warning_lines(placed: Iterable[tuple[str, str]], home: str, folder: str = "") -> list[str]:
    """Return the lines of warnings with their sources, in their order; what follows the head of a file is indented.

    Paths in the home folder begin with `~`; those in `folder`, if it is given, are relative to it.
    """
    found: list[str] = []
    for source, group in groupby(placed, key=lambda one: one[0]):
        lines = [line for _, line in group]
        if source and len(lines) > 1:
            found.append(f"{_short(source, home, folder)}:")
            found += [f"  {line.removeprefix(source).lstrip(' :')}" for line in lines]
        else:
            found += [_short(line, home, folder) for line in lines]
    return found


def _short(line: str, home: str, folder: str) -> str:
    return short_path(line.removeprefix(f"{folder}/") if folder else line, home)
