"""The two migrations of OpenCode's store, counted in the file `storage/migration`.

They run once, under the `store` lock. Each can be killed at any point and run again: every file is replaced atomically, nothing old
is removed before the new file is read back, and the counter is increased only after a migration. What cannot be migrated is
reported and left unchanged; no failure is fatal. Source: docs/internals/session.md#migrations.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from opencode_tui.schema.error import CorruptRecordError, GitMissingError, GitUnavailableError, StorageError
from opencode_tui.schema.ids import Clock, system_clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.keys import Key, record_path
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.reader import RecordReader
from opencode_tui.storage.record_file import storage_error

ListRootCommits = Callable[[Path], list[str]]
"""Returns the commits without a parent in the repository around a folder; blocks. Raises GitUnavailableError."""

MIGRATIONS = 2
"""The number of migrations, and the counter of a store that is up to date."""


class Migrations:
    """Migrates the store in `paths.storage`."""

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
        """Run the pending migrations and return warnings of one line each; reads one file when none is pending."""
        return await asyncio.to_thread(self.run_sync)

    def run_sync(self) -> list[str]:
        """Do the same as `run`, blocking."""
        try:
            if self._read_counter() >= MIGRATIONS:
                return []
            with self._locks.store():
                return self._run_pending()
        except StorageError as error:
            return [f"migration failed; will retry on next start: {error}"]
        except OSError as error:
            return [f"migration failed; will retry on next start: {self._named(error)}"]

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
            ).migrate,
            lambda: _split_diffs(self._paths, files=self._files, writer=writer),
        ]
        for number in range(self._read_counter(), MIGRATIONS):
            warnings += steps[number]()
            writer.sync()
            writer.write(self._counter_path, str(number + 1).encode())
        return warnings

    def _read_counter(self) -> int:
        """Return how many migrations were done; 0 for a missing or damaged counter, because they can run again."""
        try:
            return max(0, int(self._files.read_whole(self._counter_path)))
        except (FileNotFoundError, ValueError):
            return 0

    def _named(self, error: OSError) -> StorageError:
        return storage_error(error, "migrate", str(error.filename or self._paths.storage))


def _split_diffs(paths: Paths, *, files: FileSystem, writer: AtomicWriter) -> list[str]:
    """Run migration 1: move the diffs from each session record to `session_diff/{sessionID}`; return warnings.

    The session keeps the sums of added and removed lines, but no number of files. Raises OSError or StorageError.
    """
    root = str(paths.storage)
    reader = RecordReader(files, root)
    warnings: list[str] = []
    for key in reader.list(("session",)):
        if len(key) != 3:
            continue
        try:
            session = reader.read_object(key)
            diffs = _diffs_of(session)
            if diffs is not None:
                _split_session(session, diffs, key=key, root=root, reader=reader, writer=writer)
        except CorruptRecordError as error:
            warnings.append(f"a session keeps its diffs: {error}")
    return warnings


def _diffs_of(session: JsonObject) -> list[JsonObject] | None:
    summary: object = session.get("summary")
    if "projectID" not in session or not isinstance(summary, dict):
        return None
    diffs = cast(JsonObject, summary).get("diffs")
    if not isinstance(diffs, list):
        return None
    return [cast(JsonObject, diff) for diff in cast(list[object], diffs) if isinstance(diff, dict)]


def _split_session(
    session: JsonObject, diffs: list[JsonObject], *, key: Key, root: str, reader: RecordReader, writer: AtomicWriter
) -> None:
    """Write the diffs, read them back, and only then remove them from the session."""
    target = ("session_diff", key[-1])
    writer.write(record_path(root, target), _to_json(diffs))
    if json.loads(reader.read(target)) != diffs:
        raise StorageError(f"{record_path(root, target)} reads back differently from what was written; check the disk")
    session["summary"] = {"additions": _sum_field(diffs, "additions"), "deletions": _sum_field(diffs, "deletions")}
    writer.write(record_path(root, key), _to_json(session))


def _sum_field(diffs: list[JsonObject], field: str) -> int:
    numbers: list[object] = [diff.get(field) for diff in diffs]
    return sum(number for number in numbers if isinstance(number, int))


def _to_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


_SKIPPED = "global"


class LegacyLayout:
    """Migration 0: copies sessions from the layout by directory to the layout by root commit.

    From `project/{any name}/storage/session/{info,message,part}` of the data folder to `storage/`; the originals stay. The
    project's id is the first root commit of the repository that its messages name. Source: docs/internals/session.md#migrations.
    """

    def __init__(
        self,
        paths: Paths,
        *,
        files: FileSystem,
        writer: AtomicWriter,
        list_root_commits: ListRootCommits,
        clock: Clock,
    ) -> None:
        self._folder = f"{paths.data}/project"
        self._root = str(paths.storage)
        self._files = files
        self._writer = writer
        self._list_root_commits = list_root_commits
        self._clock = clock

    def migrate(self) -> list[str]:
        """Copy every old project that can be identified and return warnings. Raises OSError or StorageError."""
        warnings: list[str] = []
        for name in self._old_projects():
            source = f"{self._folder}/{name}/storage/session"
            reader = RecordReader(self._files, source)
            worktree = self._find_worktree(reader)
            if worktree is None:
                warnings.append(f"{source} was not migrated: none of its messages names a folder that still exists")
                continue
            commit, problem = self._root_commit(worktree)
            if commit is None:
                warnings.append(f"{source} was not migrated: {worktree} {problem}")
                continue
            self._write_project(commit, worktree)
            warnings += self._copy(reader, commit)
        return warnings

    def _old_projects(self) -> list[str]:
        try:
            with self._files.scandir(self._folder) as entries:
                return sorted(entry.name for entry in entries if entry.is_dir() and entry.name != _SKIPPED)
        except FileNotFoundError:
            return []

    def _find_worktree(self, reader: RecordReader) -> str | None:
        """Return the root in the first message that has one, None when there is none or it does not exist."""
        for key in reader.list(("message",)):
            try:
                message = reader.read_object(key)
            except CorruptRecordError:
                continue  # reported when it is copied
            location: object = message.get("path")
            root = cast(JsonObject, location).get("root") if isinstance(location, dict) else None
            if isinstance(root, str) and root:
                return root if os.path.isdir(root) else None
        return None

    def _root_commit(self, worktree: str) -> tuple[str | None, str]:
        """Return the first root commit of a repository, else why there is none."""
        try:
            commits = self._list_root_commits(Path(worktree))
        except GitMissingError as error:
            raise StorageError("git is not installed; install it to migrate the sessions of the old layout") from error
        except GitUnavailableError as error:
            return None, f"is not a git repository ({error})"
        return (min(commits), "") if commits else (None, "has no commit")

    def _write_project(self, commit: str, worktree: str) -> None:
        now = self._clock()
        times = {"created": now, "initialized": now}
        self._write_new(("project", commit), {"id": commit, "vcs": "git", "worktree": worktree, "time": times})

    def _copy(self, reader: RecordReader, project_id: str) -> list[str]:
        """Copy parts, messages and sessions, the session last so that it is listed when it is complete; return warnings."""
        warnings: list[str] = []
        for source, target in _targets(reader, project_id):
            try:
                record = reader.read_object(source)
            except CorruptRecordError as error:
                warnings.append(f"a record was not migrated: {error}")
                continue
            self._write_new(target, record)
        return warnings

    def _write_new(self, key: Key, record: JsonObject) -> None:
        """Write a record unless it exists: it may have changed since an earlier run wrote it."""
        path = record_path(self._root, key)
        if not self._files.exists(path):
            self._writer.write(
                path, json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
            )


def _targets(reader: RecordReader, project_id: str) -> Iterator[tuple[Key, Key]]:
    """Yield the old and the new key of every record."""
    for key in reader.list(("part",)):
        if len(key) == 4:
            yield key, ("part", key[2], key[3])
    for key in reader.list(("message",)):
        if len(key) == 3:
            yield key, key
    for key in reader.list(("info",)):
        if len(key) == 2:
            yield key, ("session", project_id, key[1])
