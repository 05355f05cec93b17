"""Pure: scripts, a goal's course as a generator that yields calls, is sent their answers, and returns how it came out.

A script is a function of the turn and the answers only. It runs anew at each step with the answers so far, so the conversation
itself is its memory; what it says is read from real answers, never expected.
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
from opencode_tui.engine.provider.demo.turn import Turn, one_line
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
    """The next tool call, and the sentence that goes before it."""

    tool: str
    input: dict[str, Any]
    say: str


class Outcome(Struct, frozen=True):
    """How a goal came out; after one that is not `is_done` the goals behind it are not started."""

    text: str
    is_done: bool = True


Script = Generator[Call, ResultBlock, Outcome]


def script_of(goal: Goal, turn: Turn) -> Script:
    """Return the script of a goal."""
    try:
        return (yield from _steps_of(goal, turn))
    except _Refused as refusal:
        return Outcome(str(refusal), is_done=False)


def _steps_of(goal: Goal, turn: Turn) -> Script:
    match goal.action:
        case "read" | "outline":
            return _read(goal, turn)
        case "find":
            return _find(goal, turn)
        case "glob":
            return _find_files(
                turn, goal.text, f"I look for files like `{goal.text}`.", f"No file here fits `{goal.text}`."
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


class _Refused(Exception):
    """A call that a tool refused: ends the script, with the tool's words."""

    def __init__(self, what: str, result: ResultBlock) -> None:
        super().__init__(f"{what} did not work. The `{result.tool}` tool answered: “{one_line(result.text)}”")


def _ask(call: Call, what: str) -> Generator[Call, ResultBlock, str]:
    """Return what a tool answers. Raises _Refused."""
    result = yield call
    if result.is_error:
        raise _Refused(what, result)
    return result.text


def _read(goal: Goal, turn: Turn) -> Script:
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome("Which file? Name it, for example “show README.md”.", is_done=False)
    path = yield from _locate(turn, named)
    output = yield from _ask(Call("read", {"filePath": path}, f"I read `{path}`."), f"Reading `{path}`")
    lines, is_whole = read_lines(output)
    if not lines:
        return Outcome(f"Reading `{path}` gave:\n\n{quote(output.strip().splitlines())}")
    if goal.action == "outline":
        return Outcome(f"{_outline(path, lines)}\n\nI only count, I do not understand.")
    size = ("" if is_whole else "more than ") + count(len(lines), "line")
    return Outcome(f"`{path}` ({size}):\n\n{quote(lines, path)}")


def _outline(path: str, lines: list[str]) -> str:
    counted = f"`{path}` has {count(len(lines), 'line')} and {count(sum(len(line.split()) for line in lines), 'word')}."
    pattern = {".md": r"(#{1,3} .+)", ".py": r"((?:async )?(?:def|class) \w+)"}.get(PurePosixPath(path).suffix)
    marks = [match[1] for line in lines if pattern and (match := re.match(pattern, line))]
    if marks:
        return f"{counted} It holds:\n\n" + "\n".join(f"- `{mark}`" for mark in marks[:_LISTED])
    return f"{counted} It begins: “{one_line(next(line for line in lines if line.strip()))}”"


def _find(goal: Goal, turn: Turn) -> Script:
    pattern = re.sub(r"([.^$*+?()\[\]{}|\\])", r"\\\1", goal.text)
    arguments = {"pattern": pattern}
    if goal.path:
        is_file = PurePosixPath(goal.path).suffix != ""
        arguments |= {"include": PurePosixPath(goal.path).name} if is_file else {"path": goal.path}
    output = yield from _ask(Call("grep", arguments, f"I search for `{goal.text}`."), f"Searching for `{goal.text}`")
    matches, path = list[str](), ""
    for line in output.split("\n"):
        if match := re.match(r"\s+Line (\d+): ?(.*)", line):
            matches.append(f"{path}:{match[1]}: {match[2].strip()}")
        elif line.endswith(":") and not line.startswith(("Found ", "(")):
            path = _relative(turn, line[:-1])
    if matches:
        return Outcome(f"I found `{goal.text}` in {count(len(matches), 'line')}:\n\n{quote(matches)}")
    if output.startswith("No files found"):
        return Outcome(f"I found `{goal.text}` nowhere.")
    return Outcome(f"Searching for `{goal.text}` gave:\n\n{quote(output.strip().splitlines())}")


