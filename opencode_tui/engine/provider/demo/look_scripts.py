"""Scripts that only look: read, find, list."""

import re
from pathlib import PurePosixPath

from opencode_tui.engine.provider.demo.goals import FindFiles, FindText, ListFolder, ReadFile
from opencode_tui.engine.provider.demo.output import count, outline, quote, read_lines, read_matches, read_paths
from opencode_tui.engine.provider.demo.script import Call, Outcome, Script, failed, locate, relative
from opencode_tui.engine.provider.demo.turn import Turn

_LISTED = 25


def read_file(goal: ReadFile, turn: Turn) -> Script:
    """Read a file and show or outline it."""
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome("Which file? Name it, for example “show README.md”.", is_done=False)
    path = yield from locate(turn, named)
    result = yield Call("read", {"filePath": path}, f"I read `{path}`.")
    if result.is_error:
        return failed(f"Reading `{path}`", result)
    read = read_lines(result.text)
    if read is None:
        return Outcome(f"Reading `{path}` gave:\n\n{quote(result.text.strip())}")
    if goal.outline:
        return Outcome(outline(path, read.lines) + " I only count, I do not understand.")
    size = count(len(read.lines), "line") if read.is_whole else f"more than {count(len(read.lines), 'line')}"
    return Outcome(f"`{path}` ({size}):\n\n{quote(read.text, language=PurePosixPath(path).suffix[1:])}")


def find_text(goal: FindText, turn: Turn) -> Script:
    """Search the files for a text, or for where it is defined."""
    pattern = re.sub(r"([.^$*+?()\[\]{}|\\])", r"\\\1", goal.text)
    if goal.defined:
        pattern = rf"\b(def|class|func|function|fn|struct|enum|trait|interface|type|const|let|var)\s+{pattern}\b|^{pattern}\s*[:=]"
    arguments = {"pattern": pattern}
    if goal.where:
        is_file = PurePosixPath(goal.where).suffix != ""
        arguments |= {"include": PurePosixPath(goal.where).name} if is_file else {"path": goal.where}
    result = yield Call("grep", arguments, f"I search for `{goal.text}`.")
    if result.is_error:
        return failed(f"Searching for `{goal.text}`", result)
    matches = [relative(turn, match) for match in read_matches(result.text)]
    what = f"the definition of `{goal.text}`" if goal.defined else f"`{goal.text}`"
    if matches:
        return Outcome(f"I found {what} in {count(len(matches), 'line')}:\n\n{quote(chr(10).join(matches))}")
    if result.text.startswith("No files found"):
        return Outcome(f"I found {what} nowhere.")
    return Outcome(f"Searching for {what} gave:\n\n{quote(result.text.strip())}")


def find_files(goal: FindFiles, turn: Turn) -> Script:
    """Search files by name."""
    result = yield Call("glob", {"pattern": goal.pattern}, f"I look for files like `{goal.pattern}`.")
    if result.is_error:
        return failed(f"Looking for `{goal.pattern}`", result)
    return _listed(turn, read_paths(result.text), f"No file here fits `{goal.pattern}`.")


def list_folder(goal: ListFolder, turn: Turn) -> Script:
    """List a folder."""
    name = f"`{goal.folder}`" if goal.folder else "this folder"
    if not turn.offers("list"):
        pattern = f"{goal.folder}/**" if goal.folder else "**/*"
        result = yield Call("glob", {"pattern": pattern}, f"I list the files of {name}.")
        return (
            failed(f"Listing {name}", result)
            if result.is_error
            else _listed(turn, read_paths(result.text), f"There is no file in {name}.")
        )
    result = yield Call("list", {"path": goal.folder} if goal.folder else {}, f"I list the files of {name}.")
    if result.is_error:
        return failed(f"Listing {name}", result)
    return Outcome(f"In {name} there is:\n\n{quote(result.text.strip())}")


def _listed(turn: Turn, paths: list[str], nothing: str) -> Outcome:
    if not paths:
        return Outcome(nothing)
    shown = "\n".join(f"- `{relative(turn, path)}`" for path in paths[:_LISTED])
    more = f"\n\n… and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
    return Outcome(f"I found {count(len(paths), 'file')}:\n\n{shown}{more}")
