"""Searches files where ripgrep is missing, as a program of its own: a regular expression can take forever and must be killable.

Run as `python -P -m opencode_tui.engine.tool.python_search JSON` in the folder to search. JSON: `{"exclude": [patterns]}` prints
the files, each followed by NUL; with `pattern`, and `file` for one file alone, it prints lines as ripgrep does: `path NUL
line:text`. What is left out are `.git` and what git ignores; links are not followed.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pathspec import GitIgnoreSpec

from opencode_tui.engine.tool.glob_pattern import matcher
from opencode_tui.engine.tool.text_format import is_binary

_SAMPLE_BYTES = 4096
_LINE_LIMIT_BYTES = 1024 * 1024
_SHOWN_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class _Ignored:
    """The ignore rules of one folder, for paths below it."""

    folder: str
    rules: GitIgnoreSpec


def walk_files(folder: Path, exclude: Sequence[str] = ()) -> Iterator[str]:
    """Yield the paths of files relative to a folder, hidden ones too; `exclude` are patterns of files and folders."""
    excluded = [matcher(pattern.rstrip("/")) for pattern in exclude]
    pending: list[tuple[str, tuple[_Ignored, ...]]] = [("", ())]
    while pending:
        relative, ignored = pending.pop()
        ignored = (*ignored, *_rules_in(folder, relative))
        try:
            entries = sorted(os.scandir(folder / relative), key=lambda entry: entry.name)
        except OSError:
            # A folder that may not be read has no results, as with ripgrep.
            continue
        for entry in entries:
            path = f"{relative}/{entry.name}" if relative else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or _is_ignored(path + "/" if is_folder else path, ignored):
                continue
            if any(test(path) for test in excluded):
                continue
            if is_folder:
                pending.append((path, ignored))
            elif entry.is_file(follow_symlinks=False):
                yield path


def search_lines(path: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines of a file that match; binary files and those that cannot be read have none."""
    try:
        with path.open("rb") as file:
            if is_binary(file.read(_SAMPLE_BYTES)):
                return
            file.seek(0)
            number = 0
            while line := file.readline(_LINE_LIMIT_BYTES):
                number += 1
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                if pattern.search(text):
                    yield number, text
    except OSError:
        return


def main() -> int:
    """Print what was asked for; returns 2 for a pattern that Python cannot read."""
    asked = json.loads(sys.argv[1])
    output = sys.stdout.buffer
    if "pattern" not in asked:
        for path in walk_files(Path(), asked["exclude"]):
            output.write(os.fsencode(path) + b"\0")
        return 0
    try:
        pattern = re.compile(asked["pattern"])
    except re.error as error:
        sys.stderr.write(f"{asked['pattern']!r} is no regular expression: {error}")
        return 2
    _print_lines([asked["file"]] if asked.get("file") else walk_files(Path()), pattern, output)
    return 0


def _print_lines(paths: Iterator[str] | list[str], pattern: re.Pattern[str], output: IO[bytes]) -> None:
    for path in paths:
        for number, text in search_lines(Path(path), pattern):
            output.write(b"%b\0%d:%b\n" % (os.fsencode(path), number, text.encode("utf-8", "replace")[:_SHOWN_BYTES]))


def _rules_in(folder: Path, relative: str) -> list[_Ignored]:
    found: list[_Ignored] = []
    for name in (".gitignore", ".ignore"):
        path = folder / relative / name
        if path.is_file():
            lines = path.read_text("utf-8", "replace").splitlines()
            found.append(_Ignored(relative, GitIgnoreSpec.from_lines(lines)))
    return found


def _is_ignored(path: str, ignored: tuple[_Ignored, ...]) -> bool:
    """Tell what the innermost rule that speaks of a path says."""
    for item in reversed(ignored):
        inner = path[len(item.folder) + 1 :] if item.folder else path
        verdict = item.rules.check_file(inner).include
        if verdict is not None:
            return verdict
    return False


if __name__ == "__main__":
    sys.exit(main())
