"""Scripts that change files: each looks before it writes and reads again after it."""

import re
from collections.abc import Generator
from pathlib import PurePosixPath
from typing import Any

from opencode_tui.engine.provider.demo.goals import CreateFile, InsertLine, ReplaceText
from opencode_tui.engine.provider.demo.output import count, quote, read_lines, read_paths
from opencode_tui.engine.provider.demo.script import Call, Outcome, Script, failed, locate, relative
from opencode_tui.engine.provider.demo.turn import Turn
from opencode_tui.engine.provider.stream import ResultBlock

_SHOWN_AROUND = 1
_SHOWN_LINES = 5


def create_file(goal: CreateFile, turn: Turn) -> Script:
    """Write a new file; one that is there already is compared first, and left alone when it differs."""
    language = PurePosixPath(goal.path).suffix[1:]
    kept = yield from _keep_existing(goal, turn)
    if kept is not None:
        return kept
    written = yield Call("write", {"filePath": goal.path, "content": goal.content}, f"I write `{goal.path}`.")
    if written.is_error:
        return failed(f"Writing `{goal.path}`", written)
    if not goal.content:
        return Outcome(f"I created `{goal.path}`, an empty file.")
    return Outcome(f"I wrote `{goal.path}`:\n\n{quote(goal.content.rstrip(chr(10)), language=language)}")


def replace_text(goal: ReplaceText, turn: Turn) -> Script:
    """Replace a text everywhere in a file."""
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome(f"In which file shall I replace “{goal.old}”?", is_done=False)
    path = yield from locate(turn, named)
    result = yield Call("read", {"filePath": path}, f"I read `{path}` before I change it.")
    if result.is_error:
        return failed(f"Reading `{path}`", result)
    read = read_lines(result.text)
    text = read.text if read else ""
    places = text.count(goal.old)
    if not places and (read is None or read.is_whole):
        return Outcome(f"`{path}` does not contain “{goal.old}”, so I changed nothing.", is_done=False)
    if goal.whole_words and places != len(re.findall(rf"(?<!\w){re.escape(goal.old)}(?!\w)", text)):
        return Outcome(
            f"In `{path}` “{goal.old}” is also part of longer words, so I changed nothing."
            " Say “replace … with …” to change those too.",
            is_done=False,
        )
    change: dict[str, Any] = {"oldString": goal.old, "newString": goal.new}
    if places > 1:
        change["replaceAll"] = True
    first_line = text[: text.find(goal.old)].count("\n") + 1
    return (
        yield from _edit(
            path,
            change,
            first_line,
            f"I replaced “{goal.old}” with “{goal.new}” in {count(places, 'place')} of `{path}`.",
        )
    )


def insert_line(goal: InsertLine, turn: Turn) -> Script:
    """Add a line at the end or the start of a file; a file that is not there is created."""
    path = goal.path or turn.latest_file
    if path is None:
        return Outcome(f"To which file shall I add “{goal.line}”?", is_done=False)
    if path != turn.latest_file and (yield from _exists(turn, path)) is False:
        found = yield from locate(turn, path)
        if found == path:
            return (yield from create_file(CreateFile(path, goal.line + "\n"), turn))
        path = found
    result = yield Call("read", {"filePath": path}, f"I read `{path}` before I change it.")
    if result.is_error:
        return failed(f"Reading `{path}`", result)
    read = read_lines(result.text)
    if read is None or not read.lines:
        written = yield Call(
            "write", {"filePath": path, "content": goal.line + "\n"}, f"`{path}` is empty; I write the line."
        )
        return (
            failed(f"Writing `{path}`", written) if written.is_error else Outcome(f"I added “{goal.line}” to `{path}`.")
        )
    if not read.is_whole and not goal.at_start:
        return Outcome(f"`{path}` is too long for me to see its end, so I changed nothing.", is_done=False)
    anchor = _unique_edge(read.lines, at_start=goal.at_start)
    new = f"{goal.line}\n{anchor}" if goal.at_start else f"{anchor}\n{goal.line}"
    where, first_line = ("start", 1) if goal.at_start else ("end", len(read.lines))
    return (
        yield from _edit(
            path,
            {"oldString": anchor, "newString": new},
            first_line,
            f"I added “{goal.line}” at the {where} of `{path}`.",
        )
    )


def _edit(path: str, change: dict[str, Any], first_line: int, told: str) -> Script:
    edited = yield Call("edit", {"filePath": path, **change}, f"I edit `{path}`.")
    if edited.is_error:
        return failed(f"Editing `{path}`", edited)
    offset = max(first_line - _SHOWN_AROUND, 1)
    again = yield Call(
        "read",
        {"filePath": path, "offset": offset, "limit": _SHOWN_LINES},
        "I read the place again to see what stands there now.",
    )
    read = None if again.is_error else read_lines(again.text)
    if read is None:
        return failed(f"{told} Reading it again", again)
    return Outcome(f"{told} It reads now:\n\n{quote(read.text, language=PurePosixPath(path).suffix[1:])}")


def _keep_existing(goal: CreateFile, turn: Turn) -> Generator[Call, ResultBlock, Outcome | None]:
    """Return the outcome when the file is there and stays as it is, None when it may be written."""
    is_there = yield from _exists(turn, goal.path)
    if is_there is False or not turn.offers("read"):
        return None
    read = yield Call("read", {"filePath": goal.path}, f"I look at `{goal.path}` before I write it.")
    if read.is_error:
        return failed(f"Reading `{goal.path}`", read) if is_there else None
    present = read_lines(read.text)
    if (present.text if present else "") == goal.content.rstrip("\n"):
        return Outcome(f"`{goal.path}` is already there with exactly this content.")
    if goal.overwrite:
        return None
    return Outcome(
        f"`{goal.path}` is already there with other content, so I left it alone."
        f" Say “overwrite {goal.path} with …” to replace it.",
        is_done=False,
    )


def _exists(turn: Turn, path: str) -> Generator[Call, ResultBlock, bool | None]:
    """Tell whether the file is there; None when the glob tool cannot tell."""
    if not turn.offers("glob") or path.startswith(("/", "~")):
        return None
    found = yield Call("glob", {"pattern": path}, f"I look whether `{path}` is already there.")
    present = [] if found.is_error else [relative(turn, place) for place in read_paths(found.text)]
    return any(place in {path, f"./{path}"} or (not turn.directory and place.endswith(f"/{path}")) for place in present)


def _unique_edge(lines: tuple[str, ...], *, at_start: bool) -> str:
    """Return as many lines of one end as it takes to name that end alone."""
    text = "\n".join(lines)
    for size in range(1, len(lines)):
        edge = "\n".join(lines[:size] if at_start else lines[-size:])
        if edge.strip() and text.find(edge) == text.rfind(edge):
            return edge
    return text
