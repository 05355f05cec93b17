"""Searches files where ripgrep is missing, as a program of its own: a regular expression can take forever and must be killable.

Run as `python -P -m opencode_tui.engine.tool.search.python_search JSON` in the folder to search. JSON: `{"exclude": [patterns]}`
prints the files, each followed by NUL; with `pattern`, and `file` for one file alone, it prints lines as ripgrep does: `path NUL
line:text`. Left out are `.git` and what git ignores; links are not followed.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from opencode_tui.engine.snapshot.scan.ignore import Rules
from opencode_tui.engine.tool.files.text_format import is_binary
from opencode_tui.engine.tool.search.glob_pattern import matcher
from opencode_tui.schema.error import ToolError

_SAMPLE_BYTES = 4096
_LINE_LIMIT_BYTES = 1024 * 1024
_SHOWN_BYTES = 2_000


def walk_files(folder: Path, exclude: Sequence[str] = ()) -> Iterator[str]:
    """Yield the paths of files relative to a folder, hidden ones too; `exclude` are patterns of files and folders."""
    excluded = [matcher(pattern.rstrip("/")) for pattern in exclude]
    pending: list[tuple[str, Rules]] = [("", Rules())]
    while pending:
        relative, rules = pending.pop()
        rules = rules_below(rules, folder, relative)
        try:
            entries = sorted(os.scandir(folder / relative), key=lambda entry: entry.name)
        except OSError:
            # A folder that may not be read has no results, as with ripgrep.
            continue
        for entry in entries:
            path = f"{relative}/{entry.name}" if relative else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or rules.ignores(path, is_folder=is_folder):
                continue
            if any(test(path) for test in excluded):
                continue
            if is_folder:
                pending.append((path, rules))
            elif entry.is_file(follow_symlinks=False):
                yield path


def rules_below(rules: Rules, top: Path, folder: str) -> Rules:
    """Return the rules extended by those of a folder's ignore files, weakest first; its path is relative to the top."""
    for name in (".gitignore", ".ignore"):
        rules = rules.with_file(str(top / folder / name), folder)
    return rules


def search_lines(path: Path, pattern: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines of a file that match; binary files and those that cannot be read have none."""
    try:
        with path.open("rb") as file:
            if is_binary(file.read(_SAMPLE_BYTES)):
                return
            file.seek(0)
            number, is_next = 0, True
            while line := file.readline(_LINE_LIMIT_BYTES):
                number += is_next
                is_next = line.endswith(b"\n")
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
        try:
            for path in walk_files(Path(), asked["exclude"]):
                output.write(os.fsencode(path) + b"\0")
        except ToolError as error:
            sys.stderr.write(str(error))
            return 2
        return 0
    try:
        pattern = re.compile(asked["pattern"])
    except re.error as error:
        sys.stderr.write(f"{asked['pattern']!r} is not a regular expression: {error}")
        return 2
    _print_lines([asked["file"]] if asked.get("file") else walk_files(Path()), pattern, output)
    return 0


def _print_lines(paths: Iterator[str] | list[str], pattern: re.Pattern[str], output: IO[bytes]) -> None:
    for path in paths:
        for number, text in search_lines(Path(path), pattern):
            output.write(b"%b\0%d:%b\n" % (os.fsencode(path), number, text.encode("utf-8", "replace")[:_SHOWN_BYTES]))


if __name__ == "__main__":
    sys.exit(main())
