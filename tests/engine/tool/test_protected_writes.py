"""Every tool that writes asks about every protected file, each time, and offers no `always`."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchTool
from opencode_tui.engine.tool.builtin.edit import EditTool
from opencode_tui.engine.tool.builtin.multiedit import MultieditTool
from opencode_tui.engine.tool.builtin.write import WriteTool
from opencode_tui.schema.error import RejectedError
from tests.support.rows import each
from tests.support.world.repo import make_repo
from tests.support.world.tools import Workbench, bench_in, tree

Write = Callable[[Workbench, str], Awaitable[object]]


def patch(bench: Workbench) -> ApplyPatchTool:
    return ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)


async def apply(bench: Workbench, *lines: str) -> None:
    await bench.call(patch(bench), patchText="\n".join(["*** Begin Patch", *lines, "*** End Patch"]))


async def write_file(bench: Workbench, name: str) -> None:
    await bench.read(name)
    await bench.call(WriteTool(editor=bench.editor), filePath=name, content="new\n")


async def edit_file(bench: Workbench, name: str) -> None:
    await bench.read(name)
    await bench.call(EditTool(editor=bench.editor), filePath=name, oldString="old", newString="new")


async def multiedit_file(bench: Workbench, name: str) -> None:
    await bench.read(name)
    edits = [{"oldString": "old", "newString": "new"}]
    await bench.call(MultieditTool(editor=bench.editor), filePath=name, edits=edits)


async def patch_file(bench: Workbench, name: str) -> None:
    await apply(bench, f"*** Update File: {name}", "@@", "-old", "+new")


async def delete_file(bench: Workbench, name: str) -> None:
    await apply(bench, f"*** Delete File: {name}")


async def move_file_away(bench: Workbench, name: str) -> None:
    await apply(bench, f"*** Update File: {name}", "*** Move to: harmless.txt")


async def move_file_there(bench: Workbench, name: str) -> None:
    (bench.folder / "source.txt").write_text("old\n")
    await apply(bench, "*** Update File: source.txt", f"*** Move to: {name}")


async def overwrite_file(bench: Workbench, name: str) -> None:
    await apply(bench, f"*** Add File: {name}", "+new")


async def create_by_write(bench: Workbench, name: str) -> None:
    (bench.folder / name).unlink()
    await bench.call(WriteTool(editor=bench.editor), filePath=name, content="new\n")


async def create_by_edit(bench: Workbench, name: str) -> None:
    (bench.folder / name).unlink()
    await bench.call(EditTool(editor=bench.editor), filePath=name, oldString="", newString="new\n")


async def create_by_multiedit(bench: Workbench, name: str) -> None:
    (bench.folder / name).unlink()
    edits = [{"oldString": "", "newString": "new\n"}]
    await bench.call(MultieditTool(editor=bench.editor), filePath=name, edits=edits)


async def create_by_patch(bench: Workbench, name: str) -> None:
    (bench.folder / name).unlink()
    await apply(bench, "*** Add File: harmless.txt", "+x", f"*** Add File: {name}", "+new")


CHANGES = [
    write_file,
    edit_file,
    multiedit_file,
    patch_file,
    delete_file,
    move_file_away,
    move_file_there,
    overwrite_file,
]
CREATIONS = [create_by_write, create_by_edit, create_by_multiedit, create_by_patch]
PATHS = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".GIT/hooks/pre-commit",
    "n/.git/config",
    "n/m/.git",
    ".husky/pre-commit",
    ".envrc",
    ".bashrc",
    "opencode.json",
    ".opencode/plugin/a.py",
    ".claude/settings.json",
    ".mcp.json",
    ".vscode/tasks.json",
    "bare/config",
    "bare/hooks/post-checkout",
]


def fill(folder: Path, name: str) -> None:
    for one in ("bare/HEAD", "bare/objects/x", "bare/refs/x", name):
        path = folder / one
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old\n")


@pytest.mark.slow
@each("write", [*CHANGES, *CREATIONS])
@each("name", PATHS)
async def test_a_write_to_a_protected_file_must_be_asked(row_path: Path, write: Write, name: str) -> None:
    bench = bench_in(row_path)
    fill(bench.folder, name)
    bench.refused.add("edit")
    with pytest.raises(RejectedError):
        await write(bench, name)
    [asked] = [one for one in bench.asked if one.permission == "edit"]
    assert asked.always == []
    assert asked.must_ask == [name]
    assert asked.metadata["protected"] == [name]


@each(
    ("write", "link"),
    [(write, "folder") for write in CHANGES]
    + [(write, link) for write in CHANGES if write not in (delete_file, move_file_away) for link in ("file", "target")],
)
async def test_a_write_through_a_link_to_or_from_a_protected_name_must_be_asked(
    row_path: Path, write: Write, link: str
) -> None:
    bench = bench_in(row_path)
    fill(bench.folder, ".git/config")
    if link == "file":
        (bench.folder / "notes").symlink_to(".git/config")
        name, real = "notes", ".git/config"
    elif link == "folder":
        (bench.folder / "docs").symlink_to(".git")
        name, real = "docs/config", ".git/config"
    else:
        (bench.folder / "plain").write_text("old\n")
        (bench.folder / ".envrc").symlink_to("plain")
        name, real = ".envrc", "plain"
    bench.refused.add("edit")
    with pytest.raises(RejectedError):
        await write(bench, name)
    [asked] = [one for one in bench.asked if one.permission == "edit"]
    assert asked.must_ask == [name, real]
    assert asked.always == []


@pytest.mark.parametrize(
    ("name", "target", "protected"), [("notes", ".git/config", []), (".envrc", "plain", [".envrc"])]
)
async def test_the_deletion_of_a_link_is_about_its_own_name(
    bench: Workbench, name: str, target: str, protected: list[str]
) -> None:
    fill(bench.folder, target)
    (bench.folder / name).symlink_to(target)
    await delete_file(bench, name)
    [asked] = bench.asked
    assert (asked.patterns, asked.must_ask) == ([name], protected)
    assert (bench.folder / target).read_text() == "old\n"


@each("write", CHANGES)
@each("name", ["AGENTS.md", "CLAUDE.md", "src/a.py", "package.json", ".opencode/plans/a.md"])
async def test_other_files_may_be_allowed_by_rules(row_path: Path, write: Write, name: str) -> None:
    bench = bench_in(row_path)
    fill(bench.folder, name)
    await write(bench, name)
    [asked] = [one for one in bench.asked if one.permission == "edit"]
    assert asked.must_ask == []
    assert asked.always == ["*"]
    assert "protected" not in asked.metadata


@pytest.mark.slow
@each("write", [*CHANGES, *CREATIONS])
async def test_a_write_to_a_folder_of_hooks_that_the_settings_name_must_be_asked(row_path: Path, write: Write) -> None:
    bench = bench_in(row_path)
    make_repo(bench.folder).git("config", "core.hooksPath", "scripts/hooks")
    fill(bench.folder, "scripts/hooks/pre-commit")
    bench.refused.add("edit")
    with pytest.raises(RejectedError):
        await write(bench, "scripts/hooks/pre-commit")
    [asked] = [one for one in bench.asked if one.permission == "edit"]
    assert asked.must_ask == ["scripts/hooks/pre-commit"]


async def test_one_patch_that_makes_a_folder_into_a_repository_must_be_asked(bench: Workbench) -> None:
    bench.refused.add("edit")
    names = ["evil/HEAD", "evil/config", "evil/objects/x", "evil/refs/x"]
    with pytest.raises(RejectedError):
        await apply(bench, *(line for name in names for line in (f"*** Add File: {name}", "+x")))
    assert bench.asked[0].must_ask == names
    assert tree(bench.folder) == {}


@pytest.mark.parametrize("write", CHANGES)
async def test_folders_of_skills_outside_the_project_are_protected(tmp_path: Path, write: Write) -> None:
    skill = tmp_path / "home" / "skills" / "s"
    project = tmp_path / "project"
    project.mkdir()
    bench = Workbench(project, protected=[skill], refused={"edit"})
    fill(project, str(skill / "run.sh"))
    with pytest.raises(RejectedError):
        await write(bench, str(skill / "run.sh"))
    [asked] = [one for one in bench.asked if one.permission == "edit"]
    assert os.path.relpath(skill / "run.sh", project) in asked.must_ask
