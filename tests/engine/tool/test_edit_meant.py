"""What an edit writes is lines of the file and of the new text; where something else may be meant, it is refused."""

from pathlib import Path

import pytest

from opencode_tui.engine.tool.edit.check import Replacement, is_meant
from opencode_tui.engine.tool.edit.edit_text import replace_text
from opencode_tui.engine.tool.files.files import Stamp, TextFile
from opencode_tui.engine.tool.files.text_format import decode
from opencode_tui.schema.error import ToolError
from tests.support.rows import each


def edit(content: str, old: str, new: str) -> str:
    text, form = decode(content.encode())
    return replace_text(Path("a"), TextFile(Path("a"), text, form, Stamp(0, 0, 0)), old, new, replace_all=False)[0]


FLOW = 'func run() {\n\tx := 1\n\ty := "a"\n\tlog("a")\n\tz := 3\n}\n'
LONGER = FLOW.replace("\tz", '\tlog("b")\n\tz')
CLASS = "class A:\n    x = 1\n\n    def f(self):\n        return 1\n"
CLASS_2 = CLASS.replace("return 1", "return 2")


@each(
    ("content", "old", "new"),
    [
        # the quote ends, or begins, where no line does
        ("def area(w):\n    return w * h + border\n", "    return w * h\n", "    return w * h * 2\n"),
        ("import os.path\n", "import os\n", "import sys\n"),
        ("debug = true and verbose\nkeep\n", "debug = true\n", ""),
        ("FROM python:3.11-slim\n", "FROM python:3.11\n", "FROM python:3.12\n"),
        ("let y = foo(1);\n", "\nfoo(1);", "\nbar(1);"),
        ("a = b.c\nd\n", "  b\n", "  e\n"),
        # a line was forgotten
        (
            "func TestA() {\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n",
            "\tif err != nil {\n\t\tt.Fatal(err)\n}",
            "\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n}\n\nfunc TestB() {\n\tt.Parallel()\n}",
        ),
        ("a()\nb()\nc()\n\nd()\n", "\n\na()\nb()\n\n\n", "\n\na()\nx()\nc()\n\n\n"),
        ('def a():\n    "A."\n    b()\n\n\nc\n', '\n\ndef a():\n    "A."\n\n\n', '\n\ndef a():\n    "A."\n    x()\n\n\n'),
        ("a\n\nb\n\nc\n", "a\n\n\n", "a\n\nx\n\n"),
        ("a\n\n\nb\n    c\nd\n", "\n\n    c\nd\n", "\n\n    x\n    c\nd\n"),
        # which escapes are meant?
        ("a := 1\nb := 2\nc := 3\n", "a := 1\\nb := 2", "a := 1\\nd = append(d, '\\n')\\nb := 2"),
        ("a := 1\nb := 2\nc := 3\n", "a := 1\\nb := 2", "a := 1\\nd = `\\n`\\nb := 2"),
        (FLOW, FLOW.replace('"', '\\"'), FLOW.replace('"', '\\"').replace("\tz", '\tlog("b")\n\tz')),
        ("a &lt; b\nc < d\ne\nf\n", "a &lt; b\nc &lt; d\ne\nf", "a &lt; b\nc &lt; d\ne &gt; g\nf"),
        # the slip in a kept line may be in an added one
        ("a_b = 1\nb = 2\nc = 3\nd = 4\n", "ab = 1\nb = 2\nc = 3\nd = 4", "ab = 1\nb = ab\nc = 3\nd = 4"),
        ('log("a")\nb = 2\nc = 3\nd = 4\n', "log('a')\nb = 2\nc = 3\nd = 4", "log('a')\nlog('b')\nb = 2\nc = 3\nd = 4"),
        # what the model added has characters like those that slipped
        ('say("a")\n', "say(\u201ca\u201d)", "say(\u201ca\u201d)  # it\u2019s"),
        ("it\u2019s a\n", "it's a", "it's 'b'"),
        # the whole line is written for a part of it
        ("    return w * h + border\n", "turn w * h", "    return w * h * 2"),
        ("    foo(one, two)\n", "foo(one", "foo(1, two)"),
        ("call(first, second);\n", "call(first", "call(one, second);"),
        ('    "a": "-",\n    "+": "=",\n', 'a": "-",\n    "', 'a": "+",\n    "+": "=",'),
        # indentation of which nobody knows what it means
        ("        a()\n\nB = 1\n", "    a()\n\nB = 1", "    a()\n\nif c:\n  d()\nB = 1"),
        ("    a()\n\nB = 1\n", "a()\n\nB = 1", "a()\n\nif c:\nd()\nB = 1"),
        ("  a\n  b\n", "a\nb", "if c:\nd"),
        ("    a = 1,\n    b = 2,\n", "a = 1, ", "a = 1,\n    c = 3,"),
        ("    a\n      b\n", "  a\n    b", "\ta\n\t\tc"),
    ],
)  # fmt: skip
def test_what_may_mean_something_else_is_refused(content: str, old: str, new: str) -> None:
    with pytest.raises(ToolError) as caught:
        edit(content, old, new)
    assert "line 0" not in str(caught.value)
    assert "line -" not in str(caught.value)


