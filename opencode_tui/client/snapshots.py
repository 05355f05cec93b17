"""The snapshots of one folder without an engine, for the commands that measure, clean and inspect them."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.session.revert.retention import clean_unneeded
from opencode_tui.engine.snapshot.objects.quota import SnapshotSettings, Usage
from opencode_tui.engine.snapshot.objects.store import ObjectStore
from opencode_tui.engine.snapshot.report import Patch
from opencode_tui.engine.snapshot.snapshot import Snapshots, WorktreeLock
from opencode_tui.engine.snapshot.worktree_paths import store_name
from opencode_tui.schema.api.project import ProjectInfo
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.ids import system_clock
from opencode_tui.schema.record import ValidationError
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.reader import RecordReader

__all__ = ["Patch", "Snapshots", "Usage", "clean_unneeded", "list_stores", "open_snapshots"]


class StoreSize(Struct, frozen=True):
    """The size of one store in bytes: its snapshots and kept files; `place` is its worktree, else its own folder."""

    place: str
    bytes: int
    kept: int


def list_stores(paths: Paths) -> list[StoreSize]:
    """Return the sizes of all stores, the largest first. Blocks; a store whose worktree no project names has its folder's path."""
    reader = RecordReader(FileSystem(), str(paths.storage))
    places: dict[str, str] = {}
    for key in reader.list(("project",)):
        try:
            info = ProjectInfo.model_validate_json(reader.read(key))
        except (StorageError, ValidationError):  # its stores are listed by their folders
            continue
        for place in (info.worktree, *info.sandboxes):
            places[store_name(Path(place))] = place
    found: list[StoreSize] = []
    for folder in sorted(paths.snapshot.glob("*/*")):
        store = ObjectStore(folder / "git")
        store.kept.refresh()
        found.append(StoreSize(places.get(folder.name, str(folder)), store.size(), store.kept.size()))
    return sorted(found, key=lambda one: -(one.bytes + one.kept))


def open_snapshots(
    environ: Mapping[str, str], directory: Path, *, paths: Paths, is_on: bool, limits: tuple[int, int] | None = None
) -> Snapshots:
    """Return the snapshots of the folder's worktree; `unavailable` is set unless `is_on`. Blocks on git.

    `limits` are the bytes of the largest ignored file that is recorded, and of all that is kept before a command discards it.
    """
    project = discover(directory, paths=paths, environ=environ)
    return Snapshots(
        WorktreeLock(
            worktree=project.worktree,
            project_id=project.id,
            paths=paths,
            locks=Locks(paths),
            clock=system_clock,
            settings=SnapshotSettings(is_on).limited(limits),
        )
    )
