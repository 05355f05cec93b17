"""How a command reaches the snapshots of the current folder's worktree, without opening the whole engine."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from opencode_tui.cli.environment import load_settings, read_environment
from opencode_tui.cli.log import start_log
from opencode_tui.cli.main import Frame

if TYPE_CHECKING:
    from opencode_tui.engine.snapshot.snapshot import Snapshots

T = TypeVar("T")


def with_snapshots(work: "Callable[[Snapshots], Awaitable[T]]") -> T:
    """Return what the work gives with the snapshots of the current folder; raises OpencodeError."""

    async def main() -> T:
        return await work(open_snapshots())

    return asyncio.run(main())


def open_snapshots() -> "Snapshots":
    """Return the snapshots of the current folder's worktree; their `unavailable` tells when the settings turn them off."""
    from opencode_tui.engine.project.discover import discover  # the engine is loaded only when there is work
    from opencode_tui.engine.snapshot.quota import SnapshotSettings
    from opencode_tui.engine.snapshot.snapshot import Snapshots
    from opencode_tui.schema.ids import system_clock
    from opencode_tui.storage.locks import Locks

    environment = read_environment()
    frame = click.get_current_context().find_object(Frame)
    start_log(environment.paths.log, frame.log_level if frame else None)
    settings = load_settings(environment).settings
    project = discover(environment.directory, paths=environment.paths, environ=environment.environ)
    return Snapshots(
        worktree=project.worktree,
        project_id=project.id,
        paths=environment.paths,
        locks=Locks(environment.paths),
        clock=system_clock,
        settings=SnapshotSettings(is_on=settings.snapshot is not False),
    )
