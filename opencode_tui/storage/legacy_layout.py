"""Migration 0: copies sessions from the layout by directory to the layout by root commit.

From `project/{any name}/storage/session/{info,message,part}` of the data folder to `storage/`; the originals stay. The project's id
is the first root commit of the repository that its messages name. Source: reference, section 3.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

from opencode_tui.schema.error import CorruptRecordError, GitMissingError, GitUnavailableError, StorageError
from opencode_tui.schema.ids import Clock
from opencode_tui.schema.record import JsonObject
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.keys import Key, record_path
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.reader import RecordReader

ListRootCommits = Callable[[Path], list[str]]
"""Returns the commits without a parent in the repository around a folder; blocks. Raises GitUnavailableError."""

_SKIPPED = "global"


class LegacyLayout:
    """The old folders of one data folder."""

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
