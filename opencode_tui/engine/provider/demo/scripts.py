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

from opencode_tui.engine.provider.demo.intent import INTERPRETERS, Goal, read_goals
from opencode_tui.engine.provider.demo.turn import Turn, one_line, split_reminders
from opencode_tui.engine.provider.llm import ResultBlock

_QUOTED_LINES, _QUOTED_WIDTH = 30, 160
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


class _Failed(Exception):
    """A failed tool call, or a request that cannot be done: ends the script with the message."""


def script_of(goal: Goal, turn: Turn) -> Script:
    """Return the script of a goal."""
    try:
        return Outcome((yield from _text_of(goal, turn)))
    except _Failed as failure:
        return Outcome(str(failure), is_done=False)


def _text_of(goal: Goal, turn: Turn) -> Generator[Call, ResultBlock, str]:
    match goal.action:
        case "read":
            path, lines, is_whole = yield from _read(
                turn, _file_of(goal, turn, "Which file? For example, “show README.md”.")
            )
            size = ("" if is_whole else "more than ") + count(len(lines), "line")
            return f"`{path}` ({size}):\n\n{quote(lines, path)}"
        case "list":
            name = f"`{goal.path}`" if goal.path else "this folder"
            given = {"path": goal.path} if goal.path else {}
            output = yield from _run("list", given, "Listing the files.", f"list {name}")
            return f"Contents of {name}:\n\n{quote(output.strip().splitlines())}"
        case "glob":
            paths = yield from _glob(turn, goal.text, f"Looking for files matching `{goal.text}`.")
            return (
                f"Found {count(len(paths), 'file')}:\n\n{quote(paths)}" if paths else f"No file matches `{goal.text}`."
            )
        case "find":
            return (yield from _find(goal, turn))
        case "create":
            return (yield from _create(goal, turn))
        case "replace":
            return (yield from _replace(goal, turn))
        case "append":
            return (yield from _append(goal, turn))
        case "command":
            return (yield from _run_command(goal.text))
        case "run":
            path = _file_of(goal, turn, "What should I run? Name a file or a command, for example “run `ls -la`”.")
            if PurePosixPath(path).suffix not in INTERPRETERS:
                raise _Failed(f"I do not know how to run `{path}`. Give me the command, for example “run `…`”.")
            path = yield from _locate(turn, path)
            return (yield from _run_command(f"{INTERPRETERS[PurePosixPath(path).suffix]} {shlex.quote(path)}"))
        case "test":
            for pattern, command in _TEST_COMMANDS:
                if (yield from _glob(turn, pattern, f"Looking for tests: `{pattern}`.")):
                    return (yield from _run_command(command))
            raise _Failed("I found no tests. Give me the command, for example “run `make check`”.")
        case "plan":
            todos = {"todos": _todos(goal.items, done=0)}
            yield from _run("todowrite", todos, "Writing a todo list.", "write the todo list")
            listed = "\n".join(f"{number}. {item}" for number, item in enumerate(goal.items, 1))
            return f"The plan:\n\n{listed}\n\nSay “do it” and I will do what I can."
        case "follow":
            return (yield from _follow_plan(turn))
        case "unclear":
            raise _Failed(goal.text[0].upper() + goal.text[1:] + ".")


def _file_of(goal: Goal, turn: Turn, question: str) -> str:
    """Return the file of a goal, or the last named one; raises _Failed with the question without any."""
    path = goal.path or turn.latest_file
    if path is None:
        raise _Failed(question)
    return path


def _run(tool: str, arguments: dict[str, Any], say: str, action: str) -> Generator[Call, ResultBlock, str]:
    """Return the output of a tool call; `action` describes it in the error. Raises _Failed."""
    result = yield Call(tool, arguments, say)
    if result.is_error:
        raise _Failed(f"Could not {action}: {one_line(result.text)}")
    return result.text


def _read(turn: Turn, named: str, purpose: str = "") -> Generator[Call, ResultBlock, tuple[str, list[str], bool]]:
    """Return the path of a named file, its lines, and whether they are all."""
    path = yield from _locate(turn, named)
    output = yield from _run("read", {"filePath": path}, f"Reading `{path}`{purpose}.", f"read `{path}`")
    return path, *read_lines(output)


def _find(goal: Goal, turn: Turn) -> Generator[Call, ResultBlock, str]:
    arguments = {"pattern": re.sub(r"([.^$*+?()\[\]{}|\\])", r"\\\1", goal.text)}
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
    if not matches:
        return f"`{goal.text}` was not found."
    return f"`{goal.text}` occurs in {count(len(matches), 'line')}:\n\n{quote(matches)}"


def _create(goal: Goal, turn: Turn) -> Generator[Call, ResultBlock, str]:
    """Write a new file; one that exists is left as it is."""
    path = goal.path or ""
    found = yield from _glob(turn, path, f"Checking whether `{path}` exists.")
    if path in found:
        arguments = {"filePath": path}
        output = yield from _run("read", arguments, f"Reading `{path}` before writing it.", f"read `{path}`")
        if "\n".join(read_lines(output)[0]) == goal.text.rstrip("\n"):
            return f"`{path}` already exists with exactly this content."
        raise _Failed(f"`{path}` already exists with different content, so I did not change it.")
    return (yield from _write(path, goal.text))


def _write(path: str, content: str) -> Generator[Call, ResultBlock, str]:
    yield from _run("write", {"filePath": path, "content": content}, f"Writing `{path}`.", f"write `{path}`")
    return f"Wrote `{path}`:\n\n{quote(content.splitlines(), path)}" if content else f"Created the empty file `{path}`."


