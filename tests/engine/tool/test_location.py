"""Claims about where a path leads: docs/internals/tools.md."""

from pathlib import Path

import pytest

from opencode_tui.engine.tool.location import locate
from opencode_tui.schema.error import ToolError
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


@pytest.mark.parametrize(
    "written",
    [
        "away",
        "away/new/file",
        "away/" + "x" * 300,
        "away/" + "y/" * 3_000,
        "away/src/../../x",
        "circle/file",
        "circle",
        "src/gone/file",
        "long/file",
        "a/../away/file",
        "file/../away/x",
    ],
)
async def test_what_cannot_be_resolved_is_never_inside(tmp_path: Path, written: str) -> None:
    """CVE-2026-50549: a path that fails to resolve is not compared as it is written."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "file").write_text("x")
    (tmp_path / "outside").mkdir()
    (folder / "away").symlink_to(tmp_path / "outside")
    (folder / "circle").symlink_to("circle")
    (folder / "src/gone").symlink_to(tmp_path / "gone")
    (folder / "long").symlink_to(tmp_path / ("z" * 255) / ("z" * 255))
    try:
        is_inside = (await locate(written, Workbench(folder).context)).is_inside
    except ToolError:
        is_inside = False
    assert not is_inside


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
