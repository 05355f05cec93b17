"""Imports the sessions of tasks that ran on other machines, so that they can be opened here as any other."""

import asyncio
import tempfile
from pathlib import Path

import msgspec

from opencode_tui.batch.task import TaskResult
from opencode_tui.client.local import LocalClient
from opencode_tui.schema.api.importing import ImportReport, ImportRequest
from opencode_tui.schema.error import BusyError
from opencode_tui.schema.record import JsonObject

_BUSY_S = 0.2
_TASKS = "batch"
"""The name of the folder of the worktrees of tasks (`Paths.tasks`)."""

_TRIES = 150
"""How often an import is tried while another process imports."""


class SessionImports:
    """Imports one session at a time; one that is here already stays as it is."""

    def __init__(self, client: LocalClient) -> None:
        self._client = client
        self._guard = asyncio.Lock()

    async def store(self, result: TaskResult) -> None:
        """Import the sessions of a result into the task's folder. Raises OpencodeError."""
        async with self._guard:
            for exported in result.export or ():
                await self._import(exported, Path(result.directory or self._client.directory))

    async def _import(self, exported: JsonObject, directory: Path) -> None:
        data = msgspec.json.encode(exported)
        with tempfile.TemporaryDirectory(prefix="opencode-tui-session-") as folder:
            path = Path(folder) / "session.json"
            await asyncio.to_thread(path.write_bytes, data)
            report = await self._run(ImportRequest(source=str(path)))
        found = await self._client.sessions.get(str(exported["info"]["id"]))
        # A worker can name any session of the user: only a new one gets the folder, and one that ran with our store.
        ran_here = any(one.name == _TASKS for one in Path(found.directory).parents)
        if found.directory != str(directory) and (report.new or ran_here):
            await self._client.assign_session(found.id, directory)

    async def _run(self, request: ImportRequest) -> ImportReport:
        for _ in range(_TRIES - 1):
            try:
                return await self._client.imports.run(request)
            except BusyError:
                await asyncio.sleep(_BUSY_S)
        return await self._client.imports.run(request)
