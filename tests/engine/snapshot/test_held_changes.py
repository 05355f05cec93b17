"""A turn cannot make its changes hold: whatever it did to files, undo brings back what was there, and redo what it left."""

import contextlib
import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from opencode_tui.engine.snapshot.record.recording import CommandWindow
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.schema.session.undo import RevertReport
from tests.support.snapshot.users import NOBODY, closed_facts, world_of
from tests.support.snapshot.worktree import Death, Fault, FaultyDisk, World, patch_of
from tests.support.world.repo import make_repo

HUGE = 65 * 1024 * 1024


@dataclass(frozen=True)
class Turn:
    """What a turn did; `names` are the paths that redo may not make again, and must name."""

    act: Callable[[Path], None]
    named: tuple[str, ...] = ()
    prepare: Callable[[Path], None] = lambda root: None


def mode(*names: str, to: int = 0) -> Callable[[Path], None]:
    """Return the act that gives paths a mode, the inner ones first."""

    def act(root: Path) -> None:
        for name in names:
            (root / name).chmod(to)

    return act


def both(*acts: Callable[[Path], None]) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        for one in acts:
            one(root)

    return act


def write(name: str, content: bytes = b"by the turn\n") -> Callable[[Path], None]:
    def act(root: Path) -> None:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    return act


def remove(*names: str) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        for name in names:
            path = root / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    return act


def pipe(name: str) -> Callable[[Path], None]:
    return lambda root: os.mkfifo(root / name, 0o640)


def listen(name: str) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        folder = os.open(root / os.path.dirname(name), os.O_PATH)
        try:
            with socket.socket(socket.AF_UNIX) as server:
                # By the open folder: a socket's whole path may be too long, and the user may not enter the current folder.
                server.bind(f"/proc/self/fd/{folder}/{os.path.basename(name)}")
        finally:
            os.close(folder)

    return act


def link(name: str, target: str) -> Callable[[Path], None]:
    return lambda root: (root / name).symlink_to(target)


def hard_link(name: str, target: str) -> Callable[[Path], None]:
    return lambda root: os.link(root / target, root / name)


def folder(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).mkdir()


def rename(name: str, to: str) -> Callable[[Path], None]:
    return lambda root: os.rename(root / name, root / to)


def grow(name: str, size: int) -> Callable[[Path], None]:
    return lambda root: os.truncate(root / name, size)


def change_closed(root: Path) -> None:
    """Change a file of a folder that stays read-only."""
    (root / "fixed").chmod(0o755)
    (root / "fixed/f").write_text("by the turn")
    (root / "fixed/new").write_text("new")
    (root / "fixed").chmod(0o555)


