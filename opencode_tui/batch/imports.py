"""Imports the sessions of tasks that ran on other machines, so that they can be opened here as any other."""

import asyncio
import tempfile
from pathlib import Path

import msgspec

from opencode_tui.batch.task import TaskResult
from opencode_tui.client.local import LocalClient
from opencode_tui.schema.api.importing import ImportRequest
from opencode_tui.schema.error import BusyError
from opencode_tui.schema.record import JsonObject

_BUSY_S = 0.2
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
        info = {**exported["info"], "directory": str(directory)}
        data = msgspec.json.encode({**exported, "info": info})
        with tempfile.TemporaryDirectory(prefix="opencode-tui-session-") as folder:
            path = Path(folder) / "session.json"
            await asyncio.to_thread(path.write_bytes, data)
            await self._run(ImportRequest(source=str(path)))
        session_id = str(info["id"])
        if (await self._client.sessions.get(session_id)).directory != str(directory):
            await self._client.assign_session(session_id, directory)  # the worker's store is ours

    async def _run(self, request: ImportRequest) -> None:
        for number in range(_TRIES):
            try:
                await self._client.imports.run(request)
                return
            except BusyError:
                if number + 1 == _TRIES:
                    raise
                await asyncio.sleep(_BUSY_S)
