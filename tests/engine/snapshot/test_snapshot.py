"""The content of a snapshot, and of a step's patch. Source: the tests of OpenCode 1.1.65, restated."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.report import PathNote
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.storage.paths import Paths
from tests.support.snapshot.worktree import World, patch_of
from tests.support.world.repo import make_repo, run_git


@pytest.fixture
def project(world: World) -> World:
    repo = make_repo(world.root)
    repo.commit(**{"a.txt": "a\n", "b.txt": "b\n"})
    return world


async def changed_by(world: World, *acts: Callable[[], object]) -> list[str]:
    return world.inside((await world.step(*acts)).files)


async def test_an_unchanged_worktree_has_the_same_id_each_time(project: World):
    ids = {(await project.snapshots.track()).id for _ in range(3)}
    project.reopen()
    assert ids == {(await project.snapshots.track()).id}


async def test_deleted_changed_and_new_files_are_told(project: World):
    files = await changed_by(
        project,
        (project.root / "a.txt").unlink,
        lambda: project.write("b.txt", "other"),
        lambda: project.write("deep/er/c", b"\0\1"),
        lambda: (project.root / "l").symlink_to("nowhere"),
        lambda: (project.root / "dl").symlink_to("."),
    )
    assert files == ["a.txt", "b.txt", "deep/er/c", "dl", "l"]


async def test_an_empty_folder_is_recorded_because_it_can_be_restored(project: World):
    assert await changed_by(project, lambda: (project.root / "empty" / "er").mkdir(parents=True)) == ["empty/er"]


@pytest.mark.fast_cases("with space", ".hidden")
@pytest.mark.parametrize(
    "name",
    ["with space", "-dash_and_", "文件/名.txt", "🦀", "é", "кириллица", "n" * 200, '"quo\tted"\\', ".hidden", "a\nb"],
)
async def test_any_name_is_recorded_unchanged(project: World, name: str):
    assert await changed_by(project, lambda: project.write(name)) == [name]


async def test_a_name_that_is_no_text_is_told(project: World):
    name = os.fsdecode(b"bad\xff")
    assert await changed_by(project, lambda: project.write(name)) == [name]


async def test_a_mode_that_came_back_is_no_change(project: World):
    file = project.root / "a.txt"
    assert await changed_by(project, lambda: file.chmod(0o600), lambda: file.chmod(0o644)) == []


async def test_all_twelve_mode_bits_count(project: World):
    assert await changed_by(project, lambda: (project.root / "a.txt").chmod(0o4755)) == ["a.txt"]


async def test_a_change_of_the_same_size_and_time_is_seen(project: World):
    file = project.root / "a.txt"
    await project.snapshots.track()
    status = file.stat()

    def change() -> None:
        file.write_text("z\n")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert await changed_by(project, change) == ["a.txt"]


async def test_ignored_files_count_and_what_tools_make_again_is_left_out_and_named(project: World):
    project.write(".gitignore", "*.ignored\n/build/\n")
    project.write("x.ignored")
    project.write("build/out")
    taken = await project.snapshots.track()
    assert taken.unprotected == [PathNote(path="build", reason="ignored, and tools make it again")]
    files = await changed_by(project, lambda: project.write("y.ignored"), lambda: project.write("build/y"))
    assert files == ["y.ignored"]


async def test_a_file_of_the_repository_counts_although_ignored(project: World):
    project.write(".gitignore", "build\n")
    project.write("build/a.txt", "1")
    run_git(project.root, "add", "--force", "build/a.txt")
    acts = (lambda: project.write("build/a.txt", "2"), lambda: project.write("build/c.txt"))
    assert await changed_by(project, *acts) == ["build/a.txt"]


async def test_a_file_that_a_step_made_and_hid_is_told(project: World):
    files = await changed_by(project, lambda: project.write("made"), lambda: project.write(".gitignore", "made\n"))
    assert files == [".gitignore", "made"]


async def test_large_and_special_files_are_named(project: World, monkeypatch: pytest.MonkeyPatch):
    project.write("large", b"x" * (2 * 1024 * 1024 + 1))
    os.mkfifo(project.root / "pipe")
    monkeypatch.chdir(project.root)  # a socket's whole path may be too long for the system
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
    taken = await project.snapshots.track()
    assert [remark.path for remark in taken.unprotected] == ["large", "sock"]


async def test_files_of_a_repository_inside_are_recorded_but_not_its_data(project: World):
    make_repo(project.root / "inner").commit(f="1")
    taken = await project.snapshots.track()
    assert taken.unprotected == [PathNote(path="inner/.git", reason="data of a repository")]
    assert await changed_by(project, lambda: project.write("inner/f", "2")) == ["inner/f"]


async def test_a_link_out_of_the_project_is_named_and_kept(project: World, tmp_path: Path):
    (tmp_path / "outside").write_text("precious")
    (project.root / "link").symlink_to("../outside")
    taken = await project.snapshots.track()
    assert [remark.path for remark in taken.unprotected] == ["link"]
    assert await changed_by(project, (project.root / "link").unlink) == ["link"]


async def test_our_own_data_in_the_worktree_is_left_out(tmp_path: Path):
    home = tmp_path / "home"
    paths = Paths(
        home, *(tmp_path / "project" / name / "opencode-tui" for name in ("data", "config", "state", "cache"))
    )
    world = World(tmp_path / "project", paths)
    world.write("data/mine")
    assert await changed_by(world, lambda: world.write("data/mine", "2")) == ["data/mine"]


@pytest.mark.parametrize("place", ["/", "home", "above", "data"])
def test_folders_that_are_too_large_or_ours_are_refused(tmp_path: Path, paths: Paths, place: str):
    folder = {"/": Path("/"), "home": paths.home, "above": tmp_path, "data": paths.data / "x"}[place]
    world = World(tmp_path / "unused", paths)
    world.root = folder
    assert "undo is off here" in str(world.service().unavailable)


async def test_two_projects_each_see_their_own(project: World, tmp_path: Path, paths: Paths):
    other = World(tmp_path / "other", paths)
    first = await project.snapshots.track()
    assert await changed_by(other, lambda: other.write("only")) == ["only"]
    assert (await project.snapshots.patch(first.id)).files == []


async def test_a_linked_worktree_is_a_worktree_of_its_own(project: World, tmp_path: Path, paths: Paths):
    make_repo(project.root).link(tmp_path / "linked")
    linked = World(tmp_path / "linked", paths)
    patch = await linked.step(lambda: linked.write("a.txt", "2"))
    project.write("a.txt", "mine")
    await linked.snapshots.revert([patch])
    assert (linked.facts()["a.txt"][2], project.facts()["a.txt"][2]) == (b"a\n", b"mine")


async def test_a_store_from_before_the_first_commit_stays_in_use(world: World, paths: Paths):
    world.write("a")
    before = await world.snapshots.track()
    later = world.service()
    later.lock.project_id = "0" * 40
    world.write("a", "2")
    assert world.inside((await later.patch(before.id)).files) == ["a"]


@pytest.mark.parametrize("name", ["invalid-hash", "0" * 40])
async def test_an_unknown_snapshot_is_an_error_that_names_it(project: World, name: str):
    with pytest.raises(SnapshotError, match=name):
        await project.snapshots.patch(name)


async def test_a_write_is_recorded_although_a_scan_leaves_the_file_out(project: World):
    project.write(".gitignore", "secret\n")
    project.write("secret", "1")
    recording = project.recording()
    await project.tool_write(recording, "secret", "2")
    project.write("a.txt", "not recorded")
    patch = patch_of(recording)
    assert project.inside(patch.files) == ["secret"]
    await project.snapshots.revert([patch])
    assert (project.facts()["secret"][2], project.facts()["a.txt"][2]) == (b"1", b"not recorded")


async def test_a_write_before_a_command_and_the_command_make_one_state(project: World):
    recording = project.recording()
    await project.tool_write(recording, "a.txt", "by the tool")
    await recording.begin_command()
    project.write("b.txt", "by the shell")
    await recording.end_command()
    assert project.inside(patch_of(recording).files) == ["a.txt", "b.txt"]
    await project.snapshots.revert([patch_of(recording)])
    assert (project.facts()["a.txt"][2], project.facts()["b.txt"][2]) == (b"a\n", b"b\n")


async def test_diff_gives_texts_and_numbers_of_lines(project: World):
    project.write("grow", "1\n2\n")
    project.write("image", b"\0" * 9)
    before = await project.snapshots.track()
    project.write("grow", "1\n2\n3\n4\n")
    project.write("image", b"\0" * 8)
    project.write("new", "content\n")
    (project.root / "a.txt").unlink()
    project.write("b.txt", "b \n")
    after = await project.snapshots.track()
    assert await project.snapshots.diff(before.id, after.id) == [
        FileDiff(file="a.txt", before="a\n", after="", additions=0, deletions=1, status="deleted"),
        FileDiff(file="b.txt", before="b\n", after="b \n", additions=1, deletions=1, status="modified"),
        FileDiff(file="grow", before="1\n2\n", after="1\n2\n3\n4\n", additions=2, deletions=0, status="modified"),
        FileDiff(file="image", before="", after="", additions=0, deletions=0, status="modified", note="binary"),
        FileDiff(file="new", before="", after="content\n", additions=1, deletions=0, status="added"),
    ]
    assert await project.snapshots.diff(before.id, before.id) == []


async def test_diff_says_what_texts_cannot(project: World):
    project.write("tool", "x\n", mode=0o644)
    project.write("way", "x\n")
    before = await project.snapshots.track()
    (project.root / "tool").chmod(0o755)
    (project.root / "way").unlink()
    (project.root / "way").symlink_to("tool")
    after = await project.snapshots.track()
    notes = {diff.file: diff.note for diff in await project.snapshots.diff(before.id, after.id)}
    assert notes == {"tool": "mode 644 → 755", "way": "file → link"}