READABLE = sorted({bits | 0o400 for bits in range(0, 0o7777, 0o333)})
NOT_TEXT = os.fsdecode(b"bad\xff\n name")
TURNS = {
    "a closed file": Turn(mode("a")),
    "a changed and closed file": Turn(both(write("a"), mode("a"))),
    "a file that can only be written": Turn(both(write("a"), mode("a", to=0o200))),
    "a closed new file": Turn(both(write("new"), mode("new"))),
    "a read-only file": Turn(both(write("a"), mode("a", to=0o444))),
    "a closed folder": Turn(mode("d")),
    "a file in a closed folder": Turn(both(write("d/x"), mode("d"))),
    "a closed file in closed folders": Turn(both(write("d/e/y"), mode("d/e/y", "d/e", "d"))),
    "a deleted file in a closed folder": Turn(both(remove("d/x"), mode("d"))),
    "a closed new folder": Turn(both(write("n/m/new"), mode("n/m/new", "n/m", "n"))),
    "a closed empty folder": Turn(both(folder("n"), mode("n"))),
    "a new file in an old folder that is closed": Turn(both(write("d/new"), mode("d"))),
    "a read-only folder": Turn(both(write("d/x"), write("d/new"), mode("d", to=0o555))),
    "a folder that can only be entered": Turn(both(write("d/x"), mode("d", to=0o311))),
    "a folder that can only be listed": Turn(both(write("d/x"), mode("d", to=0o444))),
    "a file of a folder that is read-only": Turn(
        change_closed, prepare=both(write("fixed/f", b"old"), mode("fixed", to=0o555))
    ),
    "a deleted tree of read-only folders": Turn(
        both(mode("fixed/g", "fixed", to=0o755), remove("fixed")),
        prepare=both(write("fixed/g/f", b"old"), mode("fixed/g", "fixed", to=0o555)),
    ),
    "a pipe for a file": Turn(both(remove("a"), pipe("a"))),
    "a pipe for a folder": Turn(both(remove("d"), pipe("d"))),
    "a pipe in a closed folder": Turn(both(pipe("d/pipe"), mode("d"))),
    "a folder of pipes": Turn(both(folder("n"), pipe("n/one"), pipe("n/two"))),
    "a removed pipe": Turn(remove("pipe"), prepare=pipe("pipe")),
    "a file for a pipe": Turn(both(remove("pipe"), write("pipe")), prepare=pipe("pipe")),
    "a closed pipe": Turn(mode("pipe"), prepare=pipe("pipe")),
    "a socket for a file": Turn(both(remove("a"), listen("a")), named=("a",)),
    "a new socket": Turn(listen("d/socket"), named=("d/socket",)),
    "a folder for a file": Turn(both(remove("a"), write("a/in/it"))),
    "a closed folder for a file": Turn(both(remove("a"), write("a/in/it"), mode("a/in", "a"))),
    "a file for a folder": Turn(both(remove("d"), write("d"))),
    "a closed file for a folder": Turn(both(remove("d"), write("d"), mode("d"))),
    "a link for a file": Turn(both(remove("a"), link("a", "b"))),
    "a link for a folder": Turn(both(remove("d"), link("d", "/"))),
    "a link to itself": Turn(both(remove("a"), link("a", "a"))),
    "a link for a closed folder that was moved": Turn(both(rename("d", "aside"), link("d", ".."), mode("aside"))),
    "a hard link that was written": Turn(both(hard_link("hard", "a"), write("hard"))),
    "a hard link for a file": Turn(both(remove("a"), hard_link("a", "b"))),
    "a moved folder": Turn(rename("d", "moved")),
    "another case": Turn(both(rename("a", "A"), rename("d", "D"))),
    "a name with a line feed": Turn(
        both(remove("line\nfeed"), pipe("line\nfeed")), prepare=write("line\nfeed", b"old")
    ),
    "a name that is no text": Turn(both(write(NOT_TEXT), mode(NOT_TEXT)), prepare=write(NOT_TEXT, b"old")),
    "a file grown by a hole": Turn(grow("a", HUGE), named=("a",)),
    "a file of three megabytes": Turn(write("a", b"x" * (3 << 20))),
    "a sticky folder": Turn(both(mode("d", to=0o1777), write("d/x"))),
    "a file with the user's identity": Turn(both(write("a"), mode("a", to=0o4750))),
    "a pipe for the ignore rules": Turn(both(remove(".gitignore"), pipe(".gitignore"))),
    "an emptied folder": Turn(remove("d/x", "d/e")),
    "a file for an empty folder": Turn(both(remove("n"), write("n")), prepare=folder("n")),
    "a closed folder for an empty one": Turn(mode("n"), prepare=folder("n")),
    "a link for an empty folder": Turn(both(remove("n"), link("n", "d")), prepare=folder("n")),
    "a link to a folder that becomes a folder": Turn(both(remove("n"), write("n/x")), prepare=link("n", "d")),
    "a link that becomes a file": Turn(both(remove("n"), write("n")), prepare=link("n", "a")),
    "a link that leads to nothing": Turn(both(remove("n"), link("n", "b")), prepare=link("n", "nothing")),
    "a link to bytes that are no text": Turn(link("n", os.fsdecode(b"\xff\xfe"))),
    "links to each other": Turn(both(link("one", "two"), link("two", "one"))),
    "a link for a file written through before": Turn(both(write("n"), remove("a")), prepare=link("n", "a")),
    "a pipe for an empty folder": Turn(both(remove("n"), pipe("n")), prepare=folder("n")),
    "a folder for a pipe": Turn(both(remove("pipe"), write("pipe/x")), prepare=pipe("pipe")),
    "a link for a pipe": Turn(both(remove("pipe"), link("pipe", "a")), prepare=pipe("pipe")),
    "a moved pipe": Turn(rename("pipe", "d/pipe"), prepare=pipe("pipe")),
    "pipes in removed folders": Turn(remove("n"), prepare=both(folder("n"), pipe("n/one"), pipe("n/two"))),
    "a socket for a folder": Turn(both(remove("d"), listen("d")), named=("d",)),
    "a socket in a closed folder": Turn(both(listen("d/socket"), mode("d")), named=("d/socket",)),
    "folders that are no text": Turn(write(f"{NOT_TEXT}/{NOT_TEXT}/x")),
    "a removed folder that is no text": Turn(remove(NOT_TEXT), prepare=write(f"{NOT_TEXT}/{NOT_TEXT}", b"old")),
    "a pipe that is no text": Turn(both(pipe(NOT_TEXT), mode(NOT_TEXT))),
    "the longest name": Turn(both(remove("n" * 255), write("m" * 255)), prepare=write("n" * 255, b"old")),
    "a name of spaces and a dot": Turn(both(write(" ."), write("..."), write("-rf"), write("\\"))),
    "a name of control characters": Turn(both(write("\x1b[2J"), write("\r"), write("\x7f"))),
    "names that differ by their case": Turn(both(write("A"), write("D/X"), write("d/X"))),
    "names that differ by their normal form": Turn(both(write("\u00e9"), write("e\u0301"))),
    "a file and a folder change their names": Turn(both(rename("a", "t"), rename("d", "a"), rename("t", "d"))),
    "two folders change their names": Turn(
        both(rename("d", "t"), rename("n", "d"), rename("t", "n")), prepare=both(folder("n"), write("n/x", b"other"))
    ),
    "a folder moves into its own folder": Turn(both(rename("d", "t"), folder("d"), rename("t", "d/d"))),
    "the inner folder replaces the outer one": Turn(both(rename("d/e", "t"), remove("d"), rename("t", "d"))),
    "a closed file with many names": Turn(both(hard_link("one", "a"), hard_link("d/two", "a"), mode("a"))),
    "a removed file of many names": Turn(remove("a"), prepare=hard_link("d/two", "a")),
    "an emptied file": Turn(both(grow("a", 0), grow("d/x", 0))),
    "an empty file that is removed": Turn(remove("n"), prepare=write("n", b"")),
    "a file of holes": Turn(grow("a", 1 << 20)),
    "every mode of a file that its owner reads": Turn(
        both(*(mode(f"m/{bits:o}", to=0o644) for bits in READABLE)),
        prepare=both(*(both(write(f"m/{bits:o}", b"x"), mode(f"m/{bits:o}", to=bits)) for bits in READABLE)),
    ),
    "modes of nested folders": Turn(
        both(mode("n", "n/m", to=0o755), write("n/m/x"), mode("n/m", to=0o111), mode("n", to=0)),
        prepare=both(write("n/m/x", b"old"), mode("n/m", to=0o500), mode("n", to=0o550)),
    ),
    "a removed closed file": Turn(remove("n"), prepare=both(write("n", b"old"), mode("n", to=0o400))),
    "ignored files in a closed folder": Turn(
        both(write("l/x.log"), mode("l/x.log", "l")), prepare=both(write("l/x.log", b"old"), write("l/y.log", b"old"))
    ),
    "the ignore rules are closed": Turn(both(write(".gitignore", b"*\n"), mode(".gitignore"))),
    "a folder of ignore rules": Turn(both(remove(".gitignore"), write(".gitignore/x"))),
}


