"""Scripts of the demo model: generators that yield the tool calls of a goal, receive the results, and return the outcome. Pure.

A script depends only on the turn and the results. It runs again at each step with the results so far, so the conversation is its
only state; its texts come from real results.
"""

import os.path
import re
import shlex
from collections.abc import Generator
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.engine.provider.demo.intent import Goal, read_goals
from opencode_tui.engine.provider.demo.programs import INTERPRETERS
from opencode_tui.engine.provider.demo.turn import Turn, one_line, split_reminders
from opencode_tui.engine.provider.llm import ResultBlock

_QUOTED_LINES, _QUOTED_WIDTH = 30, 160
_LISTED = 25
_TEST_COMMANDS = (
    ("**/test_*.py", "python3 -m pytest -q"),
    ("package.json", "npm test"),
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("Makefile", "make test"),
)


class Call(Struct, frozen=True):
    """The next tool call and the sentence before it."""

    tool: str
    input: dict[str, Any]
    say: str


class Outcome(Struct, frozen=True):
    """The result of a goal; unless it `is_done`, the following goals are not started."""

    text: str
    is_done: bool = True


Script = Generator[Call, ResultBlock, Outcome]


def script_of(goal: Goal, turn: Turn) -> Script:
    """Return the script of a goal."""
    try:
        return (yield from _steps_of(goal, turn))
    except _Failed as failure:
        return Outcome(str(failure), is_done=False)


def _steps_of(goal: Goal, turn: Turn) -> Script:
    match goal.action:
        case "read" | "outline":
            return _read(goal, turn)
        case "find":
            return _find(goal, turn)
        case "glob":
            return _find_files(
                turn, goal.text, f"Looking for files matching `{goal.text}`.", f"No file here matches `{goal.text}`."
            )
        case "list":
            return _list(goal, turn)
        case "create" | "overwrite":
            return _create(goal, turn)
        case "replace" | "rename":
            return _replace(goal, turn)
        case "append" | "prepend":
            return _add_line(goal, turn)
        case "command":
            return _run_command(goal.text)
        case "run":
            return _run_file(goal, turn)
        case "test":
            return _run_tests(turn)
        case "plan":
            return _write_plan(goal)
        case "follow":
            return _follow_plan(turn)
        case "unclear":
            return _stop(goal.text[0].upper() + goal.text[1:] + ".")


def _stop(text: str) -> Script:
    yield from ()
    return Outcome(text, is_done=False)


class _Failed(Exception):
    """A failed tool call: ends the script with the tool's message."""

    def __init__(self, action: str, result: ResultBlock) -> None:
        super().__init__(f"Could not {action}: {one_line(result.text)}")


def _run(tool: str, arguments: dict[str, Any], say: str, action: str) -> Generator[Call, ResultBlock, str]:
    """Return the output of a tool call; `action` describes it in the error. Raises _Failed."""
    result = yield Call(tool, arguments, say)
    if result.is_error:
        raise _Failed(action, result)
    return result.text


def _read_file(path: str, *, purpose: str = "") -> Generator[Call, ResultBlock, str]:
    return _run("read", {"filePath": path}, f"Reading `{path}`{purpose}.", f"read `{path}`")


def _read(goal: Goal, turn: Turn) -> Script:
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome("Which file? For example, “show README.md”.", is_done=False)
    path = yield from _locate(turn, named)
    output = yield from _read_file(path)
    lines, is_whole = read_lines(output)
    if not lines:
        return Outcome(f"Reading `{path}` gave:\n\n{quote(output.strip().splitlines())}")
    if goal.action == "outline":
        return Outcome(f"{_outline(path, lines)}\n\nI can only count.")
    size = ("" if is_whole else "more than ") + count(len(lines), "line")
    return Outcome(f"`{path}` ({size}):\n\n{quote(lines, path)}")


def _outline(path: str, lines: list[str]) -> str:
    counted = f"`{path}` has {count(len(lines), 'line')} and {count(sum(len(line.split()) for line in lines), 'word')}."
    pattern = {".md": r"(#{1,3} .+)", ".py": r"((?:async )?(?:def|class) \w+)"}.get(PurePosixPath(path).suffix)
    marks = [match[1] for line in lines if pattern and (match := re.match(pattern, line))]
    if marks:
        return f"{counted} It contains:\n\n" + "\n".join(f"- `{mark}`" for mark in marks[:_LISTED])
    return f"{counted} It starts with “{one_line(next(line for line in lines if line.strip()))}”"


