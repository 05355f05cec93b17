"""Undo brings back what was, and touches nothing that somebody changed since."""

import contextlib
import itertools
import os
import shutil
import stat
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.session.undo import RevertReport, UndoFile, UndoFiles
from tests.support.snapshot.worktree import Death, Fact, Fault, FaultyDisk, World, patch_of
from tests.support.world.repo import make_repo


async def turns(world: World, *changes: dict[str, str | None]) -> list[Patch]:
    """Return one patch a turn; a turn writes files, or removes them with None."""

    def act(name: str, text: str | None) -> None:
        if text is None:
            (world.root / name).unlink()
        else:
            world.write(name, text)

    return [await world.step(*[lambda n=n, t=t: act(n, t) for n, t in change.items()]) for change in changes]


def texts(world: World) -> dict[str, str]:
    return {path: fact[2].decode() for path, fact in world.facts().items() if fact[0] == "file"}


def named(world: World, files: list[UndoFile]) -> list[tuple[str, str | None]]:
    return [(world.inside([file])[0], file.reason) for file in files]


def effects(world: World, found: UndoFiles) -> tuple[list[str], list[str], list[tuple[str, str | None]]]:
    return world.inside(found.restored), world.inside(found.deleted), named(world, found.kept)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (0, {"a": "a0", "b": "b0", "c": "c0"}),
        (1, {"a": "a1", "b": "b0", "c": "c0"}),
        (2, {"a": "a1", "b": "b2", "c": "c0"}),
    ],
)
async def test_undo_goes_back_to_any_turn_and_forth_again(world: World, turn: int, expected: dict[str, str]):
    for name in "abc":
        world.write(name, f"{name}0")
    patches = await turns(world, {"a": "a1"}, {"b": "b2"}, {"c": "c3"})
    report = await world.snapshots.revert(patches[turn:])
    assert texts(world) == expected
    await world.snapshots.unrevert(report)
    assert texts(world) == {"a": "a1", "b": "b2", "c": "c3"}


async def test_one_file_over_three_turns_goes_back_to_each(world: World):
    world.write("a", "a0")
    patches = await turns(world, {"a": "a1"}, {"a": "a2"}, {"a": "a3"})
    report: RevertReport | None = None
    for number in (2, 0, 1):
        report = await world.snapshots.revert(patches[number:], active=report)
        assert texts(world) == {"a": f"a{number}"}
    assert report is not None
    await world.snapshots.unrevert(report)
    assert texts(world) == {"a": "a3"}


async def test_a_folder_that_was_made_and_emptied_comes_and_goes_with_its_turn(world: World):
    world.write("a", "a0")
    patches = await turns(world, {"a": "a1"}, {"d/x": "x1"}, {"d/x": None})
    report: RevertReport | None = None
    for _ in range(2):
        report = await world.snapshots.revert(patches[2:], active=report)
        assert set(world.facts()) == {"a", "d", "d/x"}
        report = await world.snapshots.revert(patches, active=report)
        assert set(world.facts()) == {"a"}
    assert report is not None
    await world.snapshots.unrevert(report)
    assert set(world.facts()) == {"a", "d"}


async def test_deleted_changed_and_new_files_and_folders_are_as_before(world: World):
    world.write("a", "a", mode=0o600)
    world.write("gone/x", "x")
    (world.root / "gone").chmod(0o700)
    (world.root / "empty").mkdir()
    (world.root / "link").symlink_to("a")
    before = world.facts()

    def work() -> None:
        (world.root / "a").unlink()
        (world.root / "gone" / "x").unlink()
        (world.root / "gone").rmdir()
        (world.root / "empty").rmdir()
        (world.root / "link").unlink()
        world.write("link/is/folder/now", b"\0")
        world.write("new")

    patch = await world.step(work)
    after = world.facts()
    report = await world.snapshots.revert([patch])
    assert world.facts() == before
    await world.snapshots.unrevert(report)
    assert world.facts() == after


async def test_undo_of_nothing_changes_nothing(world: World):
    world.write("a")
    for patches in ([], await turns(world, {})):
        report = await world.snapshots.revert(patches)
        assert (report.restored, report.deleted, report.kept) == ([], [], [])


async def test_a_file_that_never_existed_is_no_error(world: World):
    (patch,) = await turns(world, {"a": "1"})
    report = await world.snapshots.revert([patch.changed(files=[*patch.files, str(world.root / "never")])])
    assert (world.inside(report.deleted), report.kept) == (["a"], [])