@pytest.mark.slow
@pytest.mark.parametrize("user", ["root", "user"])
@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
async def test_undo_brings_back_what_was_there_and_redo_what_the_turn_left(turn: Turn, user: str):
    with world_of(user) as world:
        before = prepare(world, turn)
        patch = await world.step(lambda: turn.act(world.root))
        after = closed_facts(world.root)
        assert after != before
        preview = await world.snapshots.preview([patch])
        assert closed_facts(world.root) == after
        report = await world.snapshots.revert([patch])
        assert (closed_facts(world.root), kept(world, report)) == (before, [])
        assert world.inside(preview.restored) == world.inside(report.restored)
        assert world.inside(preview.deleted) == world.inside(report.deleted)
        redone = await world.snapshots.unrevert(report)
        assert without(closed_facts(world.root), turn.named) == without(after, turn.named)
        assert (kept(world, redone), world.inside([note.path for note in redone.unprotected])) == ([], [*turn.named])


def prepare(world: World, turn: Turn) -> dict[str, tuple[str, int, bytes]]:
    """Make the files, and return their state."""
    for name in ("a", "b", "d/x", "d/e/y"):
        world.write(name, f"old {name}\n")
    world.write(".gitignore", "*.log\n")
    (world.root / "d/e").chmod(0o750)
    turn.prepare(world.root)
    return closed_facts(world.root)