def _find(goal: Goal, turn: Turn) -> Script:
    pattern = re.sub(r"([.^$*+?()\[\]{}|\\])", r"\\\1", goal.text)
    arguments = {"pattern": pattern}
    if goal.path:
        is_file = PurePosixPath(goal.path).suffix != ""
        arguments |= {"include": PurePosixPath(goal.path).name} if is_file else {"path": goal.path}
    output = yield from _run("grep", arguments, f"Searching for `{goal.text}`.", f"search for `{goal.text}`")
    matches, path = list[str](), ""
    for line in output.split("\n"):
        if match := re.match(r"\s+Line (\d+): ?(.*)", line):
            matches.append(f"{path}:{match[1]}: {match[2].strip()}")
        elif line.endswith(":") and not line.startswith(("Found ", "(")):
            path = _relative(turn, line[:-1])
    if matches:
        return Outcome(f"`{goal.text}` occurs in {count(len(matches), 'line')}:\n\n{quote(matches)}")
    if output.startswith("No files found"):
        return Outcome(f"`{goal.text}` was not found.")
    return Outcome(f"Searching for `{goal.text}` gave:\n\n{quote(output.strip().splitlines())}")


def _find_files(turn: Turn, pattern: str, say: str, nothing: str) -> Script:
    output = yield from _run("glob", {"pattern": pattern}, say, f"look for `{pattern}`")
    paths = _read_paths(turn, output)
    if not paths:
        return Outcome(nothing)
    shown = "\n".join(f"- `{path}`" for path in paths[:_LISTED])
    more = f"\n\n… and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
    return Outcome(f"Found {count(len(paths), 'file')}:\n\n{shown}{more}")


def _list(goal: Goal, turn: Turn) -> Script:
    name, say = f"`{goal.path}`" if goal.path else "this folder", "Listing the files."
    if "list" not in turn.tools:
        pattern = f"{goal.path}/**" if goal.path else "**/*"
        return (yield from _find_files(turn, pattern, say, f"No files in {name}."))
    output = yield from _run("list", {"path": goal.path} if goal.path else {}, say, f"list {name}")
    return Outcome(f"Contents of {name}:\n\n{quote(output.strip().splitlines())}")


def _create(goal: Goal, turn: Turn) -> Script:
    """Write a new file; do not overwrite an existing one with different content."""
    path = goal.path or ""
    is_there = yield from _exists(turn, path)
    if is_there is not False and "read" in turn.tools:
        read = yield Call("read", {"filePath": path}, f"Reading `{path}` before writing it.")
        if read.is_error and is_there:
            raise _Failed(f"read `{path}`", read)
        if not read.is_error and "\n".join(read_lines(read.text)[0]) == goal.text.rstrip("\n"):
            return Outcome(f"`{path}` already exists with exactly this content.")
        if not read.is_error and goal.action == "create":
            hint = f"Say “overwrite {path} with …” to replace it."
            return Outcome(
                f"`{path}` already exists with different content, so I did not change it. {hint}", is_done=False
            )
    return (yield from _write(path, goal.text))


def _write(path: str, content: str) -> Script:
    yield from _run("write", {"filePath": path, "content": content}, f"Writing `{path}`.", f"write `{path}`")
    return Outcome(
        f"Wrote `{path}`:\n\n{quote(content.splitlines(), path)}" if content else f"Created the empty file `{path}`."
    )


def _replace(goal: Goal, turn: Turn) -> Script:
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome(f"In which file should I replace “{goal.text}”?", is_done=False)
    path = yield from _locate(turn, named)
    output = yield from _read_file(path, purpose=" before changing it")
    lines, is_whole = read_lines(output)
    text = "\n".join(lines)
    found = text.count(goal.text)
    if not found and is_whole:
        return Outcome(f"`{path}` does not contain “{goal.text}”, so I changed nothing.", is_done=False)
    if goal.action == "rename" and found != len(re.findall(rf"(?<!\w){re.escape(goal.text)}(?!\w)", text)):
        hint = "Say “replace … with …” to change those too."
        return Outcome(
            f"In `{path}`, “{goal.text}” also occurs inside longer words, so I changed nothing. {hint}", is_done=False
        )
    change: dict[str, Any] = {"oldString": goal.text, "newString": goal.new} | (
        {"replaceAll": True} if found > 1 else {}
    )
    first = text[: text.find(goal.text)].count("\n") + 1
    done = f"Replaced “{goal.text}” with “{goal.new}” in {count(found, 'place')} of `{path}`."
    return (yield from _edit(path, change, first, done))


