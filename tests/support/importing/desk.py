"""An importer into the store of one test."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencode_tui.extras.importing.importer import FolderMap, Importer, Selection
from opencode_tui.extras.importing.source import SessionSource
from opencode_tui.extras.importing.sources import Sources
from opencode_tui.schema.api.importing import ImportReport
from opencode_tui.schema.api.project import GLOBAL_PROJECT, ProjectInfo, ProjectTime
from opencode_tui.schema.ids import system_clock
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage


@dataclass
class Desk:
    """Imports into one store, and reads what is in it."""

    paths: Paths
    environ: dict[str, str]

    @property
    def sources(self) -> Sources:
        return Sources(self.paths, self.environ)

    def run(
        self, *paths: Path, selection: Selection | None = None, folders: dict[str, str] | None = None, **options: Any
    ) -> ImportReport:
        """Import all that is at these paths."""
        sources = [source for path in paths for source in self.sources.open(None, path)]
        return self.run_from(sources, selection=selection, folders=folders, **options)

    def run_from(
        self,
        sources: list[SessionSource],
        *,
        selection: Selection | None = None,
        folders: dict[str, str] | None = None,
        dry_run: bool = False,
        is_cancelled: Callable[[], bool] = lambda: False,
    ) -> ImportReport:
        importer = Importer(
            Storage(self.paths), clock=system_clock, find_project=_no_project, is_cancelled=is_cancelled
        )
        try:
            return importer.run(sources, selection or Selection(), FolderMap(folders or {}), dry_run=dry_run)
        finally:
            for source in sources:
                source.close()

    def records(self) -> dict[str, bytes]:
        """Return all records by their path in the store."""
        root = self.paths.storage
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.json"))}


def _no_project(directory: str) -> ProjectInfo:
    del directory
    return ProjectInfo(id=GLOBAL_PROJECT, worktree="/", time=ProjectTime(created=0))