def kept(world: World, report: RevertReport) -> list[str]:
    notes = (*report.kept, *report.failed)
    return [f"{os.path.relpath(note.path, world.root)}: {note.reason}" for note in notes]


def without(facts: dict[str, tuple[str, int, bytes]], names: tuple[str, ...]) -> dict[str, tuple[str, int, bytes]]:
    return {path: fact for path, fact in facts.items() if path not in names}


async def test_what_the_user_does_to_a_closed_file_stays():
    with world_of("user") as world:
        world.write("a", "old")
        world.write("b", "old")
        patch = await world.step(lambda: both(write("a"), mode("a"), mode("b"))(world.root))
        for name in ("a", "b"):
            (world.root / name).chmod(0o600)
            (world.root / name).write_text("mine")
            (world.root / name).chmod(0)
        report = await world.snapshots.revert([patch])
        assert kept(world, report) == ["a: it was changed since", "b: it was changed since"]
        assert [closed_facts(world.root)[name] for name in ("a", "b")] == [("file", 0, b"mine")] * 2


async def test_what_was_closed_before_the_turn_is_named_and_never_opened():
    with world_of("user") as world:
        world.write("private/key", "secret")
        world.write("key", "secret")
        mode("private", "key")(world.root)
        changed = (world.root / "private").lstat().st_ctime_ns, (world.root / "key").lstat().st_ctime_ns
        taken = await world.snapshots.track()
        patch = await world.step(lambda: world.write("new"))
        report = await world.snapshots.revert([patch])
        assert [note.path for note in taken.unprotected] == ["key", "private"]
        assert world.inside([note.path for note in report.unprotected]) == ["key", "private"]
        assert ((world.root / "private").lstat().st_ctime_ns, (world.root / "key").lstat().st_ctime_ns) == changed


@pytest.mark.skipif(os.geteuid() != 0, reason="needs files of another user")
async def test_what_another_user_closed_is_named_with_its_reason():
    with world_of("user") as world:
        world.write("d/a", "old")
        patch = await world.step(lambda: world.write("d/a", "by the turn"))
        os.seteuid(0)
        (world.root / "d").chmod(0o700)
        os.chown(world.root / "d", 0, 0)
        os.seteuid(NOBODY)
        report = await world.snapshots.revert([patch])
        assert kept(world, report) == ["d/a: cannot be read"]


async def test_a_second_step_cannot_hide_what_the_first_one_closed():
    with world_of("user") as world:
        before = prepare(world, Turn(mode("a")))
        window = CommandWindow("ses_1")
        patches: list[Patch] = []
        for number, act in enumerate(
            (mode("a", "d"), both(mode("a", "d", to=0o700), write("a"), write("d/x"), mode("d")))
        ):
            recording = world.recording(message=f"msg_{number}", window=window)
            await recording.begin_command()
            act(world.root)
            await recording.end_command()
            patches.append(patch_of(recording))
        report = await world.snapshots.revert(patches)
        assert (kept(world, report), closed_facts(world.root)) == ([], before)


@pytest.mark.fast_cases("13", "31")
@pytest.mark.parametrize("at", range(1, 40, 3))
async def test_folders_that_a_killed_undo_had_opened_are_closed_again(at: int):
    with world_of("user") as world:
        prepare(world, Turn(mode("a")))
        patch = await world.step(lambda: both(write("d/x"), write("a"), mode("a", "d/e", "d"))(world.root))
        after = closed_facts(world.root)
        dying = world.service(FaultyDisk(os.path.realpath(world.root), Fault(at, Death(), lasting=True)))
        with contextlib.suppress(Death):
            await world.snapshots.unrevert(await dying.revert([patch]))
        world.reopen()
        await world.snapshots.preview([])
        assert closed_facts(world.root) == after


async def test_a_pipe_in_place_of_a_repository_stops_no_scan():
    with world_of("user") as world:
        make_repo(world.root / "inner")
        for name in ("outer/.git", "inner/.git/info/exclude", "inner/.git/index"):
            path = world.root / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        patch = await world.step(lambda: world.write("inner/new"))
        assert world.inside(patch.files) == ["inner/new"]