def _add_line(goal: Goal, turn: Turn) -> Script:
    """Add a line at the end or the start of a file; a file that does not exist is created."""
    path = goal.path or turn.latest_file
    if path is None:
        return Outcome(f"Which file should I add “{goal.text}” to?", is_done=False)
    if path != turn.latest_file and (yield from _exists(turn, path)) is False:
        found = yield from _locate(turn, path)
        if found == path:
            return (yield from _write(path, goal.text + "\n"))
        path = found
    output = yield from _read_file(path, purpose=" before changing it")
    lines, is_whole = read_lines(output)
    if not lines:
        return (yield from _write(path, goal.text + "\n"))
    at_start = goal.action == "prepend"
    if not is_whole and not at_start:
        return Outcome(f"`{path}` is too long for me to see its end, so I changed nothing.", is_done=False)
    anchor = _unique_edge(lines, at_start=at_start)
    change = {"oldString": anchor, "newString": f"{goal.text}\n{anchor}" if at_start else f"{anchor}\n{goal.text}"}
    edge, first = ("start", 1) if at_start else ("end", len(lines))
    return (yield from _edit(path, change, first, f"Added “{goal.text}” at the {edge} of `{path}`."))


def _unique_edge(lines: list[str], *, at_start: bool) -> str:
    """Return the fewest lines of one end that occur only once in the text."""
    text = "\n".join(lines)
    for size in range(1, len(lines)):
        edge = "\n".join(lines[:size] if at_start else lines[-size:])
        if edge.strip() and text.find(edge) == text.rfind(edge):
            return edge
    return text


def _edit(path: str, change: dict[str, Any], first_line: int, done: str) -> Script:
    yield from _run("edit", {"filePath": path, **change}, f"Editing `{path}`.", f"edit `{path}`")
    window = {"filePath": path, "offset": max(first_line - 1, 1), "limit": 5}
    again = yield from _run("read", window, "Checking the result.", f"read `{path}` again. {done}")
    lines, _ = read_lines(again)
    return Outcome(f"{done} It now reads:\n\n{quote(lines, path)}" if lines else done)


def _run_command(command: str) -> Script:
    arguments = {"command": command, "description": f"Run {command}"[:60]}
    output = yield from _run("bash", arguments, f"Running `{command}`.", f"run `{command}`")
    printed, _, rest = output.partition("<bash_metadata>")
    printed, noted = printed.strip("\n"), one_line(rest.partition("</bash_metadata>")[0])
    shown = f"printed:\n\n{quote(printed.splitlines(), keep_end=True)}" if printed.strip() else "printed nothing."
    added = f"\n\nNote from the tool: {noted}" if noted else ""
    return Outcome(f"`{command}` {shown}{added}", is_done=not re.search(r"exit code|timeout", noted, re.IGNORECASE))


def _run_file(goal: Goal, turn: Turn) -> Script:
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome("What should I run? Name a file or a command, for example “run `ls -la`”.", is_done=False)
    interpreter = INTERPRETERS.get(PurePosixPath(named).suffix)
    if interpreter is None:
        return Outcome(
            f"I do not know how to run `{named}`. Give me the command, for example “run `…`”.", is_done=False
        )
    path = named if goal.is_exact else (yield from _locate(turn, named))
    return (yield from _run_command(f"{interpreter} {shlex.quote(path)}"))


def _run_tests(turn: Turn) -> Script:
    for pattern, command in _TEST_COMMANDS if "glob" in turn.tools else ():
        if (yield from _glob(turn, pattern, f"Looking for tests: `{pattern}`.")):
            return (yield from _run_command(command))
    hint = "Give me the command, for example “run `make check`”."
    return Outcome(f"I found no tests that I know how to run. {hint}", is_done=False)


def _write_plan(goal: Goal) -> Script:
    yield from _run("todowrite", {"todos": _todos(goal.items, done=0)}, "Writing a todo list.", "write the todo list")
    listed = "\n".join(f"{number}. {item}" for number, item in enumerate(goal.items, 1))
    return Outcome(f"The plan:\n\n{listed}\n\nSay “do it” and I will do what I can.")


