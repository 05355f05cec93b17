"""An edit that a model quotes inexactly changes what was meant, or is refused; it never changes anything else."""

from pathlib import Path

import pytest

import opencode_tui
from opencode_tui.engine.tool.edit.edit_text import replace_text
from opencode_tui.engine.tool.files.files import Stamp, TextFile
from opencode_tui.engine.tool.files.text_format import decode
from opencode_tui.schema.error import ToolError
from tests.support.rows import each
from tests.support.source.edit_cases import DISTURBANCES, all_cases, make_cases, outcome_of, own_hunks, sample_hunks


def edit(content: str, old: str, new: str) -> str:
    text, form = decode(content.encode())
    return replace_text(Path("a"), TextFile(Path("a"), text, form, Stamp(0, 0, 0)), old, new, replace_all=False)[0]


@pytest.mark.slow
def test_edits_of_our_own_modules_land_however_they_are_quoted() -> None:
    cases = make_cases(own_hunks(Path(opencode_tui.__file__).parent), 1_000)
    outcomes = [(outcome_of(case), case.kind, case.name) for case in cases]
    assert len({kind for _, kind, _ in outcomes}) >= len(DISTURBANCES) - 2
    assert [one for one in outcomes if one[0] == "wrong"] == []
    assert sum(one[0] == "refused" for one in outcomes) <= len(outcomes) // 100


@pytest.mark.slow
def test_edits_in_other_languages_land_however_they_are_quoted() -> None:
    outcomes = [(outcome_of(case), case.kind, case.name) for case in all_cases(sample_hunks())]
    assert len({name for _, _, name in outcomes}) == 5
    assert {kind for _, kind, _ in outcomes} >= {
        "blanks for tabs",
        "twice the indentation",
        "both escaped, with escapes",
    }
    assert [one for one in outcomes if one[0] == "wrong"] == []
    assert sum(one[0] == "refused" for one in outcomes) <= 2


