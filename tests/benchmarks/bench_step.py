"""What undo costs a step: one that reads, one that edits a file, one that runs a command, on 20 and on 5,000 files.

The floor of the edit is two durable writes of small files, as a pack and its index are, in the same rounds; that of the command,
which has a scan before and one after it, is `git diff-files --quiet` on the same tree with them.
Goals: performance document, section 4 (unchanged step 5 ms, a scan after a command 5 times the floor).
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, cast

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.revert.retention import SnapshotRetention
from opencode_tui.engine.session.step.file_changes import StepRecorder
from opencode_tui.engine.snapshot.record.call import FileWrite
from opencode_tui.schema.ids import Identifier, system_clock
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.message import AssistantMessage, MessagePath, MessageTime
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import find_paths
from tests.benchmarks.bench_snapshot import floor_ms, timed
from tests.benchmarks.comparison import Figure, report
from tests.benchmarks.rounds import rounds
from tests.support.sessions.records import session_info
from tests.support.sessions.store import open_store
from tests.support.snapshot.worktree import World
from tests.support.world.repo import Repo, make_repo

REPEATS = rounds(25, 7)
CONTENT = b"a line of twenty-four\n" * 100


def make_files(repo: Repo, count: int) -> None:
    for number in range(count):
        folder = repo.path / f"part{number // 50}"
        folder.mkdir(exist_ok=True)
        (folder / f"module{number}.py").write_text(f"x = {number}\n" * 30)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "all")


def message(number: int) -> AssistantMessage:
    model = ModelRef(provider_id="fake", model_id="fake-model")
    return AssistantMessage(
        id=f"msg_{number}",
        session_id="ses_1",
        parent_id="msg_0",
        model_id=model.model_id,
        provider_id=model.provider_id,
        mode="build",
        agent="build",
        path=MessagePath(cwd="/", root="/"),
        time=MessageTime(created=1),
    )


def two_durable_writes(folder: Path) -> None:
    """Write what an edit has to write at least: a pack and its index."""
    writer = AtomicWriter(FileSystem())
    for name in ("pack", "index"):
        writer.write(f"{folder}/{name}-{time.monotonic_ns()}", CONTENT, durable=True)


async def ms(act: Awaitable[Any]) -> float:
    started = time.perf_counter()
    await act
    return (time.perf_counter() - started) * 1000


async def read_step(recorder: StepRecorder, number: int) -> None:
    changes = recorder.begin(message(number))
    changes.watch()
    assert changes.is_stored and changes.snapshot is None


async def edit_step(recorder: StepRecorder, number: int, path: Path) -> None:
    watch = recorder.begin(message(number)).watch()
    content = f"{number}\n".encode() + CONTENT
    await watch.before_write([FileWrite(path, content, 0o644)], [])
    path.write_bytes(content)
    await watch.after_write(done=True)
    assert watch.unprotected is None


async def command_step(recorder: StepRecorder, number: int, path: Path) -> None:
    watch = recorder.begin(message(number)).watch()
    async with watch.commands():
        path.write_text(f"command {number}\n")
    assert watch.unprotected is None


async def measure(base: Path, count: int) -> list[Figure]:
    repo = make_repo(base / "project")
    make_files(repo, count)
    paths = find_paths({"HOME": str(base / "home")})
    world = World(repo.path, paths)
    path = repo.path / "part0" / "module3.py"
    times: dict[str, list[float]] = {"read": [], "edit": [], "command": [], "disk": []}
    async with open_store(paths) as opened:
        await opened.store.create(session_info(title="t"))
        snapshots, background = Lazy(lambda: world.snapshots), Background()
        recorder = StepRecorder(
            snapshots=snapshots,
            store=opened.store,
            identifier=Identifier(system_clock),
            retention=SnapshotRetention(snapshots=snapshots, background=background, clock=system_clock),
            lock=cast(Any, None),  # no command runs in the background
        )
        first = await ms(command_step(recorder, 0, path))
        for number in range(1, REPEATS + 1):
            times["read"].append(await ms(read_step(recorder, number)))
            times["edit"].append(await ms(edit_step(recorder, number, path)))
            times["disk"].append(timed(lambda: two_durable_writes(base)))
            await asyncio.sleep(0.06)
            times["command"].append(await ms(command_step(recorder, number, path)))
        await background.close()
    read, edit, command, disk = (statistics.median(each) for each in times.values())
    floor = floor_ms(repo)
    print(f"{count} files: read {read:.2f} ms, edit {edit:.1f} ms, command {command:.1f} ms, the first {first:.0f} ms")
    return [
        Figure(f"step that reads, {count} files", read, 1),
        Figure(f"step with an edit, {count} files", edit, 4, floor=disk),
        Figure(f"both scans around a command, {count} files", command, 10, floor=floor + disk),
    ]


async def measure_all(base: Path) -> list[Figure]:
    figures: list[Figure] = []
    for count in (20, 5000):
        (base / str(count)).mkdir()
        figures += await measure(base / str(count), count)
    return figures


def main() -> int:
    """Measure and print; return 1 when a goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        return report(asyncio.run(measure_all(Path(folder))))


if __name__ == "__main__":
    sys.exit(main())
