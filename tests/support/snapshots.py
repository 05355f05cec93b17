"""A worktree with its snapshots, for tests and benchmarks."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from opencode_tui.engine.snapshot.quota import Quota
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.snapshot import Snapshots
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths

Fact = tuple[str, int, bytes]


@dataclass
class TickingClock:
    """A clock that goes on by 1 ms at each look."""

    now: int = 1_700_000_000_000

    def __call__(self) -> int:
        self.now += 1
        return self.now


@dataclass
class World:
    """A folder whose states are recorded; names are relative to it."""

    root: Path
    paths: Paths
    clock: TickingClock = field(default_factory=TickingClock)
    quota: Quota | None = None
    snapshots: Snapshots = field(init=False)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.reopen()

    def reopen(self) -> None:
        """Begin anew, as another process would."""
        self.snapshots = self.service()

    def service(self) -> Snapshots:
        return Snapshots(
            worktree=Path(os.path.realpath(self.root)),
            project_id="global",
            paths=self.paths,
            locks=Locks(self.paths),
            clock=self.clock,
            quota=self.quota,
        )

    def write(self, name: str, content: str | bytes = "x\n", *, mode: int | None = None) -> Path:
        """Write a file, with its folders."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            path.chmod(mode)
        return path

    def inside(self, files: list[str]) -> list[str]:
        """Return absolute paths relative to the worktree, in order."""
        return sorted(os.path.relpath(file, os.path.realpath(self.root)) for file in files)

    async def step(self, *acts: object) -> Patch:
        """Return the patch of what happens between: call the acts (functions without arguments)."""
        before = await self.snapshots.track()
        for act in acts:
            assert callable(act)
            act()
        return await self.snapshots.patch(before.id)

    def facts(self) -> dict[str, Fact]:
        """Return what every path is: kind, mode bits, bytes or target; `.git` folders are left out."""
        return facts_of(self.root)


def facts_of(root: Path) -> dict[str, Fact]:
    """Return kind, mode bits and content of everything below a folder, `.git` left out."""
    found: dict[str, Fact] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*folders, *files]:
            path = Path(folder, name)
            status = path.lstat()
            key = os.path.relpath(path, root)
            if stat.S_ISLNK(status.st_mode):
                found[key] = ("link", 0, os.fsencode(os.readlink(path)))
            elif stat.S_ISDIR(status.st_mode):
                found[key] = ("folder", stat.S_IMODE(status.st_mode), b"")
            elif stat.S_ISREG(status.st_mode):
                found[key] = ("file", stat.S_IMODE(status.st_mode), path.read_bytes())
            else:
                found[key] = ("special", stat.S_IMODE(status.st_mode), b"")
    return found
