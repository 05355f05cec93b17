"""Moves sessions from `session/global` into the project of the repository that their folder has become since.

A session is written at its new place before it leaves the old one, so that a process killed in between costs nothing: the next
adoption finds both and keeps the newer. A session that runs just now stays until a later one. Source: reference, section 3.
"""

import asyncio
import json
import os
from pathlib import Path
from typing import cast

from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.schema.error import BusyError, NotFoundError
from opencode_tui.schema.project import GLOBAL_PROJECT
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.keys import Key
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.storage import Storage


async def adopt_sessions(
    project: Project, *, storage: Storage, locks: Locks
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of the sessions that were moved, and one-line warnings; raises StorageError when the store refuses."""
    if project.id == GLOBAL_PROJECT:
        return (), ()
    adopted: list[str] = []
    warnings: list[str] = []
    for session_id in await asyncio.to_thread(_find_sessions, project, storage):
        run = locks.session_run(session_id)
        try:
            run.try_acquire()
        except BusyError as error:
            warnings.append(f"session {session_id} stays outside this project for now: {error}")
            continue
        try:
            async with locks.session_write(session_id):
                await _move(session_id, project, storage)
        finally:
            run.release()
        adopted.append(session_id)
    return tuple(adopted), tuple(warnings)


def _find_sessions(project: Project, storage: Storage) -> list[str]:
    """Return the ids of global sessions whose folder belongs to the project; blocks. Damaged ones stay where they are."""
    found = storage.read_folder_sync(("session", GLOBAL_PROJECT)).records
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
    old = await _read(storage, source)
    present = await _read(storage, target)
    if old is not None and (present is None or _updated(present) < _updated(old)):
        moved = {**old, "projectID": project.id, "directory": old.get("directory") or str(project.worktree)}
        await storage.write(target, json.dumps(moved, indent=2, ensure_ascii=False).encode("utf-8", "replace"))
        await storage.sync()
    await storage.remove(source)


async def _read(storage: Storage, key: Key) -> JsonObject | None:
    try:
        return cast(JsonObject, json.loads(await storage.read(key)))
    except NotFoundError:
        return None


def _updated(fields: JsonObject) -> int:
    time: object = fields.get("time")
    updated = cast(JsonObject, time).get("updated") if isinstance(time, dict) else None
    return updated if isinstance(updated, int) else 0
