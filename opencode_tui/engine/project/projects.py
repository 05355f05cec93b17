"""Stores the record of each project, `project/{projectID}`, and moves sessions that are older than their repository into it.

A record is written when it changed or after a day, so that opening a project usually only reads.
Source: docs/internals/session.md#projects.
"""

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import cast

from msgspec import Struct

from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.schema.api.project import GLOBAL_PROJECT, ProjectInfo, ProjectTime, UpdateProject
from opencode_tui.schema.error import BusyError, NotFoundError, StorageError
from opencode_tui.schema.event.event import ProjectUpdated
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.record import JsonObject, ValidationError
from opencode_tui.storage.keys import Key
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.storage import Storage

HoldSession = Callable[[str], AbstractAsyncContextManager[object]]

REFRESH_MS = 24 * 60 * 60 * 1000
"""Milliseconds after which `time.updated` is written although nothing else changed."""

_GLOBAL_WORKTREE = "/"
"""The worktree that OpenCode writes for the project of all folders without a repository."""


class OpenedProject(Struct, frozen=True):
    """A project's current record; `adopted` are the IDs of sessions that moved into it, `warnings` one-line texts."""

    info: ProjectInfo
    adopted: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class Projects(Struct, frozen=True):
    """The project records of one store."""

    storage: Storage
    locks: Locks
    clock: Clock
    publish: Callable[[ProjectUpdated], None]
    hold: HoldSession
    """Holds the run lock of a session."""

    async def open(self, project: Project) -> OpenedProject:
        """Return the project's record, created or refreshed if necessary; read and write failures become warnings."""
        now = self.clock()
        fresh = self._describe(project, now)
        key = ("project", project.id)
        try:
            known = await self._read(key)
            if known is not None and not await asyncio.to_thread(_is_due, known, fresh, now):
                return OpenedProject(known)
            adopted, warnings = await _adopt_sessions(project, storage=self.storage, locks=self.locks, hold=self.hold)
            info = await self._refresh(key, fresh, now)
        except StorageError as error:
            return OpenedProject(fresh, warnings=(str(error),))
        return OpenedProject(info, adopted, warnings)

    async def mark_initialized(self, project: Project) -> None:
        """Record that the command `init` wrote the project's AGENTS.md. Raises StorageError."""
        now = self.clock()
        fresh = self._describe(project, now)
        await self._update(
            ("project", project.id), fresh, lambda known: known.changed(time=known.time.changed(initialized=now))
        )

    async def change(self, project_id: str, request: UpdateProject) -> ProjectInfo:
        """Change the name, icon or commands of a project and publish it. Raises NotFoundError, StorageError."""
        key = ("project", project_id)
        known = await self._read(key)
        if known is None:
            raise NotFoundError(f"there is no project {project_id}; list them with GET /project")
        given = UpdateProject.model_validate(request.to_dict()).to_dict()
        now = self.clock()

        def merge(current: ProjectInfo) -> ProjectInfo:
            icon = {**(current.icon or {}), **given.get("icon", {})}
            commands = {**(current.commands or {}), **given.get("commands", {})}
            return current.changed(
                name=given.get("name", current.name),
                icon=icon or None,
                commands=commands or None,
                time=current.time.changed(updated=now),
            )

        return await self._update(key, known, merge)

    async def change_sandboxes(self, project: Project, *, added: str | None = None, removed: str | None = None) -> None:
        """Add or remove a folder of a linked worktree, and publish the project. Raises StorageError."""
        now = self.clock()

        def change(known: ProjectInfo) -> ProjectInfo:
            kept = [path for path in [*known.sandboxes, *([added] if added else [])] if path != removed]
            return known.changed(sandboxes=list(dict.fromkeys(kept)), time=known.time.changed(updated=now))

        await self._update(("project", project.id), self._describe(project, now), change)

    async def all(self) -> list[ProjectInfo]:
        """Return the readable records of all projects by ID."""
        found: list[ProjectInfo] = []
        for key in await self.storage.list(("project",)):
            with suppress(StorageError):
                info = await self._read(key)
                found += [info] if info is not None else []
        return found

    def _describe(self, project: Project, now: int) -> ProjectInfo:
        time = ProjectTime.trusted(created=now, updated=now)
        if project.id == GLOBAL_PROJECT or project.repository is None:
            return ProjectInfo.trusted(id=project.id, worktree=_GLOBAL_WORKTREE, time=time)
        main = str(project.repository.main_worktree)
        linked = [str(project.worktree)] if str(project.worktree) != main else []
        return ProjectInfo.trusted(id=project.id, worktree=main, vcs="git", time=time, sandboxes=linked)

    async def _read(self, key: Key) -> ProjectInfo | None:
        try:
            return ProjectInfo.model_validate_json(await self.storage.read(key))
        except NotFoundError:
            return None
        except ValidationError:
            raise StorageError(
                f"{self.storage.path_of(key)} is not a valid project record; repair with `opencode-tui doctor --fix`"
            ) from None

    async def _refresh(self, key: Key, fresh: ProjectInfo, now: int) -> ProjectInfo:
        return await self._update(
            key,
            fresh,
            lambda known: known.changed(
                worktree=fresh.worktree,
                vcs=fresh.vcs,
                time=known.time.changed(updated=now),
                sandboxes=_sandboxes(known, fresh),
            ),
        )

    async def _update(
        self, key: Key, default: ProjectInfo, change: Callable[[ProjectInfo], ProjectInfo]
    ) -> ProjectInfo:
        """Write a changed record and publish it."""

        def change_fields(fields: JsonObject) -> JsonObject:
            return change(ProjectInfo.model_validate(fields)).to_dict()

        fields = await self.storage.update(key, change_fields, self.locks.store(), default=default.to_dict())
        info = ProjectInfo.model_validate(fields)
        self.publish(ProjectUpdated.model_validate(info.to_dict()))
        return info


