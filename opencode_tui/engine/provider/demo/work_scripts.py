"""Scripts that run things and plan them."""

import re
import shlex
from pathlib import PurePosixPath

from opencode_tui.engine.provider.demo.goals import RunCommand, RunFile, RunTests, WritePlan
from opencode_tui.engine.provider.demo.output import quote, read_paths, split_notes
from opencode_tui.engine.provider.demo.programs import INTERPRETERS
from opencode_tui.engine.provider.demo.script import Call, Outcome, Script, failed, locate
from opencode_tui.engine.provider.demo.turn import Turn

_TEST_COMMANDS = (
    ("test_*.py", "python3 -m pytest -q"),
    ("package.json", "npm test"),
    ("Cargo.toml", "cargo test"),
    ("go.mod", "go test ./..."),
    ("Makefile", "make test"),
)

_FAILURE = re.compile(r"exit code|timeout", re.IGNORECASE)


def run_command(goal: RunCommand, _: Turn) -> Script:
    """Run a command and quote what it printed."""
    result = yield Call(
        "bash", {"command": goal.command, "description": f"Run {goal.command}"[:60]}, f"I run `{goal.command}`."
    )
    if result.is_error:
        return failed(f"Running `{goal.command}`", result)
    printed, notes = split_notes(result.text)
    told = f"printed:\n\n{quote(printed, keep_end=True)}" if printed.strip() else "printed nothing."
    noted = f"\n\nThe tool noted: {notes}" if notes else ""
    return Outcome(f"`{goal.command}` {told}{noted}", is_done=_FAILURE.search(notes) is None)


def run_file(goal: RunFile, turn: Turn) -> Script:
    """Run a program file."""
    named = goal.path or turn.latest_file
    if named is None:
        return Outcome("What shall I run? Name a file or a command, for example “run `ls -la`”.", is_done=False)
    interpreter = INTERPRETERS.get(PurePosixPath(named).suffix)
    if interpreter is None:
        return Outcome(
            f"I do not know how to run `{named}`. Give me the command, for example “run `…`”.", is_done=False
        )
    path = named if goal.exact else (yield from locate(turn, named))
    return (yield from run_command(RunCommand(f"{interpreter} {shlex.quote(path)}"), turn))


def run_tests(_: RunTests, turn: Turn) -> Script:
    """Find out what kind of tests there are, and run them."""
    for pattern, command in _TEST_COMMANDS if turn.offers("glob") else ():
        found = yield Call(
            "glob", {"pattern": f"**/{pattern}" if "*" in pattern else pattern}, f"I look for tests: `{pattern}`."
        )
        if not found.is_error and read_paths(found.text):
            return (yield from run_command(RunCommand(command), turn))
    return Outcome(
        "I found no tests that I know how to run. Give me the command, for example “run `make check`”.", is_done=False
    )


def write_plan(goal: WritePlan, _: Turn) -> Script:
    """Write the todo list."""
    result = yield Call("todowrite", {"todos": todo_items(goal.items, done=0)}, "I write a todo list.")
    if result.is_error:
        return failed("Writing the todo list", result)
    listed = "\n".join(f"{number}. {item}" for number, item in enumerate(goal.items, 1))
    return Outcome(f"The plan:\n\n{listed}\n\nSay “do it” and I do what of this I can.")


def todo_items(items: tuple[str, ...], *, done: int) -> list[dict[str, str]]:
    """Return a todo list of which the first `done` items are completed."""
    return [
        {
            "id": str(number),
            "content": item,
            "status": "completed" if number <= done else "pending",
            "priority": "medium",
        }
        for number, item in enumerate(items, 1)
    ]
