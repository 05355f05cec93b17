import time

import pytest

from opencode_tui.engine.provider.demo.goals import (
    CreateFile,
    FindFiles,
    FindText,
    FollowPlan,
    Goal,
    InsertLine,
    ListFolder,
    ReadFile,
    ReplaceText,
    RunCommand,
    RunFile,
    RunTests,
    Unclear,
    WritePlan,
)
from opencode_tui.engine.provider.demo.intent import read_goals

HELLO = CreateFile("hello.py", 'print("hello")\n')


@pytest.mark.parametrize(
    ("text", "goals"),
    [
        ("create hello.py that prints hello, then run it", [HELLO, RunFile("hello.py", exact=True)]),
        ("Please could you create hello.py that prints hello and run it?", [HELLO, RunFile("hello.py", exact=True)]),
        ("1. create hello.py that prints hello\n2. run it", [HELLO, RunFile("hello.py", exact=True)]),
        ('create a.py which prints "Hi, you"', [CreateFile("a.py", 'print("Hi, you")\n')]),
        ("create a.sh that prints hi", [CreateFile("a.sh", "#!/bin/sh\nprintf '%s\\n' hi\n")]),
        ("create a.js that says hi twice", [CreateFile("a.js", 'for (let i = 0; i < 2; i += 1) {\n  console.log("hi");\n}\n')]),
        ("create x.py with:\n```python\nprint(1+1)\n```\nthen run it",
         [CreateFile("x.py", "print(1+1)\n"), RunFile("x.py", exact=True)]),
        ('create c.json with:\n{"a": 1}', [CreateFile("c.json", '{"a": 1}\n')]),
        ("create notes.txt with the content buy milk.", [CreateFile("notes.txt", "buy milk\n")]),
        ("create notes.txt containing 'list; then run'", [CreateFile("notes.txt", "list; then run\n")]),
        ('write "hello" to out.txt', [CreateFile("out.txt", "hello\n")]),
        ("make an empty file a/b.txt", [CreateFile("a/b.txt", "")]),
        ("overwrite a.txt with new text", [CreateFile("a.txt", "new text\n", overwrite=True)]),
        ("create a folder called my-docs", [RunCommand("mkdir -p -- my-docs")]),
        ("read README.md", [ReadFile("README.md")]),
        ("show me the readme", [ReadFile("readme")]),
        ("read @a.py", [ReadFile("a.py")]),
        ("what does @src/a.py#L10-20 do?", [ReadFile("src/a.py", outline=True)]),
        ("replace @red with green in @notes.txt", [ReplaceText("notes.txt", "@red", "green")]),
        ("add the line @app.route to @a.py", [InsertLine("a.py", "@app.route")]),
        ("run @a.py", [RunFile("a.py")]),
        ("rename @a.py to b.py", [RunCommand("mv -n -- a.py b.py")]),
        ("where is @a.py?", [FindFiles("**/a.py")]),
        ("what's in src/app.py?", [ReadFile("src/app.py")]),
        ("What does app.py do?", [ReadFile("app.py", outline=True)]),
        ("summarise a.md and b.md", [ReadFile("a.md", outline=True), ReadFile("b.md", outline=True)]),
        ("find TODO", [FindText("TODO")]),
        ("find all TODO comments", [FindText("TODO")]),
        ('search for "foo bar" in src', [FindText("foo bar", "src")]),
        ("where is parse_goals used?", [FindText("parse_goals")]),
        ("Where is Phrase defined", [FindText("Phrase", defined=True)]),
        ("where is app.py?", [FindFiles("**/app.py")]),
        ("find all python files", [FindFiles("**/*.py")]),
        ("find files named *.md", [FindFiles("**/*.md")]),
        ("list files", [ListFolder()]),
        ("what files are in src?", [ListFolder("src")]),
        ("list the files in this folder", [ListFolder()]),
        ("replace red with green in notes.txt", [ReplaceText("notes.txt", "red", "green")]),
        ('in notes.txt, replace "a, b" with `c`', [ReplaceText("notes.txt", "a, b", "c")]),
        ("edit notes.txt: change red to green", [ReplaceText("notes.txt", "red", "green")]),
        ("rename foo to bar in app.py", [ReplaceText("app.py", "foo", "bar", whole_words=True)]),
        ("rename a.py to b.py", [RunCommand("mv -n -- a.py b.py")]),
        ('add a line "done" to notes.txt', [InsertLine("notes.txt", "done")]),
        ("append the line all done to notes.txt", [InsertLine("notes.txt", "all done")]),
        ('add "first" at the top of a.txt', [InsertLine("a.txt", "first", at_start=True)]),
        ("add to a.txt the line hello world", [InsertLine("a.txt", "hello world")]),
        ("run `ls -la`", [RunCommand("ls -la")]),
        ("run ls -la please", [RunCommand("ls -la")]),
        ("execute python3 -c 'print(1)'", [RunCommand("python3 -c 'print(1)'")]),
        ("run hello.py", [RunFile("hello.py")]),
        ("run the tests", [RunTests()]),
        ("run the tests please", [RunTests()]),
        ("do it", [FollowPlan()]),
        ("plan: create hello.py that prints `x`, then run it", [WritePlan(("Create hello.py that prints `x`", "Run it"))]),
        ("make a todo list: buy milk, wash car and call mum", [WritePlan(("buy milk", "wash car", "call mum"))]),
        ("hello", []),
        ("what can you do?", []),
        ("find out why it fails", []),
        ("x" * 100_000, []),
    ],
)  # fmt: skip
def test_request_becomes_goals(text: str, goals: list[Goal]) -> None:
    assert read_goals(text) == goals


@pytest.mark.parametrize(
    "text", ["create sort.py that sorts the world", "create a.py that prints the contents of b.txt"]
)
def test_program_beyond_the_script_is_refused_not_faked(text: str) -> None:
    (goal,) = read_goals(text)
    assert isinstance(goal, Unclear)
    assert "can only write programs that print" in goal.reason


@pytest.mark.parametrize(
    "seed", ["add a ", "create ", "find ", "a, ", "and then run ", "to ", "with ", "`a", '"', "\x01", "in ( "]
)
def test_hostile_text_is_read_quickly(seed: str) -> None:
    begun = time.process_time()
    read_goals("replace " + seed * (4_000 // len(seed)))
    read_goals(seed * (1_900 // len(seed)))
    assert time.process_time() - begun < 1