@each(
    ("content", "old", "new", "want"),
    [
        # line numbers of a listing
        ("a\nb\nc\n", "2: b", "2: B", "a\nB\nc\n"),
        ("a\nb\nc\n", "2: b\n3: c", "B\nC", "a\nB\nC\n"),
        ("a\n  b\n\nc\n", "2:   b\n3: \n4: c", "2:   b\n3: x\n4: c", "a\n  b\nx\nc\n"),
        ("a\n  b\n\nc\n", "     2→  b\n     3→\n     4→c", "     2→  b\n     3→y\n     4→z", "a\n  b\ny\nz\n"),
        ("x\na\nb\nc\n", "1| a\n2| b\n3| c", "1| a\n2| B\n3| c", "x\na\nB\nc\n"),  # the file has one line more now
        ("b\na\nb\n", "3: b", "3: B", "b\na\nB\n"),  # the number says which
        # typographic characters
        ('print("a")  # it\'s\n', "print(“a”)  # it’s", "print(“b”)  # it’s", 'print("b")  # it\'s\n'),
        ("say “hi” - it’s me\nx\n", 'say "hi" - it\'s me', 'say "hi" - it\'s you', "say “hi” - it’s you\nx\n"),
        ("pages 3–5\n", "pages 3-5", "pages 3-7", "pages 3–7\n"),
        # escapes
        ("if a:\n    b()\n", "if a:\\n    b()", "if a:\n    c()", "if a:\n    c()\n"),
        ('x = "1\\n2"\ny = 3\n', 'x = "1\\n2"\\ny = 3', 'x = "1\\n2"\ny = 4', 'x = "1\\n2"\ny = 4\n'),
        # slips in lines that stay
        ("def f(a, b):\n    c = a\n    return c\n", "def f(a):\n    c = a\n    return c", "def f(a):\n    c = b\n    return c",
         "def f(a, b):\n    c = b\n    return c\n"),
        ("# The first line\nx = 1\ny = 2\nz = 3\n", "# first line\nx = 1\ny = 2\nz = 3", "# first line\nx = 1\ny = 2\nz = 4",
         "# The first line\nx = 1\ny = 2\nz = 4\n"),
        (
            "def a():\n    x = 1\n    return x\n\ndef b(y):\n    z = 2\n    return z\n",
            "def b():\n    z = 2\n    return z",
            "def b():\n    z = 3\n    return z",
            "def a():\n    x = 1\n    return x\n\ndef b(y):\n    z = 3\n    return z\n",
        ),
        (
            "case 1:\n  foo();\n  break;\ncase 22:\n  bar();\n  break;\n",
            "case 22 :\n  bar();\n  break;",
            "case 22 :\n  baz();\n  break;",
            "case 1:\n  foo();\n  break;\ncase 22:\n  baz();\n  break;\n",
        ),
        # indentation that the quoted lines do not show
        ("class A:\n    def f():\n        a\n", "\tdef f():\n\t\ta", "\tdef f():\n\t\tif b:\n\t\t\ta",
         "class A:\n    def f():\n        if b:\n            a\n"),
        ("if a:\n\tb\n\t\tc\n", "    b\n        c", "    b\n        if d:\n            c", "if a:\n\tb\n\t\tif d:\n\t\t\tc\n"),
        # blanks at line ends stay where the line does
        ("a  \nb\nc\t\n", "a\nb\nc", "a\nB\nc", "a  \nB\nc\t\n"),
    ],
)  # fmt: skip
def test_what_the_model_left_unchanged_stays_as_it_is_in_the_file(content: str, old: str, new: str, want: str) -> None:
    assert edit(content, old, new) == want


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        ("a\nb\n", "7: b", "7: B"),  # a single line elsewhere
        ("a\nb\nc\n", "1: a\n3: c", "1: A\n3: C"),  # lines that do not follow each other
        ("a\nb\nc\n", "1: a\n2: b", "1: a\nB: 2\n3: c"),  # only some changed lines have numbers
        (
            "x = 1\nif a:\n    b\n    c\n",
            "x = 1\nif q:\n    b\n    c",
            "x = 1\nif r:\n    b\n    c",
        ),  # changes a line it misquotes
        ("a('1')\nb()\na('1')\nb()\n", "a(’1’)\nb()", "a(’2’)\nb()"),  # twice
        ('p("\\n")\nq()\n', 'p("\\n")\\nq()', 'p("\\n")\\nr()'),  # which escapes of the new text are line ends?
        ("def f():\n        a\n            b\n", "  a\n    b", "  a\n    if c:\n      b"),  # shifted, and scaled
        ("f(1)\ng(2)\nh(3)\ni(4)\nj(5)\n", "f(1)\nuvwx\nh(3)\nyz01\nj(5)", "f(1)\nuvwx\nh(9)\nyz01\nj(5)"),
        ("a\nb\n" * 3, "a\nb\nc", "a\nb\nd"),
        # the quoted first line is more like that of another block, or as much
        (
            "def a():\n    x = 1\n    return x\n\ndef b(y):\n    x = 2\n    return x\n",
            "def b():\n    x = 1\n    return x",
            "def b():\n    x = 3\n    return x",
        ),
        (
            "def test_parse_int():\n    r = run()\n    assert r == 1\n\ndef test_parse_float_text():\n    r = do()\n    assert r\n",
            "def test_parse_float():\n    r = run()\n    assert r == 1",
            "def test_parse_float():\n    r = run()\n    assert r == 3",
        ),
        (
            "case 1:\n  foo();\n  break;\ncase 22:\n  bar();\n  break;\n",
            "case 2:\n  foo();\n  break;",
            "case 2:\n  baz();\n  break;",
        ),
        (
            "[server.one]\nport = 1\nhost = a\n\n[server.ten]\nport = 2\nhost = b\n",
            "[server.two]\nport = 1\nhost = a",
            "[server.two]\nport = 3\nhost = a",
        ),
        (
            '"dev": {\n  "url": "x",\n  "on": true\n},\n"prod-eu": {\n  "url": "y",\n  "on": true\n}\n',
            '"prod-e": {\n  "url": "x",\n  "on": true',
            '"prod-e": {\n  "url": "z",\n  "on": true',
        ),
        (
            "a = 1\nb = 2\nlog('end of a')\n\nc = 3\nd = 4\nlog('end of all')\n",
            "a = 1\nb = 2\nlog('end of al')",
            "a = 1\nb = 9\nlog('end of al')",
        ),
    ],
)
def test_an_edit_that_could_mean_something_else_is_refused(content: str, old: str, new: str) -> None:
    with pytest.raises(ToolError):
        edit(content, old, new)


