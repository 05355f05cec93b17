"""Makes the documentation's recording of a day's work: 60 steps in a repository, with keys only, in two terminals.

python -m tests.support.terminal.day assets/day.svg

The real program in pseudo-terminals, with the scripted model behind it, in a repository with a history, tests and a remote. A step
presses keys, waits for what the screen must show then, and asserts what it must have done on disk; the program is not left before
the last step. Times of day, durations and the folder of the run, which differ, are replaced.
"""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.segment import Segment
from rich.style import Style

from tests.conftest import isolated_environment
from tests.support.provider.model_script import Answer, Call
from tests.support.provider.model_server import ModelServer
from tests.support.terminal.recording import fixed
from tests.support.terminal.screen import look
from tests.support.terminal.screen_svg import Frame, draw_frames
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import CommandLine
from tests.support.world.repo import Repo, make_repo

SIZE = (108, 32)
STEPS = 60
_SECONDS = 1.6

_PARSER = '''"""Reads rows from lines of text."""


def rows(lines, mark=","):
    """Return each line as a list of its fields."""
    found = []
    for at in range(len(lines) - 1):
        found.append(split(lines[at], mark))
    return found


def split(line, mark):
    """Return the fields of a line."""
    return [one.strip() for one in line.split(mark)]
'''
_TABLE = '''"""Tables of rows."""

from csvkit.parser import rows


class Table:
    """Rows below a head."""

    def __init__(self, lines):
        self.head, *self.rows = rows(lines)

    def column(self, name):
        """Return the fields of a column."""
        at = self.head.index(name)
        return [row[at] for row in self.rows]
'''
_EXPORT = '''"""Writes tables."""


def export(table, mark=","):
    """Return the lines of a table."""
    return [mark.join(row) for row in [table.head, *table.rows[:-1]]]
'''
_TEST = """import unittest

from csvkit.parser import rows


class RowsTest(unittest.TestCase):
    def test_fields(self):
        self.assertEqual(rows(["a, b", "end"]), [["a", "b"]])
"""
_LAST_ROW = """import unittest

from csvkit.export import export
from csvkit.table import Table

LINES = ["name,city", "Ada,London", "Kurt,Brno"]


class LastRowTest(unittest.TestCase):
    def test_last_row_is_read(self):
        self.assertEqual(Table(LINES).column("city"), ["London", "Brno"])

    def test_last_row_is_written(self):
        self.assertEqual(export(Table(LINES)), LINES)
"""
_PLAN = "# Keep the last row\n\n1. Read every line in `csvkit/parser.py`\n2. Write every row in `csvkit/export.py`\n3. Test both\n"
_LONG = "\n".join(
    f"{number}. `{line}`" for number, line in enumerate([*_PARSER.split("\n"), *_TABLE.split("\n")], 1) if line
)
_MODULES = (
    "There are three: `csvkit/parser.py` reads rows from lines of text and splits each of them at a mark, `csvkit/table.py` "
    "keeps them below a head and returns single columns, and `csvkit/export.py` writes a table as lines again."
)
_DONE = "✓ Done"
_CHECK = f"{Path(sys.executable).name} -m unittest -q"


def _edit(path: str, old: str, new: str) -> Call:
    return Call("edit", {"filePath": path, "oldString": old, "newString": new})


def _read(path: str) -> Call:
    return Call("read", {"filePath": path})


def _bash(command: str, about: str, **more: object) -> Call:
    return Call("bash", {"command": command, "description": about, **more})