def _find_files(turn: Turn, pattern: str, say: str, nothing: str) -> Script:
    output = yield from _ask(Call("glob", {"pattern": pattern}, say), f"Looking for `{pattern}`")
    paths = _read_paths(turn, output)
    if not paths:
        return Outcome(nothing)
    shown = "\n".join(f"- `{path}`" for path in paths[:_LISTED])
    more = f"\n\n… and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
    return Outcome(f"I found {count(len(paths), 'file')}:\n\n{shown}{more}")


def _list(goal: Goal, turn: Turn) -> Script:
    name, say = f"`{goal.path}`" if goal.path else "this folder", "I list the files."
    if "list" not in turn.tools:
        pattern = f"{goal.path}/**" if goal.path else "**/*"
        return (yield from _find_files(turn, pattern, say, f"There is no file in {name}."))
    output = yield from _ask(Call("list", {"path": goal.path} if goal.path else {}, say), f"Listing {name}")
    return Outcome(f"In {name} there is:\n\n{quote(output.strip().splitlines())}")


def _create(goal: Goal, turn: Turn) -> Script:
    """Write a new file; one that exists is compared first, and left alone when it differs."""
    path = goal.path or ""
    is_there = yield from _exists(turn, path)
    if is_there is not False and "read" in turn.tools:
        read = yield Call("read", {"filePath": path}, f"I look at `{path}` before I write it.")
        if read.is_error and is_there:
            raise _Refused(f"Reading `{path}`", read)
        if not read.is_error and "\n".join(read_lines(read.text)[0]) == goal.text.rstrip("\n"):
            return Outcome(f"`{path}` is already there with exactly this content.")
        if not read.is_error and goal.action == "create":
            hint = f"Say “overwrite {path} with …” to replace it."
            return Outcome(f"`{path}` is already there with other content, so I left it alone. {hint}", is_done=False)
    return (yield from _write(path, goal.text))


def _write(path: str, content: str) -> Script:
    yield from _ask(Call("write", {"filePath": path, "content": content}, f"I write `{path}`."), f"Writing `{path}`")
    return Outcome(
        f"I wrote `{path}`:\n\n{quote(content.splitlines(), path)}"
        if content
        else f"I created `{path}`, an empty file."
    )


def _replace(goal: Goal, turn: Turn) -> Script:
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome(f"In which file shall I replace “{goal.text}”?", is_done=False)
    path = yield from _locate(turn, named)
    output = yield from _ask(
        Call("read", {"filePath": path}, f"I read `{path}` before I change it."), f"Reading `{path}`"
    )
    lines, is_whole = read_lines(output)
    text = "\n".join(lines)
    found = text.count(goal.text)
    if not found and is_whole:
        return Outcome(f"`{path}` does not contain “{goal.text}”, so I changed nothing.", is_done=False)
    if goal.action == "rename" and found != len(re.findall(rf"(?<!\w){re.escape(goal.text)}(?!\w)", text)):
        hint = "Say “replace … with …” to change those too."
        return Outcome(
            f"In `{path}` “{goal.text}” is also part of longer words, so I changed nothing. {hint}", is_done=False
        )
    change: dict[str, Any] = {"oldString": goal.text, "newString": goal.new} | (
        {"replaceAll": True} if found > 1 else {}
    )
    first = text[: text.find(goal.text)].count("\n") + 1
    done = f"I replaced “{goal.text}” with “{goal.new}” in {count(found, 'place')} of `{path}`."
    return (yield from _edit(path, change, first, done))


def _add_line(goal: Goal, turn: Turn) -> Script:
    """Add a line at the end or the start of a file; a file that does not exist is created."""
    path = goal.path or turn.latest_file
    if path is None:
        return Outcome(f"To which file shall I add “{goal.text}”?", is_done=False)
    if path != turn.latest_file and (yield from _exists(turn, path)) is False:
        found = yield from _locate(turn, path)
        if found == path:
            return (yield from _write(path, goal.text + "\n"))
        path = found
    output = yield from _ask(
        Call("read", {"filePath": path}, f"I read `{path}` before I change it."), f"Reading `{path}`"
    )
    lines, is_whole = read_lines(output)
    if not lines:
        return (yield from _write(path, goal.text + "\n"))
    at_start = goal.action == "prepend"
    if not is_whole and not at_start:
        return Outcome(f"`{path}` is too long for me to see its end, so I changed nothing.", is_done=False)
    anchor = _unique_edge(lines, at_start=at_start)
    change = {"oldString": anchor, "newString": f"{goal.text}\n{anchor}" if at_start else f"{anchor}\n{goal.text}"}
    edge, first = ("start", 1) if at_start else ("end", len(lines))
    return (yield from _edit(path, change, first, f"I added “{goal.text}” at the {edge} of `{path}`."))