@pytest.mark.slow
@pytest.mark.parametrize("order", list(itertools.permutations(range(5), 3)), ids=str)
async def test_a_path_that_is_a_file_then_a_folder_is_exact_after_any_undo_of_an_undo(
    world: World, order: tuple[int, ...]
):
    def file() -> None:
        shutil.rmtree(world.root / "d", ignore_errors=True)
        world.write("d", "one")

    def empty_folder() -> None:
        (world.root / "d").unlink()
        (world.root / "d/x").mkdir(parents=True)

    def link() -> None:
        shutil.rmtree(world.root / "d")
        (world.root / "d").symlink_to("other")

    def filled_folder() -> None:
        (world.root / "d").unlink()
        world.write("d/x/file", "two")

    states: list[dict[str, Fact]] = []
    patches: list[Patch] = []
    for act in (file, filled_folder, link, empty_folder):
        states.append(world.facts())
        patches.append(await world.step(act))
    states.append(world.facts())
    report: RevertReport | None = None
    for turn in order:
        report = await world.snapshots.revert(patches[turn:], active=report)
        assert (world.facts(), report.kept, report.failed) == (states[turn], [], [])
    assert report is not None
    await world.snapshots.unrevert(report)
    assert world.facts() == states[-1]


async def test_what_the_user_changed_since_is_reported_and_stays(world: World):
    world.write("a", "a0")
    world.write("b", "b0")
    patches = await turns(world, {"a": "a1", "b": "b1", "new": "n"})
    world.write("a", "mine")
    world.write("new", "mine too")
    report = await world.snapshots.revert(patches)
    assert named(world, report.kept) == [("a", "it was changed since"), ("new", "it was changed since")]
    assert texts(world) == {"a": "mine", "b": "b0", "new": "mine too"}


async def test_a_change_between_two_steps_is_named_and_nothing_is_overwritten(world: World):
    world.write("a", "a0")
    (first,) = await turns(world, {"a": "a1"})
    world.write("a", "mine")
    (second,) = await turns(world, {"a": "a2"})
    report = await world.snapshots.revert([first, second])
    assert named(world, report.kept) == [("a", "changed outside the session")]
    assert texts(world) == {"a": "a2"}


async def test_a_folder_with_a_file_of_the_user_in_it_stays(world: World):
    patches = await turns(world, {"d/x": "1"})
    world.write("d/mine")
    report = await world.snapshots.revert(patches)
    assert (texts(world), report.kept) == ({"d/mine": "x\n"}, [])


async def test_undo_never_follows_a_link_that_came_since(world: World, tmp_path: Path):
    world.write("d/x", "1")
    patches = await turns(world, {"d/x": "2"})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text("2")
    (world.root / "d" / "x").unlink()
    (world.root / "d").rmdir()
    (world.root / "d").symlink_to(tmp_path / "out")
    report = await world.snapshots.revert(patches)
    assert named(world, report.kept) == [("d/x", "it was changed since")]
    assert (tmp_path / "out" / "x").read_text() == "2"


async def test_a_patch_without_its_after_state_proves_nothing(world: World):
    world.write("a", "a0")
    (patch,) = await turns(world, {"a": "a1", "new": "n"})
    report = await world.snapshots.revert([Patch(hash=patch.hash, files=patch.files)])
    assert [reason for _, reason in named(world, report.kept)] == ["no snapshot for this step"] * 2
    assert texts(world) == {"a": "a1", "new": "n"}


async def test_files_outside_the_project_or_in_a_repository_are_left_alone(world: World, tmp_path: Path):
    make_repo(world.root)
    (patch,) = await turns(world, {"a": "1"})
    strange = [str(tmp_path / "home"), str(world.root / ".git" / "config"), str(world.root / ".." / "x")]
    report = await world.snapshots.revert([patch.changed(files=strange)])
    assert sorted(remark.path for remark in report.unprotected) == sorted(strange)
    assert (report.deleted, report.restored) == ([], [])


async def test_a_lost_store_refuses_and_leaves_everything(world: World):
    world.write("a", "a0")
    patches = await turns(world, {"a": "a1", "new": "n"})
    for file in world.paths.snapshot.rglob("*.pack"):
        file.unlink()
    world.reopen()
    with pytest.raises(SnapshotError, match="has no object"):
        await world.snapshots.revert(patches)
    assert texts(world) == {"a": "a1", "new": "n"}


async def test_the_preview_tells_what_undo_then_does(world: World):
    world.write("a", "1\n2\n")
    world.write("c", "c")
    patches = await turns(world, {"a": "1\n2\n3\n", "new": "n\n", "c": "c1"})
    world.write("c", "mine")
    preview = await world.snapshots.preview(patches)
    report = await world.snapshots.revert(patches)
    assert effects(world, preview) == effects(world, report)
    changed = [*preview.restored, *preview.deleted]
    assert (sum(file.additions for file in changed), sum(file.deletions for file in changed)) == (0, 2)