@dataclass
class Day:
    """The steps done so far, with a frame of each; `terminals` are the open ones, by their number."""

    repo: Repo
    server: ModelServer
    line: CommandLine
    stack: contextlib.ExitStack
    terminals: dict[int, ScreenTerminal] = field(default_factory=dict[int, ScreenTerminal])
    frames: list[Frame] = field(default_factory=list[Frame])
    done: list[str] = field(default_factory=list[str])

    def open(self, number: int, *arguments: str) -> None:
        """Start the program in another terminal."""
        words = ["-m", "opencode_tui", *arguments]
        terminal = ScreenTerminal(words, folder=self.repo.path, environ=self.line.variables(), size=SIZE)
        self.terminals[number] = self.stack.enter_context(terminal)

    def text(self, name: str) -> str:
        """Return the text of a file of the repository."""
        return (self.repo.path / name).read_text()

    def step(
        self,
        what: str,
        *keys: str,
        sees: Sequence[str] = (),
        gone: Sequence[str] = (),
        answers: Sequence[Answer] = (),
        text: str = "",
        is_answer: bool = False,
        at: int = 1,
        so: Callable[[], bool] | None = None,
        seconds: float = _SECONDS,
    ) -> str:
        """Type a text and press keys in a terminal, wait for all that must be there then, and return its text.

        `answers` are those that the model gives next. `is_answer`: the keys answer a question, which listens after a moment.
        `so` is looked at again until it holds. Raises AssertionError with the step and the screen.
        """
        terminal = self.terminals[at]
        for other in self.terminals.values():
            other.rest(quiet=0.01, timeout=0.3)  # a terminal is read all the time
        self.server.script(*answers)
        self.done.append(what)
        try:
            if text:
                terminal.type(text)
                terminal.sees(text[-20:])
            if is_answer:
                terminal.answer(*keys)
            else:
                terminal.press(*keys)
            for words in sees:
                terminal.sees(words)
            for words in gone:
                terminal.sees_no_more(words)
            if so is not None:
                terminal.read_until(so)
        except AssertionError as error:
            others = "\n".join(
                f"terminal {one}:\n{other.shown()}" for one, other in self.terminals.items() if one != at
            )
            raise AssertionError(f"step {len(self.done)}, {what}: {error}\n{others}") from error
        terminal.rest(quiet=0.25, timeout=1.0)
        self._record(at, what, [*([f"“{text}”"] if len(text) == 1 else ["type"] if text else []), *keys], seconds)
        return terminal.shown()

    def _record(self, at: int, what: str, keys: Sequence[str], seconds: float) -> None:
        caption = f" {len(self.done):2}/{STEPS}  terminal {at}   {what}"
        pressed = " ".join(keys)[: SIZE[0] - len(caption) - 2]
        palette = look().palette
        muted = Style(color=palette.muted, bgcolor=palette.panel)
        named = f"{caption}{pressed:>{SIZE[0] - len(caption) - 1}} "
        rows = [fixed(row) for row in _rows(self.terminals[at], str(self.repo.path.parent))]
        self.frames.append(Frame(seconds, [*rows, [Segment(named, muted)]]))


def _rows(terminal: ScreenTerminal, home: str) -> Iterator[list[Segment]]:
    """Yield the rows of a terminal as texts with their styles; the folder of the run is another one each time."""
    named = f"/home/ada{'/src' * len(home)}"[: len(home)]
    for cells in terminal.cells():
        row: list[Segment] = []
        for text, (front, back, bold, italic, underline, reverse) in cells:
            style = Style(
                color=_color(front),
                bgcolor=_color(back),
                bold=bool(bold),
                italic=bool(italic),
                underline=bool(underline),
                reverse=bool(reverse),
            )
            if row and row[-1].style == style:
                row[-1] = Segment(row[-1].text + text, style)
            elif text:
                row.append(Segment(text, style))
        yield [Segment(one.text.replace(home, named), one.style) for one in row]


def _color(name: object) -> str | None:
    """Return the color of a cell, None for the terminal's own."""
    if not isinstance(name, str) or name == "default":
        return None
    return f"#{name}" if len(name) == 6 and all(one in "0123456789abcdef" for one in name) else name


def make_project(folder: Path) -> Repo:
    """Make the repository: a package with two faults, a history, a remote."""
    repo = make_repo(folder / "csvkit")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.com")
    repo.commit("Read rows", **{"csvkit/__init__.py": "", "csvkit/parser.py": _PARSER, "README.md": "# csvkit\n"})
    repo.commit("Add tables", **{"csvkit/table.py": _TABLE, "csvkit/export.py": _EXPORT})
    repo.commit(
        "Test rows",
        **{"tests/__init__.py": "", "tests/test_rows.py": _TEST, ".gitignore": "__pycache__/\n.opencode/\n"},
    )
    bare = folder / "remote.git"
    repo.git("init", "-q", "--bare", str(bare))
    repo.git("remote", "add", "origin", str(bare))
    repo.git("push", "-q", "-u", "origin", "main")
    return repo


