"""Undo while a background process exchanges a folder of the project with a link to the home, many times a millisecond.

No file of the home may be read into a snapshot, changed or removed: while a snapshot is made, by the preview, undo and redo, as
root and as an ordinary user, with a relative and with an absolute link. Linux only.
"""

import asyncio
import ctypes
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from opencode_tui.engine.snapshot.objects.pack import object_id
from opencode_tui.engine.snapshot.objects.store import ObjectStore
from opencode_tui.engine.snapshot.report import Patch, as_patch
from opencode_tui.schema.error import SnapshotError
from opencode_tui.schema.session.undo import RevertReport
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import counted, rounds
from tests.support.snapshot.users import world_of
from tests.support.snapshot.worktree import World, facts_of

ROUNDS = rounds(200, 20)
SECRET = b"the secret of the home\n"
FLIPS = 200_000_000
_EXCHANGE = 2
_HERE = -100
NAMES = ("x", *(f"sub{number}/deep/x" for number in range(8)))
NEW_NAMES = ("x.new", "sub1/deep/x.new")
SNAPSHOTS = 4
"""How many are made in a round, because each meets an exchange only by chance."""


def fill(folder: Path, content: str) -> None:
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def make_home(home: Path) -> None:
    """Make a home whose files have the states that an undo expects, so that nothing but the links keeps it from them."""
    fill(home, "by the turn\n")
    for name in NEW_NAMES:
        (home / name).write_text("new\n")
    for name in NAMES:
        (home / name).with_name("secret").write_bytes(SECRET)


def start_flipper(folder: Path) -> int:
    """Start a process that exchanges `a` and `b` until it is killed, and return its pid."""
    exchange = ctypes.CDLL(None).renameat2
    pid = os.fork()  # a user may not be able to start the interpreter of root
    if not pid:
        os.chdir(folder)
        for _ in range(FLIPS):
            if exchange(_HERE, b"a", _HERE, b"b", _EXCHANGE):
                break
        os._exit(1)
    return pid


class Race:
    """One project, and the process that exchanges its folder with the link."""

    def __init__(self, world: World, home: Path, target: str) -> None:
        self._world = world
        self._home = home
        fill(world.root / "a", "old\n")
        (world.root / "b").symlink_to(target)
        self._flipper = start_flipper(world.root)
        self._states = self._home_states()
        self.escapes: Counter[str] = Counter()
        self.refused = 0

    def close(self) -> None:
        os.kill(self._flipper, signal.SIGKILL)
        os.waitpid(self._flipper, 0)

    async def round(self) -> None:
        """Let a turn work, then make a snapshot, preview, undo and redo it while the folder is exchanged."""
        snapshots = self._world.snapshots
        self._pause()
        self._prepare("old\n")
        before = await snapshots.track()
        self._prepare("by the turn\n")
        for name in NEW_NAMES:
            (self._folder() / name).write_text("new\n")
        patch = await snapshots.patch(before.id)
        assert len(patch.files) >= len(NAMES)
        os.kill(self._flipper, signal.SIGCONT)
        for _ in range(SNAPSHOTS):
            await self._watch("snapshot", snapshots.track)
        await self._watch("preview", lambda: snapshots.preview([patch]))
        done = await self._watch("undo", lambda: snapshots.revert([patch]))
        redo = (as_patch(done) if isinstance(done, RevertReport) else None) or backwards(patch)
        await self._watch("redo", lambda: snapshots.revert([redo]))

    async def _watch(self, name: str, act: Callable[[], Coroutine[Any, Any, object]]) -> object:
        try:
            return await act()
        except SnapshotError:
            self.refused += 1
            return None
        finally:
            if self._home_states() != self._states:
                self.escapes[name] += 1
                self._states = self._home_states()

    def _pause(self) -> None:
        os.kill(self._flipper, signal.SIGSTOP)
        found = os.waitid(os.P_PID, self._flipper, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if found is None or found.si_code != os.CLD_STOPPED:
            raise RuntimeError("the process that exchanges the names has ended")

    def _folder(self) -> Path:
        return next(path for name in "ab" if not (path := self._world.root / name).is_symlink())

    def _prepare(self, content: str) -> None:
        fill(self._folder(), content)
        for name in NEW_NAMES:
            (self._folder() / name).unlink(missing_ok=True)

    def _home_states(self) -> list[object]:
        """Return everything in the home but the times of reading."""
        facts = sorted(facts_of(self._home).items())
        return [(name, fact, os.lstat(self._home / name).st_ctime_ns) for name, fact in facts]

    def count_read(self) -> int:
        """Return 1 when a file of the home is in a snapshot."""
        (folder,) = self._world.paths.snapshot.glob("*/*/git")
        store = ObjectStore(folder)
        store.refresh()
        return int(store.contains(object_id("blob", SECRET)))


def backwards(patch: Patch) -> Patch:
    assert patch.after is not None
    return Patch(hash=patch.after, after=patch.hash, files=patch.files)


async def run(user: str, kind: str) -> list[Figure]:
    with world_of(user) as world:
        home = world.root.parent / "victim"
        home.mkdir()
        make_home(home)
        race = Race(world, home, "../victim" if kind == "relative" else str(home))
        try:
            for _ in counted(ROUNDS):
                await race.round()
        finally:
            race.close()
        read = race.count_read()
        print(
            f"{user}, {kind} link: {ROUNDS} rounds, {race.escapes.total() + read} escapes, {race.refused} refused",
            flush=True,
        )
        found = {
            **dict.fromkeys(("snapshot", "preview", "undo", "redo"), 0),
            **race.escapes,
            "home in a snapshot": read,
        }
        return [Figure(f"{user}, {kind} link: {name}", count, 0, unit="") for name, count in found.items()]


def main() -> int:
    """Run all classes and print the escapes of each; return 1 when there was one."""
    users = ("root", "user") if os.geteuid() == 0 else ("user",)
    return report(
        [figure for user in users for kind in ("relative", "absolute") for figure in asyncio.run(run(user, kind))]
    )


if __name__ == "__main__":
    sys.exit(main())