async def test_the_preview_keeps_a_folder_in_which_something_else_remains(world: World):
    world.write("was_file", "1")

    def make_folders() -> None:
        for name in ("filled", "outer/inner", "gone/deep"):
            (world.root / name).mkdir(parents=True)
        (world.root / "was_file").unlink()
        (world.root / "was_file").mkdir()

    patches = [await world.step(make_folders)]
    for name in ("filled/mine", "outer/inner/mine", "was_file/mine"):
        world.write(name, "mine")
    preview = await world.snapshots.preview(patches)
    report = await world.snapshots.revert(patches)
    assert effects(world, preview) == effects(world, report)
    assert named(world, preview.kept) == [
        (name, "the folder holds something else") for name in ("filled", "outer/inner", "was_file")
    ]
    assert set(world.facts()) == {"filled", "outer", "outer/inner", "was_file"} | {
        f"{name}/mine" for name in ("filled", "outer/inner", "was_file")
    }
    assert (await world.snapshots.unrevert(report)).kept == []
    assert (world.root / "gone/deep").is_dir()


async def test_the_mode_alone_is_brought_back_without_a_new_file(world: World):
    file = world.write("a", mode=0o640)
    inode = file.stat().st_ino
    patch = await world.step(lambda: file.chmod(0o755))
    await world.snapshots.revert([patch])
    assert (stat.S_IMODE(file.stat().st_mode), file.stat().st_ino) == (0o640, inode)


async def test_another_sessions_writes_are_left_out(world: World):
    world.write("mine", "0")
    world.write("theirs", "0")
    recording = world.recording(session="ses_mine")
    await recording.begin_command()
    world.write("mine", "1")
    await world.tool_write(world.recording(session="ses_other", message="msg_2"), "theirs", "1")
    await recording.end_command()
    await world.snapshots.revert([patch_of(recording)])
    assert texts(world) == {"mine": "0", "theirs": "1"}


async def test_what_two_shells_may_have_changed_is_a_conflict(world: World):
    world.write("a", "0")
    recording, other = world.recording(session="ses_mine"), world.recording(session="ses_other", message="msg_2")
    await recording.begin_command()
    await other.begin_command()
    world.write("a", "1")
    await recording.end_command()
    world.reopen()
    report = await world.snapshots.revert([patch_of(recording)])
    assert named(world, report.kept) == [("a", "possibly changed concurrently")]
    assert texts(world) == {"a": "1"}


async def test_two_processes_wait_for_each_other(world: World):
    world.write("a", "0")
    (patch,) = await turns(world, {"a": "1"})
    other = world.service()
    await other.track()
    report = await other.revert([patch])
    assert (await world.snapshots.revert([patch])).restored == []
    assert world.inside(report.restored) == ["a"]


async def test_nothing_temporary_is_left(world: World):
    patches = await turns(world, {"d/a": "1", "b": "2"})
    await world.snapshots.unrevert(await world.snapshots.revert(patches))
    left = [name for _, _, names in os.walk(world.root) for name in names]
    assert sorted(left) == ["a", "b"]


async def made_filled_and_replaced(world: World) -> list[Patch]:
    """The agent makes a folder, the user puts a file in it, the agent replaces the folder by a file."""

    def replace() -> None:
        shutil.rmtree(world.root / "d")
        world.write("d", "a file now")

    first = await world.step(lambda: world.write("d/made"))
    world.write("d/mine", "mine")
    return [first, await world.step(replace)]


async def test_a_folder_stays_for_what_the_user_had_put_into_it(world: World):
    patches = await made_filled_and_replaced(world)
    report = await world.snapshots.revert(patches)
    assert (report.failed, report.kept) == ([], [])
    assert {name: fact[0] for name, fact in world.facts().items()} == {"d": "folder", "d/mine": "file"}


@pytest.mark.slow
async def test_such_a_folder_is_the_agents_file_again_after_a_kill(world: World):
    patches = await made_filled_and_replaced(world)
    after = world.facts()
    for at in range(4, 30):
        dying = world.service(FaultyDisk(os.path.realpath(world.root), Fault(at, Death(), lasting=True)))
        with contextlib.suppress(Death):
            await world.snapshots.unrevert(await dying.revert(patches))
        world.reopen()
        await world.snapshots.preview([])
        assert (at, world.facts()) == (at, after)
