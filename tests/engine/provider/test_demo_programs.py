import subprocess
import sys
from pathlib import Path

import pytest

from opencode_tui.engine.provider.demo.programs import first_content, suggest_name, write_program


@pytest.mark.parametrize(
    ("purpose", "printed"),
    [
        ("prints hello", "hello\n"),
        ("print the word hello to the screen", "hello\n"),
        ("prints hi three times", "hi\nhi\nhi\n"),
        ("prints route 66", "route 66\n"),
        ('prints say "hi" \\n', 'say "hi" \\n\n'),
        ("prints the first 6 fibonacci numbers", "0\n1\n1\n2\n3\n5\n"),
        ("prints the first 4 primes", "2\n3\n5\n7\n"),
        ("prints the factorial of 5", "120\n"),
        ("prints the numbers from 3 to 5", "3\n4\n5\n"),
        ("says hello, world", "hello, world\n"),
    ],
)
def test_python_program_prints_what_was_asked(tmp_path: Path, purpose: str, printed: str) -> None:
    program = write_program("a.py", purpose, is_quoted=False)
    assert program is not None
    (tmp_path / "a.py").write_text(program, encoding="utf-8")
    done = subprocess.run([sys.executable, str(tmp_path / "a.py")], capture_output=True, text=True, check=True)
    assert done.stdout == printed


@pytest.mark.parametrize("text", ["it's $HOME `id`", "a", "%s\\n"])
def test_shell_program_prints_text_word_for_word(tmp_path: Path, text: str) -> None:
    program = write_program("a.sh", f"prints {text} twice", is_quoted=True)
    assert program is not None
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{text}\n{text}\n"


@pytest.mark.parametrize(
    ("path", "purpose"),
    [("a.py", "sorts numbers"), ("a.py", "prints the weather"), ("a.c", "prints hi"), ("a.sh", "prints all primes")]
)  # fmt: skip
def test_unknown_purpose_gives_no_program(path: str, purpose: str) -> None:
    assert write_program(path, purpose, is_quoted=False) is None


def test_name_follows_the_purpose() -> None:
    assert [suggest_name(purpose) for purpose in ("prints fizzbuzz", "says hello", "sorts")] == [
        "fizzbuzz.py",
        "hello.py",
        None,
    ]


def test_new_file_begins_sensibly() -> None:
    names = ("a.txt", "docs/plan.md", "a.json")
    assert [first_content(name) for name in names] == ["", "# plan\n", "{}\n"]