def _is_due(known: ProjectInfo, fresh: ProjectInfo, now: int) -> bool:
    is_old = now - (known.time.updated or 0) >= REFRESH_MS
    is_same = (known.worktree, known.vcs, known.sandboxes) == (fresh.worktree, fresh.vcs, _sandboxes(known, fresh))
    return is_old or not is_same


def _sandboxes(known: ProjectInfo, fresh: ProjectInfo) -> list[str]:
    """Return the existing linked worktrees of both records without duplicates, in the order of discovery."""
    return [path for path in dict.fromkeys([*known.sandboxes, *fresh.sandboxes]) if os.path.isdir(path)]


async def _adopt_sessions(
    project: Project, *, storage: Storage, locks: Locks, hold: HoldSession
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Move sessions from `session/global` into the project and return their IDs and one-line warnings. Raises StorageError.

    Each session is written under its new key before the old one is removed; if the process is killed in between, the next adoption
    finds both and keeps the newer. A running session is left for a later adoption.
    """
    if project.id == GLOBAL_PROJECT:
        return (), ()
    adopted: list[str] = []
    warnings: list[str] = []
    for session_id in await asyncio.to_thread(_find_sessions, project, storage):
        try:
            async with hold(session_id), locks.session_write(session_id):
                await _move(session_id, project, storage)
        except BusyError as error:
            warnings.append(f"session {session_id} is not moved into this project yet: {error}")
            continue
        adopted.append(session_id)
    return tuple(adopted), tuple(warnings)


def _find_sessions(project: Project, storage: Storage) -> list[str]:
    """Return the IDs of global sessions whose folder belongs to the project; skips damaged ones. Blocks."""
    found = storage.read_folder(("session", GLOBAL_PROJECT)).records
    return [key[-1] for key, data in found if _belongs(_directory(data), project)]


def _directory(data: bytes) -> str | None:
    try:
        fields: object = json.loads(data)
    except ValueError:
        return None
    directory = cast(JsonObject, fields).get("directory", "") if isinstance(fields, dict) else None
    return directory if isinstance(directory, str) else None


def _belongs(directory: str | None, project: Project) -> bool:
    if not directory:
        return directory == ""
    real = Path(os.path.realpath(directory))
    if real == project.worktree:
        return True
    if not (real.is_relative_to(project.worktree) and real.is_dir()):
        return False
    around = find_repository(real)
    return around is not None and around.worktree == project.worktree


async def _move(session_id: str, project: Project, storage: Storage) -> None:
    source, target = ("session", GLOBAL_PROJECT, session_id), ("session", project.id, session_id)
    old = await _read_fields(storage, source)
    present = await _read_fields(storage, target)
    if old is not None and (present is None or _updated(present) < _updated(old)):
        moved = {**old, "projectID": project.id, "directory": old.get("directory") or str(project.worktree)}
        await storage.write(target, json.dumps(moved, indent=2, ensure_ascii=False).encode("utf-8", "replace"))
        await storage.sync()
    await storage.remove(source)


async def _read_fields(storage: Storage, key: Key) -> JsonObject | None:
    try:
        return cast(JsonObject, json.loads(await storage.read(key)))
    except NotFoundError:
        return None


def _updated(fields: JsonObject) -> int:
    time: object = fields.get("time")
    updated = cast(JsonObject, time).get("updated") if isinstance(time, dict) else None
    return updated if isinstance(updated, int) else 0
