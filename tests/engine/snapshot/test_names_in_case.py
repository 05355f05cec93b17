"""Names that differ only in case: undo and redo are exact where a file system tells them apart, and where it does not."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from tests.support.snapshot.worktree import CaseIgnoringDisk, Fact, World

Act = tuple[str, str, str]
"""A file to move to a name, or to write there with a text."""


def do(world: World, acts: Sequence[Act]) -> None:
    for kind, name, given in acts:
        path = world.root / name
        if kind == "write":
            world.write(name, given)
        elif kind == "remove":
            path.unlink()
        else:
            path.rename(world.root / given)


@dataclass(frozen=True)
class Case:
    """What the agent does in each turn, with what the user does at the end; `kept` are the files that the undo leaves."""

    name: str
    turns: tuple[tuple[Act, ...], ...]
    user: tuple[Act, ...] = ()
    kept: tuple[str, ...] = ()


def move(old: str, new: str) -> Act:
    return ("move", old, new)


CASES = [
    Case("renamed", ((move("readme.md", "README.md"),),)),
    Case("renamed in a folder", ((move("src/Util.py", "src/util.py"),),)),
    Case("renamed and edited", ((move("readme.md", "README.md"), ("write", "README.md", "edited\n")),)),
    Case("renamed twice", ((move("readme.md", "ReadMe.md"), move("ReadMe.md", "README.md")),)),
    Case("renamed in two turns", ((move("readme.md", "ReadMe.md"),), (move("ReadMe.md", "README.md"),))),
    Case("renamed and back", ((move("readme.md", "README.md"),), (move("README.md", "readme.md"),))),
    Case("edited, then renamed", ((("write", "readme.md", "1\n"),), (move("readme.md", "README.md"),))),
    Case("not ASCII", ((move("größe", "GRÖSSE"),),)),
    Case("moved to another folder", ((move("src/Util.py", "util.py"),),)),
    Case("made, then renamed", ((("write", "new", "n\n"),), (move("new", "NEW"),))),
    Case("removed and made anew", ((("remove", "readme.md", ""), ("write", "README.md", "other\n")),)),
    Case(
        "renamed, then edited by the user",
        ((move("readme.md", "README.md"),),),
        (("write", "README.md", "mine\n"),),
        ("README.md", "readme.md"),
    ),
]


def files(world: World) -> dict[str, Fact]:
    return {name: fact for name, fact in world.facts().items() if fact[0] != "folder"}


def start(world: World, *, ignores_case: bool) -> None:
    if ignores_case:
        world.snapshots = world.service(CaseIgnoringDisk(os.path.realpath(world.root)))
    for name in ("readme.md", "src/Util.py", "größe"):
        world.write(name, f"{name}\n")


@pytest.mark.fast_cases("renamed in a folder-case ignored", "renamed and edited-case ignored")
@pytest.mark.parametrize("ignores_case", [True, False], ids=["case ignored", "case matters"])
@pytest.mark.parametrize("case", [case for case in CASES if not case.user], ids=lambda case: case.name)
async def test_renames_in_case_are_undone_and_redone(world: World, case: Case, *, ignores_case: bool):
    start(world, ignores_case=ignores_case)
    before = files(world)
    patches = [await world.step(lambda turn=turn: do(world, turn)) for turn in case.turns]
    after = files(world)
    preview = await world.snapshots.preview(patches)
    report = await world.snapshots.revert(patches)
    assert (files(world), report.kept, report.failed) == (before, [], [])
    assert (world.inside(preview.restored), world.inside(preview.deleted)) == (
        world.inside(report.restored),
        world.inside(report.deleted),
    )
    redone = await world.snapshots.unrevert(report)
    assert (files(world), redone.kept, redone.failed) == (after, [], [])


@pytest.mark.parametrize("case", [case for case in CASES if case.user], ids=lambda case: case.name)
async def test_what_the_user_did_to_a_renamed_file_is_kept(world: World, case: Case):
    start(world, ignores_case=True)
    patches = [await world.step(lambda turn=turn: do(world, turn)) for turn in case.turns]
    do(world, case.user)
    after = files(world)
    report = await world.snapshots.revert(patches)
    assert (files(world), tuple(world.inside(report.kept))) == (after, case.kept)
    await world.snapshots.unrevert(report)
    assert files(world) == after


def both(world: World) -> None:
    world.write("README.md", "another file\n")
    world.write("SRC/Util.py", "another folder\n")


@pytest.mark.parametrize("act", [both, lambda world: (world.root / "src").rename(world.root / "Src")])
async def test_where_case_matters_both_names_and_renamed_folders_are_exact(
    world: World, act: Callable[[World], object]
):
    start(world, ignores_case=False)
    before = world.facts()
    patch = await world.step(lambda: act(world))
    after = world.facts()
    report = await world.snapshots.revert([patch])
    assert (world.facts(), report.kept, report.failed) == (before, [], [])
    await world.snapshots.unrevert(report)
    assert world.facts() == after