def _follow_plan(turn: Turn) -> Script:
    """Do the items of the latest plan in order and mark the completed ones."""
    items, texts, done = turn.latest_plan, list[str](), 0
    if not items:
        hint = "Say, for example, “plan: create hello.py that prints hello, then run it”."
        return Outcome(f"There is no plan yet. {hint}", is_done=False)
    for item in items:
        outcomes = [Outcome(f"“{item}” is more than a script can do.", is_done=False)]
        for goal in read_goals(item):
            outcomes = [*(one for one in outcomes if one.is_done), (yield from script_of(goal, turn))]
            if not outcomes[-1].is_done:
                break
            turn = replace(turn, latest_file=goal.path or turn.latest_file)  # so that the next item may say “it”
        texts += [outcome.text for outcome in outcomes]
        if not outcomes[-1].is_done:
            break
        done += 1
    try:
        todos = _todos(items, done=done)
        yield from _run("todowrite", {"todos": todos}, "Updating the todo list.", "update the todo list")
    except _Failed as failure:
        texts.append(str(failure))
    return Outcome("\n\n".join([*texts, f"Done: {done} of {count(len(items), 'item')}."]), is_done=done == len(items))


def _todos(items: tuple[str, ...], *, done: int) -> list[dict[str, str]]:
    return [
        {"id": str(at), "content": item, "status": "completed" if at <= done else "pending", "priority": "medium"}
        for at, item in enumerate(items, 1)
    ]


def _locate(turn: Turn, path: str) -> Generator[Call, ResultBlock, str]:
    """Return the path for a name: itself when it has a folder, else the closest file with that name."""
    if "glob" not in turn.tools or "/" in path or path == turn.latest_file:
        return path
    pattern = path if "." in path else "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in path) + "*"
    found = yield from _glob(turn, f"**/{pattern}", f"Looking for `{path}`.")
    fitting = [one for one in found if os.path.basename(one).lower().startswith(path.lower())]
    return min(fitting, key=lambda one: (one.count("/"), len(one)), default=path)


def _exists(turn: Turn, path: str) -> Generator[Call, ResultBlock, bool | None]:
    """Return whether a file exists, None when the glob tool cannot say."""
    if "glob" not in turn.tools or path.startswith(("/", "~")):
        return None
    paths = yield from _glob(turn, path, f"Checking whether `{path}` exists.")
    return path in paths or (not turn.directory and any(one.endswith(f"/{path}") for one in paths))


def _relative(turn: Turn, path: str) -> str:
    return path.removeprefix(turn.directory.rstrip("/") + "/") if turn.directory else path


def _glob(turn: Turn, pattern: str, say: str) -> Generator[Call, ResultBlock, list[str]]:
    """Return the paths that match a pattern, none when the tool failed."""
    found = yield Call("glob", {"pattern": pattern}, say)
    return [] if found.is_error else _read_paths(turn, found.text)


def _read_paths(turn: Turn, output: str) -> list[str]:
    lines = [line.strip() for line in output.split("\n")]
    listed = [line for line in lines if line and not line.startswith(("(", "<", "No files")) and ": " not in line]
    return [_relative(turn, line) for line in listed]


def read_lines(output: str) -> tuple[list[str], bool]:
    """Return the lines of a file in the read tool's output, and whether they are all; none for a folder or an image."""
    body = split_reminders(output)[0].replace("<content>", "").split("\n")
    numbered = [(int(match[1]), match[2]) for line in body if (match := re.match(r"\s*(\d+): ?(.*)", line))]
    lines = [text for at, (number, text) in enumerate(numbered) if number == numbered[0][0] + at]
    while lines and not lines[-1]:
        lines.pop()
    return lines, not re.search(r"(?i)more lines|output truncated|use 'offset'", "\n".join(body[-5:]))


def quote(lines: list[str], path: str = "", *, keep_end: bool = False) -> str:
    """Return at most 30 lines as a fenced block in the language of the path's suffix, with the number of hidden lines."""
    lines = [line if len(line) <= _QUOTED_WIDTH else line[:_QUOTED_WIDTH] + "…" for line in lines]
    hidden = max(0, len(lines) - _QUOTED_LINES)
    lines = lines[-_QUOTED_LINES:] if keep_end else lines[:_QUOTED_LINES]
    fence = "```" if not any("```" in line for line in lines) else "````"
    added = f"\n({hidden} {'earlier' if keep_end else 'more'} lines)" if hidden else ""
    return f"{fence}{PurePosixPath(path).suffix[1:]}\n" + "\n".join(lines) + f"\n{fence}{added}"


def count(number: int, noun: str) -> str:
    """Return `1 line`, `2 lines`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
