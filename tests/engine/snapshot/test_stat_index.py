"""What git proves about folders is true: scans with an index and without one give the same snapshot, whatever has changed."""

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

import pytest

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.snapshot.scan import stat_index
from opencode_tui.engine.snapshot.scan.stat_cache import Listing
from opencode_tui.engine.snapshot.scan.stat_index import StatIndex
from opencode_tui.schema.error import GitUnavailableError
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.safe_folder import open_folder
from tests.support.snapshot.folder_changes import CHANGES, rewrite
from tests.support.snapshot.worktree import World
from tests.support.world.repo import make_repo
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


FILE = ((0o100644, 1, 0, 0, 1), "100644", "0" * 40)


@dataclass
class Indexed:
    """A worktree of which git compares the files, however few; `proven` are the folders that were not looked at."""

    world: World
    proven: set[str] = field(default_factory=set[str])

    async def scan(self) -> str:
        """Return the id of a new snapshot."""
        self.proven.clear()
        return (await self.world.snapshots.track()).id

    async def settle(self, *folders: str) -> None:
        """Scan until git is asked about all of these folders: a second after their last change."""
        async with asyncio.timeout(PATIENCE_S):
            while not self.proven.issuperset(folders):
                await self.scan()

    async def fresh(self) -> str:
        """Return the id of a snapshot by a scan that reads everything."""
        paths = self.world.paths
        other = World(self.world.root, paths.__class__(**{**_fields(paths), "data": paths.data / "other"}))
        return (await other.snapshots.track()).id

    @property
    def index(self) -> StatIndex:
        opened = self.world.snapshots.lock._opened
        assert opened is not None
        return opened.worktree._index


def _fields(paths: Paths) -> dict[str, Path]:
    return {name: getattr(paths, name) for name in paths.__struct_fields__}


