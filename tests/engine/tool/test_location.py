"""Claims about where a path leads: reference tests "paths"; reference, section 28."""

from pathlib import Path

import pytest

from opencode_tui.engine.tool.location import locate
from tests.support.world.tools import Workbench


@pytest.mark.parametrize(
    ("written", "inside"),
    [
        ("src", True),
        (".", True),
        ("src/../a", True),
        ("../project", True),
        ("../project-other/a", False),
        ("../../etc/passwd", False),
        ("src/../../x", False),
        ("/etc/passwd", False),
        ("/", False),
    ],
)
async def test_only_paths_below_the_project_are_inside(tmp_path: Path, written: str, inside: bool) -> None:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    place = await locate(written, Workbench(folder).context)
    assert place.is_inside is inside


@pytest.mark.parametrize(("worktree", "inside"), [("..", True), ("/", False), (".", False)])
async def test_a_neighbour_is_inside_where_the_worktree_holds_both(tmp_path: Path, worktree: str, inside: bool) -> None:
    folder = tmp_path / "packages" / "one"
    folder.mkdir(parents=True)
    bench = Workbench(folder, worktree=(folder / worktree).resolve())
    assert (await locate("../two/a.py", bench.context)).is_inside is inside


@pytest.mark.parametrize("name", ["*.env", "?.env", "*"])
async def test_no_grant_is_made_for_a_name_with_wildcards(bench: Workbench, name: str) -> None:
    (bench.folder / name).write_text("x")
    (bench.folder.parent / name).mkdir()
    (bench.folder.parent / name / "a").write_text("x")
    await bench.read(name, str(bench.folder.parent / name / "a"))
    assert [(asked.permission, asked.always) for asked in bench.asked] == [
        ("read", []),
        ("external_directory", []),
        ("read", []),
    ]