@each(
    ("content", "old", "new", "want"),
    [
        # the same slip in both texts
        (FLOW, FLOW.replace('"', '\\"'), LONGER.replace('"', '\\"'), LONGER),
        ('a("x")\nb\n', 'a(\\"x\\")\nb', 'a(\\"x\\")\nb(\\"y\\\\n\\")', None),
        ('say("a")\n', "say(\u201da\u201d)", "say(\u201da\u201d) // one \u2014 two", 'say("a") // one \u2014 two\n'),
        ("if a < b and c:\n    d\n", "if a &lt; b and c:\n", "if a &lt;= b and c:\n", "if a <= b and c:\n    d\n"),
        ("a\nb\n", "```py\na\n```", "```py\nc\n```", "c\nb\n"),
        ("a\nb\nc\n", " a\n-b", " a\n+B", "a\nB\nc\n"),
        ("a\nb\nc\n", "> a\n> b", "> a\n> B", "a\nB\nc\n"),
        ("if a:\n\tb\n", "if a:\n\\tb", "if a:\n\\tc", "if a:\n\tc\n"),
        ("\u00fcber = 1\n", "\\u00fcber = 1", "\\u00fcber = 2", "\u00fcber = 2\n"),
        ("\u4f60\u597d\uff0c\u4e16\u754c\n", "\u4f60\u597d,\u4e16\u754c", "\u4f60\u597d,pi", "\u4f60\u597d,pi\n"),
        ("u\u0308ber = 1\n", "\u00fcber = 1", "\u00fcber = \u00e4", "u\u0308ber = a\u0308\n"),
        ("file = 1\n", "\ufb01le = 1", "\ufb01le = 2", "file = 2\n"),
        ("a = 1\n", "\ufeffa = 1", "\ufeffa = 2", "a = 2\n"),
        ("a b = 1\n", "a\u00a0b\u00a0= 1", "a\u00a0b\u00a0= 2\u00a0", "a b = 2 \n"),
        ("a\nb\n", "a  \nb  ", "a  \nc  ", "a\nc\n"),
        ("  a\nb\n", "7 |   a\n8 | b", "7 |   a\n8 | c", None),
        ("  a\nb\nc\n", "1 |   a\n2 | b", "1 |   a\n2 | B", "  a\nB\nc\n"),
        # the first line lacks its indentation
        (CLASS, "\ndef f(self):\n        return 1\n", "\n    def f(self):\n        return 2\n", CLASS_2),
        (CLASS, "\ndef f(self):\n        return 1\n", "\ndef f(self):\n    return 2\n", CLASS_2),
        (CLASS, "\ndef f(self):\n    return 1\n", "\n    def f(self):\n        return 2\n", CLASS_2),
        (CLASS, "def f(self):\n        return 1\n", "    def f(self):\n        return 2\n", CLASS_2),
        (CLASS, "return 1", "        return 2", CLASS_2),
        ("    a()\n\nB = 1\n", "a()\n\nB = 1", "a()\n\nif c:\n    d()\nB = 1", "    a()\n\nif c:\n    d()\nB = 1\n"),
        ("        a()\n\nB = 1\n", "    a()\n\nB = 1", "    a()\n\nB = 2", "        a()\n\nB = 2\n"),
        # blank lines around a quote that are not in the file, where no line is between
        ("a\nb\nc\n", "\n\nb\n\n", "\n\nx\n\n", "a\nx\nc\n"),
        ("a\nb\n\nc\n", "b\n\n\n", "b\nx\n\n\n", "a\nb\nx\n\nc\n"),
        # lines are not joined
        ("a\nb\n", "a\n", "c", "c\nb\n"),
        ("a\nb\nc\n", "\nb", "d", "a\nd\nc\n"),
        ("a\nb\nc\n", "\nb\n", "", "a\nc\n"),
        ("a\n\nb\nc\n", "\nb\n", "", "a\nc\n"),
        ("a\n", "a\n", "b", "b\n"),
        ("a\n", "a\n", "a", "a"),
    ],
)  # fmt: skip
def test_a_slip_is_corrected_in_both_texts(content: str, old: str, new: str, want: str | None) -> None:
    if want is None:
        with pytest.raises(ToolError):
            edit(content, old, new)
    else:
        assert edit(content, old, new) == want


@each(
    ("text", "is_right"),
    [
        ("    a\n        B\n", True),
        ("    a\n    B\n", False),  # another shift than the other line's
        ("    a\n        b\n        C\n", False),  # a line more
        ("    a\n        D\n", False),  # neither the file's nor the new text's
        ("  A\n        b\n", False),
        ("    A\n        b\n", True),
    ],
)
def test_the_check_does_not_ask_how_a_text_was_found(text: str, is_right: bool) -> None:
    content = "x\n    a\n        b\nc\n"
    asked = "A\n    b\n" if "A" in text else "a\n    B\n"
    assert is_meant(content, "a\n    b\n", asked, Replacement(2, 18, text)) == is_right


def test_the_error_of_a_quote_beyond_the_file_names_a_line_that_exists() -> None:
    with pytest.raises(ToolError, match="line 1 is not the quoted 'abc def ghj'"):
        edit("abc def ghi\n", "x\nabc def ghj\n", "q\n")
    with pytest.raises(ToolError, match="it has no line 'zero' before these"):
        edit("one\ntwo\n", "zero\none\ntwo", "y")
    with pytest.raises(ToolError, match="it has no line 'three' after these"):
        edit("one\ntwo", "one\ntwo\nthree", "y")
