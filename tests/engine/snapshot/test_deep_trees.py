"""Trees of any depth, also with paths that are longer than the system allows; no link in place of a folder is followed."""

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.objects.pack import object_id
from opencode_tui.schema.session.undo import UndoFile
from opencode_tui.storage.safe_folder import Disk, OpenFolder, OpenFolders
from tests.support.snapshot.worktree import World, patch_of

NAME = "folder_name"
LEVELS = 420
"""Their path has more than 4096 characters, the limit of most systems, and they are more than the calls that may be nested."""
NESTED_CALLS = 400


@pytest.fixture
def few_nested_calls() -> Generator[None]:
    """Let nested calls end at a depth at which a test of thousands of folders need not arrive."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(NESTED_CALLS)
    yield
    sys.setrecursionlimit(usual)


@contextmanager
def deepest(root: Path, levels: int, *, is_made: bool = False) -> Generator[list[int]]:
    """Go down the nested folders; the first descriptor is the worktree's, the last the innermost folder's."""
    descriptors = [os.open(root, os.O_RDONLY)]
    try:
        for _ in range(levels):
            if is_made:
                os.mkdir(NAME, dir_fd=descriptors[-1])
            descriptors.append(os.open(NAME, os.O_RDONLY, dir_fd=descriptors[-1]))
            if len(descriptors) > 2:
                os.close(descriptors.pop(1))
        yield descriptors
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def make_chain(root: Path, levels: int) -> None:
    with deepest(root, levels, is_made=True) as descriptors:
        write_in(descriptors[-1], "file", b"deep")


def write_in(folder: int, name: str, content: bytes) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644, dir_fd=folder)
    os.write(descriptor, content)
    os.close(descriptor)


def content(root: Path, levels: int) -> bytes:
    with deepest(root, levels) as descriptors:
        descriptor = os.open("file", os.O_RDONLY, dir_fd=descriptors[-1])
        try:
            return os.read(descriptor, 100)
        finally:
            os.close(descriptor)


def paths(files: Sequence[UndoFile]) -> list[str]:
    return [file.path for file in files]


def change_deepest(root: Path, levels: int) -> None:
    with deepest(root, levels) as descriptors:
        write_in(descriptors[-1], "file", b"by the turn")
        os.mkfifo("pipe", dir_fd=descriptors[-1])


@pytest.mark.slow
@pytest.mark.usefixtures("few_nested_calls")
async def test_folders_beyond_the_longest_path_are_undone_and_made_again(world: World):
    world.write("a")
    recording = world.recording()
    await recording.begin_command()
    make_chain(world.root, LEVELS)
    await recording.end_command()
    patch = patch_of(recording)
    assert patch.after is not None
    preview = await world.snapshots.preview([patch])
    report = await world.snapshots.revert([patch])
    assert (os.listdir(world.root), paths(preview.deleted), paths(report.deleted)) == (["a"], patch.files, patch.files)
    redone = await world.snapshots.unrevert(report)
    assert (paths(redone.restored), redone.failed, content(world.root, LEVELS)) == (patch.files, [], b"deep")
    assert [diff.after for diff in await world.snapshots.diff(patch.hash, patch.after)] == ["deep"]
    await world.snapshots.revert([patch])


@pytest.mark.slow
@pytest.mark.usefixtures("few_nested_calls")
async def test_a_file_beyond_the_longest_path_is_restored(world: World):
    world.write(".gitignore", "*.log\n")
    make_chain(world.root, LEVELS)
    patch = await world.step(lambda: change_deepest(world.root, LEVELS))
    report = await world.snapshots.revert([patch])
    assert (report.failed, report.kept, content(world.root, LEVELS)) == ([], [], b"deep")
    assert (len(report.restored), len(report.deleted)) == (1, 1)
    removed = await world.step(lambda: remove_chain(world.root))
    await world.snapshots.revert([removed])
    assert content(world.root, LEVELS) == b"deep"
    remove_chain(world.root)


def remove_chain(root: Path) -> None:
    with OpenFolders(Disk(os.path.realpath(root))) as folders:
        for levels in range(LEVELS, -1, -1):
            opened = folders.open("/".join([NAME] * levels))
            for name in opened.entries():
                (opened.remove_folder if name.endswith("/") else opened.remove)(name.rstrip("/"))


class CountingDisk(Disk):
    """Counts the folders that are opened, and how many of them are open at a time."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.opened = 0
        self.most = 0

    def wrap(self, path: str, descriptor: int) -> OpenFolder:
        self.opened += 1
        self.most = max(self.most, len(os.listdir("/dev/fd")))
        return super().wrap(path, descriptor)


@pytest.mark.slow
async def test_each_folder_is_opened_a_few_times_and_few_are_open_at_once(world: World):
    levels = 300
    patch = await world.step(lambda: make_chain(world.root, levels))
    disk = CountingDisk(os.path.realpath(world.root))
    service = world.service(disk)
    before = len(os.listdir("/dev/fd"))
    await service.preview([patch])
    assert (await service.revert([patch])).failed == []
    assert levels < disk.opened < 10 * levels
    assert 10 < disk.most - before < 150


class Swap:
    """Exchanges a folder with a link at the moment when the ignore file in it is opened."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.folder = self.target = Path()
        sys.addaudithook(self._see)

    def arm(self, folder: Path, target: Path, *, opened: int) -> None:
        self.folder, self.target, self.left = folder, target, opened

    def _see(self, event: str, args: tuple[object, ...]) -> None:
        if self.left is None or event != "open" or not str(args[0]).endswith(".gitignore"):
            return
        self.left -= 1
        if self.left == 0:
            self.left = None
            self.folder.rename(self.folder.with_name("aside"))
            self.folder.symlink_to(self.target)


SWAP = Swap()


@pytest.mark.parametrize("is_relative", [True, False])
async def test_a_folder_that_becomes_a_link_during_a_scan_leads_nowhere(
    world: World, tmp_path: Path, is_relative: bool
):
    secret = tmp_path / "outside" / "inner" / "secret"
    secret.parent.mkdir(parents=True)
    secret.write_bytes(b"not of the project")
    world.write("d/inner/file")
    SWAP.arm(world.root / "d", Path("../outside") if is_relative else tmp_path / "outside", opened=2)
    taken = await world.snapshots.track()
    assert (world.root / "d").is_symlink()
    names = {diff.file for diff in await world.snapshots.diff((await world.service().track()).id, taken.id)}
    assert "d/inner/file" in names and "d/inner/secret" not in names
    assert not await is_stored(world, b"not of the project")


async def is_stored(world: World, data: bytes) -> bool:
    name = object_id("blob", data)
    return await world.snapshots.lock.run(lambda opened, stop: opened.worktree.store.contains(name))
