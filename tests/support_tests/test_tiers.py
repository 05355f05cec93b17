"""The list of slow tests: what it names exists, and README's commands run the fast tier and everything."""

from pathlib import Path

import pytest

from tests.support.source.pages import blocks
from tests.support.tiers import FAST, TESTS, problems, read_rows, slow_row

ID_LENGTH = 120


def test_every_row_names_tests_and_none_of_them_twice() -> None:
    assert problems(read_rows()) == []


def test_a_row_that_names_nothing_and_one_inside_another_are_found(tmp_path: Path) -> None:
    (tmp_path / "tests" / "cli").mkdir(parents=True)
    (tmp_path / "tests" / "cli" / "test_run.py").write_text("def test_it(): ...\n\n\nasync def test_more(): ...\n")
    (tmp_path / "tests" / "cli" / "test_line.py").write_text("def test_it(): ...\n")
    names = ["cli/test_run.py", "cli/test_run.py::test_more", "cli/test_run.py::test_gone", "gone/", "test_gone.py"]
    names += ["cli/test_line.py::test_it[!one] ::test_it"]
    (tmp_path / "tiers.txt").write_text("# words\n\n" + "".join(f"{name} | a reason | a guard\n" for name in names))
    assert problems(read_rows(tmp_path / "tiers.txt"), tmp_path / "tests") == [
        "cli/test_run.py::test_more is in cli/test_run.py",
        "cli/test_run.py::test_gone names no test",
        "cli/test_run.py::test_gone is in cli/test_run.py",
        "gone/ names no test",
        "test_gone.py names no test",
        "cli/test_line.py::test_it[!] is in cli/test_line.py::test_it",
    ]


def test_a_guard_that_is_missing_or_slow_is_found(tmp_path: Path) -> None:
    (tmp_path / "tests" / "cli").mkdir(parents=True)
    for name in ("test_run.py", "test_line.py", "test_slow.py"):
        (tmp_path / "tests" / "cli" / name).write_text("def test_it(): ...\n")
    guards = "cli/, cli/test_line.py, cli/test_slow.py, cli/test_gone.py, the other tests of the file"
    (tmp_path / "tiers.txt").write_text(f"cli/test_run.py::test_it | a reason | {guards}\ncli/test_slow.py | a | b\n")
    assert problems(read_rows(tmp_path / "tiers.txt"), tmp_path / "tests") == [
        "cli/test_run.py::test_it: its guard cli/test_slow.py is slow",
        "cli/test_run.py::test_it: its guard cli/test_gone.py does not exist",
        "cli/test_run.py::test_it: its guard the other tests of the file are slow too",
    ]


@pytest.mark.parametrize(
    "line", ["cli/ | no guard", "cli/ | | a guard", "cli/ | a | b\ncli/ | a | b", "a.py::x ::x | a | b"]
)
def test_a_row_has_a_name_a_reason_and_a_guard_once(tmp_path: Path, line: str) -> None:
    (tmp_path / "tiers.txt").write_text(line)
    with pytest.raises(ValueError, match=r"tiers\.txt"):
        read_rows(tmp_path / "tiers.txt")


def test_a_row_counts_for_its_folder_its_file_and_all_cases_of_its_function(tmp_path: Path) -> None:
    names = [
        "stories/",
        "cli/test_run.py",
        "test_words.py::test_names",
        "client/[over HTTP]",
        "test_a.py::test_b[*-light]",
        "cli/test_names.py::test_a ::test_b[one] ::test_c[!one two !three]",
    ]
    (tmp_path / "tiers.txt").write_text("".join(f"{name} | a reason | a guard\n" for name in names))
    rows = read_rows(tmp_path / "tiers.txt")
    slow = [
        "stories/test_undo.py",
        "stories/deep/test_a.py::test_x[1]",
        "cli/test_run.py::test_a",
        "test_words.py::test_names[a::b]",
        "client/test_undo.py::test_a[over HTTP]",
        "test_a.py::test_b[wide-light]",
        "cli/test_names.py::test_a",
        "cli/test_names.py::test_b[one]",
        "cli/test_names.py::test_c[two]",
    ]
    fast = [
        "stories_of/test_a.py",
        "client/test_undo.py::test_a[over HTTP-1]",
        "test_words.py",
        "test_a.py::test_b[wide-light-1]",
        "test_a.py::test_c[wide-light]",
        "test_words.py::test_names_more",
        "cli/test_running.py::test_a",
        "cli/test_names.py::test_b[two]",
        "cli/test_names.py::test_c[one two]",
        "cli/test_names.py::test_c[three]",
        "cli/test_names.py",
    ]
    assert [item for item in slow + fast if slow_row(item, rows)] == slow


def test_a_test_that_guards_and_is_slow_itself_is_found(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_run.py").write_text("def test_it(): ...\n\ndef test_more(): ...\n")
    (tmp_path / "tiers.txt").write_text("test_run.py::test_it ::test_more | a reason | test_run.py::test_more\n")
    assert problems(read_rows(tmp_path / "tiers.txt"), tmp_path / "tests") == [
        f"test_run.py::{name}: its guard test_run.py::test_more is slow" for name in ("test_it", "test_more")
    ]


def test_the_cases_that_stay_fast_exist(request: pytest.FixtureRequest) -> None:
    items = {item.nodeid.removeprefix("tests/") for item in request.session.items}
    files = {item.partition("::")[0] for item in items}
    kept = {
        f"{name.removesuffix('[!]')}[{case}]"
        for name, row in read_rows().items()
        if name.partition("::")[0] in files
        for case in row.kept
    }
    assert sorted(kept - items) == []


def test_the_items_of_the_slow_tier_are_marked_and_no_others(request: pytest.FixtureRequest) -> None:
    rows = read_rows()
    for item in request.session.items:
        is_slow = slow_row(item.nodeid.removeprefix("tests/"), rows) is not None
        assert is_slow == (item.get_closest_marker("slow") is not None), item.nodeid


def test_ids_of_tests_are_short_and_ascii(request: pytest.FixtureRequest) -> None:
    ids = [item.nodeid.partition("[")[2] for item in request.session.items]
    assert [found for found in ids if not (found.isascii() and found.isprintable() and len(found) <= ID_LENGTH)] == []


def test_readme_runs_the_fast_tier_and_then_the_slow_one() -> None:
    section = (TESTS.parent / "README.md").read_text().partition("\n## Development\n")[2]
    [block] = [block for block in blocks("README.md") if block.language == "sh" and block.text in section]
    [install, fast, slow] = block.text.splitlines()
    assert install == 'python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]"'
    assert fast == f'.venv/bin/python -m pytest -m "{FAST}"'
    assert slow == ".venv/bin/python -m pytest -m slow"
