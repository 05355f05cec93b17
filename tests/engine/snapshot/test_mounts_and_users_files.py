"""What the user put where a turn had worked is kept and named, also a mounted file system; everything else is undone."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.snapshot.worktree import World

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "private")


@dataclass(frozen=True)
class Case:
    """What the user does after a turn wrote `a` and `d/x` and made `new/n`; `kept` are the paths that undo leaves."""

    act: Callable[[Path], object]
    kept: tuple[str, ...]


def replace(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        path = root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        make(path)

    return act


def filled(path: Path) -> None:
    path.mkdir()
    (path / "mine").write_text("mine")


USERS = {
    "a folder of the user for a file": Case(replace("a", filled), ("a",)),
    "an empty folder of the user for a file": Case(replace("a", Path.mkdir), ("a",)),
    "a folder of the user for a new file": Case(replace("new/n", filled), ("new/n",)),
    "a file of the user for a folder": Case(replace("d", lambda path: path.write_text("mine")), ("d/x",)),
    "a file of the user for a new folder": Case(replace("new", lambda path: path.write_text("mine")), ()),
    "a link of the user for a folder": Case(replace("d", lambda path: path.symlink_to("..")), ("d/x",)),
    "a link of the user for a file": Case(replace("a", lambda path: path.symlink_to("b")), ("a",)),
    "a pipe of the user for a file": Case(replace("a", os.mkfifo), ("a",)),
    "a pipe of the user for a folder": Case(replace("d", os.mkfifo), ("d/x",)),
    "another folder of the same name": Case(replace("d", filled), ("d/x",)),
    "a mode of the user": Case(lambda root: (root / "a").chmod(0o600), ("a",)),
    "the user's file beside a new one": Case(lambda root: (root / "new/mine").write_text("mine"), ()),
}


async def turn_in(world: World, act: Callable[[Path], object]) -> list[str]:
    """Let a turn work, then the user; undo it, check that the user's files are unchanged, and return what is named."""
    for name in ("a", "b", "d/x", "d/y"):
        world.write(name, "old\n")
    patch = await world.step(lambda: [world.write(name, "by the turn\n") for name in ("a", "b", "d/x", "new/n")])
    act(world.root)
    left = {path: fact for path, fact in world.facts().items() if fact[2] != b"by the turn\n" and path != "new"}
    report = await world.snapshots.revert([patch])
    facts = world.facts()
    assert {path: fact for path, fact in facts.items() if path in left} == left
    assert facts["b"][2] == b"old\n"
    named = world.inside([one.path for one in (*report.kept, *report.failed)])
    turns = {path for path, fact in facts.items() if fact[2] == b"by the turn\n"}
    assert turns <= set(named)
    return named


@pytest.mark.fast_cases("another folder of the same name", "a folder of the user for a file")
@pytest.mark.parametrize("case", USERS.values(), ids=USERS)
async def test_what_the_user_put_there_is_kept_and_named(world: World, case: Case):
    assert await turn_in(world, case.act) == sorted(case.kept)


MOUNTS = {
    "a file system over a folder": ("mount -t tmpfs none d", ["d/x"]),
    "a file system over a new folder": ("mount -t tmpfs none new", []),
    "a folder of the user over a folder": (
        "mkdir ../other && echo mine >../other/x && mount --bind ../other d",
        ["d/x"],
    ),
    "a file of the user over a file": ("echo mine >../other && mount --bind ../other a", ["a"]),
    "a file over itself": ("mount --bind a a", ["a"]),
    "a new file over itself": ("mount --bind new/n new/n", ["new/n"]),
    "a folder over itself": ("mount --bind d d", []),
    "a new folder over itself": ("mount --bind new new", ["new"]),
    "a folder closed to writing": ("mount --bind d d && mount -o remount,bind,ro d", ["d/x"]),
    "a new folder closed to writing": ("mount --bind new new && mount -o remount,bind,ro new", ["new", "new/n"]),
}


def in_a_namespace(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NAMESPACE, *words], capture_output=True, text=True, timeout=100)


@pytest.fixture(scope="module")
def mounts() -> None:
    """Skip where no file system can be mounted."""
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare")
    tried = in_a_namespace("mount", "-t", "tmpfs", "none", "/mnt")
    if tried.returncode:
        pytest.skip(f"no mounts in a namespace of its own: {tried.stderr.strip()}")


@pytest.mark.slow
@pytest.mark.parametrize("what", MOUNTS)
def test_what_is_mounted_there_is_kept_and_named(mounts: None, tmp_path: Path, what: str):
    done = in_a_namespace(sys.executable, "-m", __name__, what, str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{MOUNTS[what][1]}\n", "")


def main(what: str, folder: Path) -> None:
    """Print what an undo names after the user's mount."""
    import asyncio

    from opencode_tui.storage.paths import find_paths

    world = World(folder / "project", find_paths({"HOME": str(folder / "home")}))

    def mount(root: Path) -> None:
        subprocess.run(["sh", "-ec", MOUNTS[what][0]], cwd=root, check=True)

    print(asyncio.run(turn_in(world, mount)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