def _replace(goal: Goal, turn: Turn) -> Generator[Call, ResultBlock, str]:
    named = _file_of(goal, turn, f"In which file should I replace “{goal.text}”?")
    path, lines, is_whole = yield from _read(turn, named, " before changing it")
    text = "\n".join(lines)
    found = text.count(goal.text)
    if not found and is_whole:
        raise _Failed(f"`{path}` does not contain “{goal.text}”, so I changed nothing.")
    change = {"oldString": goal.text, "newString": goal.new} | ({"replaceAll": True} if found > 1 else {})
    done = f"Replaced “{goal.text}” with “{goal.new}” in {count(found, 'place')} of `{path}`."
    return (yield from _edit(path, change, text[: text.find(goal.text)].count("\n") + 1, done))


def _append(goal: Goal, turn: Turn) -> Generator[Call, ResultBlock, str]:
    """Add a line at the end of a file; a file that does not exist is created."""
    named = _file_of(goal, turn, f"Which file should I add “{goal.text}” to?")
    if named != turn.latest_file and not (yield from _glob(turn, f"**/{named}", f"Looking for `{named}`.")):
        return (yield from _write(named, goal.text + "\n"))
    path, lines, is_whole = yield from _read(turn, named, " before changing it")
    if not lines:
        return (yield from _write(path, goal.text + "\n"))
    if not is_whole:
        raise _Failed(f"`{path}` is too long for me to see its end, so I changed nothing.")
    end = _unique_end(lines)
    change = {"oldString": end, "newString": f"{end}\n{goal.text}"}
    return (yield from _edit(path, change, len(lines), f"Added “{goal.text}” at the end of `{path}`."))


def _unique_end(lines: list[str]) -> str:
    """Return the fewest last lines that occur only once in the text."""
    text = "\n".join(lines)
    for size in range(1, len(lines)):
        end = "\n".join(lines[-size:])
        if end.strip() and text.find(end) == text.rfind(end):
            return end
    return text


def _edit(path: str, change: dict[str, Any], first_line: int, done: str) -> Generator[Call, ResultBlock, str]:
    yield from _run("edit", {"filePath": path, **change}, f"Editing `{path}`.", f"edit `{path}`")
    window = {"filePath": path, "offset": max(first_line - 1, 1), "limit": 5}
    again = yield from _run("read", window, "Checking the result.", f"read `{path}` again. {done}")
    return f"{done} It now reads:\n\n{quote(read_lines(again)[0], path)}"


def _run_command(command: str) -> Generator[Call, ResultBlock, str]:
    arguments = {"command": command, "description": f"Run {command}"[:60]}
    output = yield from _run("bash", arguments, f"Running `{command}`.", f"run `{command}`")
    printed, _, rest = output.partition("<bash_metadata>")
    printed, noted = printed.strip("\n"), one_line(rest.partition("</bash_metadata>")[0])
    shown = f"printed:\n\n{quote(printed.splitlines(), keep_end=True)}" if printed.strip() else "printed nothing."
    text = f"`{command}` {shown}" + (f"\n\nNote from the tool: {noted}" if noted else "")
    if re.search(r"exit code|timeout", noted, re.IGNORECASE):
        raise _Failed(text)
    return text


def _follow_plan(turn: Turn) -> Generator[Call, ResultBlock, str]:
    """Do the items of the latest plan in order and mark the completed ones."""
    items, texts, done = turn.latest_plan, list[str](), 0
    if not items:
        raise _Failed("There is no plan yet. Say, for example, “plan: create hello.py that prints hello, then run it”.")
    for item in items:
        outcome = Outcome("", is_done=False)
        for goal in read_goals(item) or [Goal("unclear", text=f"“{item}” is more than a script can do")]:
            outcome = yield from script_of(goal, turn)
            texts.append(outcome.text)
            turn = replace(turn, latest_file=goal.path or turn.latest_file)  # so that the next item may say “it”
            if not outcome.is_done:
                break
        if not outcome.is_done:
            break
        done += 1
    arguments = {"todos": _todos(items, done=done)}
    yield from _run("todowrite", arguments, "Updating the todo list.", "update the todo list")
    text = "\n\n".join([*texts, f"Done: {done} of {count(len(items), 'item')}."])
    if done < len(items):
        raise _Failed(text)
    return text


def _todos(items: tuple[str, ...], *, done: int) -> list[dict[str, str]]:
    return [
        {"id": str(at), "content": item, "status": "completed" if at <= done else "pending", "priority": "medium"}
        for at, item in enumerate(items, 1)
    ]


def _locate(turn: Turn, path: str) -> Generator[Call, ResultBlock, str]:
    """Return the path for a name: itself when it has a folder, else the closest file with that name."""
    if "/" in path or path == turn.latest_file:
        return path
    pattern = path if "." in path else "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in path) + "*"
    found = yield from _glob(turn, f"**/{pattern}", f"Looking for `{path}`.")
    fitting = [one for one in found if os.path.basename(one).lower().startswith(path.lower())]
    return min(fitting, key=lambda one: (one.count("/"), len(one)), default=path)


def _glob(turn: Turn, pattern: str, say: str) -> Generator[Call, ResultBlock, list[str]]:
    """Return the paths that match a pattern, relative to the folder. Raises _Failed."""
    output = yield from _run("glob", {"pattern": pattern}, say, f"look for `{pattern}`")
    lines = [line.strip() for line in output.split("\n")]
    listed = [line for line in lines if line and not line.startswith(("(", "<", "No files")) and ": " not in line]
    return [_relative(turn, line) for line in listed]


def _relative(turn: Turn, path: str) -> str:
    return path.removeprefix(turn.directory.rstrip("/") + "/") if turn.directory else path


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
