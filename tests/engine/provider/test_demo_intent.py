import pytest

from opencode_tui.engine.provider.demo.intent import Goal, read_goals

HELLO = Goal("create", "hello.py", 'print("hello")\n')


@pytest.mark.parametrize(
    ("text", "goals"),
    [
        ("create hello.py that prints hello, then run it", [HELLO, Goal("run")]),
        ("Please could you create hello.py that prints hello and run it?", [HELLO, Goal("run")]),
        ("1. create hello.py that prints hello\n2. run it", [HELLO, Goal("run")]),
        ('create a.py which prints "Hi, you"', [Goal("create", "a.py", 'print("Hi, you")\n')]),
        ("create a.sh that prints hi", [Goal("create", "a.sh", "#!/bin/sh\nprintf '%s\\n' hi\n")]),
        ("create x.py with:\n```python\nprint(1+1)\n```\nthen run it",
         [Goal("create", "x.py", "print(1+1)\n"), Goal("run")]),
        ("create notes.txt with the content buy milk.", [Goal("create", "notes.txt", "buy milk\n")]),
        ("create notes.txt containing 'list; then run'", [Goal("create", "notes.txt", "list; then run\n")]),
        ('write "hello" to out.txt', [Goal("create", "out.txt", "hello\n")]),
        ("make an empty file a/b.txt", [Goal("create", "a/b.txt", "")]),
        ("read README.md", [Goal("read", "README.md")]),
        ("show me the readme", [Goal("read", "readme")]),
        ("read @a.py", [Goal("read", "a.py")]),
        ("what does @src/a.py#L10-20 do?", [Goal("read", "src/a.py")]),
        ("replace @red with green in @notes.txt", [Goal("replace", "notes.txt", "@red", "green")]),
        ("add the line @app.route to @a.py", [Goal("append", "a.py", "@app.route")]),
        ("run @a.py", [Goal("run", "a.py")]),
        ("where is @a.py?", [Goal("glob", text="**/a.py")]),
        ("what's in src/app.py?", [Goal("read", "src/app.py")]),
        ("What does app.py do?", [Goal("read", "app.py")]),
        ("which files contain TODO?", [Goal("find", text="TODO")]),
        ("create hello.py with print('hi')", [Goal("create", "hello.py", "print('hi')\n")]),
        ("create hello.py that prints hello, then run it and tell me what it printed",
         [HELLO, Goal("run")]),
        ("find TODO", [Goal("find", text="TODO")]),
        ("find all TODO comments", [Goal("find", text="TODO")]),
        ('search for "foo bar" in src', [Goal("find", "src", "foo bar")]),
        ("where is parse_goals used?", [Goal("find", text="parse_goals")]),
        ("Where is Phrase defined", [Goal("find", text="Phrase")]),
        ("where is app.py?", [Goal("glob", text="**/app.py")]),
        ("find all python files", [Goal("glob", text="**/*.py")]),
        ("find files named *.md", [Goal("glob", text="**/*.md")]),
        ("list files", [Goal("list")]),
        ("list this folder", [Goal("list")]),
        ("list the project", [Goal("list")]),
        ("explain this folder", [Goal("list")]),
        ("list src", [Goal("list", "src")]),
        ("what files are in src?", [Goal("list", "src")]),
        ("list the files in this folder", [Goal("list")]),
        ("replace red with green in notes.txt", [Goal("replace", "notes.txt", "red", "green")]),
        ("rename foo to bar in app.py", [Goal("replace", "app.py", "foo", "bar")]),
        ('add a line "done" to notes.txt', [Goal("append", "notes.txt", "done")]),
        ("append the line all done to notes.txt", [Goal("append", "notes.txt", "all done")]),
        ("run `ls -la`", [Goal("command", text="ls -la")]),
        ("run ls -la please", [Goal("command", text="ls -la")]),
        ("execute python3 -c 'print(1)'", [Goal("command", text="python3 -c 'print(1)'")]),
        ("run hello.py", [Goal("run", "hello.py")]),
        ("run the tests", [Goal("test")]),
        ("run the tests please", [Goal("test")]),
        ("do it", [Goal("follow")]),
        ("plan: create hello.py that prints `x`, then run it", [Goal("plan", items=("Create hello.py that prints `x`", "Run it"))]),
        ("make a todo list: buy milk, wash car and call mum", [Goal("plan", items=("Buy milk", "Wash car", "Call mum"))]),
        ("hello", []),
        ("what can you do?", []),
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
    assert goal.action == "unclear" and "programs that print a text" in goal.text


@pytest.mark.parametrize(
    "text",
    [
        "add a docstring to app.py",
        "add logging to app.py",
        "add error handling to src/app.py",
        "change the color to blue in notes.txt",
        "find red in notes.txt and replace it with blue",
        "change notes.txt to say hello",
        "create a.py that prints hello and b.py that prints bye",
        "list files, then run the thing that we talked about",
        "list files, then run it and a.py",
        "find out why it fails",
        "in notes.txt, swap red and green",
        "edit notes.txt: change the color",
    ],
)
def test_words_that_a_script_could_only_guess_change_nothing(text: str) -> None:
    goals = read_goals(text)
    assert goals[-1].action == "unclear" and {goal.action for goal in goals[:-1]} <= {"find", "list", "unclear"}


@pytest.mark.parametrize(
    "seed", ["add a ", "create ", "find ", "a, ", "and then run ", "to ", "with ", "`a", '"', "\x01", "in ( "]
)
def test_hostile_text_is_read_without_endless_backtracking(seed: str) -> None:
    assert {goal.action for goal in read_goals("replace " + seed * (4_000 // len(seed)))} <= {"unclear"}
    assert len(read_goals(seed * (1_900 // len(seed)))) <= 1_900
