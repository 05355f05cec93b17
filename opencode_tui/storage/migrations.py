"""The two migrations of OpenCode's store, counted in the file `storage/migration`.

They run once, under the `store` lock. Each can be killed at any point and run again: every file is replaced as a whole, nothing old
is removed before the new is read back, and the counter goes up only when a migration is through. What cannot be brought over is
told and left where it is; nothing here is fatal. Source: reference, section 3.
"""

import asyncio
from collections.abc import Callable

from opencode_tui.schema.error import StorageError
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.storage.atomic import AtomicWriter
from opencode_tui.storage.diff_split import split_diffs
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.legacy_layout import LegacyLayout, ListRootCommits
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.record_file import storage_error

MIGRATIONS = 2
"""How many there are; the counter of a store that is up to date."""


class Migrations:
    """Brings the store below `paths.storage` up to date."""

    def __init__(
        self,
        paths: Paths,
        *,
        locks: Locks,
        list_root_commits: ListRootCommits,
        files: FileSystem | None = None,
        clock: Clock = system_clock,
    ) -> None:
        self._paths = paths
        self._locks = locks
        self._list_root_commits = list_root_commits
        self._files = files or FileSystem()
        self._clock = clock
        self._counter_path = f"{paths.storage}/migration"

    async def run(self) -> list[str]:
        """Do what is still to be done and return warnings of one line each, usually none; one file read when nothing is to do."""
        return await asyncio.to_thread(self.run_sync)

    def run_sync(self) -> list[str]:
        """Do what `run` does, blocking."""
        try:
            if self._read_counter() >= MIGRATIONS:
                return []
            with self._locks.store():
                return self._run_pending()
        except StorageError as error:
            return [f"the store could not be brought up to date, the next start tries again: {error}"]
        except OSError as error:
            return [f"the store could not be brought up to date, the next start tries again: {self._named(error)}"]

    def _run_pending(self) -> list[str]:
        writer = AtomicWriter(self._files)
        warnings: list[str] = []
        steps: list[Callable[[], list[str]]] = [
            LegacyLayout(
                self._paths,
                files=self._files,
                writer=writer,
                list_root_commits=self._list_root_commits,
                clock=self._clock,
            ).bring_over,
            lambda: split_diffs(self._paths, files=self._files, writer=writer),
        ]
        for number in range(self._read_counter(), MIGRATIONS):
            warnings += steps[number]()
            writer.sync()
            writer.write(self._counter_path, str(number + 1).encode())
        return warnings

    def _read_counter(self) -> int:
        """Return how many migrations were done; a missing or damaged counter means none, as they may be run again."""
        try:
            return max(0, int(self._files.read_whole(self._counter_path)))
        except (FileNotFoundError, ValueError):
            return 0

    def _named(self, error: OSError) -> StorageError:
        return storage_error(error, "bring up to date", str(error.filename or self._paths.storage))
