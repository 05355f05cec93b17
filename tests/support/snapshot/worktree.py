"""A worktree with its snapshots, for tests and benchmarks."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings
from opencode_tui.engine.snapshot.record.recording import CommandWindow, StepRecording
from opencode_tui.engine.snapshot.record.write import FileWrite
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.scan.stat_index import RunGit
from opencode_tui.engine.snapshot.snapshot import Snapshots, WorktreeLock
from opencode_tui.schema.session.undo import UndoFile
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.safe_folder import Disk, OpenFolder

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
    settings: SnapshotSettings | None = None
    git: RunGit | None = None
    snapshots: Snapshots = field(init=False)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.reopen()

    def reopen(self) -> None:
        """Begin anew, as another process would."""
        self.snapshots = self.service()

    def service(self, disk: Disk | None = None) -> Snapshots:
        return Snapshots(
            WorktreeLock(
                disk=disk,
                worktree=Path(os.path.realpath(self.root)),
                project_id="global",
                paths=self.paths,
                locks=Locks(self.paths),
                clock=self.clock,
                settings=self.settings,
                git=self.git,
            )
        )

    def write(self, name: str, content: str | bytes = "x\n", *, mode: int | None = None) -> Path:
        """Write a file, with its folders."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            path.chmod(mode)
        return path

    def inside(self, files: Sequence[str | UndoFile]) -> list[str]:
        """Return files, by their absolute paths, relative to the worktree, in order."""
        paths = [file if isinstance(file, str) else file.path for file in files]
        return sorted(os.path.relpath(path, os.path.realpath(self.root)) for path in paths)

    async def step(self, *acts: object) -> Patch:
        """Return the patch of what happens between: call the acts (functions without arguments)."""
        before = await self.snapshots.track()
        for act in acts:
            assert callable(act)
            act()
        return await self.snapshots.patch(before.id)

    def recording(
        self, *, session: str = "ses_1", message: str = "msg_1", window: CommandWindow | None = None
    ) -> StepRecording:
        """Return the record of a new step."""
        window = window or CommandWindow(session)
        return StepRecording(self.snapshots.lock, session=session, message=message, window=window)

    async def tool_write(self, recording: StepRecording, name: str, content: str | bytes, *, mode: int = 0o644) -> None:
        """Write a file as a file tool does."""
        data = content.encode() if isinstance(content, str) else content
        number, _ = await recording.before_write([FileWrite(self.root / name, data, mode)], [])
        self.write(name, data, mode=mode)
        await recording.after_write(number)

    def facts(self) -> dict[str, Fact]:
        """Return what every path is: kind, mode bits, bytes or target; `.git` folders are left out."""
        return facts_of(self.root)


def patch_of(recording: StepRecording) -> Patch:
    """Return the patch of a recorded step."""
    result = recording.result
    assert result is not None
    return Patch(hash=result.hash, after=result.after, files=result.files)


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


class Death(BaseException):
    """Stands for kill -9: nothing works any more, not even what would clean up."""


@dataclass
class Fault:
    """Counts the calls; number `at` (from 1) and, with `lasting`, all later ones raise `error`."""

    at: int
    error: BaseException
    lasting: bool = False
    calls: int = 0

    def step(self) -> None:
        self.calls += 1
        if self.at and (self.calls == self.at or (self.lasting and self.calls > self.at)):
            raise self.error


class FaultyFolder(OpenFolder):
    """Calls of which one goes wrong before it does anything."""

    def __init__(self, path: str, descriptor: int, fault: Fault) -> None:
        super().__init__(path, descriptor)
        self._fault = fault

    def status(self, name: str) -> os.stat_result:
        self._fault.step()
        return super().status(name)

    def read_link(self, name: str) -> bytes:
        self._fault.step()
        return super().read_link(name)

    def read(self, name: str, limit: int, *, start: int = 0) -> tuple[bytes, os.stat_result]:
        self._fault.step()
        return super().read(name, limit, start=start)

    def create(self, name: str, mode: int = 0o600) -> int:
        self._fault.step()
        return super().create(name, mode)

    def write(self, descriptor: int, data: memoryview) -> int:
        self._fault.step()
        return super().write(descriptor, data[: max(1, len(data) // 2)])

    def set_file_mode(self, descriptor: int, mode: int) -> None:
        self._fault.step()
        super().set_file_mode(descriptor, mode)

    def sync(self, descriptor: int) -> None:
        self._fault.step()
        super().sync(descriptor)

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self._fault.step()

    def rename(self, source: str, target: str) -> None:
        self._fault.step()
        super().rename(source, target)

    def make_link(self, target: bytes, name: str) -> None:
        self._fault.step()
        super().make_link(target, name)

    def set_mode(self, name: str, mode: int) -> None:
        self._fault.step()
        super().set_mode(name, mode)

    def remove(self, name: str) -> None:
        self._fault.step()
        super().remove(name)

    def make_folder(self, name: str) -> None:
        self._fault.step()
        super().make_folder(name)

    def remove_folder(self, name: str) -> None:
        self._fault.step()
        super().remove_folder(name)


class FaultyDisk(Disk):
    """A worktree whose calls go wrong by a `Fault`."""

    def __init__(self, root: str, fault: Fault) -> None:
        super().__init__(root)
        self._fault = fault

    def wrap(self, path: str, descriptor: int) -> OpenFolder:
        return FaultyFolder(path, descriptor, self._fault)


class CaseIgnoringFolder(OpenFolder):
    """Calls that find an entry whose name differs in case, as on the file systems of macOS and Windows; names keep their case."""

    def _found(self, name: str) -> str:
        # The descriptor itself may be in the middle of a listing.
        names = os.listdir(f"/proc/self/fd/{self.descriptor}")
        alike = (one for one in names if one.casefold() == name.casefold())
        return name if name in names else next(alike, name)

    def status(self, name: str) -> os.stat_result:
        return super().status(self._found(name))

    def open_to_read(self, name: str) -> int:
        return super().open_to_read(self._found(name))

    def read_link(self, name: str) -> bytes:
        return super().read_link(self._found(name))

    def set_time(self, name: str, time_ns: int) -> None:
        super().set_time(self._found(name), time_ns)

    def set_mode(self, name: str, mode: int) -> None:
        super().set_mode(self._found(name), mode)

    def copy_attributes(self, name: str, descriptor: int) -> None:
        super().copy_attributes(self._found(name), descriptor)

    def remove(self, name: str) -> None:
        super().remove(self._found(name))

    def remove_folder(self, name: str) -> None:
        super().remove_folder(self._found(name))

    def rename(self, source: str, target: str) -> None:
        super().rename(self._found(source), self._found(target))


class CaseIgnoringDisk(Disk):
    """A worktree on such a file system; its folders are found by their exact names only."""

    def wrap(self, path: str, descriptor: int) -> OpenFolder:
        return CaseIgnoringFolder(path, descriptor)
