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
from opencode_tui.engine.provider.stream import ResultBlock

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


def _failed(what: str, result: ResultBlock) -> Outcome:
    return Outcome(f"{what} did not work. The `{result.tool}` tool answered: “{one_line(result.text)}”", is_done=False)


def _read(goal: Goal, turn: Turn) -> Script:
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome("Which file? Name it, for example “show README.md”.", is_done=False)
    path = yield from _locate(turn, named)
    result = yield Call("read", {"filePath": path}, f"I read `{path}`.")
    if result.is_error:
        return _failed(f"Reading `{path}`", result)
    lines, is_whole = read_lines(result.text)
    if not lines:
        return Outcome(f"Reading `{path}` gave:\n\n{quote(result.text.strip().splitlines())}")
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
    result = yield Call("grep", arguments, f"I search for `{goal.text}`.")
    if result.is_error:
        return _failed(f"Searching for `{goal.text}`", result)
    matches, path = list[str](), ""
    for line in result.text.split("\n"):
        if match := re.match(r"\s+Line (\d+): ?(.*)", line):
            matches.append(f"{path}:{match[1]}: {match[2].strip()}")
        elif line.endswith(":") and not line.startswith(("Found ", "(")):
            path = _relative(turn, line[:-1])
    if matches:
        return Outcome(f"I found `{goal.text}` in {count(len(matches), 'line')}:\n\n{quote(matches)}")
    if result.text.startswith("No files found"):
        return Outcome(f"I found `{goal.text}` nowhere.")
    return Outcome(f"Searching for `{goal.text}` gave:\n\n{quote(result.text.strip().splitlines())}")


def _find_files(turn: Turn, pattern: str, say: str, nothing: str) -> Script:
    result = yield Call("glob", {"pattern": pattern}, say)
    if result.is_error:
        return _failed(f"Looking for `{pattern}`", result)
    paths = _read_paths(turn, result)
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
    result = yield Call("list", {"path": goal.path} if goal.path else {}, say)
    if result.is_error:
        return _failed(f"Listing {name}", result)
    return Outcome(f"In {name} there is:\n\n{quote(result.text.strip().splitlines())}")


def _create(goal: Goal, turn: Turn) -> Script:
    """Write a new file; one that exists is compared first, and left alone when it differs."""
    path = goal.path or ""
    is_there = yield from _exists(turn, path)
    if is_there is not False and "read" in turn.tools:
        read = yield Call("read", {"filePath": path}, f"I look at `{path}` before I write it.")
        if read.is_error and is_there:
            return _failed(f"Reading `{path}`", read)
        if not read.is_error and "\n".join(read_lines(read.text)[0]) == goal.text.rstrip("\n"):
            return Outcome(f"`{path}` is already there with exactly this content.")
        if not read.is_error and goal.action == "create":
            hint = f"Say “overwrite {path} with …” to replace it."
            return Outcome(f"`{path}` is already there with other content, so I left it alone. {hint}", is_done=False)
    return (yield from _write(path, goal.text))


def _write(path: str, content: str) -> Script:
    written = yield Call("write", {"filePath": path, "content": content}, f"I write `{path}`.")
    if written.is_error:
        return _failed(f"Writing `{path}`", written)
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
    result = yield Call("read", {"filePath": path}, f"I read `{path}` before I change it.")
    if result.is_error:
        return _failed(f"Reading `{path}`", result)
    lines, is_whole = read_lines(result.text)
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
    result = yield Call("read", {"filePath": path}, f"I read `{path}` before I change it.")
    if result.is_error:
        return _failed(f"Reading `{path}`", result)
    lines, is_whole = read_lines(result.text)
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
    edited = yield Call("edit", {"filePath": path, **change}, f"I edit `{path}`.")
    if edited.is_error:
        return _failed(f"Editing `{path}`", edited)
    window = {"filePath": path, "offset": max(first_line - 1, 1), "limit": 5}
    again = yield Call("read", window, "I read the lines again to see what they are now.")
    lines, _ = read_lines(again.text)
    if again.is_error:
        return _failed(f"{done} Reading it again", again)
    return Outcome(f"{done} It reads now:\n\n{quote(lines, path)}" if lines else done)


def _run_command(command: str) -> Script:
    arguments = {"command": command, "description": f"Run {command}"[:60]}
    result = yield Call("bash", arguments, f"I run `{command}`.")
    if result.is_error:
        return _failed(f"Running `{command}`", result)
    printed, _, rest = result.text.partition("<bash_metadata>")
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
        found = yield Call("glob", {"pattern": pattern}, f"I look for tests: `{pattern}`.")
        if _read_paths(turn, found):
            return (yield from _run_command(command))
    hint = "Give me the command, for example “run `make check`”."
    return Outcome(f"I found no tests that I know how to run. {hint}", is_done=False)


def _write_plan(goal: Goal) -> Script:
    result = yield Call("todowrite", {"todos": _todos(goal.items, done=0)}, "I write a todo list.")
    if result.is_error:
        return _failed("Writing the todo list", result)
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
    marked = yield Call("todowrite", {"todos": _todos(items, done=done)}, "I bring the todo list up to date.")
    if marked.is_error:
        texts.append(_failed("Bringing the todo list up to date", marked).text)
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
    found = yield Call("glob", {"pattern": f"**/{pattern}"}, f"I look for `{path}`.")
    fitting = [one for one in _read_paths(turn, found) if os.path.basename(one).lower().startswith(path.lower())]
    return min(fitting, key=lambda one: (one.count("/"), len(one)), default=path)


def _exists(turn: Turn, path: str) -> Generator[Call, ResultBlock, bool | None]:
    """Return whether a file exists, None when the glob tool cannot say."""
    if "glob" not in turn.tools or path.startswith(("/", "~")):
        return None
    found = yield Call("glob", {"pattern": path}, f"I look whether `{path}` is already there.")
    paths = _read_paths(turn, found)
    return path in paths or (not turn.directory and any(one.endswith(f"/{path}") for one in paths))


def _relative(turn: Turn, path: str) -> str:
    return path.removeprefix(turn.directory.rstrip("/") + "/") if turn.directory else path


def _read_paths(turn: Turn, result: ResultBlock) -> list[str]:
    """Return the paths that the glob tool lists, none when it failed."""
    lines = [] if result.is_error else [line.strip() for line in result.text.split("\n")]
    return [
        _relative(turn, line)
        for line in lines
        if line and not line.startswith(("(", "<", "No files")) and ": " not in line
    ]


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