def work(day: Day) -> None:
    """Do the day's work."""
    day.open(1)
    _plan(day)
    _build(day)
    _look(day)
    _review(day)
    _check(day)
    _share_terminals(day)
    _commit(day)
    _leave(day)
    assert len(day.done) == STEPS, f"{len(day.done)} steps"


def _plan(day: Day) -> None:
    """Ask, and let the agent make a plan."""
    day.step("Start in the repository", sees=["Ask anything", "build"])
    day.step("List the keys", "f1", sees=["Keyboard shortcuts"])
    day.step("Back", "escape", sees=["Ask anything"], gone=["Keyboard shortcuts"])
    day.step("Name a file: @ completes it", text="why does @pars", sees=["csvkit/parser.py"])
    day.step("Take the completion", "tab", sees=["@csvkit/parser.py"])
    why = "`rows` stops one line early: `range(len(lines) - 1)` leaves the last one out."
    day.step(
        "Ask about it",
        "enter",
        text="lose the last row?",
        answers=[Answer(text=why, usage=(3_100, 40, 0))],
        sees=["stops one line early", _DONE],
    )
    day.step("Switch to the plan agent", "tab", sees=[" plan "])
    plan = Call("write", {"filePath": ".opencode/plans/last-row.md", "content": _PLAN})
    day.step(
        "Let it plan a repair",
        "enter",
        text="plan how to keep the last row, in export too",
        answers=[Answer(calls=(plan,), usage=(3_400, 90, 3_100))],
        sees=["Create this file?", "Write every row"],
    )
    day.step(
        "Allow the file of the plan",
        "y",
        is_answer=True,
        answers=[Answer(calls=(Call("plan_exit", {}),), usage=(3_500, 20, 3_400))],
        sees=["Plan ready. Start building?"],
        so=lambda: day.text(".opencode/plans/last-row.md") == _PLAN,
    )


def _build(day: Day) -> None:
    """Let the agent build it: two edits, a new file, a test that fails and one that passes."""
    read = _edit("csvkit/parser.py", "for at in range(len(lines) - 1):", "for at in range(len(lines)):")
    write = Call("write", {"filePath": "tests/test_last_row.py", "content": _LAST_ROW})
    day.step(
        "Build it",
        "y",
        is_answer=True,
        answers=[Answer(text="First the reader.", calls=(read,), usage=(3_700, 60, 3_500))],
        sees=["Edit this file?"],
    )
    day.step(
        "Allow this edit",
        "y",
        is_answer=True,
        answers=[Answer(calls=(write,), usage=(3_900, 200, 3_700))],
        sees=["Create this file?", "test_last_row_is_read"],
        so=lambda: "range(len(lines)):" in day.text("csvkit/parser.py"),
    )
    said = "Two tests fail: `export` leaves the last row out too, and `tests/test_rows.py` expects that of `rows`."
    day.step(
        "Allow all edits in this project; the tests run",
        "a",
        is_answer=True,
        answers=[
            Answer(calls=(_bash(_CHECK, "Run the tests"),), usage=(4_200, 40, 3_900)),
            Answer(text=said, usage=(4_400, 60, 4_200)),
        ],
        sees=["leaves the last row out too", _DONE],
    )
    day.step(
        "Go to the tests that failed, and unfold them",
        "ctrl+up",
        "up",
        "enter",
        sees=["esc prompt", "FAIL: test_last_row_is_written"],
    )
    day.step("Back to the prompt", "escape", sees=["Ask anything"])
    write_all = _edit("csvkit/export.py", "[table.head, *table.rows[:-1]]", "[table.head, *table.rows]")
    test = _edit("tests/test_rows.py", '[["a", "b"]]', '[["a", "b"], ["end"]]')
    day.step(
        "Let it repair that as well",
        "enter",
        text="repair both, then run the tests",
        answers=[
            Answer(calls=(_read("csvkit/export.py"), _read("tests/test_rows.py")), usage=(4_500, 50, 4_400)),
            Answer(calls=(write_all, test), usage=(4_600, 60, 4_400)),
            Answer(calls=(_bash(_CHECK, "Run the tests"),), usage=(4_800, 40, 4_600)),
            Answer(text="All tests pass: every row is read and written.", usage=(5_000, 30, 4_800)),
        ],
        sees=["every row is read and written", _DONE],
        so=lambda: "*table.rows]]" in day.text("csvkit/export.py"),
    )


