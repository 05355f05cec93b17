"""The repositories that a worker got as bundles: one clone for each SHA-256 of a bundle, and a bounded number of them."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from opencode_tui.extras.dask.bundle import clone_bundle
from opencode_tui.storage.task_folders import delete_folder

MAX_CLONES = 8
"""Clones that stay while no task uses them; beyond that the one that was used longest ago is deleted."""


class ClonedRepositories:
    """The clones below one folder, which belongs to this process alone."""

    def __init__(self, folder: Path, *, environ: Mapping[str, str], max_clones: int = MAX_CLONES) -> None:
        self._folder = folder
        self._environ = environ
        self._max_clones = max_clones
        self._users: dict[str, int] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def open(self, bundle: bytes, sha256: str, commit: str) -> AsyncGenerator[Path, None]:
        """Return the clone of a bundle with the commit checked out; it is not deleted before the context ends.

        Raises GitUnavailableError.
        """
        users = self._users.pop(sha256, 0)
        self._users[sha256] = users + 1  # the last one is the one that was used last
        try:
            target = self._folder / sha256
            async with self._locks.setdefault(sha256, asyncio.Lock()):
                if not await asyncio.to_thread(target.is_dir):
                    await asyncio.to_thread(self._folder.mkdir, parents=True, exist_ok=True)
                    await clone_bundle(bundle, commit, target, environ=self._environ)
            yield target
        finally:
            self._users[sha256] -= 1
            await self._evict()

    async def _evict(self) -> None:
        """Delete the clones beyond the limit that no task uses."""
        unused = [name for name, users in self._users.items() if users == 0]
        for name in unused[: max(0, len(self._users) - self._max_clones)]:
            del self._users[name]
            del self._locks[name]
            old = self._folder / f".{name}.{uuid.uuid4().hex}"
            with suppress(FileNotFoundError):  # it was never cloned
                (self._folder / name).rename(old)  # at once: a task that needs it from now on clones it again
            await asyncio.to_thread(delete_folder, old)