def _unique_edge(lines: list[str], *, at_start: bool) -> str:
    """Return as many lines of one end as it takes to name that end alone."""
    text = "\n".join(lines)
    for size in range(1, len(lines)):
        edge = "\n".join(lines[:size] if at_start else lines[-size:])
        if edge.strip() and text.find(edge) == text.rfind(edge):
            return edge
    return text


def _edit(path: str, change: dict[str, Any], first_line: int, done: str) -> Script:
    yield from _ask(Call("edit", {"filePath": path, **change}, f"I edit `{path}`."), f"Editing `{path}`")
    window = {"filePath": path, "offset": max(first_line - 1, 1), "limit": 5}
    again = yield from _ask(
        Call("read", window, "I read the lines again to see what they are now."), f"{done} Reading it again"
    )
    lines, _ = read_lines(again)
    return Outcome(f"{done} It reads now:\n\n{quote(lines, path)}" if lines else done)


def _run_command(command: str) -> Script:
    arguments = {"command": command, "description": f"Run {command}"[:60]}
    output = yield from _ask(Call("bash", arguments, f"I run `{command}`."), f"Running `{command}`")
    printed, _, rest = output.partition("<bash_metadata>")
    printed, noted = printed.strip("\n"), one_line(rest.partition("</bash_metadata>")[0])
    shown = f"printed:\n\n{quote(printed.splitlines(), keep_end=True)}" if printed.strip() else "printed nothing."
    added = f"\n\nThe tool noted: {noted}" if noted else ""
    return Outcome(f"`{command}` {shown}{added}", is_done=not re.search(r"exit code|timeout", noted, re.IGNORECASE))


def _run_file(goal: Goal, turn: Turn) -> Script:
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome("What shall I run? Name a file or a command, for example “run `ls -la`”.", is_done=False)
    interpreter = INTERPRETERS.get(PurePosixPath(named).suffix)
    if interpreter is None:
        return Outcome(
            f"I do not know how to run `{named}`. Give me the command, for example “run `…`”.", is_done=False
        )
    path = named if goal.is_exact else (yield from _locate(turn, named))
    return (yield from _run_command(f"{interpreter} {shlex.quote(path)}"))


def _run_tests(turn: Turn) -> Script:
    for pattern, command in _TEST_COMMANDS if "glob" in turn.tools else ():
        if (yield from _glob(turn, pattern, f"I look for tests: `{pattern}`.")):
            return (yield from _run_command(command))
    hint = "Give me the command, for example “run `make check`”."
    return Outcome(f"I found no tests that I know how to run. {hint}", is_done=False)


def _write_plan(goal: Goal) -> Script:
    yield from _ask(
        Call("todowrite", {"todos": _todos(goal.items, done=0)}, "I write a todo list."), "Writing the todo list"
    )
    listed = "\n".join(f"{number}. {item}" for number, item in enumerate(goal.items, 1))
    return Outcome(f"The plan:\n\n{listed}\n\nSay “do it” and I do what of this I can.")


def _follow_plan(turn: Turn) -> Script:
    """Do the items of the latest plan one after the other, and mark what was done."""
    items, texts, done = turn.latest_plan, list[str](), 0
    if not items:
        hint = "Say, for example, “plan: create hello.py that prints hello, then run it”."
        return Outcome(f"There is no plan yet. {hint}", is_done=False)
    for item in items:
        outcomes = [Outcome(f"“{item}” is beyond a script.", is_done=False)]
        for goal in read_goals(item):
            outcomes = [*(one for one in outcomes if one.is_done), (yield from script_of(goal, turn))]
            if not outcomes[-1].is_done:
                break
            turn = replace(turn, latest_file=goal.path or turn.latest_file)  # so that the next item may say “it”
        texts += [outcome.text for outcome in outcomes]
        if not outcomes[-1].is_done:
            break
        done += 1
    update = Call("todowrite", {"todos": _todos(items, done=done)}, "I bring the todo list up to date.")
    try:
        yield from _ask(update, "Bringing the todo list up to date")
    except _Refused as refusal:
        texts.append(str(refusal))
    return Outcome("\n\n".join([*texts, f"Done: {done} of {count(len(items), 'item')}."]), is_done=done == len(items))


