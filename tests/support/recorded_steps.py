"""Steps as the loop records them: files that tools write, commands between two scans, one patch part."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.revert.retention import SnapshotRetention
from opencode_tui.engine.session.step.file_changes import FileChangeRecorder, StepRecorder
from opencode_tui.engine.tool.files.files import NotTextError, WorktreeFiles
from opencode_tui.engine.tool.files.transaction import Change
from opencode_tui.schema.error import ToolError
from opencode_tui.schema.session.message import AssistantMessage, Tokens
from opencode_tui.schema.session.part import StepFinishPart, StepStartPart, TextPart
from opencode_tui.schema.session.session import SessionInfo
from tests.support.tools import Workbench
from tests.support.undo import UndoWorld


@dataclass(frozen=True)
class Written:
    """A file that a tool writes; `name` is relative to the folder."""

    name: str
    content: bytes


Work = Written | Callable[[], object]
"""What one call of a step does: a file tool's write, or a command."""


async def recorded_step(world: UndoWorld, session: SessionInfo, request: str, *works: Work) -> str:
    """Store an answer whose step did these works, and what was recorded of it; returns its id."""
    core = world.engine.core
    snapshots = Lazy(lambda: world.snapshots)
    retention = SnapshotRetention(snapshots=snapshots, background=Background(), clock=lambda: -1)
    recorder = StepRecorder(snapshots=snapshots, store=core.store, identifier=core.identifier, retention=retention)
    message = await world.answer(session, request)
    await world.part(session, message, StepStartPart)
    await world.part(session, message, TextPart, text="I will")
    await world.tool(session, message, core.clock())
    info = (await world.messages(session))[-1].info
    assert isinstance(info, AssistantMessage)
    changes = recorder.begin(info)
    for work in works:
        await _do(world.root, work, changes.watch())
    await changes.store_interrupted()
    await world.part(session, message, StepFinishPart, reason="stop", tokens=Tokens())
    return message


def names_written(works: Sequence[Work]) -> list[str]:
    """Return the names of the files that tools write."""
    return [work.name for work in works if isinstance(work, Written)]


async def _do(root: Path, work: Work, watch: FileChangeRecorder) -> None:
    if not isinstance(work, Written):
        async with watch.commands():
            work()
        assert watch.unprotected is None
        return
    path = Path(os.path.realpath(root / work.name))
    bench = Workbench(root)
    try:
        change = Change(path, work.content, await _stamp(bench.files, path))
        await bench.files.apply([change], replace(bench.context, watch=watch))
    except ToolError:  # a folder, or a file where its folder should be: nothing is written
        return
    assert watch.unprotected is None


async def _stamp(files: WorktreeFiles, path: Path):
    try:
        found = await files.read(path)
    except NotTextError as error:
        return error.stamp
    return None if found is None else found.stamp
