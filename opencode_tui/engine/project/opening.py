"""What is done to the records of a store and of a project before their sessions are read."""

import asyncio
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.git import list_root_commits
from opencode_tui.engine.project.projects import OpenedProject, Projects
from opencode_tui.schema.error import StorageError
from opencode_tui.schema.ids import Clock
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.migrations import Migrations
from opencode_tui.storage.paths import Paths

if TYPE_CHECKING:
    from opencode_tui.storage.trash import Trash


def store_migrations(paths: Paths, *, locks: Locks, clock: Clock, environ: Mapping[str, str]) -> Migrations:
    """Return the migrations of a store; an old one is migrated with git."""
    return Migrations(paths, locks=locks, list_root_commits=partial(_root_commits, environ), clock=clock)


async def open_records(
    project: Project, *, paths: Paths, migrations: Migrations, trash: "Lazy[Trash]", projects: Projects
) -> OpenedProject:
    """Migrate the store, complete what a killed process left of moving sessions, and open the project's record.

    Reads two files and lists one folder when there is nothing to do. Failures become warnings.
    """
    warnings = [*await migrations.run(), *await _recover_trash(paths, trash)]
    opened = await projects.open(project)
    return OpenedProject(opened.info, opened.adopted, (*warnings, *project.warnings, *opened.warnings))


async def _recover_trash(paths: Paths, trash: "Lazy[Trash]") -> list[str]:
    def recover() -> list[str]:
        return [str(failure) for failure in trash.get().recover()] if os.path.isdir(paths.trash) else []

    try:
        return await asyncio.to_thread(recover)
    except StorageError as error:
        return [str(error)]


def _root_commits(environ: Mapping[str, str], folder: Path) -> list[str]:
    return list_root_commits(folder, environ=environ)
