"""Ignore rules give what git gives."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opencode_tui.engine.snapshot.scan.ignore import Rules
from tests.support.world.repo import make_repo

PIECES = st.sampled_from(
    ["a", "b", "ab", "*", "?", "[ab]", "**", "a*", "*.c", "x.c", r"\a", r"\#a", "a b", "ä", "*a*b*", "**a?*"]
)
PATTERNS = st.builds(
    lambda negated, rooted, parts, folder: f"{negated}{rooted}{'/'.join(parts)}{folder}",
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PIECES, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " "]),
)
PATHS = ["a", "b", "ab", "x.c", "#a", "ä", "a b", "d/a", "d/ab", "d/x.c", "d/d/b", "b/a", "b/b/x.c", "a\nb", "ab/x.c"]


def ours(root: Path, path: str) -> bool:
    """Walk down as a scan does: what is below an ignored folder is ignored."""
    rules, parts = Rules(), path.split("/")
    for depth in range(len(parts)):
        folder = "/".join(parts[:depth])
        rules = rules.with_file(str(root / folder / ".gitignore"), folder)
        if rules.ignores("/".join(parts[: depth + 1]), is_folder=depth < len(parts) - 1):
            return True
    return False


def by_git(root: Path, paths: list[str]) -> set[str]:
    given_paths = "\0".join(paths).encode()
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=root,
        env=environ,
        input=given_paths,
        capture_output=True,
    )
    return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=st.lists(PATTERNS, max_size=4), inner=st.lists(PATTERNS, max_size=2))
def test_the_same_paths_are_ignored_as_by_git(tmp_path: Path, top: list[str], inner: list[str]):
    root = tmp_path / "repo"
    if not root.exists():
        make_repo(root)
        (root / "d" / "d").mkdir(parents=True)
        (root / "b" / "b").mkdir(parents=True)
        (root / "ab").mkdir()
    paths = [path for path in PATHS if path not in ("b", "ab")]
    (root / ".gitignore").write_text("\n".join(top))
    (root / "d" / ".gitignore").write_text("\n".join(inner))
    assert {path for path in paths if ours(root, path)} == by_git(root, paths)


def test_a_link_in_place_of_an_ignore_file_says_nothing(tmp_path: Path):
    (tmp_path / "rules").write_text("*\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    assert not Rules().with_file(str(tmp_path / ".gitignore"), "").ignores("a", is_folder=False)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("*a" * 50 + "b", "a" * 250),
        ("**/a/" * 12 + "b", "a/" * 500 + "a"),
        ("a/**/a*a/" * 12 + "**/b", "aa/" * 300 + "a"),
        ("**/*/" * 12 + "b", "a/" * 500 + "a"),
        ("[ab]*" * 40 + "c", "ab" * 120),
    ],
)
def test_no_line_of_a_repository_takes_long(line: str, path: str):
    assert not Rules().with_text(line, "").ignores(path, is_folder=False)


def test_an_invalid_range_is_passed_over_as_by_git():
    rules = Rules().with_text("a[z-a]\nb\n", "")
    assert [rules.ignores(name, is_folder=False) for name in ("a", "b")] == [False, True]