@pytest.fixture
def indexed(tmp_path: Path, paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Indexed:
    root = tmp_path / "project"
    found = Indexed(World(root, paths, git=SafeGit(root, environ=os.environ).run_strictly))
    with open_folder(os.path.realpath(root)) as top:
        if not stat_index._has_local_clock(top.descriptor):
            pytest.skip("the times of this file system may come from another clock")
    monkeypatch.setattr(stat_index, "MIN_FILES", 1)
    plain = StatIndex.proves

    def proves(self: StatIndex, path: str, listing: Listing) -> os.stat_result | None:
        status = plain(self, path, listing)
        if status is not None:
            found.proven.add(path)
        return status

    monkeypatch.setattr(StatIndex, "proves", proves)
    return found


def fill(world: World, name: str) -> list[str]:
    """Fill a folder, and return it and those in it."""
    for file in ("a", "b", "sub/x", "sub/deep/y"):
        world.write(f"{name}/{file}", f"old {file}\n")
    return [name, f"{name}/sub", f"{name}/sub/deep"]


@pytest.mark.parametrize("rules", ["", "t*/\n"], ids=["plain", "ignored"])
async def test_every_change_is_found_and_undone(indexed: Indexed, rules: str):
    world = indexed.world
    world.write(".gitignore", rules)
    folders = [folder for number in range(len(CHANGES)) for folder in fill(world, f"t{number}")]
    same = fill(world, "t_same")
    # A scan lists the top of what is ignored itself.
    await indexed.settle(*(folder for folder in (*folders, *same) if not rules or "/" in folder))
    before = world.facts()

    def change_all() -> None:
        for number, change in enumerate(CHANGES.values()):
            change(world.root / f"t{number}")

    patch = await world.step(change_all)
    assert {"t_same/sub", "t_same/sub/deep"} <= indexed.proven
    assert patch.after == await indexed.fresh()
    changed = {number for number in range(len(CHANGES)) for path in world.inside(patch.files) if f"t{number}/" in path}
    assert len(changed) == len(CHANGES) - 1  # the mode of a folder itself has no slash
    report = await world.snapshots.revert([patch])
    left = {path for path, fact in world.facts().items() if before.get(path) != fact}
    assert (left - {"aside", "aside/x", "aside/deep", "aside/deep/y"}, report.kept) == (set(), [])


NAMES = [b"caf\xe9", b"git~1", b".GIT", b"-x", b"a\nb", b'quote"', b"end ", b"n" * 255, b".gitmodules", b"0\x01"]


async def test_files_and_folders_of_odd_names_are_compared_too(indexed: Indexed):
    world = indexed.world
    files = [f"files{number}/{os.fsdecode(name)}" for number, name in enumerate(NAMES)]
    files += [f"folders/{os.fsdecode(name)}/file" for name in NAMES]
    folders = {os.path.dirname(world.write(file, "old\n").relative_to(world.root)) for file in files}
    await indexed.settle(*folders)
    for file in files:
        rewrite(world.root / file)
    assert await indexed.scan() == await indexed.fresh()
    assert not indexed.proven & folders


def test_a_file_that_git_cannot_look_at_is_an_error(tmp_path: Path):
    too_long = b"n" * 300
    entry = stat_index._entry(too_long, status(), FILE)
    index = stat_index._MemoryIndex({too_long: entry})
    repo = make_repo(tmp_path / "repo")
    git = SafeGit(repo.path, environ=os.environ)
    more = {"GIT_INDEX_FILE": f"/proc/self/fd/{index.descriptor}"}
    with pytest.raises(GitUnavailableError, match="too long"):
        git.run_strictly(["diff-files", "-z"], {}, more, [index.descriptor], Event())


async def test_a_change_in_the_second_of_the_last_one_is_found(indexed: Indexed):
    world = indexed.world
    fill(world, "same")
    await indexed.settle("same")
    first = ""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            path = world.write("young/file", "old\n")
            second = path.stat().st_ctime_ns // 10**9
            first = await indexed.scan()
            while time.time() < second + 0.5:
                first = await indexed.scan()
            rewrite(path)
            if path.stat().st_ctime_ns // 10**9 == second:
                break
    taken = await indexed.scan()
    assert taken != first and taken == await indexed.fresh()


async def test_a_folder_that_is_replaced_by_a_link_to_it_is_a_link(indexed: Indexed):
    world = indexed.world
    await indexed.settle(*fill(world, "top"))
    (world.root / "top/sub").rename(world.root / "moved")
    (world.root / "top/sub").symlink_to("../moved")
    assert await indexed.scan() == await indexed.fresh()
    assert not indexed.proven & {"top", "top/sub", "top/sub/deep"}


async def test_a_folder_that_becomes_a_repository_is_listed(indexed: Indexed):
    await indexed.settle(*fill(indexed.world, "top"))
    make_repo(indexed.world.root / "top/sub")
    assert await indexed.scan() == await indexed.fresh()


async def test_git_reads_no_settings_of_the_project_and_none_that_hide_changes(
    indexed: Indexed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    world = indexed.world
    repo = make_repo(world.root)
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    lines = "[core]\ntrustctime = false\nfileMode = false\nignoreStat = true\ncheckStat = minimal\nsymlinks = false\n"
    (home / ".gitconfig").write_text(lines)
    with open(world.root / ".git/config", "a") as file:
        file.write(lines + f"fsmonitor = touch {tmp_path}/started\n")
    world.git = SafeGit(world.root, environ={**os.environ, "HOME": str(home)}).run_strictly
    world.reopen()
    assert repo.path == world.root
    await indexed.settle(*fill(world, "top"))
    rewrite(world.root / "top/a")
    assert await indexed.scan() == await indexed.fresh()
    assert "top" not in indexed.proven and not (tmp_path / "started").exists()


async def test_nothing_is_proven_after_the_clock_was_set(indexed: Indexed, monkeypatch: pytest.MonkeyPatch):
    await indexed.settle(*fill(indexed.world, "top"))
    base = stat_index._clock_base()
    monkeypatch.setattr(stat_index, "_clock_base", lambda: base - 10**9)
    await indexed.scan()
    assert indexed.proven == set()
    await indexed.settle("top")


async def test_nothing_is_proven_where_another_clock_may_set_the_times(
    indexed: Indexed, monkeypatch: pytest.MonkeyPatch
):
    await indexed.settle(*fill(indexed.world, "top"))
    monkeypatch.setattr(stat_index, "_has_local_clock", lambda descriptor: False)
    await indexed.scan()
    assert indexed.proven == set()


def damage(index: StatIndex) -> None:
    assert index._index is not None
    os.pwrite(index._index.descriptor, b"\0" * 8, 0)


def empty(index: StatIndex) -> None:
    assert index._index is not None
    os.ftruncate(index._index.descriptor, 0)


def exchange_for_an_empty_one(index: StatIndex) -> None:
    assert index._index is not None
    os.ftruncate(index._index.descriptor, 0)
    os.pwrite(index._index.descriptor, stat_index._encode({}), 0)


def hide(index: StatIndex) -> None:
    """Let git find no index, which it takes for an empty one."""
    run = index._run
    assert run is not None

    def elsewhere(
        words: Sequence[str],
        settings: Mapping[str, str],
        more: Mapping[str, str],
        descriptors: Sequence[int],
        stop: Event,
    ) -> str:
        return run(words, settings, {**more, "GIT_INDEX_FILE": "/nowhere"}, descriptors, stop)

    index._run = elsewhere


def fail(index: StatIndex) -> None:
    def run(*given: object) -> str:
        raise GitUnavailableError("it is gone")

    index._run = run


@pytest.mark.parametrize("harm", [damage, empty, exchange_for_an_empty_one, hide, fail])
async def test_without_an_index_that_git_reads_the_scan_looks_itself(
    indexed: Indexed, harm: Callable[[StatIndex], None]
):
    await indexed.settle(*fill(indexed.world, "top"))
    rewrite(indexed.world.root / "top/a")
    harm(indexed.index)
    assert await indexed.scan() == await indexed.fresh()
    assert indexed.proven == set()


def status(**fields: int) -> os.stat_result:
    """Return the status of an old file on the device of the worktree, except for these fields."""
    known = {"st_mode": 0o100644, "st_dev": 7, "st_ctime_ns": 0, "st_mtime_ns": 0} | fields
    numbers = [known["st_mode"], 1, known["st_dev"], 1, 0, 0, 1, 0, 0, 0]
    times = {f"st_{kind}time_ns": known.get(f"st_{kind}time_ns", 0) for kind in "amc"}
    return os.stat_result(numbers, times)


STARTED = 1_000 * 10**9 + 20_000_000


@pytest.mark.parametrize(
    ("path", "folder", "file", "is_taken"),
    [
        ("top", status(), status(), True),
        ("top", status(), status(st_ctime_ns=998 * 10**9 + 999_999_999), True),
        # 20 ms after its second a scan may still see files that change in it.
        ("top", status(), status(st_ctime_ns=999 * 10**9), False),
        ("top", status(st_ctime_ns=999 * 10**9), status(), False),
        ("top", status(st_dev=8), status(), False),
        ("top", status(), status(st_dev=8), False),
        ("t" * 2_000, status(), status(), False),
    ],
)
def test_only_old_files_of_one_file_system_are_in_the_index(
    tmp_path: Path,
    path: str,
    folder: os.stat_result,
    file: os.stat_result,
    is_taken: bool,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(stat_index, "MIN_FILES", 0)
    monkeypatch.setattr(stat_index, "_has_local_clock", lambda descriptor: True)
    index = StatIndex(lambda *given: "", tmp_path)
    with open_folder(os.path.realpath(tmp_path)) as top:
        index.begin(top, STARTED, Event())
        index._device = 7
        listing = Listing(["a"], [FILE[0]], [], Counter())
        index.add(path, listing, {"a": FILE}, folder, [file])
    assert (path in index._folders) == is_taken


@pytest.mark.parametrize(("files", "is_large"), [(stat_index.MIN_FILES - 1, False), (stat_index.MIN_FILES, True)])
def test_only_a_large_tree_gets_an_index(tmp_path: Path, files: int, is_large: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stat_index, "_has_local_clock", lambda descriptor: True)
    index = StatIndex(lambda *given: "", tmp_path)
    index.count(Listing(["a"] * files, [], [], Counter()))
    with open_folder(os.path.realpath(tmp_path)) as top:
        index.begin(top, STARTED, Event())
    assert (index._entries is not None) == is_large


ROUNDS = int(os.environ.get("STAT_INDEX_ROUNDS") or 6)


async def test_scans_with_and_without_an_index_agree_after_random_changes(indexed: Indexed):
    chance = random.Random(int(os.environ.get("STAT_INDEX_SEED") or 1))
    world = indexed.world
    world.write(".gitignore", "ignored*/\n*.log\n")
    tops = [*(f"t{number}" for number in range(12)), "ignored1", "ignored2"]
    stable = fill(world, "stable")
    for top in tops:
        fill(world, top)
    asked = 0
    for _ in range(ROUNDS):
        await indexed.settle(*stable)
        for _ in range(chance.randrange(1, 8)):
            top = world.root / chance.choice(tops)
            if chance.random() < 0.2 and not top.exists():
                fill(world, top.name)
            try:
                chance.choice(list(CHANGES.values()))(top)
            except OSError:
                continue
        taken = await indexed.scan()
        asked += "stable" in indexed.proven  # the other scans write the index again
        assert taken == await indexed.fresh()
    assert asked > ROUNDS / 2