def _todos(items: tuple[str, ...], *, done: int) -> list[dict[str, str]]:
    return [
        {"id": str(at), "content": item, "status": "completed" if at <= done else "pending", "priority": "medium"}
        for at, item in enumerate(items, 1)
    ]


def _locate(turn: Turn, path: str) -> Generator[Call, ResultBlock, str]:
    """Return the file that is meant by a name: itself when it has a folder, else the nearest file of that name."""
    if "glob" not in turn.tools or "/" in path or path == turn.latest_file:
        return path
    pattern = path if "." in path else "".join(f"[{c.lower()}{c.upper()}]" if c.isalpha() else c for c in path) + "*"
    found = yield from _glob(turn, f"**/{pattern}", f"I look for `{path}`.")
    fitting = [one for one in found if os.path.basename(one).lower().startswith(path.lower())]
    return min(fitting, key=lambda one: (one.count("/"), len(one)), default=path)


def _exists(turn: Turn, path: str) -> Generator[Call, ResultBlock, bool | None]:
    """Return whether a file exists, None when the glob tool cannot say."""
    if "glob" not in turn.tools or path.startswith(("/", "~")):
        return None
    paths = yield from _glob(turn, path, f"I look whether `{path}` is already there.")
    return path in paths or (not turn.directory and any(one.endswith(f"/{path}") for one in paths))


def _relative(turn: Turn, path: str) -> str:
    return path.removeprefix(turn.directory.rstrip("/") + "/") if turn.directory else path


def _glob(turn: Turn, pattern: str, say: str) -> Generator[Call, ResultBlock, list[str]]:
    """Return the paths that fit a pattern, none when the tool refused."""
    found = yield Call("glob", {"pattern": pattern}, say)
    return [] if found.is_error else _read_paths(turn, found.text)


def _read_paths(turn: Turn, output: str) -> list[str]:
    lines = [line.strip() for line in output.split("\n")]
    listed = [line for line in lines if line and not line.startswith(("(", "<", "No files")) and ": " not in line]
    return [_relative(turn, line) for line in listed]


def read_lines(output: str) -> tuple[list[str], bool]:
    """Return the lines of a file as the read tool gave them , and whether they are all; none of a folder or a picture."""
    body = (
        re.sub(r"<system-reminder>.*?</system-reminder>", "", output, flags=re.DOTALL)
        .replace("<content>", "")
        .split("\n")
    )
    numbered = [(int(match[1]), match[2]) for line in body if (match := re.match(r"\s*(\d+): ?(.*)", line))]
    lines = [text for at, (number, text) in enumerate(numbered) if number == numbered[0][0] + at]
    while lines and not lines[-1]:
        lines.pop()
    return lines, not re.search(r"(?i)more lines|output truncated|use 'offset'", "\n".join(body[-5:]))


def quote(lines: list[str], path: str = "", *, keep_end: bool = False) -> str:
    """Return lines as a fenced block in the language of the path's ending, at most 30, with a word on what was left out."""
    lines = [line if len(line) <= _QUOTED_WIDTH else line[:_QUOTED_WIDTH] + "…" for line in lines]
    hidden = max(0, len(lines) - _QUOTED_LINES)
    lines = lines[-_QUOTED_LINES:] if keep_end else lines[:_QUOTED_LINES]
    fence = "```" if not any("```" in line for line in lines) else "````"
    added = f"\n({hidden} {'earlier' if keep_end else 'more'} lines)" if hidden else ""
    return f"{fence}{PurePosixPath(path).suffix[1:]}\n" + "\n".join(lines) + f"\n{fence}{added}"


def count(number: int, noun: str) -> str:
    """Return `1 line`, `2 lines`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