def _look(day: Day) -> None:
    """Undo and redo, interrupt, send while it works, find."""
    day.step("Undo that turn: what would change", "enter", text="/undo", sees=["csvkit/export.py", "y undo"])
    day.step(
        "Undo it",
        "y",
        is_answer=True,
        sees=["undone"],
        so=lambda: "*table.rows[:-1]]" in day.text("csvkit/export.py"),
    )
    day.step(
        "Redo it: typed over the prompt that came back",
        "enter",
        text="/redo",
        sees=["every row is read and written"],
        so=lambda: "*table.rows]]" in day.text("csvkit/export.py"),
    )
    slow = Answer(text=_LONG, delay_ms=30, usage=(5_200, 600, 5_000))
    day.step("Ask for too much", "enter", text="explain every line of the package", answers=[slow], sees=["4.  "])
    day.step("Interrupt it", "escape", "escape", sees=["Interrupted by you"])
    hold = Answer(text=_MODULES, delay_ms=120, usage=(5_300, 60, 5_200))
    day.step("Ask for less", "enter", text="name the modules", answers=[hold], sees=["csvkit/parser.py"])
    last = Answer(text="Python 3.6 or newer.", usage=(5_400, 20, 5_300))
    day.step(
        "Write the next prompt while it answers",
        "enter",
        text="which Python does it need?",
        answers=[last],
        sees=["Python 3.6 or newer", _DONE],
    )
    day.step("Find a word in the conversation", "ctrl+x", "/", sees=["Find"])
    day.step("Go to it", "enter", text="one line early", sees=["1 of 1"])
    day.step("Back", "escape", sees=["Ask anything"])


def _review(day: Day) -> None:
    """Review: by the model, by hand, and both to the agent."""
    finding = {"file": "csvkit/export.py", "line": 6, "severity": "warning", "text": "An empty table has no head."}
    found = Call("StructuredOutput", {"summary": "One remark.", "findings": [finding]})
    day.step(
        "Let the model review it", "enter", text="/review", answers=[Answer(calls=(found,))], sees=["Review: 1 finding"]
    )
    day.step("The changes, with its finding", "ctrl+x", "h", sees=["pieces marked", "An empty table has no head."])
    day.step("Comment on a file", "down", "c", sees=["Comment:"])
    day.step("Write the comment", "enter", text="say so in the docstring", sees=["say so in the docstring"])
    day.step("All comments become one prompt", "s", sees=["Please handle these comments"])
    guard = _edit(
        "csvkit/export.py", '"""Return the lines of a table."""', '"""Return the lines of a table, which has a head."""'
    )
    day.step(
        "Send it",
        "enter",
        answers=[
            Answer(calls=(_read("csvkit/export.py"),), usage=(5_600, 50, 5_400)),
            Answer(calls=(guard,), usage=(5_800, 50, 5_600)),
            Answer(text="The docstring says it now.", usage=(5_900, 20, 5_800)),
        ],
        sees=["The docstring says it now.", _DONE],
        so=lambda: "which has a head" in day.text("csvkit/export.py"),
    )


def _check(day: Day) -> None:
    """Keep a check, and something that runs in the background."""
    day.step("Work until the tests pass", "enter", text=f"/until {_CHECK}", sees=["✓ check", "passed"])
    day.step("Run them again, without the model", "f5", sees=["✓ check", "passed"])
    serve = _bash("sleep 1000", "Serve the documentation", background=True)
    day.step(
        "Start something that goes on",
        "enter",
        text="serve the documentation in the background",
        answers=[
            Answer(calls=(serve,), usage=(6_100, 40, 5_900)),
            Answer(text="It is served.", usage=(6_200, 10, 6_100)),
        ],
        sees=["It is served.", _DONE],
    )
    day.step("What runs", "enter", text="/jobs", sees=["sleep 1000", "x stop"])
    day.step("Stop it", "x", sees=["stopped"])
    day.step("Back", "escape", sees=["Ask anything"])