@each(
    ("content", "old", "new", "words"),
    [
        # each with the lines that a next try needs
        ("a\ndef f(x):\n    y = 1\n    return y\n", "def f(x):\n    z = 2\n    return y", "q",
         ["line 3 is not the quoted 'z = 2'", "\n2: def f(x):\n3:     y = 1\n4:     return y"]),
        ("one\ntwo\n", "completely other\n", "q", ["no line is like 'completely other'"]),
        ("one\ntwo\n", "\n\n\n", "q", ["it is blank"]),
        ("alpha beta\n", "alpha betta", "q", ["\n1: alpha beta"]),
        # a place that is ambiguous, or changed before
        ("  a\n  b\nx\n    a\n    b\n", "a\nb\n", "a\nc\n", ["has text like oldString 2 times (lines 1, 4)"]),
        ("a\nccc = ddd()\nd\n", "a\nb\nd", "a\nccc = ddd()\nd", ["newString is, at line 1", "made before"]),
        ("a\n}\n}\n", "a\nb\n}", "}\n}", ["line 2 is not the quoted 'b'"]),
        ("s = {\n    2\n}\nif ready:\n    go()\n\n\nx\n", "s = {\n    2\n}\n\n\n", "s = {\n    2\n}\nif ready:\n    go()\n\n",
         ["line 1", "made before"]),
        ("  def of_a():\n    a\n  b\n", "def of_a():\n  c\nb", "def of_a():\n  a\nb", ["newString is, at line 1", "made before"]),
        ("a = 1\nb = 2\nc = 3\nd = 4\n", "a = 1\nb = 2\n\n", "a = 1\nb = 2\nc = 3\n\n", ["newString is, at line 1", "made before"]),
        ("x = 1\n", "x =  1", "x = 1", ["nothing to change"]),
    ],
)  # fmt: skip
def test_a_refusal_says_what_the_next_try_needs(content: str, old: str, new: str, words: list[str]) -> None:
    with pytest.raises(ToolError) as caught:
        edit(content, old, new)
    assert [word for word in words if word not in str(caught.value)] == []


def test_the_lines_of_a_refusal_are_bounded() -> None:
    content = "\n".join(f"{'line of a file ' * 30}{number}" for number in range(2_000))
    quoted = "\n".join(content.split("\n")[40:400]).replace("90\n", "90 other\n")
    with pytest.raises(ToolError) as caught:
        edit(content, quoted, "x")
    shown = str(caught.value)
    assert len(shown.encode()) < 2_500
    assert "\n90: line of" in shown


@each(
    ("content", "old", "phrase"),
    [
        ("a\nb\n", "a\nb", ""),
        ("a\nb\n", "a \nb", "has other blanks at line ends; it was matched with lines 1 to 2."),
        ("x\n    a\n    b\n", "a\nb\n", "indented like the file; it was matched with lines 2 to 3."),
        ("f( a,  b )\n", "f( a, b )", "has other white space; it was matched with line 1."),
        ("a\nb\n", "\n\na\nb\n\n\n", "has white space around it"),
        ("say 'a'\n", "say ‘a’", "has other quotation marks"),
        ("a\nb\nc\n", "1: a\n2: b", "has line numbers, which were removed"),
        ('f("a")\n', 'f(\\"a\\")', "is escaped once too often"),
        ("a\nb\n", "a\\nb", "is escaped once too often"),
        ("a\nc\nd\n", "a\\nc", "has \\n for line ends"),
        ("first one\nb\nc\nd\n", "first two\nb\nc\nd", "the file keeps its own"),
    ],
)
def test_the_result_says_what_was_adapted(content: str, old: str, phrase: str) -> None:
    text, form = decode(content.encode())
    file = TextFile(Path("a"), text, form, Stamp(0, 0, 0))
    new = "1\n2" if "c" in old and "b" not in old else old.replace("b", "new b") + "!"
    _, adapted = replace_text(Path("a"), file, old, new, replace_all=False)
    assert phrase in adapted
    assert bool(phrase) == bool(adapted)