def _share_terminals(day: Day) -> None:
    """Work on the session in a second terminal too."""
    day.open(2, "-c")
    day.step("Open the session in a second terminal", at=2, sees=["It is served.", "Ask anything"])
    question = {
        "questions": [
            {
                "question": "Which mark should export write?",
                "header": "Mark",
                "options": [
                    {"label": "Comma", "description": "As now"},
                    {"label": "Semicolon", "description": "As spreadsheets in Europe do"},
                ],
            }
        ]
    }
    day.step(
        "Ask there",
        "enter",
        at=2,
        text="which mark should it write? ask me",
        answers=[Answer(calls=(Call("question", question),), usage=(6_400, 60, 6_200))],
        sees=["Which mark should export write?"],
    )
    day.step("The first terminal has the question too", sees=["Which mark should export write?", "Semicolon"])
    day.step(
        "Answer it there: the second option",
        "down",
        "enter",
        is_answer=True,
        answers=[Answer(text="Semicolons it is, as an option.", usage=(6_500, 20, 6_400))],
        sees=["Semicolons it is", _DONE],
    )
    day.step("Both show the answer", at=2, sees=["Semicolons it is", _DONE])
    day.step("Begin another session there", "ctrl+x", "n", at=2, sees=["Ask anything"], gone=["Semicolons it is"])
    day.step("Leave the second terminal", "ctrl+x", "q", at=2, so=lambda: day.terminals[2].process.poll() == 0)


def _commit(day: Day) -> None:
    """Commit, branch and push."""
    day.step("Review and commit", "ctrl+x", "h", sees=["pieces marked"])
    day.step("Mark everything", "a", sees=["☑"])
    day.step("Branch", "n", sees=["New branch: name"])
    day.step("Name it", "enter", text="last-row", sees=["on last-row"])
    day.step(
        "Commit: the model proposes a message",
        "C",
        answers=[Answer(text="Keep the last row")],
        sees=["pieces: message", "▎ Keep the last row"],  # the title of the session has the words too
    )
    day.step(
        "Commit it",
        "enter",
        sees=["Committed"],
        so=lambda: day.repo.git("log", "-1", "--format=%s") == "Keep the last row",
    )
    day.step("Push", "ctrl+x", "h", sees=["Everything is committed. Push 1 commit of last-row to origin?"])
    day.step("Yes", "y", is_answer=True, sees=["Pushed. Open a pull request for last-row with gh?"])
    day.step("Yes: with its title", "y", is_answer=True, sees=["Pull request: title"])
    day.step("Open it", "enter", sees=["Pull request  https://git.example/csvkit/pull/7"])


def _leave(day: Day) -> None:
    """Look back, and leave."""
    day.step("The timeline: turns, steps, changes", "ctrl+x", "g", sees=["Timeline", "turns"])
    day.step("What the next request sends", "escape", "ctrl+x", "i", sees=["Context", "system and tools"])
    day.step("Settings", "escape", "ctrl+x", ",", sees=["Settings", "theme"])
    day.step("Back", "escape", sees=["Ask anything"])
    day.step("What it cost", "enter", text="/cost", sees=["Cost"])
    day.step("Leave", "escape", "ctrl+x", "q", so=lambda: day.terminals[1].process.poll() == 0)


@contextlib.contextmanager
def begun(folder: Path) -> Generator[Day]:
    """Yield a day before its first step, in an empty folder."""
    home = folder / "home"
    home.mkdir()
    repo = make_project(home)
    settings = {"model": "fake/fake-model", "permission": {"edit": "ask"}}
    with ModelServer() as server, contextlib.ExitStack() as stack:
        server.title_answers.append(Answer(text="Keep the last row", usage=(300, 10, 0)))
        programs = folder / "programs"
        programs.mkdir()
        (programs / "gh").write_text("#!/bin/sh\necho https://git.example/csvkit/pull/7\n")
        (programs / "gh").chmod(0o755)
        environ = isolated_environment(home)
        environ["PATH"] = f"{programs}{os.pathsep}{environ['PATH']}"
        line = CommandLine(repo.path, environ, provider=server.config(), settings=settings)
        yield Day(repo, server, line, stack)


def main() -> None:
    """Write the recording."""
    parser = argparse.ArgumentParser(description="Record a day's work as an animated SVG.")
    parser.add_argument("target", type=Path)
    target: Path = parser.parse_args().target
    palette = look().palette
    with tempfile.TemporaryDirectory() as folder, begun(Path(folder)) as day:
        work(day)
    drawn = draw_frames(day.frames, columns=SIZE[0], text=palette.text, back_color=palette.background)
    target.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
